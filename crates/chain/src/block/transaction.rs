//! Transactions of Shelley and later eras: bodies, witness sets, auxiliary data.

use std::ops::Range;

use super::parts::{Input, Listing, Output, Parts, Redeemer, Transaction, VkeyWitness, Witnesses};
use crate::cbor::{Cursor, DecodeError, Span};

const NONE: Listing = Listing { span: Span { start: 0, end: 0 }, count: 0 };

/// The initial value of every transaction. A constant is copied at once; fields that are set one after the other and then moved cost a tenth of the
/// whole decoding.
const EMPTY: Transaction = Transaction {
    body: NONE.span,
    inputs: 0..0,
    outputs: 0..0,
    fee: 0,
    invalid_hereafter: None,
    invalid_before: None,
    certificates: NONE,
    withdrawals: NONE,
    update: None,
    auxiliary_hash: None,
    mint: NONE,
    script_data_hash: None,
    collateral: NONE,
    required_signers: NONE,
    network: None,
    collateral_return: None,
    total_collateral: None,
    reference_inputs: NONE,
    votes: NONE,
    proposals: NONE,
    treasury: None,
    donation: None,
    witnesses: Witnesses {
        encoded: NONE.span,
        vkeys: 0..0,
        redeemers: 0..0,
        redeemers_encoded: NONE.span,
        native_scripts: NONE,
        bootstrap: NONE,
        plutus_scripts: [NONE; 3],
        datums: NONE,
    },
};

type Result<T> = std::result::Result<T, DecodeError>;

/// A body: a map with small integers as keys.
pub(super) fn body(cursor: &mut Cursor<'_>, parts: &mut Parts) -> Result<()> {
    let start = cursor.position();
    let mut fields = cursor.map("a transaction body")?;
    let Parts { transactions, inputs, outputs, .. } = parts;
    // Filled in its place: a transaction is too large to be moved around for each one.
    transactions.push(EMPTY);
    let Some(transaction) = transactions.last_mut() else { unreachable!("one was just pushed") };
    transaction.inputs = end(inputs);
    transaction.outputs = end(outputs);
    let mut seen = 0u32;
    while fields.next(cursor)? {
        let at = cursor.position();
        let key = cursor.uint("a key of a transaction body")?;
        match key {
            0 => transaction.inputs = take_inputs(cursor, inputs)?,
            1 => transaction.outputs = take_outputs(cursor, outputs)?,
            2 => transaction.fee = cursor.uint("a fee")?,
            3 => transaction.invalid_hereafter = Some(cursor.uint("a slot")?),
            4 => transaction.certificates = list(cursor, "certificates")?,
            5 => transaction.withdrawals = entries(cursor, "withdrawals")?,
            6 => transaction.update = Some(cursor.skip()?),
            7 => transaction.auxiliary_hash = Some(hash(cursor, "the auxiliary data's hash")?),
            8 => transaction.invalid_before = Some(cursor.uint("a slot")?),
            9 => transaction.mint = entries(cursor, "minted assets")?,
            11 => transaction.script_data_hash = Some(hash(cursor, "the script data's hash")?),
            13 => transaction.collateral = list(cursor, "collateral")?,
            14 => transaction.required_signers = list(cursor, "required signers")?,
            15 => transaction.network = Some(cursor.uint("a network id")?),
            16 => transaction.collateral_return = Some(output(cursor)?),
            17 => transaction.total_collateral = Some(cursor.uint("lovelace")?),
            18 => transaction.reference_inputs = list(cursor, "reference inputs")?,
            19 => transaction.votes = entries(cursor, "votes")?,
            20 => transaction.proposals = list(cursor, "proposals")?,
            21 => transaction.treasury = Some(cursor.uint("lovelace")?),
            22 => transaction.donation = Some(cursor.uint("lovelace")?),
            _ => return Err(DecodeError { offset: at, expected: "a known key of a transaction body" }),
        }
        if seen & 1 << key != 0 {
            return Err(DecodeError { offset: at, expected: "each key of a transaction body once" });
        }
        seen |= 1 << key;
    }
    if seen & 0b111 != 0b111 {
        return Err(DecodeError { offset: start, expected: "a transaction body with inputs, outputs and a fee" });
    }
    transaction.body = cursor.span_from(start);
    parts.fees = parts.fees.wrapping_add(transaction.fee);
    Ok(())
}

fn end<T>(items: &[T]) -> Range<u32> {
    items.len() as u32..items.len() as u32
}

#[inline(always)]
fn take_inputs(cursor: &mut Cursor<'_>, inputs: &mut Vec<Input>) -> Result<Range<u32>> {
    let first = inputs.len() as u32;
    let mut items = cursor.set("inputs")?;
    while items.next(cursor)? {
        // Nearly every input is [bytes(32), a small index]: seen at once, without a head for each part.
        if let Some([0x82, 0x58, 0x20, id_and_index @ ..]) = cursor.rest().first_chunk::<36>()
            && id_and_index[32] < 24
        {
            inputs.push(Input { transaction: cursor.position() as u32 + 3, index: u64::from(id_and_index[32]) });
            cursor.advance(36);
            continue;
        }
        inputs.push(any_input(cursor)?);
    }
    Ok(first..inputs.len() as u32)
}

/// The inputs of a set that was checked to be well-formed; none for an empty span.
pub(super) fn inputs_at(bytes: &[u8], span: Span) -> Result<Vec<Input>> {
    let mut inputs = Vec::new();
    if let Some(mut cursor) = Cursor::at(bytes, span) {
        take_inputs(&mut cursor, &mut inputs)?;
    }
    Ok(inputs)
}

fn any_input(cursor: &mut Cursor<'_>) -> Result<Input> {
    let expected = "an input, as [transaction, index]";
    let pair = cursor.array_of(2, expected)?;
    cursor.bytes_of::<32>("a transaction's id of 32 bytes")?;
    let transaction = cursor.position() as u32 - 32;
    let index = cursor.uint("an output's index")?;
    pair.finish(cursor, expected)?;
    Ok(Input { transaction, index })
}

#[inline(always)]
fn take_outputs(cursor: &mut Cursor<'_>, outputs: &mut Vec<Output>) -> Result<Range<u32>> {
    let first = outputs.len() as u32;
    let mut items = cursor.array("outputs")?;
    while items.next(cursor)? {
        if let Some(plain) = plain_output(cursor) {
            outputs.push(plain);
        } else {
            outputs.push(output(cursor)?);
        }
    }
    Ok(first..outputs.len() as u32)
}

/// `{0: address, 1: lovelace}` or `[address, lovelace]` with an address of 24 to 255 bytes: most outputs. Takes nothing where it isn't.
#[inline(always)]
fn plain_output(cursor: &mut Cursor<'_>) -> Option<Output> {
    let (length, before, tail) = match cursor.rest() {
        [0xa2, 0x00, 0x58, length, tail @ ..] => (usize::from(*length), 4, tail.get(usize::from(*length)..)?.strip_prefix(&[0x01])?),
        [0x82, 0x58, length, tail @ ..] => (usize::from(*length), 3, tail.get(usize::from(*length)..)?),
        _ => return None,
    };
    let (lovelace, behind) = lovelace(tail)?;
    let start = cursor.position();
    let address = Span { start: (start + before) as u32, end: (start + before + length) as u32 };
    cursor.advance(cursor.rest().len() - behind);
    Some(Output { encoded: cursor.span_from(start), address, lovelace, ..Output::default() })
}

/// Lovelace in four or eight bytes at the beginning of `bytes`, and how many bytes come behind.
#[inline(always)]
fn lovelace(bytes: &[u8]) -> Option<(u64, usize)> {
    match bytes {
        [0x1b, a, b, c, d, e, f, g, h, behind @ ..] => Some((u64::from_be_bytes([*a, *b, *c, *d, *e, *f, *g, *h]), behind.len())),
        [0x1a, a, b, c, d, behind @ ..] => Some((u64::from(u32::from_be_bytes([*a, *b, *c, *d])), behind.len())),
        _ => None,
    }
}

/// `[address, value, ? datum hash]`, or from Babbage on `{0: address, 1: value, ? 2: datum, ? 3: script}`.
fn output(cursor: &mut Cursor<'_>) -> Result<Output> {
    let at = cursor.position();
    let expected = "an output";
    let mut output = Output::default();
    match cursor.peek().map(|initial| initial >> 5) {
        Some(4) => {
            let mut fields = cursor.array(expected)?;
            for _ in 0..2 {
                if !fields.next(cursor)? {
                    return Err(DecodeError { offset: at, expected: "an output with an address and a value" });
                }
                if output.address == Span::default() { output.address = cursor.bytes("an address")? } else { value(cursor, &mut output)? }
            }
            if fields.next(cursor)? {
                output.datum = Some(hash(cursor, "a datum's hash")?);
                fields.end(cursor, "an output of at most three fields")?;
            }
        }
        Some(5) => {
            let mut fields = cursor.map(expected)?;
            let mut seen = 0;
            while fields.next(cursor)? {
                let key = cursor.uint("a key of an output")?;
                match key {
                    0 => output.address = cursor.bytes("an address")?,
                    1 => value(cursor, &mut output)?,
                    2 => output.datum = Some(cursor.skip()?),
                    3 => output.script = Some(cursor.skip()?),
                    _ => return cursor.error("a key of an output from 0 to 3"),
                }
                if seen & 1 << key != 0 {
                    return cursor.error("each key of an output once");
                }
                seen |= 1 << key;
            }
            if seen & 0b11 != 0b11 {
                return Err(DecodeError { offset: at, expected: "an output with an address and a value" });
            }
        }
        _ => return cursor.error(expected),
    }
    output.encoded = cursor.span_from(at);
    Ok(output)
}

/// An output on its own.
pub(super) fn output_alone(bytes: &[u8]) -> Result<Output> {
    let mut cursor = Cursor::new(bytes);
    let output = output(&mut cursor)?;
    if cursor.position() == bytes.len() { Ok(output) } else { cursor.error("the end of the output") }
}

/// Lovelace, or `[lovelace, assets]`.
fn value(cursor: &mut Cursor<'_>, output: &mut Output) -> Result<()> {
    if cursor.peek().is_some_and(|initial| initial >> 5 == 0) {
        output.lovelace = cursor.uint("lovelace")?;
        return Ok(());
    }
    let expected = "a value: lovelace, or [lovelace, assets]";
    let pair = cursor.array_of(2, expected)?;
    output.lovelace = cursor.uint("lovelace")?;
    output.assets = Some(entries(cursor, "assets")?.span);
    pair.finish(cursor, expected)
}

fn hash(cursor: &mut Cursor<'_>, expected: &'static str) -> Result<Span> {
    cursor.bytes_of::<32>(expected)?;
    let end = cursor.position();
    Ok(Span { start: end as u32 - 32, end: end as u32 })
}

/// An array or set of anything.
fn list(cursor: &mut Cursor<'_>, expected: &'static str) -> Result<Listing> {
    let start = cursor.position();
    let mut items = cursor.set(expected)?;
    let mut count = 0;
    while items.next(cursor)? {
        cursor.skip()?;
        count += 1;
    }
    Ok(Listing { span: cursor.span_from(start), count })
}

/// A map of anything.
fn entries(cursor: &mut Cursor<'_>, expected: &'static str) -> Result<Listing> {
    let start = cursor.position();
    let mut items = cursor.map(expected)?;
    let mut count = 0;
    while items.next(cursor)? {
        cursor.skip()?;
        cursor.skip()?;
        count += 1;
    }
    Ok(Listing { span: cursor.span_from(start), count })
}

/// A witness set: a map with small integers as keys. It belongs to the transaction at `place`.
pub(super) fn witnesses(cursor: &mut Cursor<'_>, parts: &mut Parts, place: usize) -> Result<()> {
    let Parts { transactions, vkeys, redeemers, .. } = parts;
    let Some(transaction) = transactions.get_mut(place) else {
        return cursor.error("as many witness sets as transaction bodies");
    };
    let set = &mut transaction.witnesses;
    set.vkeys = end(vkeys);
    set.redeemers = end(redeemers);
    let start = cursor.position();
    let mut fields = cursor.map("a witness set")?;
    let mut seen = 0u8;
    while fields.next(cursor)? {
        let at = cursor.position();
        let key = cursor.uint("a key of a witness set")?;
        match key {
            0 => set.vkeys = take_vkeys(cursor, vkeys)?,
            1 => set.native_scripts = list(cursor, "native scripts")?,
            2 => set.bootstrap = list(cursor, "bootstrap witnesses")?,
            3 => set.plutus_scripts[0] = list(cursor, "Plutus scripts")?,
            4 => set.datums = list(cursor, "datums")?,
            5 => {
                set.redeemers = take_redeemers(cursor, redeemers)?;
                set.redeemers_encoded = cursor.span_from(at + 1);
            }
            6 => set.plutus_scripts[1] = list(cursor, "Plutus scripts")?,
            7 => set.plutus_scripts[2] = list(cursor, "Plutus scripts")?,
            _ => return Err(DecodeError { offset: at, expected: "a key of a witness set from 0 to 7" }),
        }
        if seen & 1 << key != 0 {
            return Err(DecodeError { offset: at, expected: "each key of a witness set once" });
        }
        seen |= 1 << key;
    }
    set.encoded = cursor.span_from(start);
    Ok(())
}

#[inline(always)]
fn take_vkeys(cursor: &mut Cursor<'_>, vkeys: &mut Vec<VkeyWitness>) -> Result<Range<u32>> {
    let first = vkeys.len() as u32;
    let mut items = cursor.set("key witnesses")?;
    while items.next(cursor)? {
        if let Some([0x82, 0x58, 0x20, key_and_signature @ ..]) = cursor.rest().first_chunk::<101>()
            && key_and_signature[32..34] == [0x58, 0x40]
        {
            let key = cursor.position() as u32 + 3;
            vkeys.push(VkeyWitness { key, signature: key + 34 });
            cursor.advance(101);
            continue;
        }
        vkeys.push(any_vkey(cursor)?);
    }
    Ok(first..vkeys.len() as u32)
}

fn any_vkey(cursor: &mut Cursor<'_>) -> Result<VkeyWitness> {
    let expected = "a key witness, as [key, signature]";
    let pair = cursor.array_of(2, expected)?;
    cursor.bytes_of::<32>("a key of 32 bytes")?;
    let key = cursor.position() as u32 - 32;
    cursor.bytes_of::<64>("a signature of 64 bytes")?;
    let signature = cursor.position() as u32 - 64;
    pair.finish(cursor, expected)?;
    Ok(VkeyWitness { key, signature })
}

/// `[[purpose, index, data, units], …]`, or from Conway on `{[purpose, index]: [data, units]}`.
fn take_redeemers(cursor: &mut Cursor<'_>, redeemers: &mut Vec<Redeemer>) -> Result<Range<u32>> {
    let first = redeemers.len() as u32;
    let expected = "redeemers";
    let as_map = cursor.peek().is_some_and(|initial| initial >> 5 == 5);
    let mut items = if as_map { cursor.map(expected)? } else { cursor.set(expected)? };
    while items.next(cursor)? {
        let key = cursor.array_of(if as_map { 2 } else { 4 }, "a redeemer")?;
        let purpose = cursor.uint("a redeemer's purpose")?.min(255) as u8;
        let index = cursor.uint("a redeemer's index")?.min(u64::from(u32::MAX)) as u32;
        let value = if as_map {
            key.finish(cursor, "a redeemer's key")?;
            cursor.array_of(2, "a redeemer's data and units")?
        } else {
            key
        };
        let data = cursor.skip()?;
        let units = cursor.array_of(2, "execution units, as [memory, steps]")?;
        let (memory, steps) = (cursor.uint("memory units")?, cursor.uint("steps")?);
        units.finish(cursor, "execution units, as [memory, steps]")?;
        value.finish(cursor, "a redeemer")?;
        redeemers.push(Redeemer { purpose, index, data, memory, steps });
    }
    Ok(first..redeemers.len() as u32)
}

/// Returns the place of the auxiliary data of each transaction that has any, from the map that [`auxiliary`] checked.
pub(super) fn auxiliary_spans(bytes: &[u8], span: Span) -> Result<Vec<(u32, Span)>> {
    let mut spans = Vec::new();
    if let Some(mut cursor) = Cursor::at(bytes, span) {
        let mut items = cursor.map("auxiliary data by transaction")?;
        while items.next(&mut cursor)? {
            let place = cursor.uint("the place of a transaction of this block")?;
            spans.push((place as u32, cursor.skip()?));
        }
    }
    Ok(spans)
}

/// Auxiliary data, by the place of its transaction among all.
pub(super) fn auxiliary(cursor: &mut Cursor<'_>, transactions: usize) -> Result<Listing> {
    let start = cursor.position();
    let mut items = cursor.map("auxiliary data by transaction")?;
    let mut count = 0;
    while items.next(cursor)? {
        let at = cursor.position();
        let expected = "the place of a transaction of this block";
        if cursor.uint(expected)? >= transactions as u64 {
            return Err(DecodeError { offset: at, expected });
        }
        cursor.skip()?;
        count += 1;
    }
    Ok(Listing { span: cursor.span_from(start), count })
}
