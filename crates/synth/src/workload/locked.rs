//! Outputs that a script locks: made by a set-up transaction, then spent and made anew.

use std::collections::VecDeque;

use crate::address::Address;
use crate::keys::{Keys, Owner};
use crate::plutus::evaluate::LockedOutput;
use crate::plutus::{Budget, Script};
use crate::random::Stream;
use crate::transaction::{Draft, NewOutput, OutputReference, ScriptSpend, Spec, settle};
use crate::wallet::{Coin, Wallet};

/// Number of genesis outputs that are locked, and of outputs at most that they are locked into: 100,000 ada each, or more.
const COINS: usize = 16;
const OUTPUTS: u64 = 64;
/// Lovelace of the output with the script to refer to.
const REFERENCE_LOVELACE: u64 = 10_000_000;
/// Least lovelace of each of them: they pay for all that the script runs.
const LEAST_SET_UP: u64 = 100_000_000_000;
/// Least lovelace of collateral: more than one and a half of any fee, and an output beside it.
const LEAST_COLLATERAL: u64 = 20_000_000;
/// All unspent outputs that a script locks.
pub(super) struct Locked {
    pub(super) script: Script,
    outputs: VecDeque<LockedOutput>,
    /// The output that publishes the script, if any.
    reference: Option<OutputReference>,
    address: Address,
}

/// The parts for spending a locked output.
pub(super) struct Run {
    /// The script's redeemer, encoded.
    pub(super) redeemer: Vec<u8>,
    /// Refers to the script instead of carrying it.
    pub(super) by_reference: bool,
    /// Gets what's left of the collateral back.
    pub(super) collateral_return: bool,
    /// Auxiliary data; empty for none.
    pub(super) auxiliary: Vec<u8>,
    pub(super) invalid_hereafter: Option<u64>,
    /// Given up if the script fails.
    pub(super) collateral: Coin,
}

/// Any coin that can be collateral.
pub(super) fn collateral(wallet: &Wallet, stream: &mut Stream) -> Option<Coin> {
    wallet.any_of(LEAST_COLLATERAL, stream).copied()
}

impl Locked {
    /// Locks some of the wallet's coins; with `published`, the script is put where others can refer to it.
    pub(super) fn set_up(script: Script, published: bool, wallet: &mut Wallet, stream: &mut Stream) -> Option<(Draft, Self)> {
        let coins = (0..COINS).map(|_| wallet.take_of(LEAST_SET_UP, stream)).collect::<Option<Vec<_>>>()?;
        let address = Address::script(&script.hash());
        let publisher = published.then(|| Owner::any(stream));
        let count = OUTPUTS.min(script.most_outputs());
        let total: u64 = coins.iter().map(|coin| coin.lovelace).sum();
        let mut signers: Vec<u16> = coins.iter().map(|coin| coin.owner.payment).collect();
        signers.sort_unstable();
        signers.dedup();
        let (draft, lovelace) = settle(|fee| {
            let left = total.checked_sub(fee + if published { REFERENCE_LOVELACE } else { 0 })?;
            let each = left / count;
            let lovelace: Vec<u64> = (0..count).map(|place| if place == 0 { left - each * (count - 1) } else { each }).collect();
            let locked = lovelace.iter().map(|&held| NewOutput { datum: Some(script.output_datum()), ..NewOutput::to(address, held) });
            let publish = |owner| NewOutput { script: Some(&script), ..NewOutput::to(wallet.keys.address(owner), REFERENCE_LOVELACE) };
            let outputs = publisher.into_iter().map(publish).chain(locked).collect();
            let inputs = coins.iter().map(|coin| coin.reference).collect();
            Some((Spec { inputs, outputs, fee, signers: signers.clone(), ..Spec::default() }, lovelace))
        })?;
        if let Some(publisher) = publisher {
            wallet.set_aside(publisher, REFERENCE_LOVELACE);
        }
        let first = usize::from(published);
        let outputs = lovelace.into_iter().enumerate();
        let outputs = outputs.map(|(place, lovelace)| LockedOutput { reference: draft.output(place + first), lovelace }).collect();
        let reference = published.then(|| draft.output(0));
        Some((draft, Self { script, outputs, reference, address }))
    }

    /// Returns the number of locked outputs.
    pub(super) fn count(&self) -> usize {
        self.outputs.len()
    }

    /// Returns those unspent for longest, at most `most`.
    pub(super) fn first(&self, most: usize) -> impl Iterator<Item = LockedOutput> {
        self.outputs.iter().take(most).copied()
    }

    /// The transaction that spends the output unspent for longest and locks what it held, less the fee, again.
    /// Spends nothing until [`Locked::spent`] is called.
    pub(super) fn spend(&self, keys: &Keys, run: &Run, budget: Budget) -> Option<(Draft, u64)> {
        let locked = *self.outputs.front()?;
        settle(|fee| self.spec(locked, keys, run, fee, budget))
    }

    /// The spec of a transaction that spends a locked output and locks what it held, less the fee, again; with what is left.
    pub(super) fn spec<'a>(&'a self, locked: LockedOutput, keys: &Keys, run: &'a Run, fee: u64, budget: Budget) -> Option<(Spec<'a>, u64)> {
        let left = locked.lovelace.checked_sub(fee).filter(|&left| left >= self.script.least_lovelace())?;
        let spend = ScriptSpend {
            script: &self.script,
            reference: self.reference.filter(|_| run.by_reference),
            redeemer: &run.redeemer,
            budget,
            collateral: run.collateral.reference,
            collateral_lovelace: run.collateral.lovelace,
            collateral_address: run.collateral_return.then(|| keys.address(run.collateral.owner)),
        };
        let spec = Spec {
            inputs: vec![locked.reference],
            outputs: vec![NewOutput { datum: Some(self.script.output_datum()), ..NewOutput::to(self.address, left) }],
            fee,
            invalid_hereafter: run.invalid_hereafter,
            auxiliary: run.auxiliary.clone(),
            script: Some(spend),
            signers: vec![run.collateral.owner.payment],
            ..Spec::default()
        };
        Some((spec, left))
    }

    /// Takes note that the output unspent for longest is spent by this transaction, which leaves so much in its first output.
    pub(super) fn spent(&mut self, draft: &Draft, left: u64) {
        self.outputs.pop_front();
        self.outputs.push_back(LockedOutput { reference: draft.output(0), lovelace: left });
    }
}
