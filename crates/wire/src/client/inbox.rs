//! The input buffer, in which a protocol's stream is put together in place.

use std::io::{self, Read};

use super::ClientError;
use crate::handshake::Side;
use crate::mux::{Header, Segments};
use crate::protocols::{PEER_SHARING, chain_sync, keep_alive, tx_submission};

/// Bytes to ask the socket for at once.
pub(super) const READ_BYTES: usize = 256 << 10;

/// `stream` is what has been put together of the protocol and not taken yet, `raw` what came in behind it.
///
/// A payload that follows an empty stream is used where it lies. One that continues a message is moved up against it,
/// over its own header: the only copy there is, and none where a message has a segment to itself.
pub(super) struct Inbox {
    segments: Segments,
    buffer: Vec<u8>,
    stream: (usize, usize),
    raw: (usize, usize),
}

impl Inbox {
    pub(super) fn new() -> Self {
        Self { segments: Segments::default(), buffer: vec![0; 2 * READ_BYTES], stream: (0, 0), raw: (0, 0) }
    }

    /// Returns the bytes that were put together and are not taken yet.
    #[inline]
    pub(super) fn stream(&self) -> &[u8] {
        &self.buffer[self.stream.0..self.stream.1]
    }

    /// All that came in and wasn't taken, as it came where nothing was put together of it.
    pub(super) fn untaken(&self) -> &[u8] {
        if self.stream.0 < self.stream.1 { self.stream() } else { &self.buffer[self.raw.0..self.raw.1] }
    }

    /// Adds the protocol's next payload to the stream, reading from the socket where it isn't here yet; false at the socket's end.
    #[inline]
    pub(super) fn more(&mut self, protocol: u16, side: Side, bearer: &mut impl Read) -> Result<bool, ClientError> {
        loop {
            let mut wire = &self.buffer[self.raw.0..self.raw.1];
            while let Some((header, payload)) = self.segments.next(&mut wire) {
                check(&header, protocol, side)?;
                let (end, length) = (self.raw.1 - wire.len(), payload.len());
                self.raw.0 = end;
                if header.protocol == protocol && length > 0 {
                    self.append(end - length, end);
                    return Ok(true);
                }
            }
            self.raw.0 = self.raw.1;
            if !self.read(bearer)? {
                return Ok(false);
            }
        }
    }

    #[inline]
    fn append(&mut self, start: usize, end: usize) {
        if self.stream.0 == self.stream.1 {
            self.stream = (start, end);
        } else {
            if start > self.stream.1 {
                self.buffer.copy_within(start..end, self.stream.1);
            }
            self.stream.1 += end - start;
        }
    }

    /// Gives the first bytes of the stream free.
    #[inline]
    pub(super) fn take(&mut self, bytes: usize) {
        self.stream.0 += bytes;
        debug_assert!(self.stream.0 <= self.stream.1);
    }

    /// Reads from the socket; false at its end.
    fn read(&mut self, bearer: &mut impl Read) -> io::Result<bool> {
        self.make_room();
        loop {
            match bearer.read(&mut self.buffer[self.raw.1..]) {
                Ok(0) => return Ok(false),
                Ok(read) => {
                    self.raw.1 += read;
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Leaves room for a read behind what is held, moving it to the front where there isn't.
    fn make_room(&mut self) {
        if self.stream.0 == self.stream.1 && self.raw.0 == self.raw.1 {
            (self.stream, self.raw) = ((0, 0), (0, 0));
            return;
        }
        if self.buffer.len() - self.raw.1 >= READ_BYTES {
            return;
        }
        let (stream, raw) = (self.stream.1 - self.stream.0, self.raw.1 - self.raw.0);
        self.buffer.copy_within(self.stream.0..self.stream.1, 0);
        self.buffer.copy_within(self.raw.0..self.raw.1, stream);
        self.stream = (0, stream);
        self.raw = (stream, stream + raw);
        if self.buffer.len() - self.raw.1 < READ_BYTES {
            self.buffer.resize(self.raw.1 + READ_BYTES, 0);
        }
    }
}

/// Refuses segments that make no sense here.
#[inline]
fn check(header: &Header, protocol: u16, side: Side) -> Result<(), ClientError> {
    if !header.from_responder {
        return Err(ClientError::Protocol { protocol: header.protocol, what: "a segment from the wrong direction".into() });
    }
    // A node may greet us in protocols that we don't use.
    let greeting = matches!(header.protocol, keep_alive::NUMBER | tx_submission::NUMBER | PEER_SHARING | chain_sync::BETWEEN_NODES);
    if header.protocol != protocol && !(side == Side::Node && greeting) {
        return Err(ClientError::Protocol { protocol: header.protocol, what: "an unrequested segment".into() });
    }
    Ok(())
}
