//! A whole chain against the rules, on all cores.
//!
//! Blocks go through in batches. What depends on earlier blocks (counters, nonces, stake) is done in their order; hashes,
//! signatures and proofs, which are nearly all of the work, need only what that order gave, and are done in parallel.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use rayon::prelude::*;
use serde::Serialize;
use slotmark_chain::block::{DecodeError, Decoder, Header, OperationalCertificate, Span, Transaction, body_is_proven};
use slotmark_chain::{Chain, ChainError, Hash32};
use slotmark_ledger::{Environment, Resolved, block_units, phase_one, phase_two};

use crate::certificate;
use crate::genesis::Genesis;
use crate::header::check_proofs;
use crate::rule::{Outcome, Rule};
use crate::state::{ChainState, Epoch, Step};

/// Blocks of a batch: enough to keep all cores busy, and few enough that progress is reported several times a second.
const BATCH_BLOCKS: usize = 1_024;
/// Failures that are kept with their place; the rest are counted.
const FAILURES_KEPT: usize = 20;

/// The results of checking a chain.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The folder.
    pub chain: String,
    /// Blocks.
    pub blocks: u64,
    /// Byron's blocks among them, of which only index, CRC, link and body proof are checked.
    pub byron_blocks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Transactions.
    pub transactions: u64,
    /// Inputs, collateral and reference inputs that were looked up among the unspent outputs.
    pub inputs: u64,
    /// By rule, in order, those that concerned a block.
    pub rules: Vec<RuleCounts>,
    /// By epoch, those that have a block.
    pub epochs: Vec<EpochFacts>,
    /// Blocks that break a rule.
    pub failed_blocks: u64,
    /// The first broken rules.
    pub failures: Vec<Failure>,
}

/// The blocks, or transactions, that a rule concerned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleCounts {
    /// Its name.
    pub rule: &'static str,
    /// The requirement, in a sentence.
    pub requirement: &'static str,
    /// The unit of the counts: `blocks` or `transactions`.
    pub counted: &'static str,
    /// Number that meet it.
    pub held: u64,
    /// Number that meet it with stake that lacks rewards.
    pub approximate: u64,
    /// Number that can't be decided.
    pub unknown: u64,
    /// Number that break it.
    pub broken: u64,
}

/// An epoch as the blocks before it made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EpochFacts {
    /// Counted from the network's beginning.
    pub epoch: u64,
    /// Its first slot.
    pub first_slot: u64,
    /// Its blocks.
    pub blocks: u64,
    /// Its nonce in hex; None for the neutral one.
    pub nonce: Option<String>,
    /// Pools with stake; None where stake isn't known.
    pub pools: Option<usize>,
    /// Lovelace delegated to pools.
    pub stake: Option<u64>,
    /// True where no stake is missing.
    pub exact: bool,
}

/// A rule that a block breaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The block's slot.
    pub slot: u64,
    /// Its header hash in hex.
    pub hash: String,
    /// The transaction's place in the block, counted from 0; None where the rule is one of blocks.
    pub transaction: Option<u32>,
    /// The rule's name.
    pub rule: &'static str,
    /// The requirement, in a sentence.
    pub requirement: &'static str,
}

/// Checks every block of a chain.
///
/// `genesis` is the network's; without it, what depends on it isn't known. `progress` is called with blocks done and
/// blocks in all, and stops the work with `Break`.
///
/// # Errors
/// The chain's files are damaged, or a block can't be decoded: the message names file and offset. [`ChainError::Empty`]
/// for a chain without blocks, [`ChainError::Interrupted`] where `progress` stopped the work. A broken rule is no error.
pub fn check_chain(
    chain: &Chain,
    genesis: Option<&Arc<Genesis>>,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Report, ChainError> {
    if chain.is_empty() {
        return Err(ChainError::Empty { path: chain.path().to_path_buf() });
    }
    let mut state = ChainState::with_accounts(genesis);
    let mut tally = Tally::default();
    let mut decoder = Decoder::new();
    let mut certificates = Certificates::default();
    for first in (0..chain.len()).step_by(BATCH_BLOCKS) {
        let batch = first..chain.len().min(first + BATCH_BLOCKS);
        let read = batch.clone().into_par_iter().map_init(Decoder::new, |decoder, index| read(chain, index, decoder));
        let blocks: Vec<Read<'_>> = read.collect::<Result<_, _>>()?;
        let mut steps = Vec::with_capacity(blocks.len());
        for (index, block) in batch.zip(&blocks) {
            let step = match block.transactions {
                0 => Ok(state.step_header(&block.header, block.body_bytes)),
                _ => decoder.decode(chain.bytes(index)).and_then(|block| state.step(&block)),
            };
            steps.push(step.map_err(|source| chain.block_error(index, source))?);
        }
        certificates.verify(&blocks);
        let check = |decoder: &mut Decoder, (index, (block, step)): (usize, (&Read<'_>, &Step))| {
            let mut outcome = block.outcome;
            outcome.merge(step.outcome);
            outcome.merge(check_proofs(&block.header, &step.surroundings(genesis.map(Arc::as_ref))));
            if let Some(identity) = identity(&block.header) {
                outcome.note(Rule::CertificateSignature, certificates.is_valid(&identity));
            }
            let environment = step.environment(genesis.map(Arc::as_ref), block.header.slot);
            let transactions = check_transactions(chain.bytes(index), step, &environment, true, decoder, &mut outcome);
            Ok((outcome, transactions.map_err(|source| chain.block_error(index, source))?))
        };
        let checked = blocks.par_iter().zip(&steps).enumerate().map(|(place, item)| (first + place, item)).map_init(Decoder::new, check);
        let outcomes: Vec<(Outcome, Vec<Outcome>)> = checked.collect::<Result<_, ChainError>>()?;
        for ((block, step), (outcome, transactions)) in blocks.iter().zip(&steps).zip(outcomes) {
            tally.add(block, step, &outcome, &transactions);
        }
        if progress(tally.blocks, chain.len() as u64).is_break() {
            return Err(ChainError::Interrupted);
        }
    }
    Ok(tally.report(chain))
}

/// All fields of a certificate, and the cold key that is to have signed it.
type Identity<'a> = (&'a [u8; 32], &'a [u8; 32], u64, u64, &'a [u8; 64]);

fn identity<'a>(header: &Header<'a>) -> Option<Identity<'a>> {
    let certificate = header.certificate?;
    Some((header.issuer?, certificate.hot_key, certificate.sequence, certificate.kes_period, certificate.signature))
}

/// The certificates of a batch, each verified once: a pool makes thousands of blocks with one.
#[derive(Default)]
struct Certificates<'a>(HashMap<Identity<'a>, bool>);

impl<'a> Certificates<'a> {
    /// Verifies those of these blocks, and forgets others.
    fn verify(&mut self, blocks: &[Read<'a>]) {
        let distinct: HashMap<Identity<'a>, OperationalCertificate<'a>> =
            blocks.iter().filter_map(|block| Some((identity(&block.header)?, block.header.certificate?))).collect();
        let known = std::mem::take(&mut self.0);
        let verify = |(identity, certificate): (Identity<'a>, OperationalCertificate<'a>)| {
            let valid = known.get(&identity).copied().unwrap_or_else(|| certificate::verify(identity.0, &certificate));
            (identity, valid)
        };
        self.0 = distinct.into_par_iter().map(verify).collect();
    }

    fn is_valid(&self, identity: &Identity<'a>) -> bool {
        self.0.get(identity).copied().unwrap_or(false)
    }
}

/// A block that was read and decoded, and checked against its own header.
struct Read<'a> {
    header: Header<'a>,
    bytes: u64,
    body_bytes: u64,
    transactions: u64,
    outcome: Outcome,
}

fn read<'a>(chain: &'a Chain, index: usize, decoder: &mut Decoder) -> Result<Read<'a>, ChainError> {
    chain.check_entry(index)?;
    let bytes = chain.bytes(index);
    let block = decoder.decode(bytes).map_err(|source| chain.block_error(index, source))?;
    let mut outcome = Outcome::default();
    outcome.note(Rule::BodyHash, body_is_proven(bytes, &block.header));
    if let Some(size) = block.header.body_size {
        outcome.note(Rule::BodySize, size == block.body_bytes());
    }
    let transactions = block.transactions.len() as u64;
    Ok(Read { header: block.header, bytes: bytes.len() as u64, body_bytes: block.body_bytes(), transactions, outcome })
}

/// Holds each transaction of a block against the rules of the ledger, with its scripts or without; the block's own rules of
/// transactions go to `outcome`.
///
/// # Errors
/// A part of the block can't be read.
pub fn check_transactions(
    bytes: &[u8],
    step: &Step,
    environment: &Environment<'_>,
    with_scripts: bool,
    decoder: &mut Decoder,
    outcome: &mut Outcome,
) -> Result<Vec<Outcome>, DecodeError> {
    if step.resolved.is_empty() {
        return Ok(Vec::new());
    }
    let block = decoder.decode(bytes)?;
    outcome.merge(block_units(&block, environment));
    let auxiliary: HashMap<u32, Span> = block.auxiliary_data()?.into_iter().collect();
    let check = |(place, (transaction, resolved)): (u32, (&Transaction, &Resolved))| {
        let auxiliary = auxiliary.get(&place).map(|span| span.of(block.bytes));
        let mut outcome = phase_one(&block, transaction, resolved, auxiliary, environment)?;
        let valid = !block.invalid.contains(&place);
        // Scripts of a transaction that phase 1 refuses don't run.
        if with_scripts && outcome.broken.is_empty() {
            outcome.merge(phase_two(&block, transaction, valid, resolved, auxiliary, environment).0);
        }
        Ok(outcome)
    };
    (0..).zip(block.transactions.iter().zip(&step.resolved)).map(check).collect()
}

/// Counts of what was found.
#[derive(Default)]
struct Tally {
    blocks: u64,
    byron_blocks: u64,
    bytes: u64,
    transactions: u64,
    inputs: u64,
    /// Held, approximate, unknown, broken: by rule.
    rules: Vec<[u64; 4]>,
    epochs: Vec<(Arc<Epoch>, u64)>,
    failed_blocks: u64,
    failures: Vec<Failure>,
}

impl Tally {
    fn add(&mut self, block: &Read<'_>, step: &Step, outcome: &Outcome, transactions: &[Outcome]) {
        self.blocks += 1;
        self.byron_blocks += u64::from(block.header.issuer.is_none());
        self.bytes += block.bytes;
        self.transactions += block.transactions;
        self.inputs += step.resolved.iter().flat_map(Resolved::all).count() as u64;
        self.rules.resize(Rule::ALL.len(), [0; 4]);
        for outcome in transactions.iter().chain([outcome]) {
            for (rule, counts) in Rule::ALL.iter().zip(&mut self.rules) {
                for (set, count) in [outcome.held, outcome.approximate, outcome.unknown, outcome.broken].iter().zip(counts) {
                    *count += u64::from(set.contains(*rule));
                }
            }
        }
        if let Some(epoch) = &step.epoch {
            match self.epochs.last_mut() {
                Some((last, blocks)) if last.number == epoch.number => *blocks += 1,
                _ => self.epochs.push((epoch.clone(), 1)),
            }
        }
        self.failed_blocks += u64::from(!outcome.broken.is_empty() || transactions.iter().any(|outcome| !outcome.broken.is_empty()));
        let of_transactions = (0..).zip(transactions).map(|(place, outcome)| (Some(place), outcome));
        for (transaction, outcome) in [(None, outcome)].into_iter().chain(of_transactions) {
            for rule in outcome.broken.iter() {
                if self.failures.len() < FAILURES_KEPT {
                    let (slot, hash) = (block.header.slot, hex::encode(block.header.hash));
                    self.failures.push(Failure { slot, hash, transaction, rule: rule.name(), requirement: rule.requirement() });
                }
            }
        }
    }

    fn report(self, chain: &Chain) -> Report {
        let counts = Rule::ALL.iter().zip(&self.rules).filter(|(_, counts)| counts.iter().any(|count| *count > 0));
        let rules = counts.map(|(rule, [held, approximate, unknown, broken])| RuleCounts {
            rule: rule.name(),
            requirement: rule.requirement(),
            counted: if rule.is_of_transactions() { "transactions" } else { "blocks" },
            held: *held,
            approximate: *approximate,
            unknown: *unknown,
            broken: *broken,
        });
        let epochs = self.epochs.iter().map(|(epoch, blocks)| EpochFacts {
            epoch: epoch.number,
            first_slot: epoch.first_slot,
            blocks: *blocks,
            nonce: epoch.nonce.as_ref().map(|nonce: &Hash32| hex::encode(nonce)),
            pools: epoch.distribution.as_ref().map(|distribution| distribution.pools_with_stake()),
            stake: epoch.distribution.as_ref().map(|distribution| distribution.total_lovelace()),
            exact: epoch.distribution.as_ref().is_some_and(|distribution| distribution.exact),
        });
        Report {
            chain: chain.path().display().to_string(),
            blocks: self.blocks,
            byron_blocks: self.byron_blocks,
            bytes: self.bytes,
            transactions: self.transactions,
            inputs: self.inputs,
            rules: rules.collect(),
            epochs: epochs.collect(),
            failed_blocks: self.failed_blocks,
            failures: self.failures,
        }
    }
}
