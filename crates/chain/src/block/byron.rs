//! Byron's blocks: main blocks and epoch boundary blocks.

use blake2b_simd::Params;

use super::era::Era;
use super::header::{Header, header_hash};
use super::parts::{Input, Output, Parts, Transaction};
use crate::cbor::{Cursor, DecodeError, Span};
use crate::hash::blake2b_256;
use crate::point::Hash32;

const SLOTS_AN_EPOCH: u64 = 21_600;

/// `[header, body, extra]`.
pub(super) fn block<'a>(cursor: &mut Cursor<'a>, bytes: &'a [u8], era: Era, parts: &mut Parts) -> Result<Header<'a>, DecodeError> {
    let expected = "a Byron block of three parts";
    let block = cursor.array_of(3, expected)?;
    let header = header(cursor, bytes, era)?;
    if era == Era::ByronBoundary {
        cursor.skip()?;
    } else {
        let body = cursor.array_of(4, "a Byron body of four payloads")?;
        let mut payload = cursor.array("Byron transactions")?;
        while payload.next(cursor)? {
            transaction(cursor, parts)?;
        }
        for _ in 0..3 {
            cursor.skip()?; // shared seed computation, delegations, updates
        }
        body.finish(cursor, "a Byron body of four payloads")?;
    }
    cursor.skip()?;
    block.finish(cursor, expected)?;
    Ok(header)
}

/// `[magic, previous, body proof, consensus data, extra]`.
pub(super) fn header<'a>(cursor: &mut Cursor<'a>, bytes: &'a [u8], era: Era) -> Result<Header<'a>, DecodeError> {
    let start = cursor.position();
    let expected = "a Byron header of five fields";
    let whole = cursor.array_of(5, expected)?;
    cursor.uint("a network magic")?;
    let prev_hash = *cursor.bytes_of::<32>("the hash of the header before")?;
    cursor.skip()?;
    let (slot, block_no) = if era == Era::ByronBoundary {
        let data = cursor.array_of(2, "a boundary block's epoch and difficulty")?;
        let epoch = cursor.uint("an epoch")?;
        let difficulty = difficulty(cursor)?;
        data.finish(cursor, expected)?;
        (epoch.saturating_mul(SLOTS_AN_EPOCH), difficulty)
    } else {
        let data = cursor.array_of(4, "a Byron block's consensus data of four fields")?;
        let id = cursor.array_of(2, "a slot, as [epoch, slot]")?;
        let (epoch, slot) = (cursor.uint("an epoch")?, cursor.uint("a slot of an epoch")?);
        id.finish(cursor, expected)?;
        cursor.skip()?;
        let difficulty = difficulty(cursor)?;
        cursor.skip()?;
        data.finish(cursor, expected)?;
        (epoch.saturating_mul(SLOTS_AN_EPOCH).saturating_add(slot), difficulty)
    };
    let protocol_version = if era == Era::ByronBoundary {
        cursor.skip()?;
        (0, 0)
    } else {
        let extra = cursor.array_of(4, "a Byron header's extra data of four fields")?;
        let version = cursor.array_of(3, "a Byron protocol version of three numbers")?;
        let (major, minor) = (cursor.uint("a protocol version")?, cursor.uint("a protocol version")?);
        cursor.skip()?;
        version.finish(cursor, expected)?;
        for _ in 0..3 {
            cursor.skip()?;
        }
        extra.finish(cursor, expected)?;
        (major, minor)
    };
    whole.finish(cursor, expected)?;
    Ok(Header {
        span: cursor.span_from(start),
        era,
        block_no,
        slot,
        hash: header_hash(era, &bytes[start..cursor.position()]),
        prev_hash: Some(prev_hash),
        issuer: None,
        vrf_key: None,
        vrf: [None, None],
        body_size: None,
        body_hash: None,
        certificate: None,
        protocol_version,
        signed: None,
        signature: None,
    })
}

fn difficulty(cursor: &mut Cursor<'_>) -> Result<u64, DecodeError> {
    let expected = "a difficulty, as [number]";
    let difficulty = cursor.array_of(1, expected)?;
    let number = cursor.uint(expected)?;
    difficulty.finish(cursor, expected)?;
    Ok(number)
}

/// Returns whether the body and the extra data of a Byron block have the hashes that its header holds.
///
/// Of a main block these are the number of transactions, their Merkle root, the hash of their witnesses, and the hashes of
/// delegations, updates and extra data; of a boundary block the hash of the body. The shared seed computation is left out, as
/// cardano-ledger leaves it out (`recoverProof` in `Cardano.Chain.Block.Proof`; `Cardano.Chain.Common.Merkle`).
pub(super) fn body_is_proven(bytes: &[u8], header: Span, era: Era) -> Result<bool, DecodeError> {
    let expected = "a Byron header that was decoded before";
    let mut cursor = Cursor::new(&bytes[..header.end as usize]);
    cursor.advance(header.start as usize);
    cursor.array(expected)?;
    cursor.skip()?; // magic
    cursor.skip()?; // previous
    let mut body = Cursor::new(bytes);
    body.advance(header.end as usize);
    if era == Era::ByronBoundary {
        let proof = cursor.bytes_of::<32>(expected)?;
        return Ok(blake2b_256(&[body.skip()?.of(bytes)]) == *proof);
    }
    cursor.array(expected)?;
    cursor.array(expected)?;
    let (count, root, witnesses) = (cursor.uint(expected)?, cursor.bytes_of::<32>(expected)?, cursor.bytes_of::<32>(expected)?);
    cursor.skip()?; // shared seed computation
    let (delegations, updates) = (cursor.bytes_of::<32>(expected)?, cursor.bytes_of::<32>(expected)?);
    cursor.skip()?; // consensus data
    cursor.array(expected)?;
    for _ in 0..3 {
        cursor.skip()?; // versions and attributes
    }
    let extra = cursor.bytes_of::<32>(expected)?;

    let payloads = body.array_of(4, expected)?;
    let mut leaves = Vec::new();
    let mut signed = Params::new().hash_length(32).to_state();
    signed.update(&[0x9f]);
    let mut transactions = body.array(expected)?;
    while transactions.next(&mut body)? {
        let pair = body.array_of(2, expected)?;
        leaves.push(blake2b_256(&[&[0], body.skip()?.of(bytes)]));
        signed.update(body.skip()?.of(bytes));
        pair.finish(&mut body, expected)?;
    }
    signed.update(&[0xff]);
    body.skip()?; // shared seed computation
    let (delegated, updated) = (blake2b_256(&[body.skip()?.of(bytes)]), blake2b_256(&[body.skip()?.of(bytes)]));
    payloads.finish(&mut body, expected)?;
    Ok(leaves.len() as u64 == count
        && merkle_root(&leaves) == *root
        && signed.finalize().as_bytes() == witnesses
        && delegated == *delegations
        && updated == *updates
        && blake2b_256(&[body.skip()?.of(bytes)]) == *extra)
}

/// The root over hashed leaves: of more than one, the greatest power of two below their number is on the left.
fn merkle_root(leaves: &[Hash32]) -> Hash32 {
    match leaves {
        [] => blake2b_256(&[]),
        [leaf] => *leaf,
        _ => {
            let (left, right) = leaves.split_at(leaves.len().next_power_of_two() / 2);
            blake2b_256(&[&[1], &merkle_root(left), &merkle_root(right)])
        }
    }
}

/// `[[inputs, outputs, attributes], witnesses]`.
fn transaction(cursor: &mut Cursor<'_>, parts: &mut Parts) -> Result<(), DecodeError> {
    let expected = "a Byron transaction, as [[inputs, outputs, attributes], witnesses]";
    let pair = cursor.array_of(2, expected)?;
    let (first_input, first_output, start) = (parts.inputs.len(), parts.outputs.len(), cursor.position());
    let body = cursor.array_of(3, expected)?;
    let mut inputs = cursor.array("Byron inputs")?;
    while inputs.next(cursor)? {
        parts.inputs.push(input(cursor)?);
    }
    let mut outputs = cursor.array("Byron outputs")?;
    while outputs.next(cursor)? {
        let expected = "a Byron output, as [address, coin]";
        let start = cursor.position();
        let output = cursor.array_of(2, expected)?;
        let address = cursor.skip()?;
        let lovelace = cursor.uint("lovelace")?;
        output.finish(cursor, expected)?;
        parts.outputs.push(Output { encoded: cursor.span_from(start), address, lovelace, ..Output::default() });
    }
    cursor.skip()?;
    body.finish(cursor, expected)?;
    let body = cursor.span_from(start);
    cursor.skip()?;
    pair.finish(cursor, expected)?;
    parts.transactions.push(Transaction {
        body,
        inputs: first_input as u32..parts.inputs.len() as u32,
        outputs: first_output as u32..parts.outputs.len() as u32,
        ..Transaction::default()
    });
    Ok(())
}

/// `[0, 24(bytes([transaction, index]))]`, or a kind that came later as any item.
fn input(cursor: &mut Cursor<'_>) -> Result<Input, DecodeError> {
    let expected = "a Byron input, as [kind, 24(bytes)]";
    let pair = cursor.array_of(2, expected)?;
    let kind = cursor.uint(expected)?;
    let input = if kind == 0 {
        cursor.tag(24, expected)?;
        let end = cursor.open_bytes(expected)?;
        let inner = cursor.array_of(2, "[transaction, index]")?;
        cursor.bytes_of::<32>("a transaction's hash of 32 bytes")?;
        let transaction = cursor.position() as u32 - 32;
        let index = cursor.uint("an output's index")?;
        inner.finish(cursor, "[transaction, index]")?;
        if cursor.position() != end {
            return cursor.error("the end of a Byron input");
        }
        Input { transaction, index }
    } else {
        let at = cursor.skip()?;
        Input { transaction: at.start, index: u64::MAX }
    };
    pair.finish(cursor, expected)?;
    Ok(input)
}
