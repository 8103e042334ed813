//! Outputs that the loop script locks: made by a set-up transaction, then spent and made anew.

use std::collections::VecDeque;

use crate::address::Address;
use crate::keys::Owner;
use crate::plutus::{loop_budget, loop_script, loop_script_hash};
use crate::random::Stream;
use crate::transaction::{Draft, NewOutput, OutputReference, Plan, ScriptSpend, datum, settle};
use crate::wallet::Wallet;

/// How many genesis outputs are locked, and into how many outputs: 100,000 ada each.
const COINS: usize = 16;
const OUTPUTS: usize = 64;
/// What the output with the script to refer to holds, in lovelace.
const REFERENCE_LOVELACE: u64 = 10_000_000;
/// What each of them holds at least, in lovelace: they pay for all that the script runs.
const LEAST_SET_UP: u64 = 100_000_000_000;
/// What collateral holds at least, in lovelace: more than one and a half of any fee, and an output beside it.
const LEAST_COLLATERAL: u64 = 20_000_000;
/// What a locked output must keep.
const LEAST: u64 = 2_000_000;

/// All unspent outputs that the loop script locks.
pub(super) struct Locked {
    outputs: VecDeque<(OutputReference, u64)>,
    reference: OutputReference,
    address: Address,
    unit: Vec<u8>,
}

/// How a locked output is to be spent.
pub(super) struct Run {
    /// What the script counts down from.
    pub(super) count: u64,
    /// Refers to the script instead of carrying it.
    pub(super) by_reference: bool,
    /// Gets what's left of the collateral back.
    pub(super) collateral_return: bool,
    /// Auxiliary data; empty for none.
    pub(super) auxiliary: Vec<u8>,
    pub(super) invalid_hereafter: Option<u64>,
}

impl Locked {
    /// Locks some of the wallet's coins, and puts the script where others can refer to it.
    pub(super) fn set_up(wallet: &mut Wallet, stream: &mut Stream) -> Option<(Draft, Self)> {
        let coins = (0..COINS).map(|_| wallet.take_of(LEAST_SET_UP, stream)).collect::<Option<Vec<_>>>()?;
        let address = Address::script(&loop_script_hash());
        let unit = datum(&[]);
        let publisher = Owner::any(stream);
        let total: u64 = coins.iter().map(|coin| coin.lovelace).sum();
        let mut signers: Vec<u16> = coins.iter().map(|coin| coin.owner.payment).collect();
        signers.sort_unstable();
        signers.dedup();
        let (draft, lovelace) = settle(|fee| {
            let left = total.checked_sub(fee + REFERENCE_LOVELACE)?;
            let each = left / OUTPUTS as u64;
            let locked = (0..OUTPUTS as u64).map(|place| NewOutput {
                datum: Some(&unit),
                ..NewOutput::to(address, if place == 0 { left - each * (OUTPUTS as u64 - 1) } else { each })
            });
            let published = NewOutput { script: Some(loop_script()), ..NewOutput::to(wallet.keys.address(publisher), REFERENCE_LOVELACE) };
            let outputs: Vec<NewOutput<'_>> = std::iter::once(published).chain(locked).collect();
            let lovelace: Vec<u64> = outputs.iter().skip(1).map(|output| output.lovelace).collect();
            let inputs = coins.iter().map(|coin| coin.reference).collect();
            Some((Plan { inputs, outputs, fee, signers: signers.clone(), ..Plan::default() }, lovelace))
        })?;
        wallet.set_aside(publisher, REFERENCE_LOVELACE);
        let outputs = lovelace.into_iter().enumerate().map(|(place, lovelace)| (draft.output(place + 1), lovelace)).collect();
        let reference = draft.output(0);
        Some((draft, Self { outputs, reference, address, unit }))
    }

    /// The transaction that spends the output unspent for longest and locks what it held, less the fee, again.
    /// Spends nothing until [`Locked::spent`] is told of it.
    pub(super) fn spend(&self, wallet: &Wallet, run: &Run, stream: &mut Stream) -> Option<(Draft, u64)> {
        let &(locked, held) = self.outputs.front()?;
        let collateral = *wallet.any_of(LEAST_COLLATERAL, stream)?;
        settle(|fee| {
            let left = held.checked_sub(fee).filter(|&left| left >= LEAST)?;
            let spend = ScriptSpend {
                script: (!run.by_reference).then_some(loop_script()),
                reference: run.by_reference.then_some((self.reference, loop_script().len() as u64)),
                argument: run.count as i64,
                budget: loop_budget(run.count),
                collateral: collateral.reference,
                collateral_lovelace: collateral.lovelace,
                collateral_address: run.collateral_return.then(|| wallet.keys.address(collateral.owner)),
            };
            let plan = Plan {
                inputs: vec![locked],
                outputs: vec![NewOutput { datum: Some(&self.unit), ..NewOutput::to(self.address, left) }],
                fee,
                invalid_hereafter: run.invalid_hereafter,
                auxiliary: run.auxiliary.clone(),
                script: Some(spend),
                signers: vec![collateral.owner.payment],
            };
            Some((plan, left))
        })
    }

    /// Takes note that a transaction of [`Locked::spend`] is part of the chain.
    pub(super) fn spent(&mut self, draft: &Draft, left: u64) {
        self.outputs.pop_front();
        self.outputs.push_back((draft.output(0), left));
    }
}
