//! A peer that a test plays itself, over a socket: it sends what it is given, right or wrong.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use slotmark_chain::{Point, Tip};
use slotmark_wire::handshake;
use slotmark_wire::mux::{Segments, frame};
use slotmark_wire::protocols::{block_fetch, chain_sync, keep_alive};

use super::{Bed, DEADLINE};

/// The peer's side of one connection that a node dialled.
pub struct Peer {
    stream: TcpStream,
    segments: Segments,
    /// Incomplete messages of each protocol.
    begun: HashMap<u16, Vec<u8>>,
}

/// Listens where nodes look for a peer of this number.
pub fn listen(bed: &Bed, number: usize) -> TcpListener {
    TcpListener::bind((bed.address(number), 3001)).unwrap()
}

impl Peer {
    /// Waits for a node to dial, and takes its handshake: the answer is this version, on this network.
    pub fn accept(listener: &TcpListener, version: u8, magic: u8) -> Self {
        let (stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let mut peer = Self { stream, segments: Segments::default(), begun: HashMap::new() };
        let (number, _) = peer.next().expect("a proposal");
        assert_eq!(number, handshake::NUMBER);
        peer.send(handshake::NUMBER, &[0x83, 1, version, 0x84, 0x18, magic, 0xf4, 0, 0xf4]);
        peer
    }

    /// Sends a message as a protocol's responder.
    pub fn send(&mut self, number: u16, message: &[u8]) {
        let mut wire = Vec::new();
        frame(&mut wire, number, true, &[message]);
        // Where the node has closed the connection, the next read shows it.
        let _ = self.stream.write_all(&wire);
    }

    /// The next message of the node, with its protocol; None where the node has closed the connection.
    pub fn next(&mut self) -> Option<(u16, Vec<u8>)> {
        loop {
            for (number, bytes) in &mut self.begun {
                let mut decoder = minicbor::Decoder::new(bytes);
                if !bytes.is_empty() && decoder.skip().is_ok() {
                    let end = decoder.position();
                    return Some((*number, bytes.drain(..end).collect()));
                }
            }
            let mut more = [0; 4_096];
            match self.stream.read(&mut more) {
                Ok(0) => return None,
                Ok(count) => {
                    let mut wire = &more[..count];
                    while let Some((header, payload)) = self.segments.next(&mut wire) {
                        self.begun.entry(header.protocol).or_default().extend(payload);
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("the node sent nothing: {error}"),
            }
        }
    }

    /// Serves a chain from the origin on until the node closes the connection; `sent` is what goes out in place of each block.
    /// Gives how many blocks were asked for.
    pub fn serve(mut self, blocks: &[Vec<u8>], sent: impl Fn(&[u8]) -> Vec<u8>) -> usize {
        let headers: Vec<_> = blocks.iter().map(|block| slotmark_chain::block::decode_header(block).unwrap()).collect();
        let last = headers.last().unwrap();
        let tip = Tip { point: Point::Block { slot: last.slot, hash: last.hash }, block_no: last.block_no };
        let mut announced = headers.iter().zip(blocks);
        let (mut asked, mut waits) = (0, false);
        while let Some((number, message)) = self.next() {
            let mut reply = Vec::new();
            match number {
                chain_sync::BETWEEN_NODES => match chain_sync::Request::decode(&message).unwrap().0 {
                    chain_sync::Request::FindIntersect(_) => chain_sync::Reply::IntersectFound(Point::Origin).encode(&mut reply, &tip),
                    chain_sync::Request::RequestNext => match announced.next() {
                        Some((header, block)) => reply = roll_forward(header.span.of(block), &tip),
                        None if std::mem::replace(&mut waits, true) => {}
                        None => chain_sync::Reply::AwaitReply.encode(&mut reply, &tip),
                    },
                    chain_sync::Request::Done => {}
                },
                block_fetch::NUMBER => {
                    let block_fetch::Request::Range(Point::Block { hash: from, .. }, Point::Block { hash: to, .. }) =
                        block_fetch::Request::decode(&message).unwrap().0
                    else {
                        panic!("a range of blocks")
                    };
                    let place = |hash| headers.iter().position(|header| header.hash == hash).unwrap();
                    self.send(number, &[0x81, 2]);
                    for block in &blocks[place(from)..=place(to)] {
                        asked += 1;
                        self.send(number, &encoded(&[0x82, 4], &sent(block)));
                    }
                    reply = vec![0x81, 5];
                }
                keep_alive::NUMBER => reply = [&[0x82, 1], &message[2..]].concat(),
                _ => {}
            }
            if !reply.is_empty() {
                self.send(number, &reply);
            }
        }
        asked
    }
}

/// The message that announces a header.
fn roll_forward(header: &[u8], tip: &Tip) -> Vec<u8> {
    let mut message = encoded(&[0x83, 2, 0x82, 6], header);
    let Point::Block { slot, hash } = tip.point else { panic!("a tip") };
    let mut encoder = minicbor::Encoder::new(&mut message);
    encoder.array(2).unwrap().array(2).unwrap().u64(slot).unwrap().bytes(&hash).unwrap().u64(tip.block_no).unwrap();
    message
}

/// CBOR inside CBOR, behind what is given.
fn encoded(before: &[u8], bytes: &[u8]) -> Vec<u8> {
    let mut message = before.to_vec();
    minicbor::Encoder::new(&mut message).tag(minicbor::data::Tag::new(24)).unwrap().bytes(bytes).unwrap();
    message
}
