//! Multiplexing: segments (SDUs) of mini-protocols' byte streams over one connection.
//!
//! A segment is an 8-byte header (a timestamp that receivers ignore, the direction and protocol, the length; all
//! big-endian) and its payload. A protocol's payloads are one stream: a message may span segments, and a segment
//! may hold several. Facts from the network specification of ouroboros-network.

use std::ops::Range;
use std::time::Instant;

/// Bytes of a segment's header.
pub const HEADER_BYTES: usize = 8;
/// The largest payload that cardano-node sends over a socket.
pub const MAX_SENT: usize = 12_288;

/// A segment's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The mini-protocol's number.
    pub protocol: u16,
    /// True where the protocol's responder (the server) sent it.
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

/// A stream of segments as it comes in, cut anywhere: the one reader of the mux. It holds no payload.
#[derive(Default)]
pub struct Segments {
    /// The beginning of a header that isn't whole, and how many bytes it has.
    begun: ([u8; HEADER_BYTES], usize),
    /// The segment whose payload is coming, and the bytes of it that aren't here yet.
    open: Option<(Header, usize)>,
    since: Option<Instant>,
}

impl Segments {
    /// Takes the next piece of payload off `wire`, with its segment's header; None where all is taken.
    ///
    /// A segment gives a piece as soon as its header is whole, which may be empty, and one for each read that has more of its payload.
    #[inline]
    pub fn next<'w>(&mut self, wire: &mut &'w [u8]) -> Option<(Header, &'w [u8])> {
        let (header, left) = match self.open {
            Some(_) if wire.is_empty() => return None,
            Some(open) => open,
            None => {
                let header = self.header(wire)?;
                (header, usize::from(header.length))
            }
        };
        let (now, later) = wire.split_at(left.min(wire.len()));
        *wire = later;
        let left = left - now.len();
        if left > 0 {
            self.open = Some((header, left));
        } else {
            (self.open, self.since) = (None, None);
        }
        Some((header, now))
    }

    #[inline]
    fn header(&mut self, wire: &mut &[u8]) -> Option<Header> {
        let (begun, have) = &mut self.begun;
        if *have == 0
            && let Some(header) = Header::decode(wire)
        {
            *wire = &wire[HEADER_BYTES..];
            return Some(header);
        }
        let (now, later) = wire.split_at((HEADER_BYTES - *have).min(wire.len()));
        begun[*have..*have + now.len()].copy_from_slice(now);
        *have += now.len();
        *wire = later;
        if *have < HEADER_BYTES {
            return None;
        }
        *have = 0;
        Header::decode(begun)
    }

    /// Returns when an incomplete segment was first seen, where there is one; to be called with the time after each read.
    pub fn unfinished_since(&mut self, now: Instant) -> Option<Instant> {
        let within = self.open.is_some() || self.begun.1 > 0;
        within.then(|| *self.since.get_or_insert(now))
    }
}

/// The last read of a connection, and its payloads one by one.
pub struct Received {
    bytes: Vec<u8>,
    unread: Range<usize>,
    segments: Segments,
}

impl Received {
    /// Room for this many bytes at once.
    pub fn new(bytes: usize) -> Self {
        Self { bytes: vec![0; bytes], unread: 0..0, segments: Segments::default() }
    }

    /// Returns the place to read to, once all that was read before is taken.
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Notes how many bytes were read.
    pub fn filled(&mut self, read: usize) {
        self.unread = 0..read;
    }

    /// The next payload that is here, with its segment's header.
    #[inline]
    pub fn payload(&mut self) -> Option<(Header, &[u8])> {
        let mut wire = &self.bytes[self.unread.clone()];
        let piece = self.segments.next(&mut wire);
        self.unread.start = self.unread.end - wire.len();
        piece
    }

    /// As [`Segments::unfinished_since`].
    pub fn unfinished_since(&mut self, now: Instant) -> Option<Instant> {
        self.segments.unfinished_since(now)
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
    use std::time::Duration;

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_header_is_the_specified_bytes() {
        let header = Header { protocol: crate::protocols::chain_sync::WITH_CLIENTS, from_responder: true, length: 0x0102 };
        assert_eq!(header.encode(), [0, 0, 0, 0, 0x80, 5, 1, 2]);
        assert_eq!(Header::decode(&header.encode()), Some(header));
        assert_eq!(Header::decode(&[0; 7]), None);
    }

    #[test]
    fn a_segment_gives_its_header_at_once_and_its_payload_as_it_comes() {
        let header = Header { protocol: 5, from_responder: false, length: 3 };
        let empty = Header { length: 0, ..header };
        let wire = [&header.encode()[..], &[1, 2, 3], &empty.encode()].concat();
        let (mut segments, began) = (Segments::default(), Instant::now());
        assert_eq!(segments.unfinished_since(began), None);
        let mut taken = Vec::new();
        for (number, end) in [(0, 5), (5, 8), (8, 10), (10, 12), (12, 19)].into_iter().enumerate() {
            let mut read = &wire[end.0..end.1];
            while let Some((header, payload)) = segments.next(&mut read) {
                taken.push((number, header.length, payload.to_vec()));
            }
            let since = segments.unfinished_since(began + Duration::from_secs(number as u64));
            // A segment that isn't whole is one from its first byte on; the second began in the fourth read.
            assert_eq!(since, [Some(began), Some(began), Some(began), Some(began + Duration::from_secs(3)), None][number]);
        }
        assert_eq!(taken, [(1, 3, vec![]), (2, 3, vec![1, 2]), (3, 3, vec![3]), (4, 0, vec![])]);
    }

    proptest! {
        #[test]
        fn framed_parts_come_back_as_one_stream_wherever_reads_cut_them(
            parts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..30_000), 0..4),
            reads in proptest::collection::vec(0usize..20_000, 0..40),
        ) {
            let slices: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
            let mut wire = Vec::new();
            frame(&mut wire, 3, true, &slices);
            let (mut segments, mut stream, mut at) = (Segments::default(), Vec::new(), 0);
            let now = Instant::now();
            for read in reads.into_iter().chain(std::iter::repeat(usize::MAX)) {
                let mut rest = &wire[at..at + read.min(wire.len() - at)];
                at += rest.len();
                while let Some((header, payload)) = segments.next(&mut rest) {
                    prop_assert!(header.length > 0 && usize::from(header.length) <= MAX_SENT && header.from_responder && header.protocol == 3);
                    stream.extend_from_slice(payload);
                }
                prop_assert!(rest.is_empty());
                if at == wire.len() {
                    break;
                }
            }
            prop_assert_eq!(segments.unfinished_since(now), None);
            prop_assert_eq!(stream, parts.concat());
        }
    }
}
