//! Blocks like those of the preview network: mostly empty, now and then a large one.
//!
//! Size and number of transactions of each block are drawn from the real chain's distribution. What the transactions
//! hold is made to fit: one or several inputs and outputs, metadata or inline datums, and now and then a script that
//! runs. The first block holds the transaction that sets the script up.

use slotmark_network::shelley;

use super::locked::{Locked, Run, collateral};
use super::{TransactionSource, preview_sizes};
use crate::error::SynthError;
use crate::keys::Owner;
use crate::plutus::{Script, loop_budget};
use crate::random::Stream;
use crate::transaction::{Draft, NewDatum, NewOutput, Spec, datum, payload, settle};
use crate::wallet::{Coin, Wallet};

/// A block without transactions has about this many bytes.
const EMPTY_BLOCK_BYTES: u64 = 860;
/// A transaction of one input and one output, with a slot until which it is valid.
const SMALLEST_TX_BYTES: u64 = 234;
/// Bytes of a further input, with its signature, and of a further output.
const INPUT_BYTES: u64 = 137;
const OUTPUT_BYTES: u64 = 73;
/// Transactions stay so far below the limit of the ledger.
const LARGEST_TX_BYTES: u64 = shelley::PARAMETERS.max_transaction_bytes - 384;
/// Auxiliary data adds so much even when there is hardly any.
const AUXILIARY_BYTES: u64 = 60;
/// From here on a transaction may run a script.
const SCRIPT_TX_BYTES: u64 = 620;

/// Number of 1,000 transactions that are large enough which have a script that runs (preview: 158 redeemers for 1,000 transactions, large and small),
/// a further input, a further output, metadata, a slot until which they are valid.
const SCRIPTS: u64 = 300;
const FURTHER_INPUT: u64 = 350;
const FURTHER_OUTPUT: u64 = 600;
const METADATA: u64 = 600;

/// Lovelace that outputs hold at least: enough for any datum that fits a transaction.
const LEAST: u64 = 100_000_000;
/// More than any fee.
const MOST_FEE: u64 = 10_000_000;
/// Slots ahead at which transactions end.
const VALID_SLOTS: u64 = 7_200;
/// Metadata labels are drawn below this.
const LABELS: u64 = 2_000;
/// Scripts count down from a number below this.
const COUNTS: u64 = 2_000;

pub(crate) struct PreviewLike {
    script: Script,
    locked: Option<Locked>,
}

impl PreviewLike {
    /// Nothing is locked yet.
    pub(crate) fn new(major: u64) -> Result<Self, SynthError> {
        Ok(Self { script: Script::countdown(0).under(major)?, locked: None })
    }

    fn transaction(&mut self, wallet: &mut Wallet, bytes: u64, slot: u64, stream: &mut Stream) -> Option<Draft> {
        if bytes >= SCRIPT_TX_BYTES && stream.per_mille(SCRIPTS) {
            self.run_script(wallet, bytes, slot, stream)
        } else {
            pay(wallet, bytes, slot, stream)
        }
    }

    fn run_script(&mut self, wallet: &Wallet, bytes: u64, slot: u64, stream: &mut Stream) -> Option<Draft> {
        let locked = self.locked.as_mut()?;
        let (label, count, by_reference) = (stream.below(LABELS), stream.below(COUNTS), stream.per_mille(500));
        let fork = stream.fork();
        let collateral = collateral(wallet, &mut fork.clone())?;
        let (draft, left) = fit(bytes, |filling| {
            let auxiliary = metadata(label, filling, &mut fork.clone());
            let invalid_hereafter = Some(slot + VALID_SLOTS);
            let redeemer = Script::countdown(count).redeemer().to_vec();
            let run = Run { redeemer, by_reference, collateral_return: true, auxiliary, invalid_hereafter, collateral };
            locked.spend(&wallet.keys, &run, loop_budget(count))
        })?;
        locked.spent(&draft, left);
        Some(draft)
    }
}

impl TransactionSource for PreviewLike {
    fn transactions(&mut self, wallet: &mut Wallet, slot: u64, stream: &mut Stream) -> Option<Vec<Draft>> {
        if self.locked.is_none() {
            let (draft, locked) = Locked::set_up(self.script.clone(), true, wallet, stream)?;
            self.locked = Some(locked);
            return Some(vec![draft]);
        }
        let Some(drawn) = preview_sizes::draw(stream) else { return Some(Vec::new()) };
        let mut room = drawn.bytes.saturating_sub(EMPTY_BLOCK_BYTES).max(SMALLEST_TX_BYTES);
        let count = drawn.transactions.max(room.div_ceil(LARGEST_TX_BYTES)).min(room / SMALLEST_TX_BYTES);
        let mut drafts = Vec::with_capacity(count as usize);
        for left in (0..count).rev() {
            let mean = room / (left + 1);
            // Neither so large nor so small that the others can't share what remains.
            let least = SMALLEST_TX_BYTES.max(room.saturating_sub(left * LARGEST_TX_BYTES));
            let most = LARGEST_TX_BYTES.min(room - left * SMALLEST_TX_BYTES);
            let bytes = if left == 0 { room } else { stream.between(mean / 2..mean * 3 / 2 + 1).clamp(least, most) };
            let draft = self.transaction(wallet, bytes, slot, stream)?;
            room = room.saturating_sub(draft.block_bytes() as u64 + 1).max(left * SMALLEST_TX_BYTES);
            drafts.push(draft);
        }
        Some(drafts)
    }
}

fn pay(wallet: &mut Wallet, bytes: u64, slot: u64, stream: &mut Stream) -> Option<Draft> {
    let (inputs, outputs) = shape(bytes, stream);
    let spent = coins(wallet, inputs, MOST_FEE + outputs as u64 * LEAST, stream)?;
    let total: u64 = spent.iter().map(|coin| coin.lovelace).sum();
    let mut signers: Vec<u16> = spent.iter().map(|coin| coin.owner.payment).collect();
    signers.sort_unstable();
    signers.dedup();
    let owners: Vec<Owner> = (0..outputs).map(|_| Owner::any(stream)).collect();
    let weights: Vec<u64> = (0..outputs).map(|_| stream.between(1..1_025)).collect();
    let bare = SMALLEST_TX_BYTES + (signers.len() as u64 - 1) * INPUT_BYTES + (outputs as u64 - 1) * OUTPUT_BYTES;
    let as_metadata = bytes >= bare + AUXILIARY_BYTES && stream.per_mille(METADATA);
    let label = stream.below(LABELS);
    let fork = stream.fork();
    let (draft, lovelace) = fit(bytes, |filling| {
        let mut drawn = fork.clone();
        let (auxiliary, held) = if as_metadata {
            (metadata(label, filling, &mut drawn), None)
        } else {
            (Vec::new(), (filling > 0).then(|| datum(&random(filling - 1, &mut drawn))))
        };
        settle(|fee| {
            let lovelace = split(total.checked_sub(fee)?, &weights)?;
            let mut made: Vec<NewOutput<'_>> =
                owners.iter().zip(&lovelace).map(|(&owner, &lovelace)| NewOutput::to(wallet.keys.address(owner), lovelace)).collect();
            if let Some(last) = made.last_mut() {
                last.datum = held.as_deref().map(NewDatum::Inline);
            }
            let spec = Spec {
                inputs: spent.iter().map(|coin| coin.reference).collect(),
                outputs: made,
                fee,
                invalid_hereafter: Some(slot + VALID_SLOTS),
                auxiliary: auxiliary.clone(),
                script: None,
                signers: signers.clone(),
                ..Spec::default()
            };
            Some((spec, lovelace))
        })
    })?;
    for (index, (&owner, &lovelace)) in owners.iter().zip(&lovelace).enumerate() {
        wallet.put(Coin { reference: draft.output(index), owner, lovelace });
    }
    Some(draft)
}

/// Takes this many coins, and more until they hold enough.
fn coins(wallet: &mut Wallet, count: usize, lovelace: u64, stream: &mut Stream) -> Option<Vec<Coin>> {
    let mut coins: Vec<Coin> = Vec::with_capacity(count);
    while coins.len() < count || coins.iter().map(|coin| coin.lovelace).sum::<u64>() < lovelace {
        coins.push(wallet.take(stream)?);
    }
    Some(coins)
}

/// Returns the number of inputs and outputs of a transaction of this size.
fn shape(bytes: u64, stream: &mut Stream) -> (usize, usize) {
    let (mut inputs, mut outputs, mut left) = (1, 1, bytes.saturating_sub(SMALLEST_TX_BYTES));
    while left >= INPUT_BYTES && inputs < 8 && stream.per_mille(FURTHER_INPUT) {
        inputs += 1;
        left -= INPUT_BYTES;
    }
    while left >= OUTPUT_BYTES && stream.per_mille(FURTHER_OUTPUT) {
        outputs += 1;
        left -= OUTPUT_BYTES;
    }
    (inputs, outputs)
}

/// The largest transaction of at most `bytes` bytes in a block, made from as many bytes of filling as fit.
fn fit<T>(bytes: u64, mut build: impl FnMut(usize) -> Option<(Draft, T)>) -> Option<(Draft, T)> {
    let bare = build(0)?;
    let over = |draft: &Draft| (draft.block_bytes() + 1).saturating_sub(bytes as usize);
    let mut filling = (bytes as usize).saturating_sub(bare.0.block_bytes() + 1);
    while filling > 0 {
        let filled = build(filling)?;
        match over(&filled.0) {
            0 => return Some(filled),
            excess => filling = filling.saturating_sub(excess),
        }
    }
    Some(bare)
}

/// Shares lovelace out by weight, after each has got [`LEAST`].
fn split(total: u64, weights: &[u64]) -> Option<Vec<u64>> {
    let spare = total.checked_sub(LEAST * weights.len() as u64)?;
    let sum: u64 = weights.iter().sum();
    let mut shares: Vec<u64> =
        weights.iter().map(|&weight| LEAST + (u128::from(spare) * u128::from(weight) / u128::from(sum)) as u64).collect();
    let rest = total - shares.iter().sum::<u64>();
    if let Some(last) = shares.last_mut() {
        *last += rest;
    }
    Some(shares)
}

fn metadata(label: u64, bytes: usize, stream: &mut Stream) -> Vec<u8> {
    if bytes == 0 { Vec::new() } else { payload(label, &random(bytes, stream)) }
}

fn random(bytes: usize, stream: &mut Stream) -> Vec<u8> {
    let mut drawn = vec![0; bytes];
    stream.fill(&mut drawn);
    drawn
}
