//! Multiplexing: segments (SDUs) of mini-protocols' byte streams over one connection.
//!
//! A segment is an 8-byte header (a timestamp that receivers ignore, the direction and protocol, the length; all
//! big-endian) and its payload. A protocol's payloads are one stream: a message may span segments, and a segment
//! may hold several. Facts from the network specification of ouroboros-network.

/// Bytes of a segment's header.
pub const HEADER_BYTES: usize = 8;
/// The largest payload that cardano-node sends over a socket.
pub const MAX_SENT: usize = 12_288;

/// The mini-protocols that this crate speaks or knows of, by number.
pub mod protocol {
    /// Handshake, on both sides.
    pub const HANDSHAKE: u16 = 0;
    /// Node-to-node chain-sync (headers).
    pub const CHAIN_SYNC_N2N: u16 = 2;
    /// Block-fetch.
    pub const BLOCK_FETCH: u16 = 3;
    /// Transaction submission between nodes.
    pub const TX_SUBMISSION: u16 = 4;
    /// Node-to-client chain-sync (blocks).
    pub const CHAIN_SYNC_N2C: u16 = 5;
    /// Local transaction submission.
    pub const LOCAL_TX_SUBMISSION: u16 = 6;
    /// Local state query.
    pub const LOCAL_STATE_QUERY: u16 = 7;
    /// Keep-alive.
    pub const KEEP_ALIVE: u16 = 8;
    /// Local transaction monitor.
    pub const LOCAL_TX_MONITOR: u16 = 9;
    /// Peer sharing.
    pub const PEER_SHARING: u16 = 10;
}

/// A segment's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The mini-protocol's number.
    pub protocol: u16,
    /// Whether the protocol's responder (the server) sent it.
    pub from_responder: bool,
    /// Bytes of payload.
    pub length: u16,
}

impl Header {
    /// The header as it goes over the wire, with the timestamp 0.
    pub fn encode(self) -> [u8; HEADER_BYTES] {
        let [a, b] = (self.protocol & 0x7fff | if self.from_responder { 0x8000 } else { 0 }).to_be_bytes();
        let [c, d] = self.length.to_be_bytes();
        [0, 0, 0, 0, a, b, c, d]
    }

    /// Reads a header; None where fewer than 8 bytes are there.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let &[_, _, _, _, a, b, c, d] = bytes.first_chunk::<HEADER_BYTES>()?;
        let word = u16::from_be_bytes([a, b]);
        Some(Self { protocol: word & 0x7fff, from_responder: word & 0x8000 != 0, length: u16::from_be_bytes([c, d]) })
    }
}

/// Appends a message to `out`, in segments of at most [`MAX_SENT`] bytes.
pub fn frame(out: &mut Vec<u8>, protocol: u16, from_responder: bool, parts: &[&[u8]]) {
    let mut left: usize = parts.iter().map(|part| part.len()).sum();
    let mut room = 0;
    for mut part in parts.iter().copied() {
        while !part.is_empty() {
            if room == 0 {
                room = left.min(MAX_SENT);
                out.extend(Header { protocol, from_responder, length: room as u16 }.encode());
            }
            let (now, later) = part.split_at(part.len().min(room));
            out.extend_from_slice(now);
            room -= now.len();
            left -= now.len();
            part = later;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_header_is_the_specified_bytes() {
        let header = Header { protocol: protocol::CHAIN_SYNC_N2C, from_responder: true, length: 0x0102 };
        assert_eq!(header.encode(), [0, 0, 0, 0, 0x80, 5, 1, 2]);
        assert_eq!(Header::decode(&header.encode()), Some(header));
        assert_eq!(Header::decode(&[0; 7]), None);
    }

    proptest! {
        #[test]
        fn framed_parts_come_back_as_one_stream(parts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..30_000), 0..4)) {
            let slices: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
            let mut wire = Vec::new();
            frame(&mut wire, 3, true, &slices);
            let (mut stream, mut rest) = (Vec::new(), wire.as_slice());
            while let Some(header) = Header::decode(rest) {
                prop_assert!(header.length > 0 && usize::from(header.length) <= MAX_SENT && header.from_responder && header.protocol == 3);
                let (payload, later) = rest[HEADER_BYTES..].split_at(usize::from(header.length));
                stream.extend_from_slice(payload);
                rest = later;
            }
            prop_assert!(rest.is_empty());
            prop_assert_eq!(stream, parts.concat());
        }
    }
}
