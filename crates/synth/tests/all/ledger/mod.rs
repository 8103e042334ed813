//! The rules that forged chains must keep, checked with a decoder and a ledger of their own.

use std::collections::HashMap;

use blake2b_simd::Params;
use ed25519_dalek::{Signature, VerifyingKey};
use slotmark_chain::block::{Listing, Output, Transaction};
use slotmark_chain::{Block, BlockEntry, Chain, Decoder};
use slotmark_network::{PLUTUS_V3_COST_MODEL, STATED, Units, alonzo, shelley};
use slotmark_synth::{Genesis, Recipe, loop_script, loop_script_hash};

/// A hash of `LENGTH` bytes.
fn blake2b<const LENGTH: usize>(bytes: &[u8]) -> [u8; LENGTH] {
    Params::new().hash_length(LENGTH).hash(bytes).as_bytes().try_into().expect("as long as asked for")
}

fn signed(key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    let key = VerifyingKey::from_bytes(key.try_into().expect("32 bytes")).expect("a key");
    key.verify_strict(message, &Signature::from_bytes(signature.try_into().expect("64 bytes"))).is_ok()
}

type Reference = ([u8; 32], u64);

/// The ledger's entry of an unspent output.
struct Unspent {
    address: Vec<u8>,
    lovelace: u64,
    script: bool,
}

/// The facts found of a chain.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Findings {
    pub blocks: u64,
    pub transactions: u64,
    pub inputs: u64,
    pub signatures: u64,
    pub scripts_run: u64,
    pub by_reference: u64,
    pub with_auxiliary: u64,
    pub fees: u64,
    /// Bytes of each block.
    pub sizes: Vec<usize>,
}

/// Checks every block, signature and transaction of a chain; panics at the first fault.
pub fn check(recipe: &Recipe, chain: &Chain) -> Findings {
    let mut ledger = Ledger::new(recipe);
    let mut findings = Findings::default();
    let mut decoder = Decoder::new();
    let mut previous = None;
    for position in 0..chain.chunk_count() {
        chain.check_chunk(position).expect("sound indexes and checksums");
    }
    for index in 0..chain.len() {
        let block = decoder.decode(chain.bytes(index)).expect("a block");
        let entry = chain.entry(index);
        assert_eq!(block.header.prev_hash, previous.map(|entry: BlockEntry| entry.hash), "block {index} follows the one before");
        assert_eq!(block.header.block_no, index as u64);
        assert_eq!((block.header.slot, block.header.hash), (entry.slot, entry.hash));
        assert!(previous.is_none_or(|before| before.slot < entry.slot));
        check_header(&block, usize::from(entry.header_offset) + usize::from(entry.header_size));
        findings.blocks += 1;
        findings.sizes.push(block.bytes.len());
        let mut used = (0, 0);
        for transaction in block.transactions {
            ledger.apply(&block, transaction, &mut findings);
            for redeemer in &block.redeemers[range(&transaction.witnesses.redeemers)] {
                used = (used.0 + redeemer.memory, used.1 + redeemer.steps);
            }
        }
        let used = Units { memory: used.0, steps: used.1 };
        assert!(used.within(alonzo::PARAMETERS.max_block_units), "block {index} uses {used:?}");
        assert!(block.invalid.is_empty());
        previous = Some(entry);
    }
    findings
}

fn range(range: &std::ops::Range<u32>) -> std::ops::Range<usize> {
    range.start as usize..range.end as usize
}

/// Checks the header's facts of the body.
fn check_header(block: &Block<'_, '_>, body_start: usize) {
    let (header, body) = (&block.header, &block.bytes[body_start..]);
    assert_eq!(header.body_size, Some(body.len() as u64));
    assert!(body.len() as u64 <= shelley::PARAMETERS.max_body_bytes);
    // Where bodies end: at the last one, or after the break that follows it, or after the head of an empty array.
    let last = block.transactions.last().map(|transaction| transaction.body.end as usize - body_start);
    let bodies_end = last.map_or(1, |end| end + usize::from(block.transactions.len() > 23));
    let (auxiliary, end) = (block.auxiliary.span.start as usize - body_start, block.auxiliary.span.end as usize - body_start);
    let parts = [&body[..bodies_end], &body[bodies_end..auxiliary], &body[auxiliary..end], &body[end..]];
    let hashes: Vec<u8> = parts.iter().flat_map(|part| blake2b::<32>(part)).collect();
    assert_eq!(header.body_hash, Some(&blake2b::<32>(&hashes)));

    let version = shelley::PARAMETERS.protocol_version;
    assert_eq!(header.protocol_version, (version.major, version.minor));
}

struct Ledger {
    unspent: HashMap<Reference, Unspent>,
}

impl Ledger {
    fn new(recipe: &Recipe) -> Self {
        let genesis = Genesis::new(recipe);
        let unspent = genesis.outputs().map(|output| {
            let held = Unspent { address: output.address.bytes().to_vec(), lovelace: output.lovelace, script: false };
            ((output.transaction, u64::from(output.index)), held)
        });
        Self { unspent: unspent.collect() }
    }

    fn apply(&mut self, block: &Block<'_, '_>, transaction: &Transaction, findings: &mut Findings) {
        let bytes = block.bytes;
        let id: [u8; 32] = blake2b(transaction.body.of(bytes));
        let keys = self.check_signatures(block, transaction, &id);

        let mut spent = 0;
        let mut locked = 0;
        for input in &block.inputs[range(&transaction.inputs)] {
            let reference = (at(bytes, input.transaction), input.index);
            let output = self.unspent.remove(&reference).expect("an input that exists and is unspent");
            spent += output.lovelace;
            match output.address[0] >> 4 {
                0 => assert!(keys.iter().any(|key| key == &output.address[1..29]), "the owner of each input signs"),
                7 => locked += 1,
                kind => panic!("an address of kind {kind}"),
            }
            findings.inputs += 1;
        }
        let outputs = &block.outputs[range(&transaction.outputs)];
        let made: u64 = outputs.iter().map(|output| output.lovelace).sum();
        assert_eq!(spent, made + transaction.fee, "value is preserved");
        let spends_locked = locked > 0;
        assert_eq!(spends_locked, !transaction.witnesses.redeemers.is_empty());
        let reference_bytes = if spends_locked { self.check_script(block, transaction, &keys, findings) } else { 0 };
        self.check_auxiliary(block, transaction, findings);

        let redeemers = &block.redeemers[range(&transaction.witnesses.redeemers)];
        let (memory, steps) = redeemers.iter().fold((0, 0), |sum, redeemer| (sum.0 + redeemer.memory, sum.1 + redeemer.steps));
        let size = self.size(block, transaction);
        let least = STATED.least_fee(size, reference_bytes, Units { memory, steps }).expect("a fee");
        assert!(u128::from(transaction.fee) >= least, "the fee suffices");
        assert!(size <= shelley::PARAMETERS.max_transaction_bytes);

        for (index, output) in outputs.iter().enumerate() {
            assert!(output.lovelace >= STATED.least_lovelace(encoded_bytes(output)), "an output holds enough");
            let held = Unspent { address: output.address.of(bytes).to_vec(), lovelace: output.lovelace, script: output.script.is_some() };
            self.unspent.insert((id, index as u64), held);
        }
        findings.transactions += 1;
        findings.signatures += transaction.witnesses.vkeys.len() as u64;
        findings.fees += transaction.fee;
    }

    /// The hashes of the keys that signed.
    fn check_signatures(&self, block: &Block<'_, '_>, transaction: &Transaction, id: &[u8; 32]) -> Vec<[u8; 28]> {
        let witnesses = &block.vkeys[range(&transaction.witnesses.vkeys)];
        let mut hashes: Vec<[u8; 28]> = Vec::new();
        for witness in witnesses {
            let key = &block.bytes[witness.key as usize..][..32];
            assert!(signed(key, id, &block.bytes[witness.signature as usize..][..64]));
            assert!(!hashes.contains(&blake2b(key)), "each key signs once");
            hashes.push(blake2b(key));
        }
        hashes
    }

    /// Checks collateral, redeemer, script and their hash; the bytes of the script that the transaction refers to.
    fn check_script(&self, block: &Block<'_, '_>, transaction: &Transaction, keys: &[[u8; 28]], findings: &mut Findings) -> u64 {
        let bytes = block.bytes;
        let witnesses = &transaction.witnesses;
        let redeemers = &block.redeemers[range(&witnesses.redeemers)];
        assert_eq!((redeemers.len(), redeemers[0].purpose, redeemers[0].index), (1, 0, 0));
        let used = Units { memory: redeemers[0].memory, steps: redeemers[0].steps };
        assert!(used.within(alonzo::PARAMETERS.max_transaction_units));

        let collateral = &self.unspent[&reference(&transaction.collateral, bytes)];
        assert!(keys.iter().any(|key| key == &collateral.address[1..29]), "the owner of the collateral signs");
        let returned = transaction.collateral_return.map_or(0, |output| output.lovelace);
        let given = collateral.lovelace - returned;
        assert!(transaction.total_collateral.is_none_or(|total| total == given));
        assert!(given * 100 >= transaction.fee * alonzo::PARAMETERS.collateral_percent);

        let reference_bytes = if transaction.reference_inputs.count > 0 {
            assert!(self.unspent[&reference(&transaction.reference_inputs, bytes)].script);
            assert_eq!(witnesses.plutus_scripts[2].count, 0);
            findings.by_reference += 1;
            loop_script().len() as u64
        } else {
            let listing = witnesses.plutus_scripts[2];
            assert_eq!(listing.count, 1);
            assert!(listing.span.of(bytes).ends_with(loop_script()));
            0
        };
        let tagged: Vec<u8> = std::iter::once(3).chain(loop_script().iter().copied()).collect();
        assert_eq!(blake2b::<28>(&tagged), loop_script_hash());

        // {[0, 0]: [argument, [memory, steps]]}, and the cost model as {2: [parameters]}.
        let redeemer = redeemers[0];
        let start = redeemer.data.start as usize - 5;
        let units = 1 + integer(redeemer.memory as i64).len() + integer(redeemer.steps as i64).len();
        let mut hashed = bytes[start..redeemer.data.end as usize + units].to_vec();
        assert_eq!(hashed[0], 0xa1);
        hashed.extend([0xa1, 0x02, 0x98, 251]);
        hashed.extend(PLUTUS_V3_COST_MODEL.iter().flat_map(|&parameter| integer(parameter)));
        assert_eq!(transaction.script_data_hash.expect("a hash").of(bytes), blake2b::<32>(&hashed));
        findings.scripts_run += 1;
        reference_bytes
    }

    fn check_auxiliary(&self, block: &Block<'_, '_>, transaction: &Transaction, findings: &mut Findings) {
        let Some(expected) = transaction.auxiliary_hash else { return };
        let data = auxiliary(block, transaction).expect("auxiliary data where its hash is");
        assert_eq!(expected.of(block.bytes), blake2b::<32>(data));
        findings.with_auxiliary += 1;
    }

    /// Returns the size of `[body, witnesses, auxiliary data or null]`.
    fn size(&self, block: &Block<'_, '_>, transaction: &Transaction) -> u64 {
        let data = auxiliary(block, transaction).map_or(1, <[u8]>::len);
        let span = transaction.body;
        1 + u64::from(span.end - span.start) + witness_bytes(block, transaction) + data as u64
    }
}

fn at(bytes: &[u8], offset: u32) -> [u8; 32] {
    bytes[offset as usize..][..32].try_into().expect("32 bytes")
}

/// The only item of a set of inputs.
fn reference(listing: &Listing, bytes: &[u8]) -> Reference {
    assert_eq!(listing.count, 1);
    let encoded = listing.span.of(bytes);
    assert_eq!(encoded[..7], [0xd9, 0x01, 0x02, 0x81, 0x82, 0x58, 0x20]);
    let index = match encoded[39..] {
        [index @ 0..24] => u64::from(index),
        [0x18, index] => u64::from(index),
        _ => panic!("an index below 256"),
    };
    (encoded[7..39].try_into().expect("32 bytes"), index)
}

/// An integer in CBOR, written here a second time.
fn integer(value: i64) -> Vec<u8> {
    let (major, argument) = if value < 0 { (0x20, !value as u64) } else { (0, value as u64) };
    let bytes = argument.to_be_bytes();
    match argument {
        0..24 => vec![major | argument as u8],
        24..0x100 => vec![major | 24, bytes[7]],
        0x100..0x1_0000 => [&[major | 25], &bytes[6..]].concat(),
        0x1_0000..0x1_0000_0000 => [&[major | 26], &bytes[4..]].concat(),
        _ => [&[major | 27], &bytes[..]].concat(),
    }
}

fn place(block: &Block<'_, '_>, transaction: &Transaction) -> usize {
    block.transactions.iter().position(|other| other.body == transaction.body).expect("one of the block's")
}

/// A transaction's auxiliary data: found by its hash among the entries `number: data` of the block's map.
fn auxiliary<'a>(block: &Block<'_, 'a>, transaction: &Transaction) -> Option<&'a [u8]> {
    transaction.auxiliary_hash?;
    let map = block.auxiliary.span.of(block.bytes);
    let starts: Vec<usize> = (0..block.transactions.len())
        .filter(|&place| block.transactions[place].auxiliary_hash.is_some())
        .scan(1, |from, place| {
            let head = [integer(place as i64), vec![0xd9, 0x01, 0x03]].concat();
            let found = *from + map[*from..].windows(head.len()).position(|window| window == head)?;
            *from = found + head.len();
            Some(found)
        })
        .collect();
    let mine = place(block, transaction);
    let order = (0..mine).filter(|&place| block.transactions[place].auxiliary_hash.is_some()).count();
    let start = starts[order] + integer(mine as i64).len();
    let end = starts.get(order + 1).copied().unwrap_or(map.len() - usize::from(map[0] == 0xbf));
    Some(&map[start..end])
}

/// The length of a transaction's witness set, from its parts.
fn witness_bytes(block: &Block<'_, '_>, transaction: &Transaction) -> u64 {
    let set = &transaction.witnesses;
    let keys = set.vkeys.len() as u64;
    let mut bytes = 1 + 1 + 3 + if keys < 24 { 1 } else { 2 } + keys * 101;
    for redeemer in &block.redeemers[range(&set.redeemers)] {
        let units = integer(redeemer.memory as i64).len() + integer(redeemer.steps as i64).len();
        bytes += 1 + 1 + 3 + 1 + u64::from(redeemer.data.end - redeemer.data.start) + 1 + units as u64;
    }
    if set.plutus_scripts[2].count > 0 {
        let span = set.plutus_scripts[2].span;
        bytes += 1 + u64::from(span.end - span.start);
    }
    bytes
}

fn encoded_bytes(output: &Output) -> u64 {
    let length = |span: slotmark_chain::block::Span| u64::from(span.end - span.start);
    let address = length(output.address) + 2;
    let parts = [output.datum, output.script].into_iter().flatten().map(|span| 1 + length(span)).sum::<u64>();
    1 + 1 + address + 1 + integer(output.lovelace as i64).len() as u64 + parts
}
