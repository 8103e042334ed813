//! Transactions, encoded and not yet signed.
//!
//! Encoded as cardano-node and cardano-cli write Conway: sets under tag 258, outputs as maps, redeemers as a map,
//! auxiliary data under tag 259.

use slotmark_chain::CborBuffer;
use slotmark_chain::Hash32;
use slotmark_chain::hash::blake2b_256;
use slotmark_network::{STATED, Units, alonzo, shelley};

use crate::actions::{Action, put_amount, put_mint};
use crate::address::{Address, Hash28};
use crate::keys::PaymentKey;
use crate::plutus::{Budget, Language, Script};

/// Bytes of a key witness, `[key, signature]`.
const KEY_WITNESS_BYTES: usize = 101;

/// A transaction's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct OutputReference {
    pub(crate) transaction: Hash32,
    pub(crate) index: u16,
}

/// An output to be made.
#[derive(Clone)]
pub(crate) struct NewOutput<'a> {
    pub(crate) address: Address,
    pub(crate) lovelace: u64,
    pub(crate) datum: Option<NewDatum<'a>>,
    /// A script for others to refer to.
    pub(crate) script: Option<&'a Script>,
    /// A native script for others to refer to, encoded.
    pub(crate) native: Option<&'a [u8]>,
    /// Tokens of a policy.
    pub(crate) tokens: Option<(Hash28, u64)>,
}

/// Plutus data of an output, encoded.
#[derive(Clone, Copy)]
pub(crate) enum NewDatum<'a> {
    /// The data themselves.
    Inline(&'a [u8]),
    /// Their hash: who spends the output has to bring them.
    Hashed(Hash32),
}

impl NewOutput<'_> {
    pub(crate) fn to(address: Address, lovelace: u64) -> Self {
        Self { address, lovelace, datum: None, script: None, native: None, tokens: None }
    }
}

/// The parts for running a script that locks the first input.
#[derive(Clone)]
pub(crate) struct ScriptSpend<'a> {
    pub(crate) script: &'a Script,
    /// The output with the script, if it is not in the witnesses.
    pub(crate) reference: Option<OutputReference>,
    /// The redeemer, encoded.
    pub(crate) redeemer: &'a [u8],
    pub(crate) budget: Budget,
    /// Given up if the script fails.
    pub(crate) collateral: OutputReference,
    pub(crate) collateral_lovelace: u64,
    /// The address for the rest of the collateral; None gives all of it up.
    pub(crate) collateral_address: Option<Address>,
}

/// Parts of a transaction that do something beside moving value and running a script. Parts are encoded.
#[derive(Clone, Default)]
pub(crate) struct Beside {
    pub(crate) certificates: Vec<Vec<u8>>,
    /// A reward account, and all the lovelace that it holds.
    pub(crate) withdrawal: Option<([u8; 29], u64)>,
    /// Tokens of a policy that are minted, or burnt.
    pub(crate) mint: Option<(Hash28, i64)>,
    /// A native script among the witnesses.
    pub(crate) native: Option<Vec<u8>>,
    /// An output with a script that is referred to, and the script's bytes.
    pub(crate) reference: Option<(OutputReference, u64)>,
    pub(crate) vote: Option<Vec<u8>>,
    pub(crate) proposal: Option<Vec<u8>>,
}

impl Beside {
    /// Entries of the transaction's body.
    fn entries(&self) -> usize {
        let Self { certificates, withdrawal, mint, native: _, reference: _, vote, proposal } = self;
        let there = [!certificates.is_empty(), withdrawal.is_some(), mint.is_some(), vote.is_some(), proposal.is_some()];
        there.into_iter().filter(|there| *there).count()
    }
}

/// The content of a transaction, before it is encoded.
#[derive(Clone, Default)]
pub(crate) struct Spec<'a> {
    pub(crate) inputs: Vec<OutputReference>,
    pub(crate) outputs: Vec<NewOutput<'a>>,
    pub(crate) fee: u64,
    pub(crate) invalid_hereafter: Option<u64>,
    /// Auxiliary data, encoded; empty for none.
    pub(crate) auxiliary: Vec<u8>,
    pub(crate) script: Option<ScriptSpend<'a>>,
    /// Outputs that it refers to beside those of scripts, and spends none of: without scripts themselves, and each once.
    pub(crate) referred: Vec<OutputReference>,
    /// Payment keys that must sign, each once.
    pub(crate) signers: Vec<u16>,
    pub(crate) beside: Beside,
}

/// Keys that sign transactions, each by its number.
pub(crate) trait Signers {
    fn signer(&self, number: u16) -> &PaymentKey;
}

/// A transaction as it will stand in a block, but for its signatures.
pub(crate) struct Draft {
    pub(crate) id: Hash32,
    /// The name of the action that it is, or `script`.
    pub(crate) action: &'static str,
    body: Vec<u8>,
    signers: Vec<u16>,
    /// Entries of the witness set that come after the key witnesses.
    scripts: Vec<u8>,
    script_entries: usize,
    auxiliary: Vec<u8>,
}

impl Spec<'_> {
    /// Encodes the transaction.
    pub(crate) fn draft(&self) -> Draft {
        let mut scripts = Vec::new();
        let mut script_entries = 0;
        if let Some(native) = &self.beside.native {
            scripts.uint(1);
            scripts.set(1);
            scripts.extend_from_slice(native);
            script_entries += 1;
        }
        script_entries += self.script.as_ref().map_or(0, |spend| spend.witnesses(&mut scripts));
        let body = self.body();
        let action = if self.script.is_some() { "script" } else { Action::Value.name() };
        let (id, signers, auxiliary) = (blake2b_256(&[&body]), self.signers.clone(), self.auxiliary.clone());
        Draft { id, action, body, signers, scripts, script_entries, auxiliary }
    }

    /// The least fee that the ledger takes for it. The fee itself must already have the length it will have.
    pub(crate) fn min_fee(&self, draft: &Draft) -> u64 {
        let bytes = draft.tx_bytes() as u64;
        let (script_bytes, units) = self.script.as_ref().map_or((0, Units::default()), |spend| {
            let Budget { memory, steps } = spend.budget;
            (spend.reference.map_or(0, |_| spend.script.bytes().len() as u64), Units { memory, steps })
        });
        let script_bytes = script_bytes + self.beside.reference.map_or(0, |(_, bytes)| bytes);
        let fee = STATED.least_fee(bytes, script_bytes, units).and_then(|fee| u64::try_from(fee).ok());
        fee.unwrap_or(u64::MAX)
    }

    fn body(&self) -> Vec<u8> {
        let mut body = Vec::with_capacity(320);
        let of_script = self.script.as_ref().and_then(|spend| spend.reference);
        let referred: Vec<OutputReference> =
            of_script.into_iter().chain(self.beside.reference.map(|(one, _)| one)).chain(self.referred.iter().copied()).collect();
        let script_entries = self.script.as_ref().map_or(0, |spend| 2 + 2 * usize::from(spend.collateral_address.is_some()));
        let Beside { certificates, withdrawal, mint, native: _, reference: _, vote, proposal } = &self.beside;
        let there = [self.invalid_hereafter.is_some(), !self.auxiliary.is_empty(), !referred.is_empty()];
        let value_entries = 3 + there.into_iter().filter(|there| *there).count();
        body.map(value_entries + script_entries + self.beside.entries());
        body.uint(0);
        references(&mut body, &self.inputs);
        body.uint(1);
        body.array(self.outputs.len());
        for output in &self.outputs {
            encode_output(&mut body, output);
        }
        body.uint(2);
        body.uint(self.fee);
        if let Some(slot) = self.invalid_hereafter {
            body.uint(3);
            body.uint(slot);
        }
        if !certificates.is_empty() {
            body.uint(4);
            body.set(certificates.len());
            certificates.iter().for_each(|certificate| body.extend_from_slice(certificate));
        }
        if let Some((account, lovelace)) = withdrawal {
            body.uint(5);
            body.map(1);
            body.bytes(account);
            body.uint(*lovelace);
        }
        if !self.auxiliary.is_empty() {
            body.uint(7);
            body.bytes(&blake2b_256(&[&self.auxiliary]));
        }
        if let Some(mint) = mint {
            body.uint(9);
            put_mint(&mut body, *mint);
        }
        if let Some(spend) = &self.script {
            body.uint(11);
            body.bytes(&spend.data_hash());
            body.uint(13);
            references(&mut body, &[spend.collateral]);
            if let Some(address) = spend.collateral_address {
                let collateral = total_collateral(self.fee);
                body.uint(16);
                encode_output(&mut body, &NewOutput::to(address, spend.collateral_lovelace - collateral));
                body.uint(17);
                body.uint(collateral);
            }
        }
        if !referred.is_empty() {
            body.uint(18);
            references(&mut body, &referred);
        }
        if let Some(vote) = vote {
            body.uint(19);
            body.extend_from_slice(vote);
        }
        if let Some(proposal) = proposal {
            body.uint(20);
            body.set(1);
            body.extend_from_slice(proposal);
        }
        body
    }
}

/// The transaction that pays the least fee, where `build` makes its spec from a fee; with what `build` yields beside it.
pub(crate) fn settle<'a, T>(build: impl Fn(u64) -> Option<(Spec<'a>, T)>) -> Option<(Draft, T)> {
    let mut fee = shelley::PARAMETERS.fee_constant;
    loop {
        let (spec, beside) = build(fee)?;
        let draft = spec.draft();
        let least = spec.min_fee(&draft);
        if fee >= least {
            return Some((draft, beside));
        }
        fee = least; // lengthens the transaction at most, so the fee only grows
    }
}

impl ScriptSpend<'_> {
    /// `{[purpose, index]: [argument, [memory, steps]]}`
    fn redeemers(&self) -> Vec<u8> {
        let mut redeemers = Vec::with_capacity(32);
        redeemers.map(1);
        redeemers.array(2);
        redeemers.uint(0); // spend
        redeemers.uint(0); // the first input
        redeemers.array(2);
        redeemers.extend_from_slice(self.redeemer);
        redeemers.array(2);
        redeemers.uint(self.budget.memory);
        redeemers.uint(self.budget.steps);
        redeemers
    }

    /// The set of the datums that witnesses hold; None where the output holds its own.
    fn datums(&self) -> Option<Vec<u8>> {
        let NewDatum::Hashed(_) = self.script.output_datum() else { return None };
        let mut datums = Vec::with_capacity(self.script.datum().len() + 4);
        datums.set(1);
        datums.extend_from_slice(self.script.datum());
        Some(datums)
    }

    /// Over redeemers, datums of witnesses and the cost model, as `script_data_hash` in Conway's CDDL.
    fn data_hash(&self) -> Hash32 {
        blake2b_256(&[&self.redeemers(), &self.datums().unwrap_or_default(), &language_view(self.script)])
    }

    /// Appends its entries to a witness set; yields how many.
    fn witnesses(&self, set: &mut Vec<u8>) -> usize {
        let mut entries = 1;
        if let Some(datums) = self.datums() {
            set.uint(4);
            set.extend(datums);
            entries += 1;
        }
        set.uint(5);
        set.extend(self.redeemers());
        if self.reference.is_none() {
            set.uint(self.script.language().witness_key());
            set.set(1);
            set.bytes(self.script.bytes());
            entries += 1;
        }
        entries
    }
}

/// The cost model of a language as transactions' hashes count it: that of the first in an older way than the others.
fn language_view(script: &Script) -> Vec<u8> {
    let language = script.language();
    let model = script.costs().model(language);
    let mut view = Vec::with_capacity(1_024);
    view.map(1);
    if language == Language::V1 {
        let mut list = vec![0x9f];
        model.iter().for_each(|parameter| list.int(*parameter));
        list.push(0xff);
        view.bytes(&[0]);
        view.bytes(&list);
        return view;
    }
    view.uint(language.number());
    view.array(model.len());
    model.iter().for_each(|parameter| view.int(*parameter));
    view
}

fn total_collateral(fee: u64) -> u64 {
    (fee * alonzo::PARAMETERS.collateral_percent).div_ceil(100)
}

impl Draft {
    /// The same transaction under the name of an action.
    pub(crate) fn named(self, action: Action) -> Self {
        Self { action: action.name(), ..self }
    }

    /// The size of `[body, witnesses, valid, auxiliary data]`. The ledger counts fees without the flag, so that they come
    /// out 44 lovelace above the least; that suffices for those who count it, too.
    pub(crate) fn tx_bytes(&self) -> usize {
        1 + self.body.len() + self.witness_bytes() + 1 + self.auxiliary.len().max(1)
    }

    /// Returns its bytes in a block, but for the number before its auxiliary data.
    pub(crate) fn block_bytes(&self) -> usize {
        self.body.len() + self.witness_bytes() + self.auxiliary.len()
    }

    fn witness_bytes(&self) -> usize {
        // map head, key 0, tag 258, array head
        let head = 1 + 1 + 3 + if self.signers.len() < 24 { 1 } else { 2 };
        head + self.signers.len() * KEY_WITNESS_BYTES + self.scripts.len()
    }

    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    /// Auxiliary data; empty for none.
    pub(crate) fn auxiliary(&self) -> &[u8] {
        &self.auxiliary
    }

    /// Appends its witness set without signatures, which scripts don't see.
    pub(crate) fn unsigned(&self, set: &mut Vec<u8>) {
        set.map(self.script_entries);
        set.extend_from_slice(&self.scripts);
    }

    /// Appends its witness set, signed.
    pub(crate) fn sign(&self, keys: &impl Signers, set: &mut Vec<u8>) {
        set.map(1 + self.script_entries);
        set.uint(0);
        set.set(self.signers.len());
        for &signer in &self.signers {
            let key = keys.signer(signer);
            set.array(2);
            set.bytes(key.public());
            set.bytes(&key.sign(&self.id));
        }
        set.extend_from_slice(&self.scripts);
    }

    /// The whole transaction, signed, as it is submitted: `[body, witnesses, valid, auxiliary data]`.
    pub(crate) fn whole(&self, keys: &impl Signers) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.tx_bytes());
        bytes.array(4);
        bytes.extend_from_slice(&self.body);
        self.sign(keys, &mut bytes);
        bytes.push(0xf5); // its scripts succeed
        match self.auxiliary.as_slice() {
            [] => bytes.null(),
            auxiliary => bytes.extend_from_slice(auxiliary),
        }
        bytes
    }

    /// A reference to one of its outputs.
    pub(crate) fn output(&self, index: usize) -> OutputReference {
        OutputReference { transaction: self.id, index: index as u16 }
    }
}

fn references(buffer: &mut Vec<u8>, references: &[OutputReference]) {
    buffer.set(references.len());
    for reference in references {
        buffer.array(2);
        buffer.bytes(&reference.transaction);
        buffer.uint(u64::from(reference.index));
    }
}

/// `{0: address, 1: lovelace, ? 2: [0, hash] or [1, datum], ? 3: script}`
pub(crate) fn encode_output(buffer: &mut Vec<u8>, output: &NewOutput<'_>) {
    buffer.map(2 + usize::from(output.datum.is_some()) + usize::from(output.script.is_some() || output.native.is_some()));
    buffer.uint(0);
    buffer.bytes(output.address.bytes());
    buffer.uint(1);
    put_amount(buffer, output.lovelace, output.tokens);
    if let Some(datum) = output.datum {
        buffer.uint(2);
        buffer.array(2);
        match datum {
            NewDatum::Hashed(hash) => {
                buffer.uint(0);
                buffer.bytes(&hash);
            }
            NewDatum::Inline(datum) => {
                buffer.uint(1);
                buffer.tag(24);
                buffer.bytes(datum);
            }
        }
    }
    if let Some(script) = output.script {
        let mut encoded = Vec::with_capacity(script.bytes().len() + 8);
        encoded.array(2);
        encoded.uint(script.language().number() + 1); // scripts count from 0 for native ones
        encoded.bytes(script.bytes());
        buffer.uint(3);
        buffer.tag(24);
        buffer.bytes(&encoded);
    }
    if let Some(native) = output.native {
        let mut encoded = Vec::with_capacity(native.len() + 2);
        encoded.array(2);
        encoded.uint(0);
        encoded.extend_from_slice(native);
        buffer.uint(3);
        buffer.tag(24);
        buffer.bytes(&encoded);
    }
}

/// Auxiliary data with this many bytes of metadata under a label, in pieces of at most 64 bytes.
pub(crate) fn payload(label: u64, bytes: &[u8]) -> Vec<u8> {
    let mut data = Vec::with_capacity(bytes.len() + bytes.len() / 32 + 16);
    data.tag(259);
    data.map(1);
    data.uint(0);
    data.map(1);
    data.uint(label);
    let pieces = bytes.chunks(64);
    data.array(pieces.len());
    for piece in pieces {
        data.bytes(piece);
    }
    data
}

/// Plutus data with this many bytes in it: `Constr 0` of byte strings of at most 64 bytes.
pub(crate) fn datum(bytes: &[u8]) -> Vec<u8> {
    let mut data = Vec::with_capacity(bytes.len() + bytes.len() / 32 + 8);
    data.tag(121);
    if bytes.is_empty() {
        data.array(0);
        return data;
    }
    data.push(0x9f); // as Plutus's own encoder writes a list that isn't empty
    for piece in bytes.chunks(64) {
        data.bytes(piece);
    }
    data.push(0xff);
    data
}
