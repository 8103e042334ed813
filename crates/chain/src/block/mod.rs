//! Decoding blocks of every era, without copying and without allocating for each block.
//!
//! A [`Decoder`] keeps its buffers from block to block. What has a structure of its own that isn't counted (certificates,
//! Plutus data, scripts, metadata) is checked to be well-formed and kept as a [`Span`]. Encodings follow the CDDL
//! of cardano-ledger's eras; definite and indefinite lengths, tagged and untagged sets, and both forms of outputs and
//! redeemers are taken.

mod byron;
mod certificate;
mod era;
mod governance;
mod header;
mod parts;
mod transaction;
mod update;

pub use crate::cbor::{DecodeError, Span};
pub use certificate::{Certificate, Credential, DRep, Hash28, PoolTerms};
pub use era::Era;
pub use governance::{ActionId, Answer, GovernanceAction, Proposal, Vote, Voter};
pub use header::{Header, OperationalCertificate, VrfCertificate, header_hash};
pub use parts::{Input, Listing, Output, Redeemer, Transaction, VkeyWitness, Witnesses};
pub use update::{ParameterUpdate, Update};

use std::mem;

use blake2b_simd::Params;

use crate::cbor::Cursor;
use crate::digest::BlockFacts;
use crate::hash::blake2b_256;
use crate::point::Hash32;
use parts::Parts;

/// Decodes one block after the other, with buffers that it keeps.
#[derive(Default)]
pub struct Decoder {
    parts: Parts,
}

/// A decoded block; spans in it are into `bytes`.
pub struct Block<'d, 'a> {
    /// The block as given.
    pub bytes: &'a [u8],
    /// Its header.
    pub header: Header<'a>,
    /// The parts after the header, whose length is to be the header's `body_size`; empty in Byron.
    pub body: Span,
    /// Its transactions, in order.
    pub transactions: &'d [Transaction],
    /// The inputs of all its transactions (body key 0), in order.
    pub inputs: &'d [Input],
    /// The outputs of all its transactions (body key 1), in order.
    pub outputs: &'d [Output],
    /// The key witnesses of all its transactions.
    pub vkeys: &'d [VkeyWitness],
    /// The redeemers of all its transactions.
    pub redeemers: &'d [Redeemer],
    /// Places of the transactions that failed phase 2.
    pub invalid: &'d [u32],
    /// Auxiliary data by transaction, as one map; empty in Byron.
    pub auxiliary: Listing,
    /// Sum of its transactions' fees in lovelace, modulo 2^64.
    pub fees: u64,
}

impl Decoder {
    /// A decoder with empty buffers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Decodes a whole block, `[era, block]`.
    ///
    /// # Errors
    /// The place and what was expected there.
    pub fn decode<'d, 'a>(&'d mut self, bytes: &'a [u8]) -> Result<Block<'d, 'a>, DecodeError> {
        self.parts.clear();
        let mut cursor = Cursor::with_buffer(bytes, mem::take(&mut self.parts.buffer));
        let decoded = block(&mut cursor, bytes, &mut self.parts);
        self.parts.buffer = cursor.into_buffer();
        let Decoded { header, body, auxiliary } = decoded?;
        Ok(Block {
            bytes,
            header,
            body,
            transactions: &self.parts.transactions,
            inputs: &self.parts.inputs,
            outputs: &self.parts.outputs,
            vkeys: &self.parts.vkeys,
            redeemers: &self.parts.redeemers,
            invalid: &self.parts.invalid,
            auxiliary,
            fees: self.parts.fees,
        })
    }
}

impl Block<'_, '_> {
    /// Length of its body in bytes.
    pub fn body_bytes(&self) -> u64 {
        u64::from(self.body.end - self.body.start)
    }

    /// Returns the facts that the digest of `docs/targets.md` folds.
    pub fn facts(&self) -> BlockFacts {
        BlockFacts {
            slot: self.header.slot,
            hash: self.header.hash,
            transactions: self.transactions.len() as u32,
            inputs: self.inputs.len() as u32,
            outputs: self.outputs.len() as u32,
            fees: self.fees,
        }
    }

    /// The inputs of one of a transaction's listings: its collateral, or its reference inputs.
    ///
    /// # Errors
    /// The place and what was expected there.
    pub fn inputs_in(&self, listing: &Listing) -> Result<Vec<Input>, DecodeError> {
        transaction::inputs_at(self.bytes, listing.span)
    }

    /// The auxiliary data of each transaction that has any, by its place among the transactions.
    ///
    /// # Errors
    /// The place and what was expected there.
    pub fn auxiliary_data(&self) -> Result<Vec<(u32, Span)>, DecodeError> {
        transaction::auxiliary_spans(self.bytes, self.auxiliary.span)
    }

    /// A transaction's certificates, in order.
    ///
    /// # Errors
    /// The place and what was expected there.
    pub fn certificates(&self, transaction: &Transaction) -> Result<Vec<Certificate>, DecodeError> {
        Ok(self.numbered_certificates(transaction)?.into_iter().map(|(_, certificate)| certificate).collect())
    }

    /// The same, each with its place among the transaction's certificates: one of Conway's that does several things comes as several with one place.
    ///
    /// # Errors
    /// The place and what was expected there.
    pub fn numbered_certificates(&self, transaction: &Transaction) -> Result<Vec<(u32, Certificate)>, DecodeError> {
        certificate::certificates(self.bytes, transaction.certificates.span)
    }

    /// A transaction's withdrawals: networks and owners of reward accounts, each with lovelace.
    ///
    /// # Errors
    /// The place and what was expected there.
    pub fn withdrawals(&self, transaction: &Transaction) -> Result<Vec<(u8, Credential, u64)>, DecodeError> {
        certificate::withdrawals(self.bytes, transaction.withdrawals.span)
    }

    /// A transaction's proposals of Conway's governance.
    ///
    /// # Errors
    /// The place and what was expected there.
    pub fn proposals(&self, transaction: &Transaction) -> Result<Vec<Proposal>, DecodeError> {
        governance::proposals(self.bytes, transaction.proposals.span)
    }

    /// A transaction's votes on governance actions.
    ///
    /// # Errors
    /// The place and what was expected there.
    pub fn votes(&self, transaction: &Transaction) -> Result<Vec<Vote>, DecodeError> {
        governance::votes(self.bytes, transaction.votes.span)
    }

    /// A transaction's proposed change of parameters; None without one.
    ///
    /// # Errors
    /// The place and what was expected there.
    pub fn update(&self, transaction: &Transaction) -> Result<Option<Update>, DecodeError> {
        transaction.update.map(|span| update::update(self.bytes, span)).transpose()
    }
}

/// Returns whether the body of a block, `[era, block]`, has the hash that its header holds.
///
/// In Byron, the shared seed computation is not covered, since no node checks it.
pub fn body_is_proven(bytes: &[u8], header: &Header<'_>) -> bool {
    match header.body_hash {
        Some(hash) => body_hash(bytes, header).as_ref() == Some(hash),
        None => byron::body_is_proven(bytes, header.span, header.era).unwrap_or_default(),
    }
}

/// The hash of the body as its bytes give it, from Shelley on.
///
/// BLAKE2b-256 over the BLAKE2b-256 hashes of the parts after the header, each as encoded: bodies, witnesses, auxiliary
/// data, and from Alonzo on the places of invalid transactions (`hashTxSeq`, `hashAlonzoTxSeq` of cardano-ledger).
fn body_hash(bytes: &[u8], header: &Header<'_>) -> Option<Hash32> {
    let body = &bytes[header.span.end as usize..];
    let mut cursor = Cursor::new(body);
    let mut whole = Params::new().hash_length(32).to_state();
    for _ in 0..if header.era >= Era::Alonzo { 4 } else { 3 } {
        let part = cursor.skip().ok()?.of(body);
        whole.update(&blake2b_256(&[part]));
    }
    whole.finalize().as_bytes().try_into().ok()
}

/// Decodes only the header of a block, `[era, block]`.
///
/// # Errors
/// The place and what was expected there.
pub fn decode_header(bytes: &[u8]) -> Result<Header<'_>, DecodeError> {
    let mut cursor = Cursor::new(bytes);
    let era = era::open(&mut cursor)?;
    cursor.array("a block's parts")?;
    match era {
        Era::ByronBoundary | Era::Byron => byron::header(&mut cursor, bytes, era),
        _ => header::shelley(&mut cursor, bytes, era),
    }
}

/// Decodes an output on its own, as it is encoded from Shelley on; spans in it are into `bytes`.
///
/// # Errors
/// The place, from the output's beginning, and what was expected there.
pub fn decode_output(bytes: &[u8]) -> Result<Output, DecodeError> {
    transaction::output_alone(bytes)
}

/// Decodes a header on its own, as node-to-node chain-sync sends it.
///
/// # Errors
/// The place, from the header's beginning, and what was expected there.
pub fn decode_header_alone(era: Era, bytes: &[u8]) -> Result<Header<'_>, DecodeError> {
    let mut cursor = Cursor::new(bytes);
    let header = match era {
        Era::ByronBoundary | Era::Byron => byron::header(&mut cursor, bytes, era)?,
        _ => header::shelley(&mut cursor, bytes, era)?,
    };
    if cursor.position() == bytes.len() { Ok(header) } else { cursor.error("the end of the header") }
}

/// The parts of a block that are decoded beside its transactions.
struct Decoded<'a> {
    header: Header<'a>,
    body: Span,
    auxiliary: Listing,
}

/// The whole of `bytes`.
fn block<'a>(cursor: &mut Cursor<'a>, bytes: &'a [u8], parts: &mut Parts) -> Result<Decoded<'a>, DecodeError> {
    if bytes.len() > u32::MAX as usize {
        return cursor.error("a block below 4 GiB"); // spans count in 32 bits
    }
    let era = era::open(cursor)?;
    let decoded = match era {
        Era::ByronBoundary | Era::Byron => {
            Decoded { header: byron::block(cursor, bytes, era, parts)?, body: Span::default(), auxiliary: Listing::default() }
        }
        _ => shelley_block(cursor, bytes, era, parts)?,
    };
    if cursor.position() != bytes.len() {
        return cursor.error("the end of the block");
    }
    Ok(decoded)
}

/// `[header, bodies, witnesses, auxiliary data, invalid]`, the last one from Alonzo on.
fn shelley_block<'a>(cursor: &mut Cursor<'a>, bytes: &'a [u8], era: Era, parts: &mut Parts) -> Result<Decoded<'a>, DecodeError> {
    let expected = "a block of four parts, or five from Alonzo on";
    let block = cursor.array_of(if era >= Era::Alonzo { 5 } else { 4 }, expected)?;
    let header = header::shelley(cursor, bytes, era)?;
    let body_from = cursor.position();

    let mut bodies = cursor.array("transaction bodies")?;
    while bodies.next(cursor)? {
        transaction::body(cursor, parts)?;
    }

    let mut witnesses = cursor.array("witness sets")?;
    let mut place = 0;
    while witnesses.next(cursor)? {
        transaction::witnesses(cursor, parts, place)?;
        place += 1;
    }
    if place != parts.transactions.len() {
        return cursor.error("as many witness sets as transaction bodies");
    }

    let auxiliary = transaction::auxiliary(cursor, parts.transactions.len())?;

    if era >= Era::Alonzo {
        let mut invalid = cursor.array("places of invalid transactions")?;
        while invalid.next(cursor)? {
            let at = cursor.position();
            let expected = "the place of a transaction of this block";
            let place = cursor.uint(expected)?;
            if place >= parts.transactions.len() as u64 {
                return Err(DecodeError { offset: at, expected });
            }
            parts.invalid.push(place as u32);
        }
    }
    let body = cursor.span_from(body_from);
    block.finish(cursor, expected)?;
    Ok(Decoded { header, body, auxiliary })
}
