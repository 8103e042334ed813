//! Transactions of a pool's funds, each of which spends what the one before it made.

use ed25519_dalek::Signer;
use minicbor::Encoder;
use minicbor::data::Tag;
use slotmark_chain::hash::blake2b_256;

use super::{Bed, FUNDS};

/// The tag of a set.
const SET: Tag = Tag::new(258);

/// A pool's funds: one output at one address.
#[derive(Clone)]
pub struct Wallet<'b> {
    pub bed: &'b Bed,
    pub pool: usize,
    /// The transaction that made the output, whose index is 0.
    pub made_by: [u8; 32],
    lovelace: u64,
}

/// A signed transaction.
#[derive(Clone)]
pub struct Signed {
    pub id: [u8; 32],
    pub bytes: Vec<u8>,
}

impl<'b> Wallet<'b> {
    /// The funds as the genesis has them.
    pub fn new(bed: &'b Bed, pool: usize) -> Self {
        Self { bed, pool, made_by: blake2b_256(&[&bed.funds[pool].0]), lovelace: FUNDS }
    }

    /// The address that all of it is at.
    pub fn address(&self) -> &'b [u8] {
        &self.bed.funds[self.pool].0
    }

    /// Sends all the funds to where they are, with this fee and this many lines of metadata, each of 66 bytes.
    pub fn spend(&mut self, fee: u64, lines: usize) -> Signed {
        let (address, key) = &self.bed.funds[self.pool];
        let metadata = write(|e| {
            e.map(1)?.u8(0)?.array(lines as u64)?;
            (0..lines).try_for_each(|_| e.bytes(&[7; 64])?.ok())
        });
        self.lovelace -= fee;
        let body = write(|e| {
            e.map(if lines > 0 { 4 } else { 3 })?;
            e.u8(0)?.tag(SET)?.array(1)?.array(2)?.bytes(&self.made_by)?.u8(0)?;
            e.u8(1)?.array(1)?.map(2)?.u8(0)?.bytes(address)?.u8(1)?.u64(self.lovelace)?;
            e.u8(2)?.u64(fee)?;
            if lines > 0 {
                e.u8(7)?.bytes(&blake2b_256(&[&metadata]))?;
            }
            Ok(())
        });
        let id = blake2b_256(&[&body]);
        let witnesses = write(|e| {
            let signature = key.sign(&id).to_bytes();
            e.map(1)?.u8(0)?.tag(SET)?.array(1)?.array(2)?.bytes(key.verifying_key().as_bytes())?.bytes(&signature)?.ok()
        });
        let metadata = if lines > 0 { metadata } else { vec![0xf6] };
        self.made_by = id;
        Signed { id, bytes: [vec![0x84], body, witnesses, vec![0xf5], metadata].concat() }
    }
}

fn write(run: impl FnOnce(&mut Encoder<&mut Vec<u8>>) -> Result<(), minicbor::encode::Error<std::convert::Infallible>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    run(&mut Encoder::new(&mut bytes)).unwrap();
    bytes
}
