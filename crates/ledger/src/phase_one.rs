//! Phase 1: what must hold of a transaction before a script runs.
//!
//! Each rule is checked on its own, so that one that is broken hides no other. After the rules UTXO and UTXOW of
//! cardano-ledger's eras.

use std::collections::{BTreeMap, BTreeSet};

use pallas_codec::minicbor;
use pallas_codec::tree::fold_tree;
use pallas_primitives::alonzo::NativeScript;
use slotmark_chain::block::{Block, Era, Hash28, Input, Output, Redeemer, Transaction};
use slotmark_chain::hash::{blake2b_224, blake2b_256};
use slotmark_chain::rule::{Outcome, Rule};
use slotmark_chain::{DecodeError, Hash32, ed25519};
use slotmark_network::{Parameters, Units};

use crate::Environment;
use crate::bytes::{Balance, Datum, Payment, Result, Script, datum, datum_hash, failure, hash, items};
use crate::integrity::script_data_hash;
use crate::needs::{Needs, Pointer, foreign, reference_scripts, witness_scripts};
use crate::resolved::{Resolved, Source, decode};

/// The rules that need the outputs of inputs.
const OF_INPUTS: [Rule; 6] = [Rule::Fee, Rule::ValueConserved, Rule::WitnessKeys, Rule::Scripts, Rule::NativeScripts, Rule::Datums];

/// Holds the transaction at a place of its block against every rule that needs no script to run.
///
/// Rules that don't concern it are in none of the outcome's sets. Not known are rules of parameters where those aren't
/// known, and rules of inputs where one is missing.
///
/// # Errors
/// A part of the transaction can't be read; the place is from the beginning of that part.
pub fn phase_one(
    block: &Block<'_, '_>,
    transaction: &Transaction,
    resolved: &Resolved,
    auxiliary: Option<&[u8]>,
    environment: &Environment<'_>,
) -> std::result::Result<Outcome, DecodeError> {
    let inputs = decode(&resolved.inputs)?;
    let collateral = decode(&resolved.collateral)?;
    let references = decode(&resolved.references)?;
    let sources = match (&inputs, &collateral, &references) {
        (Some(inputs), Some(collateral), Some(references)) => Some(Sources { inputs, collateral, references }),
        _ => None,
    };
    let check = Check { block, transaction, environment, outcome: Outcome::default() };
    check.all(sources.as_ref(), resolved, auxiliary).map_err(|error| failure(&error))
}

/// Holds the budgets of all of a block's scripts against the limit of a block, where there are any.
pub fn block_units(block: &Block<'_, '_>, environment: &Environment<'_>) -> Outcome {
    let mut outcome = Outcome::default();
    if !block.redeemers.is_empty() {
        match environment.parameters {
            Some(parameters) => outcome.note(Rule::BlockUnits, units(block.redeemers).within(parameters.alonzo.max_block_units)),
            None => outcome.note_unknown(Rule::BlockUnits),
        }
    }
    outcome
}

/// The budgets of scripts, added up.
fn units(redeemers: &[Redeemer]) -> Units {
    redeemers.iter().fold(Units::default(), |sum, redeemer| sum.plus(Units { memory: redeemer.memory, steps: redeemer.steps }))
}

/// The outputs that a transaction refers to.
struct Sources<'s> {
    inputs: &'s [Source<'s>],
    collateral: &'s [Source<'s>],
    references: &'s [Source<'s>],
}

struct Check<'c> {
    block: &'c Block<'c, 'c>,
    transaction: &'c Transaction,
    environment: &'c Environment<'c>,
    outcome: Outcome,
}

impl Check<'_> {
    fn all(mut self, sources: Option<&Sources<'_>>, resolved: &Resolved, auxiliary: Option<&[u8]>) -> Result<Outcome> {
        let (block, transaction) = (self.block, self.transaction);
        let signed = self.signatures()?;
        let mut needs = Needs::of(block, transaction)?;
        self.outcome.note(Rule::InputsGiven, !transaction.inputs.is_empty());
        self.validity_interval();
        self.network_id(&needs);
        self.auxiliary_data(auxiliary);
        let bytes = self.size(auxiliary);
        match self.environment.parameters {
            Some(parameters) => self.limits(parameters, bytes),
            None => self.unknown_limits(),
        }
        let state = [transaction.certificates, transaction.withdrawals, transaction.votes, transaction.proposals];
        if state.iter().any(|listing| listing.count > 0) || transaction.update.is_some() || transaction.treasury.is_some() {
            match resolved.fits_accounts {
                Some(fits) => self.outcome.note(Rule::LedgerState, fits),
                None => self.outcome.note_unknown(Rule::LedgerState),
            }
        }
        let Some(sources) = sources else {
            OF_INPUTS.into_iter().for_each(|rule| self.outcome.note_unknown(rule));
            if !transaction.witnesses.redeemers.is_empty() {
                [Rule::Redeemers, Rule::ScriptDataHash, Rule::Collateral].into_iter().for_each(|rule| self.outcome.note_unknown(rule));
            }
            return Ok(self.outcome);
        };
        needs.take_inputs(&self.places(self.inputs()), sources.inputs, sources.collateral)?;
        self.witness_keys(&needs, &signed);
        self.scripts(&needs, sources, &signed)?;
        self.collateral(sources)?;
        let scripts = reference_scripts(sources.inputs.iter().chain(sources.references))?;
        self.fee(bytes, scripts.iter().map(|script| script.bytes.len() as u64).sum());
        self.value(needs, resolved)?;
        Ok(self.outcome)
    }

    fn inputs(&self) -> &[Input] {
        &self.block.inputs[self.transaction.inputs.start as usize..self.transaction.inputs.end as usize]
    }

    /// The places of inputs, each a transaction's id and an index.
    fn places(&self, inputs: &[Input]) -> Vec<(Hash32, u64)> {
        let id = |at: u32| self.block.bytes[at as usize..][..32].try_into().expect("32 bytes");
        inputs.iter().map(|input| (id(input.transaction), input.index)).collect()
    }

    fn outputs(&self) -> impl Iterator<Item = &Output> {
        let range = self.transaction.outputs.start as usize..self.transaction.outputs.end as usize;
        self.block.outputs[range].iter().chain(&self.transaction.collateral_return)
    }

    fn redeemers(&self) -> &[Redeemer] {
        let range = &self.transaction.witnesses.redeemers;
        &self.block.redeemers[range.start as usize..range.end as usize]
    }

    /// The size that fees and limits count: `[body, witnesses, auxiliary data]`, the last one null where there is none.
    fn size(&self, auxiliary: Option<&[u8]>) -> u64 {
        let of = |bytes: &[u8]| bytes.len() as u64;
        let body = of(self.transaction.body.of(self.block.bytes));
        1 + body + of(self.transaction.witnesses.encoded.of(self.block.bytes)) + auxiliary.map_or(1, of)
    }

    fn validity_interval(&mut self) {
        let slot = self.environment.slot;
        let (from, until) = (self.transaction.invalid_before, self.transaction.invalid_hereafter);
        // The upper end belongs to the interval in Shelley only.
        let ends_after = |until: u64| if self.block.header.era == Era::Shelley { slot <= until } else { slot < until };
        self.outcome.note(Rule::ValidityInterval, from.is_none_or(|from| from <= slot) && until.is_none_or(ends_after));
    }

    fn network_id(&mut self, needs: &Needs) {
        let Some(network) = self.environment.network.map(|network| network.id) else { return self.outcome.note_unknown(Rule::NetworkId) };
        // Byron's addresses have their network in another form, which isn't read.
        let fits = |address: &[u8]| address.first().is_none_or(|first| first >> 4 == 8 || first & 15 == network);
        let outputs = self.outputs().all(|output| fits(output.address.of(self.block.bytes)));
        let named = self.transaction.network.is_none_or(|named| named == u64::from(network));
        self.outcome.note(Rule::NetworkId, outputs && named && needs.networks.iter().all(|named| *named == network));
    }

    fn auxiliary_data(&mut self, auxiliary: Option<&[u8]>) {
        let named = self.transaction.auxiliary_hash.map(|span| span.of(self.block.bytes));
        if named.is_some() || auxiliary.is_some() {
            let hash = auxiliary.map(|data| blake2b_256(&[data]));
            self.outcome.note(Rule::AuxiliaryDataHash, hash.as_ref().map(|hash| &hash[..]) == named);
        }
    }

    fn limits(&mut self, parameters: &Parameters, bytes: u64) {
        self.outcome.note(Rule::TransactionLimit, bytes <= parameters.shelley.max_transaction_bytes);
        let value_bytes = |output: &Output| {
            // [lovelace, assets]: the head, a number, the map
            output.assets.map_or(0, |assets| 1 + uint_bytes(output.lovelace) + u64::from(assets.end - assets.start))
        };
        let fits = self.outputs().all(|output| value_bytes(output) <= parameters.alonzo.max_value_bytes);
        self.outcome.note(Rule::ValueLimit, fits);
        if self.block.header.era >= Era::Babbage {
            let least = |output: &Output| parameters.least_lovelace(u64::from(output.encoded.end - output.encoded.start));
            let enough = self.outputs().all(|output| output.lovelace >= least(output));
            self.outcome.note(Rule::OutputLovelace, enough);
        } else {
            self.outcome.note_unknown(Rule::OutputLovelace);
        }
        if !self.redeemers().is_empty() {
            let fits = units(self.redeemers()).within(parameters.alonzo.max_transaction_units);
            self.outcome.note(Rule::TransactionUnits, fits);
        }
    }

    fn unknown_limits(&mut self) {
        let mut rules = vec![Rule::TransactionLimit, Rule::ValueLimit, Rule::OutputLovelace];
        rules.extend((!self.redeemers().is_empty()).then_some(Rule::TransactionUnits));
        rules.into_iter().for_each(|rule| self.outcome.note_unknown(rule));
    }

    /// Verifies all signatures; yields the hashes of the keys that signed.
    fn signatures(&mut self) -> Result<BTreeSet<Hash28>> {
        let bytes = self.block.bytes;
        let id = blake2b_256(&[self.transaction.body.of(bytes)]);
        let set = &self.transaction.witnesses;
        let mut signed = BTreeSet::new();
        let mut valid = true;
        for witness in &self.block.vkeys[set.vkeys.start as usize..set.vkeys.end as usize] {
            let key: &[u8; 32] = bytes[witness.key as usize..][..32].try_into().expect("32 bytes");
            let signature = bytes[witness.signature as usize..][..64].try_into().expect("64 bytes");
            valid &= ed25519::verify(key, &id, signature);
            signed.insert(blake2b_224(&[key]));
        }
        for witness in items(set.bootstrap.span.of(bytes))? {
            // [key, signature, chain code, attributes]
            valid &= match items(witness)?[..] {
                [key, signature, _, _] => ed25519::verify(&hash(key)?, &id, &hash(signature)?),
                _ => false,
            };
        }
        if !signed.is_empty() || set.bootstrap.count > 0 {
            self.outcome.note(Rule::WitnessSignatures, valid);
        }
        Ok(signed)
    }

    fn witness_keys(&mut self, needs: &Needs, signed: &BTreeSet<Hash28>) {
        if !needs.keys.is_subset(signed) {
            self.outcome.note(Rule::WitnessKeys, false);
        } else if needs.unknown_keys {
            self.outcome.note_unknown(Rule::WitnessKeys);
        } else {
            self.outcome.note(Rule::WitnessKeys, true);
        }
    }

    fn scripts(&mut self, needs: &Needs, sources: &Sources<'_>, signed: &BTreeSet<Hash28>) -> Result<()> {
        let own = witness_scripts(self.block, self.transaction)?;
        let referred = reference_scripts(sources.inputs.iter().chain(sources.references))?;
        let needed: BTreeSet<Hash28> = needs.scripts.iter().map(|(_, hash)| *hash).collect();
        let by_reference: BTreeSet<Hash28> = referred.iter().map(|script| script.hash).collect();
        let own_hashes: BTreeSet<Hash28> = own.iter().map(|script| script.hash).collect();
        if !needed.is_empty() || !own.is_empty() {
            self.outcome.note(Rule::Scripts, needed.difference(&by_reference).copied().collect::<BTreeSet<_>>() == own_hashes);
        }
        let used: BTreeMap<Hash28, &Script> =
            own.iter().chain(&referred).filter(|script| needed.contains(&script.hash)).map(|script| (script.hash, script)).collect();
        let native: Vec<&&Script> = used.values().filter(|script| script.language == 0).collect();
        if !native.is_empty() {
            let mut hold = true;
            for script in native {
                hold &= self.native_script_holds(&script.bytes, signed)?;
            }
            self.outcome.note(Rule::NativeScripts, hold);
        }
        let plutus: Vec<(Pointer, &Script)> = needs
            .scripts
            .iter()
            .filter_map(|(pointer, hash)| Some((*pointer, *used.get(hash).filter(|script| script.language > 0)?)))
            .collect();
        self.datums(&plutus, sources)?;
        let redeemers: BTreeSet<Pointer> = self.redeemers().iter().map(|redeemer| (redeemer.purpose, redeemer.index)).collect();
        let pointers: BTreeSet<Pointer> = plutus.iter().map(|(pointer, _)| *pointer).collect();
        if !redeemers.is_empty() || !pointers.is_empty() {
            self.outcome.note(Rule::Redeemers, redeemers == pointers);
        }
        let languages = plutus.iter().map(|(_, script)| script.language).collect();
        self.integrity(&languages);
        Ok(())
    }

    fn native_script_holds(&self, encoded: &[u8], signed: &BTreeSet<Hash28>) -> Result<bool> {
        let script: NativeScript = minicbor::decode(encoded)?;
        let (from, until) = (self.transaction.invalid_before, self.transaction.invalid_hereafter);
        Ok(fold_tree(&script, |script, parts: Vec<bool>| {
            let held = parts.iter().filter(|held| **held).count();
            match script {
                NativeScript::ScriptPubkey(key) => signed.contains(&**key),
                NativeScript::ScriptAll(_) => held == parts.len(),
                NativeScript::ScriptAny(_) => held > 0,
                NativeScript::ScriptNOfK(least, _) => held as i64 >= *least,
                NativeScript::InvalidBefore(slot) => from.is_some_and(|from| *slot <= from),
                NativeScript::InvalidHereafter(slot) => until.is_some_and(|until| until <= *slot),
            }
        }))
    }

    fn datums(&mut self, plutus: &[(Pointer, &Script)], sources: &Sources<'_>) -> Result<()> {
        let places = self.places(self.inputs());
        let sorted: BTreeMap<_, _> = places.iter().zip(sources.inputs).collect();
        let inputs: Vec<_> = sorted.values().collect();
        let (mut required, mut all_there) = (BTreeSet::new(), true);
        for ((_, index), script) in plutus.iter().filter(|(pointer, _)| pointer.0 == 0) {
            let input = inputs[*index as usize];
            match datum(input.bytes, &input.output)? {
                Some(Datum::Hash(hash)) => drop(required.insert(hash)),
                Some(Datum::Inline) => {}
                None => all_there &= script.language >= 3,
            }
        }
        let given: BTreeSet<Hash32> =
            items(self.transaction.witnesses.datums.span.of(self.block.bytes))?.into_iter().map(datum_hash).collect();
        if given.is_empty() && required.is_empty() && all_there {
            if plutus.iter().any(|(pointer, _)| pointer.0 == 0) {
                self.outcome.note(Rule::Datums, true);
            }
            return Ok(());
        }
        let mut allowed = required.clone();
        for output in self.outputs() {
            if let Some(Datum::Hash(hash)) = datum(self.block.bytes, output)? {
                allowed.insert(hash);
            }
        }
        for reference in sources.references {
            if let Some(Datum::Hash(hash)) = datum(reference.bytes, &reference.output)? {
                allowed.insert(hash);
            }
        }
        self.outcome.note(Rule::Datums, all_there && required.is_subset(&given) && given.is_subset(&allowed));
        Ok(())
    }

    fn integrity(&mut self, languages: &BTreeSet<u8>) {
        let named = self.transaction.script_data_hash.map(|span| span.of(self.block.bytes));
        let set = &self.transaction.witnesses;
        if named.is_none() && languages.is_empty() && set.redeemers.is_empty() && set.datums.count == 0 {
            return;
        }
        let Some(parameters) = self.environment.parameters else { return self.outcome.note_unknown(Rule::ScriptDataHash) };
        let expected = script_data_hash(self.block, self.transaction, languages, &parameters.cost_models);
        let holds = expected.is_some_and(|expected| expected.as_ref().map(|hash| &hash[..]) == named);
        self.outcome.note(Rule::ScriptDataHash, holds);
    }

    /// Collateral counts only where scripts run.
    fn collateral(&mut self, sources: &Sources<'_>) -> Result<()> {
        if self.redeemers().is_empty() {
            return Ok(());
        }
        let Some(parameters) = self.environment.parameters else {
            self.outcome.note_unknown(Rule::Collateral);
            return Ok(());
        };
        // It is a set: what is there twice counts once.
        let places = self.places(&self.block.inputs_in(&self.transaction.collateral).map_err(foreign)?);
        let collateral: BTreeMap<_, _> = places.into_iter().zip(sources.collateral).collect();
        let mut balance = Balance::default();
        for source in collateral.values() {
            balance.add_output(source.bytes, &source.output, 1)?;
        }
        if let Some(output) = &self.transaction.collateral_return {
            balance.add_output(self.block.bytes, output, -1)?;
        }
        let at_key = |source: &Source<'_>| match source.payment() {
            Some(Payment::Credential(credential)) => !credential.script,
            Some(Payment::Byron) => true,
            None => false,
        };
        let count = collateral.len() as u64;
        let least = i128::from(self.transaction.fee) * i128::from(parameters.alonzo.collateral_percent);
        let holds = count > 0
            && count <= parameters.alonzo.max_collateral_inputs
            && collateral.into_values().all(at_key)
            && balance.is_lovelace()
            && balance.lovelace.checked_mul(100).is_some_and(|hundredfold| hundredfold >= least)
            && self.transaction.total_collateral.is_none_or(|total| i128::from(total) == balance.lovelace);
        self.outcome.note(Rule::Collateral, holds);
        Ok(())
    }

    fn fee(&mut self, bytes: u64, script_bytes: u64) {
        let Some(parameters) = self.environment.parameters else { return self.outcome.note_unknown(Rule::Fee) };
        let script_bytes = if self.block.header.era >= Era::Conway { script_bytes } else { 0 };
        match parameters.least_fee(bytes, script_bytes, units(self.redeemers())) {
            Some(least) => self.outcome.note(Rule::Fee, u128::from(self.transaction.fee) >= least),
            None => self.outcome.note_unknown(Rule::Fee),
        }
    }

    fn value(&mut self, mut needs: Needs, resolved: &Resolved) -> Result<()> {
        for output in &self.block.outputs[self.transaction.outputs.start as usize..self.transaction.outputs.end as usize] {
            needs.balance.add_output(self.block.bytes, output, -1)?;
        }
        needs.balance.lovelace += resolved.older_deposits;
        if needs.key_deposits != 0 || resolved.new_pools != 0 {
            let Some(parameters) = self.environment.parameters else {
                self.outcome.note_unknown(Rule::ValueConserved);
                return Ok(());
            };
            needs.balance.lovelace -= needs.key_deposits * i128::from(parameters.shelley.key_deposit);
            needs.balance.lovelace -= i128::from(resolved.new_pools) * i128::from(parameters.shelley.pool_deposit);
        }
        self.outcome.note(Rule::ValueConserved, needs.balance.lovelace == 0 && needs.balance.is_lovelace());
        Ok(())
    }
}

/// Bytes of an unsigned number in CBOR.
fn uint_bytes(number: u64) -> u64 {
    match number {
        0..24 => 1,
        24..0x100 => 2,
        0x100..0x1_0000 => 3,
        0x1_0000..0x1_0000_0000 => 5,
        _ => 9,
    }
}
