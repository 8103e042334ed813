//! A node's output, cut into messages with the times at which they arrived.

use slotmark_chain::Point;

use crate::client::{MessageOrClientError, roll_forward_block, roll_forward_header, wrapped};
use crate::message::MessageError;
use crate::mux::Segments;
use crate::protocols::{block_fetch, chain_sync};

/// The most of an unfinished message that is kept: far more than a block has.
const MOST: usize = 16 << 20;

/// The time at which a message arrived, and how long the relay held it; by the monotonic clock, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Times {
    /// The read returned that its first byte was in.
    pub first_ns: u64,
    /// The read returned that its last byte was in.
    pub last_ns: u64,
    /// The longest time from the return of a read of its bytes until these were passed on.
    pub held_ns: u64,
}

/// An event in a node's output.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A roll-forward's message, from the first byte to the last.
    Forward { times: Times, awaited: bool, message: Vec<u8> },
    /// A roll-backward.
    Backward { at_ns: u64, to: Point },
    /// A request waits at the tip.
    Await { at_ns: u64 },
    /// A block that block-fetch brought.
    Body { times: Times, block: Vec<u8> },
    /// No connection, or bytes that are no message of a node: nothing of the connection is read from here on.
    Unreadable { at_ns: u64, why: String },
    /// The connection ended.
    Ended { at_ns: u64, by_node: bool, why: String },
}

/// The bytes of a connection, as they come from the node.
#[derive(Default)]
pub(super) struct Watch {
    segments: Segments,
    chain_sync: Stream,
    block_fetch: Stream,
    /// By the last reply of chain-sync, the request waits.
    awaiting: bool,
    lost: bool,
}

/// One protocol's bytes that no whole message was made of yet.
#[derive(Default)]
struct Stream {
    bytes: Vec<u8>,
    times: Option<Times>,
}

impl Watch {
    /// Takes bytes that were read at one time and passed on at another; reports each message that is complete with them.
    pub(super) fn bytes(&mut self, mut bytes: &[u8], read_ns: u64, passed_ns: u64, report: &mut impl FnMut(What)) {
        while !self.lost
            && let Some((header, now)) = self.segments.next(&mut bytes)
        {
            let number = header.protocol;
            let read = match number {
                _ if now.is_empty() => Ok(()),
                chain_sync::WITH_CLIENTS | chain_sync::BETWEEN_NODES => {
                    self.chain_sync.take(now, read_ns, passed_ns);
                    self.chain_sync_messages(number, read_ns, report)
                }
                block_fetch::NUMBER => {
                    self.block_fetch.take(now, read_ns, passed_ns);
                    self.block_fetch_messages(read_ns, report)
                }
                _ => Ok(()),
            };
            if let Err(why) = read {
                self.lost = true;
                report(What::Unreadable { at_ns: read_ns, why: format!("it sent what no node sends in protocol {number}: {why}") });
            }
        }
    }

    fn chain_sync_messages(&mut self, number: u16, read_ns: u64, report: &mut impl FnMut(What)) -> Result<(), String> {
        while let Some(times) = self.chain_sync.times {
            let bytes = self.chain_sync.bytes.as_slice();
            let length = match bytes {
                [0x83, 0x02, ..] => {
                    let length = if number == chain_sync::WITH_CLIENTS {
                        roll_forward_block(bytes).map(|(_, taken)| taken)
                    } else {
                        roll_forward_header(bytes).map(|(_, taken)| taken)
                    };
                    let length = length.map_err(|error| match error {
                        MessageOrClientError::Message(error) => error,
                        MessageOrClientError::Client(error) => MessageError::Malformed(error.to_string()),
                    });
                    length.inspect(|&length| {
                        let awaited = std::mem::take(&mut self.awaiting);
                        report(What::Forward { times, awaited, message: bytes[..length].to_vec() });
                    })
                }
                bytes => chain_sync::Reply::decode(bytes).map(|(reply, length)| {
                    self.awaiting = reply == chain_sync::Reply::AwaitReply;
                    match reply {
                        chain_sync::Reply::AwaitReply => report(What::Await { at_ns: times.first_ns }),
                        chain_sync::Reply::RollBackward(to) => report(What::Backward { at_ns: times.first_ns, to }),
                        chain_sync::Reply::IntersectFound(_) | chain_sync::Reply::IntersectNotFound => {}
                    }
                    length
                }),
            };
            if !self.chain_sync.cut(length, read_ns)? {
                break;
            }
        }
        Ok(())
    }

    fn block_fetch_messages(&mut self, read_ns: u64, report: &mut impl FnMut(What)) -> Result<(), String> {
        while let Some(times) = self.block_fetch.times {
            let bytes = self.block_fetch.bytes.as_slice();
            let length = match bytes {
                [0x82, 0x04, rest @ ..] => wrapped(rest).map(|(block, taken)| {
                    report(What::Body { times, block: block.to_vec() });
                    2 + taken
                }),
                [0x81, 0x02 | 0x03 | 0x05, ..] => Ok(2),
                [_] => Err(MessageError::Incomplete),
                bytes => Err(MessageError::Malformed(format!("a message that begins with {:02x?}", &bytes[..2]))),
            };
            if !self.block_fetch.cut(length, read_ns)? {
                break;
            }
        }
        Ok(())
    }
}

impl Stream {
    fn take(&mut self, bytes: &[u8], read_ns: u64, passed_ns: u64) {
        self.bytes.extend_from_slice(bytes);
        let held_ns = passed_ns - read_ns;
        let times = self.times.get_or_insert(Times { first_ns: read_ns, last_ns: read_ns, held_ns });
        times.last_ns = read_ns;
        times.held_ns = times.held_ns.max(held_ns);
    }

    /// Takes a whole message off; false where there is none.
    fn cut(&mut self, length: Result<usize, MessageError>, read_ns: u64) -> Result<bool, String> {
        match length {
            Ok(length) => {
                self.bytes.drain(..length);
                // What is left came with the last read.
                let held_ns = self.times.map_or(0, |times| times.held_ns);
                self.times = (!self.bytes.is_empty()).then_some(Times { first_ns: read_ns, last_ns: read_ns, held_ns });
                Ok(true)
            }
            Err(MessageError::Incomplete) if self.bytes.len() <= MOST => Ok(false),
            Err(MessageError::Incomplete) => Err(format!("a message of more than {MOST} bytes")),
            Err(MessageError::Malformed(why)) => Err(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use slotmark_chain::Tip;

    use super::*;
    use crate::mux::frame;

    /// A roll-forward with a block of this size, which needn't be one.
    fn forward(length: usize, tip: &Tip) -> Vec<u8> {
        let mut message = vec![0x83, 0x02, 0xd8, 0x18, 0x5a];
        message.extend((length as u32).to_be_bytes());
        message.extend(std::iter::repeat_n(0xab, length));
        crate::message::put_tip(&mut message, tip);
        message
    }

    fn reply(reply: &chain_sync::Reply, tip: &Tip) -> Vec<u8> {
        let mut message = Vec::new();
        reply.encode(&mut message, tip);
        message
    }

    fn watched(wire: &[u8], reads: &[usize]) -> Vec<What> {
        let (mut watch, mut seen, mut at) = (Watch::default(), Vec::new(), 0);
        for (number, read) in reads.iter().copied().chain(std::iter::repeat(usize::MAX)).enumerate() {
            let end = at + read.min(wire.len() - at);
            let now = 10 * number as u64;
            watch.bytes(&wire[at..end], now, now + 3, &mut |what| seen.push(what));
            at = end;
            if at == wire.len() {
                break;
            }
        }
        seen
    }

    proptest! {
        #[test]
        fn messages_are_found_wherever_reads_and_segments_cut_them(
            lengths in proptest::collection::vec(0usize..30_000, 1..5), reads in proptest::collection::vec(1usize..20_000, 0..40),
        ) {
            let to = Point::Block { slot: 9, hash: [7; 32] };
            let tip = Tip { point: to, block_no: 8 };
            let mut wire = Vec::new();
            for &length in &lengths {
                frame(&mut wire, chain_sync::WITH_CLIENTS, true, &[&reply(&chain_sync::Reply::AwaitReply, &tip)]);
                frame(&mut wire, crate::protocols::keep_alive::NUMBER, true, &[&[0x82, 0x01, 0x00]]);
                frame(&mut wire, chain_sync::WITH_CLIENTS, true, &[&forward(length, &tip)]);
                frame(&mut wire, chain_sync::WITH_CLIENTS, true, &[&forward(length, &tip), &reply(&chain_sync::Reply::RollBackward(to), &tip)]);
            }
            let seen = watched(&wire, &reads);
            prop_assert_eq!(seen.len(), 4 * lengths.len());
            let mut last = 0;
            for (four, &length) in seen.chunks(4).zip(&lengths) {
                let [What::Await { .. }, What::Forward { times, awaited: true, message }, What::Forward { awaited: false, .. }, What::Backward { to: back, .. }] = four else {
                    return Err(TestCaseError::fail(format!("{four:?}")));
                };
                prop_assert_eq!(message, &forward(length, &tip));
                prop_assert_eq!(*back, to);
                prop_assert!(last <= times.first_ns && times.first_ns <= times.last_ns && times.held_ns == 3);
                last = times.last_ns;
            }
        }

        #[test]
        fn no_bytes_make_it_panic(wire in proptest::collection::vec(any::<u8>(), 0..400), reads in proptest::collection::vec(1usize..50, 0..9)) {
            let _ = watched(&wire, &reads);
        }
    }

    #[test]
    fn a_message_is_stamped_by_the_reads_of_its_first_and_last_byte() {
        let tip = Tip { point: Point::Origin, block_no: 0 };
        let mut wire = Vec::new();
        frame(&mut wire, chain_sync::WITH_CLIENTS, true, &[&forward(100, &tip)]);
        let length = wire.len();
        let [What::Forward { times, .. }] = watched(&wire, &[8, 1, 50, length - 60])[..] else { panic!() };
        assert_eq!(times, Times { first_ns: 10, last_ns: 40, held_ns: 3 });
    }

    #[test]
    fn what_is_no_message_ends_the_watch_with_a_reason() {
        let mut wire = Vec::new();
        frame(&mut wire, block_fetch::NUMBER, true, &[&[0x84, 0x09, 0x00]]);
        frame(&mut wire, chain_sync::WITH_CLIENTS, true, &[&[0x81, 0x01]]);
        let seen = watched(&wire, &[]);
        assert!(matches!(&seen[..], [What::Unreadable { why, .. }] if why.contains("protocol 3")), "{seen:?}");
    }
}
