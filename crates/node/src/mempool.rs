//! Transactions that wait for a block, each valid behind the chain's tip and those before it.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use minicbor::Decoder as Cbor;
use minicbor::data::Type;
use slotmark_chain::Hash32;
use slotmark_chain::block::{Block, Decoder, Hash28, Transaction};
use slotmark_chain::hash::blake2b_256;
use slotmark_ledger::{EncodedOutput, Environment, Resolved, phase_one, phase_two};
use slotmark_network::Units;
use slotmark_praos::accounts::{Accounts, Moves};
use slotmark_praos::stake::Stake;
use slotmark_praos::state::Outlook;
use slotmark_synth::assembly::Transactions;

/// Capacity in blocks' worth of transactions.
const BLOCKS: u64 = 2;

/// The place of an output.
type Place = (Hash32, u64);

/// A transaction that waits.
#[derive(Debug)]
pub struct Waiting {
    /// Its id.
    pub id: Hash32,
    /// The whole transaction, `[body, witnesses, valid, auxiliary data]`.
    pub bytes: Arc<[u8]>,
    parts: Parts,
    units: Units,
    /// The outputs that it spends and refers to.
    spends: Vec<Place>,
    refers: Vec<Place>,
    makes: Vec<(Place, EncodedOutput)>,
    /// The pools that it registers for the first time.
    pools: Vec<Hash28>,
    interval: (Option<u64>, Option<u64>),
    /// Its changes of accounts.
    moves: Moves,
    /// Its number among all that ever came.
    pub ticket: u64,
}

impl Waiting {
    fn is_in_time(&self, slot: u64) -> bool {
        let (from, until) = self.interval;
        from.is_none_or(|from| from <= slot) && until.is_none_or(|until| slot < until)
    }
}

/// The places of a transaction's parts.
#[derive(Clone, Debug)]
struct Parts {
    body: Range<usize>,
    witnesses: Range<usize>,
    valid: bool,
    /// Empty where there is none.
    auxiliary: Range<usize>,
}

/// The rules that transactions are checked against.
#[derive(Clone, Copy)]
pub struct Rules<'r> {
    /// The unspent outputs at the tip.
    pub stake: &'r Stake,
    /// Accounts at the tip, as the slot's epoch has them; None where they aren't followed.
    pub accounts: Option<&'r Accounts>,
    /// Slot, network and parameters.
    pub environment: Environment<'r>,
    /// True where scripts are run.
    pub with_scripts: bool,
}

/// Reasons why a transaction isn't taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It is here already.
    Known,
    /// There is no room now.
    Full,
    /// It isn't valid.
    Invalid(String),
}

/// The transactions, in the order in which they came.
#[derive(Default)]
pub struct Mempool {
    waiting: VecDeque<Waiting>,
    ids: HashSet<Hash32>,
    spent: HashSet<Place>,
    made: HashMap<Place, EncodedOutput>,
    /// Pools that are registered by those that wait.
    pools: HashSet<Hash28>,
    /// Accounts behind all that wait; None where none of them changes any.
    accounts: Option<Accounts>,
    bytes: u64,
    units: Units,
    tickets: u64,
    decoder: Decoder,
}

impl Mempool {
    /// Returns the number of transactions.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Bytes of all of them.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns whether a transaction is there.
    pub fn has(&self, id: &Hash32) -> bool {
        self.ids.contains(id)
    }

    /// Returns the transactions with a number above one, in order.
    pub fn after(&self, ticket: u64) -> impl Iterator<Item = &Waiting> {
        let start = self.waiting.partition_point(|waiting| waiting.ticket <= ticket);
        self.waiting.range(start..)
    }

    /// A transaction by its id.
    pub fn get(&self, id: &Hash32) -> Option<&Waiting> {
        self.ids.get(id)?;
        self.waiting.iter().find(|waiting| waiting.id == *id)
    }

    /// The bytes that there may be.
    pub fn capacity(max_body_bytes: u64) -> u64 {
        BLOCKS * max_body_bytes
    }

    /// Takes a transaction in; gives its id.
    ///
    /// # Errors
    /// It isn't valid, is here already, or there is no room.
    pub fn add(&mut self, bytes: &[u8], rules: &Rules<'_>, max_body_bytes: u64) -> Result<Hash32, Refused> {
        let parts = Parts::of(bytes)
            .ok_or_else(|| Refused::Invalid("it is no transaction: expected [body, witnesses, valid, auxiliary]".into()))?;
        let id = blake2b_256(&[&bytes[parts.body.clone()]]);
        if self.ids.contains(&id) {
            return Err(Refused::Known);
        }
        if rules.environment.parameters.is_some_and(|parameters| bytes.len() as u64 > parameters.shelley.max_transaction_bytes + 1) {
            return Err(Refused::Invalid("it is larger than a transaction may be".into()));
        }
        if self.bytes + bytes.len() as u64 > Self::capacity(max_body_bytes) {
            return Err(Refused::Full);
        }
        let mut decoder = std::mem::take(&mut self.decoder);
        let checked = self.check(bytes, &parts, id, rules, &mut decoder);
        self.decoder = decoder;
        let (mut waiting, accounts) = checked.map_err(Refused::Invalid)?;
        let limit = rules.environment.parameters.map(|parameters| parameters.alonzo.max_block_units);
        if limit.is_some_and(|limit| !self.units.plus(waiting.units).within(limit.plus(limit))) {
            return Err(Refused::Full);
        }
        self.tickets += 1;
        waiting.ticket = self.tickets;
        self.note(waiting, accounts);
        Ok(id)
    }

    /// Adds a transaction; `accounts` are those behind it, where it changes any.
    fn note(&mut self, waiting: Waiting, accounts: Option<Accounts>) {
        self.accounts = accounts.or(self.accounts.take());
        self.ids.insert(waiting.id);
        self.spent.extend(waiting.spends.iter().copied());
        self.made.extend(waiting.makes.iter().cloned());
        self.pools.extend(waiting.pools.iter().copied());
        self.bytes += waiting.bytes.len() as u64;
        self.units = self.units.plus(waiting.units);
        self.waiting.push_back(waiting);
    }

    /// Checks a transaction; returns it with the accounts behind it, where it changes any.
    fn check(
        &self,
        bytes: &[u8],
        parts: &Parts,
        id: Hash32,
        rules: &Rules<'_>,
        decoder: &mut Decoder,
    ) -> Result<(Waiting, Option<Accounts>), String> {
        // Decoded and checked as a block of its own, behind a header that isn't read.
        let mut transactions = Transactions::default();
        let auxiliary = &bytes[parts.auxiliary.clone()];
        transactions.push(&bytes[parts.body.clone()], |set| set.extend_from_slice(&bytes[parts.witnesses.clone()]), auxiliary, parts.valid);
        let encoded = transactions.body().behind_blank_header();
        let block = decoder.decode(&encoded).map_err(|error| format!("it can't be read: {error}"))?;
        let [transaction] = block.transactions else { return Err("it can't be read".into()) };
        let find = |id: &Hash32, index: u64| self.find(&(*id, index), rules.stake);
        // One that fails in phase 2 changes no accounts.
        let moves = if parts.valid { Moves::of(&block, transaction).map_err(|error| error.to_string())? } else { Moves::default() };
        let new_pools = rules.stake.new_pools(moves.certificates());
        let pools: Vec<Hash28> = new_pools.into_iter().filter(|pool| !self.pools.contains(pool)).collect();
        let mut resolved = Resolved::of(&block, transaction, pools.len() as u64, find).map_err(|error| error.to_string())?;
        let before = self.accounts.as_ref().or(rules.accounts);
        resolved.older_deposits = before.map_or(0, |accounts| accounts.older_deposits(moves.certificates()));
        let (fits, accounts) = apply(&moves, before);
        resolved.fits_accounts = fits;
        if resolved.all().any(|output| output.is_none()) {
            return Err("an input that is not an unspent output".into());
        }
        let auxiliary = (!auxiliary.is_empty()).then_some(auxiliary);
        let mut outcome = phase_one(&block, transaction, &resolved, auxiliary, &rules.environment).map_err(|error| error.to_string())?;
        if rules.with_scripts && outcome.broken.is_empty() {
            outcome.merge(phase_two(&block, transaction, parts.valid, &resolved, auxiliary, &rules.environment).0);
        }
        outcome.result().map_err(|rule| format!("it breaks the rule {rule}: {}", rule.requirement()))?;
        let (spends, refers, makes) = places(&block, transaction, id, parts.valid).map_err(|error| error.to_string())?;
        let units = block
            .redeemers
            .iter()
            .fold(Units::default(), |sum, redeemer| sum.plus(Units { memory: redeemer.memory, steps: redeemer.steps }));
        let interval = (transaction.invalid_before, transaction.invalid_hereafter);
        let waiting =
            Waiting { id, bytes: bytes.into(), parts: parts.clone(), units, spends, refers, makes, pools, interval, moves, ticket: 0 };
        Ok((waiting, accounts))
    }

    fn find(&self, place: &Place, stake: &Stake) -> Option<EncodedOutput> {
        if self.spent.contains(place) {
            return None;
        }
        self.made.get(place).cloned().or_else(|| stake.unspent(&place.0, place.1))
    }

    /// Takes out what is no longer valid behind a new tip; gives the ids that left.
    pub fn revalidate(&mut self, rules: &Rules<'_>) -> Vec<Hash32> {
        let before = std::mem::take(&mut self.waiting);
        (self.bytes, self.units, self.accounts) = (0, Units::default(), None);
        self.ids.clear();
        self.spent.clear();
        self.made.clear();
        self.pools.clear();
        let mut left = Vec::new();
        for waiting in before {
            let is_there = |place| self.find(place, rules.stake).is_some();
            let (fits, accounts) = apply(&waiting.moves, self.accounts.as_ref().or(rules.accounts));
            if waiting.is_in_time(rules.environment.slot)
                && waiting.spends.iter().chain(&waiting.refers).all(is_there)
                && fits != Some(false)
            {
                self.note(waiting, accounts);
            } else {
                left.push(waiting.id);
            }
        }
        left
    }

    /// The first ones that fit into a block of a slot.
    pub fn block(&self, slot: u64, outlook: &Outlook) -> Transactions {
        let mut transactions = Transactions::default();
        // The heads of the four parts.
        let (mut bytes, mut units) = (16, Units::default());
        let mut skipped: HashSet<Place> = HashSet::new();
        // Those of the slot, whose epoch may be a later one than the tip's: with other rewards, and without pools that retired.
        let mut accounts: Option<Accounts> = None;
        let limit = outlook.parameters.as_ref().map(|parameters| parameters.alonzo.max_block_units);
        for waiting in &self.waiting {
            let leads_nowhere = waiting.spends.iter().chain(&waiting.refers).any(|place| skipped.contains(place));
            let (fits, behind) = apply(&waiting.moves, accounts.as_ref().or(outlook.accounts.as_ref()));
            if !waiting.is_in_time(slot) || leads_nowhere || fits == Some(false) {
                skipped.extend(waiting.makes.iter().map(|(place, _)| *place));
                continue;
            }
            accounts = behind.or(accounts);
            let sum = units.plus(waiting.units);
            let size = waiting.bytes.len() as u64 + 3;
            if bytes + size > outlook.max_body_bytes || limit.is_some_and(|limit| !sum.within(limit)) {
                break;
            }
            (bytes, units) = (bytes + size, sum);
            let of = |range: &Range<usize>| &waiting.bytes[range.clone()];
            let parts = &waiting.parts;
            transactions.push(of(&parts.body), |set| set.extend_from_slice(of(&parts.witnesses)), of(&parts.auxiliary), parts.valid);
        }
        transactions
    }
}

impl Parts {
    fn of(bytes: &[u8]) -> Option<Self> {
        let mut decoder = Cbor::new(bytes);
        if decoder.array().ok()? != Some(4) {
            return None;
        }
        let mut item = || {
            let start = decoder.position();
            decoder.skip().ok()?;
            Some(start..decoder.position())
        };
        let (body, witnesses, valid, auxiliary) = (item()?, item()?, item()?, item()?);
        if decoder.position() != bytes.len() {
            return None;
        }
        let valid = Cbor::new(&bytes[valid]).bool().ok()?;
        let none = Cbor::new(&bytes[auxiliary.clone()]).datatype().ok()? == Type::Null;
        Some(Self { body, witnesses, valid, auxiliary: if none { 0..0 } else { auxiliary } })
    }
}

/// Returns whether a transaction's changes fit these accounts, None where that isn't known; and the accounts behind it, where it changes any.
fn apply(moves: &Moves, accounts: Option<&Accounts>) -> (Option<bool>, Option<Accounts>) {
    let Some(accounts) = accounts else { return (None, None) };
    if moves.only_pays() {
        return (Some(true), None);
    }
    let mut behind = accounts.clone();
    (behind.apply(moves), Some(behind))
}

/// A transaction's id; the hash of all its bytes where it can't be read.
pub fn transaction_id(bytes: &[u8]) -> Hash32 {
    blake2b_256(&[Parts::of(bytes).map_or(bytes, |parts| &bytes[parts.body])])
}

type Places = (Vec<Place>, Vec<Place>, Vec<(Place, EncodedOutput)>);

/// Returns the outputs that a transaction spends, refers to and makes.
fn places(block: &Block<'_, '_>, transaction: &Transaction, id: Hash32, valid: bool) -> Result<Places, slotmark_chain::DecodeError> {
    let place = |input: &slotmark_chain::block::Input| -> Place {
        (block.bytes[input.transaction as usize..][..32].try_into().expect("32 bytes"), input.index)
    };
    let inputs: Vec<Place> = block.inputs[transaction.inputs.start as usize..transaction.inputs.end as usize].iter().map(place).collect();
    let collateral: Vec<Place> = block.inputs_in(&transaction.collateral)?.iter().map(place).collect();
    let references = block.inputs_in(&transaction.reference_inputs)?.iter().map(place).collect();
    let outputs = &block.outputs[transaction.outputs.start as usize..transaction.outputs.end as usize];
    let encoded = |output: &slotmark_chain::block::Output| -> EncodedOutput { output.encoded.of(block.bytes).into() };
    if valid {
        let makes = (0..).zip(outputs).map(|(index, output)| ((id, index), encoded(output))).collect();
        return Ok((inputs, [collateral, references].concat(), makes));
    }
    let makes = transaction.collateral_return.iter().map(|output| ((id, outputs.len() as u64), encoded(output))).collect();
    Ok((collateral, [inputs, references].concat(), makes))
}
