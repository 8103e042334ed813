//! The network devices of a namespace, through rtnetlink.

use std::io;
use std::net::{IpAddr, Ipv4Addr};

use netlink_packet_core::{NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

/// The most bytes of the kernel's answer about one device; its own page-size limit for one message.
const LONGEST_ANSWER: usize = 32 * 1024;

/// A connection to the kernel that speaks about the devices of the namespace that it was made in, from wherever it is used.
pub(crate) struct Links {
    socket: Socket,
}

impl Links {
    /// Returns the one of the namespace that the thread is in.
    pub(crate) fn here() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self { socket })
    }

    /// Switches a device on, with its largest packet and the length of its queue where they are given.
    pub(crate) fn switch_on(&self, index: u32, mtu_and_queue: Option<(u32, u32)>) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.header.flags = LinkFlags::Up;
        message.header.change_mask = LinkFlags::Up;
        if let Some((mtu, queue)) = mtu_and_queue {
            message.attributes = vec![LinkAttribute::Mtu(mtu), LinkAttribute::TxQueueLen(queue)];
        }
        self.ask(RouteNetlinkMessage::SetLink(message), NLM_F_ACK).map(drop)
    }

    /// Gives a device an address; the network of its prefix is then reached through the device.
    pub(crate) fn add_address(&self, index: u32, address: Ipv4Addr, prefix: u8) -> io::Result<()> {
        let mut message = AddressMessage::default();
        message.header.family = AddressFamily::Inet;
        message.header.prefix_len = prefix;
        message.header.index = index;
        let address = IpAddr::V4(address);
        message.attributes = vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
        self.ask(RouteNetlinkMessage::NewAddress(message), NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL).map(drop)
    }

    /// Packets that were sent on a device and didn't fit in its queue.
    pub(crate) fn dropped(&self, index: u32) -> io::Result<u64> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        if let Some(RouteNetlinkMessage::NewLink(link)) = self.ask(RouteNetlinkMessage::GetLink(message), 0)? {
            for attribute in link.attributes {
                if let LinkAttribute::Stats64(counts) = attribute {
                    return Ok(counts.tx_dropped);
                }
            }
        }
        Err(io::Error::other("the kernel's answer has no counters"))
    }

    fn ask(&self, message: RouteNetlinkMessage, flags: u16) -> io::Result<Option<RouteNetlinkMessage>> {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        let mut request = NetlinkMessage::new(header, NetlinkPayload::from(message));
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        let mut answer = Vec::with_capacity(LONGEST_ANSWER);
        self.socket.recv(&mut answer, 0)?;
        match NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer).map_err(io::Error::other)?.payload {
            NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
            NetlinkPayload::InnerMessage(message) => Ok(Some(message)),
            _ => Ok(None),
        }
    }
}
