//! A workload for a live cluster: transactions from a bed's funds, signed and ready to be submitted.
//!
//! First each fund is split into as many outputs as are wanted, by one transaction. Transactions then spend the outputs that were
//! made first, so that one whose inputs are still to be made is behind all those that make them.

use std::collections::{BTreeSet, VecDeque};
use std::ops::ControlFlow;

use rayon::prelude::*;
use slotmark_chain::Hash32;
use slotmark_chain::hash::{blake2b_224, blake2b_256};
use slotmark_network::shelley;

use crate::actions::{Action, Actor, Shares};
use crate::address::Address;
use crate::bed::unowned_address;
use crate::error::SynthError;
use crate::keys::PaymentKey;
use crate::plutus::evaluate::{LockedOutput, probe, settle_run};
use crate::plutus::{Budget, Loop, Script};
use crate::random::Stream;
use crate::transaction::{Draft, NewOutput, OutputReference, ScriptSpend, Signers, Spec, payload, settle};

/// Fee of a value-only transaction at least, in lovelace: the published workload's.
const FEE: u64 = 1_000_000;
/// The metadata label of the payload.
const LABEL: u64 = 0;
/// Least lovelace of an output: well above the ledger's minimum.
const LEAST: u64 = 2_000_000;
/// Lovelace that each fund keeps as collateral: more than one and a half of any fee.
const COLLATERAL: u64 = 20_000_000;
/// Outputs that a fund is split into at most: they fit into one transaction.
const MOST_OUTPUTS: u64 = 250;
/// Bytes of metadata, where they are what a transaction does.
const METADATA_BYTES: usize = 1_000;
/// Transactions that are signed between two looks at the progress.
const BATCH: usize = 4_096;

/// An output that the genesis holds for the workload, and its key.
pub struct Fund {
    key: PaymentKey,
    address: Address,
    lovelace: u64,
}

impl Fund {
    /// The output of a key's address in the genesis, from the seed of the key.
    pub fn new(secret: &[u8; 32], lovelace: u64) -> Self {
        let key = PaymentKey::from_seed(secret);
        let address = fund_address(key.public());
        Self { key, address, lovelace }
    }

    /// Its reference: an output of the genesis has the hash of its address for a transaction.
    fn reference(&self) -> OutputReference {
        OutputReference { transaction: blake2b_256(&[self.address.bytes()]), index: 0 }
    }
}

/// The address of the output that a key of the workload spends.
pub(crate) fn fund_address(key: &[u8; 32]) -> Address {
    Address::key(&blake2b_224(&[key]))
}

/// The transactions to submit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// The kind of transactions.
    pub kind: LoadKind,
    /// Number of transactions.
    pub transactions: u64,
    /// Bytes of payload each, as metadata; 0 for none.
    pub payload_bytes: usize,
    /// Decides what is random.
    pub seed: u64,
    /// Budget of a transaction's script.
    pub budget: Budget,
    /// Outputs that a transaction which moves value refers to beside.
    pub referred: Referred,
}

/// Unspent outputs that transactions refer to, drawn among those of a bed that nothing spends: looking them up is work of a node's ledger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Referred {
    /// Number of outputs that each transaction refers to; 0 for none.
    pub each: usize,
    /// Number of outputs of the bed that nothing spends.
    pub entries: u64,
    /// The bed's seed.
    pub seed: u64,
}

impl Referred {
    /// Draws a transaction's outputs, all of them different.
    fn draw(self, stream: &mut Stream) -> Vec<OutputReference> {
        let mut drawn = BTreeSet::new();
        while drawn.len() < self.each {
            drawn.insert(stream.below(self.entries));
        }
        drawn
            .into_iter()
            .map(|number| OutputReference { transaction: blake2b_256(&[unowned_address(self.seed, number).bytes()]), index: 0 })
            .collect()
    }
}

/// A kind of transactions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadKind {
    /// Value from some outputs to others.
    ValueOnly {
        /// Outputs spent by each, 1 at least.
        inputs: usize,
        /// Outputs made by each, 1 at least.
        outputs: usize,
    },
    /// Value from some outputs to others, and by shares what else the ledger knows. Funds are its actors, each of which has half of its lovelace for that.
    Acting {
        /// Outputs spent by a transaction that moves value, 1 at least.
        inputs: usize,
        /// Outputs made by it, 1 at least.
        outputs: usize,
        /// Shares of actions.
        shares: Shares,
    },
    /// One run of the loop script each.
    PlutusLoop {
        /// The number that the script counts down from; None for as much as a transaction's budget allows.
        count: Option<u64>,
    },
    /// One run of a script of a file each.
    Script(Script),
}

/// A transaction ready to be submitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedTransaction {
    /// Its id.
    pub id: Hash32,
    /// The name of the action that it is, or `script`.
    pub action: &'static str,
    /// `[body, witnesses, valid, auxiliary data]`.
    pub bytes: Vec<u8>,
}

/// A workload that is signed.
#[derive(Clone, Debug)]
pub struct SignedLoad {
    /// The transactions that must be in blocks before the rest: one for each fund.
    pub split: Vec<SignedTransaction>,
    /// The transactions, in the order in which they are to be offered.
    pub transactions: Vec<SignedTransaction>,
}

/// An unspent output, and the number of the fund whose key spends it.
#[derive(Clone, Copy)]
struct Coin {
    reference: OutputReference,
    fund: u16,
    lovelace: u64,
}

struct Keys<'f>(&'f [Fund]);

impl Signers for Keys<'_> {
    fn signer(&self, number: u16) -> &PaymentKey {
        &self.0[usize::from(number)].key
    }
}

/// Makes and signs all transactions of a workload, the same bytes for the same arguments. `progress` is called with transactions
/// signed and to be signed; it stops the work with `Break`.
///
/// # Errors
/// The funds don't suffice, a transaction becomes larger than the ledger takes, or `progress` gave `Break`
/// ([`SynthError::Interrupted`]).
pub fn prepare(load: &Load, funds: &[Fund], progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>) -> Result<SignedLoad, SynthError> {
    if funds.is_empty() || funds.len() > usize::from(u16::MAX) {
        return Err(SynthError::Refused(format!("{} funds: expected 1 to {}. Make the bed with others.", funds.len(), u16::MAX)));
    }
    let referred = load.referred;
    if referred.each as u64 > referred.entries {
        let Referred { each, entries, .. } = referred;
        return Err(SynthError::Refused(format!(
            "{each} references to {entries} outputs: expected no more than there are. Make the bed with more utxo_entries."
        )));
    }
    if referred.each > 0 && !matches!(load.kind, LoadKind::ValueOnly { .. } | LoadKind::Acting { .. }) {
        return Err(SynthError::Refused("references beside a script: expected a workload that moves value. Leave them out.".to_owned()));
    }
    let (wanted, mut source): (u64, Box<dyn Source + '_>) = match load.kind {
        LoadKind::ValueOnly { inputs, outputs } if inputs > 0 && outputs > 0 => (
            load.transactions.saturating_mul(inputs as u64),
            Box::new(ValueOnly { funds, coins: VecDeque::new(), inputs, outputs, referred }),
        ),
        LoadKind::Acting { inputs, outputs, shares } if inputs > 0 && outputs > 0 => {
            let value = ValueOnly { funds, coins: VecDeque::new(), inputs, outputs, referred };
            (load.transactions.saturating_mul(inputs as u64), Box::new(Acting { value, actors: Vec::new(), next: 0, shares }))
        }
        LoadKind::ValueOnly { .. } | LoadKind::Acting { .. } => {
            return Err(SynthError::Refused("transactions without inputs or outputs: expected 1 of each at least.".to_owned()));
        }
        LoadKind::PlutusLoop { count } => {
            let script = match count {
                Some(count) => Script::countdown(count),
                None => Loop::Countdown.within(load.budget, Loop::Countdown.protocol_version())?.script,
            };
            (load.transactions, Box::new(Scripted::new(script, load.budget)?))
        }
        LoadKind::Script(ref script) => (load.transactions, Box::new(Scripted::new(script.clone(), load.budget)?)),
    };
    let each = wanted.div_ceil(funds.len() as u64).clamp(1, MOST_OUTPUTS.min(source.most_outputs()));
    let keys = Keys(funds);
    let mut split = Vec::with_capacity(funds.len());
    for (number, fund) in funds.iter().enumerate() {
        let draft = source.split(number as u16, fund, each).ok_or_else(|| poor(fund))?;
        split.push(signed(&draft, &keys)?);
    }
    let mut transactions = Vec::with_capacity(load.transactions as usize);
    let mut stream = Stream::new(load.seed, "load", 0);
    let mut bytes = vec![0; load.payload_bytes];
    let mut random_payload = |stream: &mut Stream| {
        stream.fill(&mut bytes);
        if bytes.is_empty() { Vec::new() } else { payload(LABEL, &bytes) }
    };
    while (transactions.len() as u64) < load.transactions {
        let size = BATCH.min(load.transactions as usize - transactions.len());
        let mut drafts = Vec::with_capacity(size);
        while drafts.len() < size {
            let next = source.next(size - drafts.len(), &mut random_payload, &mut stream)?;
            if next.is_empty() {
                let made = transactions.len() + drafts.len();
                let message = format!("the funds are spent after {made} transactions. Give fewer, or make the bed with more funds.");
                return Err(SynthError::Refused(message));
            }
            drafts.extend(next);
            if progress((transactions.len() + drafts.len()) as u64, load.transactions).is_break() {
                return Err(SynthError::Interrupted);
            }
        }
        transactions.par_extend(drafts.par_iter().map(|draft| signed(draft, &keys)).collect::<Result<Vec<_>, _>>()?);
    }
    Ok(SignedLoad { split, transactions })
}

fn poor(fund: &Fund) -> SynthError {
    SynthError::Refused(format!("a fund of {} lovelace is too small to be split. Make the bed with fewer funds.", fund.lovelace))
}

fn signed(draft: &Draft, keys: &Keys<'_>) -> Result<SignedTransaction, SynthError> {
    let bytes = draft.whole(keys);
    if bytes.len() as u64 > shelley::PARAMETERS.max_transaction_bytes {
        let message = format!(
            "a transaction of {} bytes: expected {} at most. Give less payload, or fewer inputs and outputs.",
            bytes.len(),
            shelley::PARAMETERS.max_transaction_bytes
        );
        return Err(SynthError::Refused(message));
    }
    Ok(SignedTransaction { id: draft.id, action: draft.action, bytes })
}

/// A source of transactions, one after the other.
trait Source {
    /// Splits a fund into outputs for later ones; None where it holds too little.
    fn split(&mut self, number: u16, fund: &Fund, outputs: u64) -> Option<Draft>;

    /// Outputs that one fund is split into at most.
    fn most_outputs(&self) -> u64 {
        MOST_OUTPUTS
    }

    /// The next transactions, `most` of them or fewer that don't depend on each other; none where nothing is left to spend. `payload` gives the
    /// auxiliary data of each.
    fn next(&mut self, most: usize, payload: &mut dyn FnMut(&mut Stream) -> Vec<u8>, stream: &mut Stream)
    -> Result<Vec<Draft>, SynthError>;
}

struct ValueOnly<'f> {
    funds: &'f [Fund],
    coins: VecDeque<Coin>,
    inputs: usize,
    outputs: usize,
    referred: Referred,
}

impl Source for ValueOnly<'_> {
    fn split(&mut self, number: u16, fund: &Fund, outputs: u64) -> Option<Draft> {
        let (draft, lovelace) = settle(|fee| {
            let lovelace = shares(fund.lovelace.checked_sub(fee)?, outputs as usize, LEAST)?;
            let made = lovelace.iter().map(|&lovelace| NewOutput::to(fund.address, lovelace)).collect();
            let spec = Spec { inputs: vec![fund.reference()], outputs: made, fee, signers: vec![number], ..Spec::default() };
            Some((spec, lovelace))
        })?;
        let coins = lovelace.iter().enumerate().map(|(place, &lovelace)| Coin { reference: draft.output(place), fund: number, lovelace });
        self.coins.extend(coins);
        Some(draft)
    }

    fn next(
        &mut self,
        _most: usize,
        payload: &mut dyn FnMut(&mut Stream) -> Vec<u8>,
        stream: &mut Stream,
    ) -> Result<Vec<Draft>, SynthError> {
        let auxiliary = payload(stream);
        Ok(self.one(&auxiliary, stream).into_iter().collect())
    }
}

impl ValueOnly<'_> {
    /// A transaction that spends the coins made first; None where there are too few.
    fn one(&mut self, auxiliary: &[u8], stream: &mut Stream) -> Option<Draft> {
        if self.coins.len() < self.inputs {
            return None;
        }
        let spent: Vec<Coin> = self.coins.drain(..self.inputs).collect();
        let total: u64 = spent.iter().map(|coin| coin.lovelace).sum();
        let owners: Vec<u16> = (0..self.outputs).map(|_| stream.below(self.funds.len() as u64) as u16).collect();
        let referred = self.referred.draw(stream);
        let mut signers: Vec<u16> = spent.iter().map(|coin| coin.fund).collect();
        signers.sort_unstable();
        signers.dedup();
        let (draft, lovelace) = settle(|least| {
            let fee = least.max(FEE);
            let lovelace = shares(total.checked_sub(fee)?, owners.len(), LEAST)?;
            let outputs =
                owners.iter().zip(&lovelace).map(|(&owner, &lovelace)| NewOutput::to(self.funds[usize::from(owner)].address, lovelace));
            let inputs = spent.iter().map(|coin| coin.reference).collect();
            let spec = Spec {
                inputs,
                outputs: outputs.collect(),
                fee,
                auxiliary: auxiliary.to_vec(),
                referred: referred.clone(),
                signers: signers.clone(),
                ..Spec::default()
            };
            Some((spec, lovelace))
        })?;
        let made = owners.iter().zip(&lovelace).enumerate();
        self.coins.extend(made.map(|(place, (&fund, &lovelace))| Coin { reference: draft.output(place), fund, lovelace }));
        Some(draft)
    }
}

/// Funds that do things beside moving value, in turns.
struct Acting<'f> {
    value: ValueOnly<'f>,
    actors: Vec<Actor>,
    next: usize,
    shares: Shares,
}

impl Source for Acting<'_> {
    fn split(&mut self, number: u16, fund: &Fund, outputs: u64) -> Option<Draft> {
        let key = blake2b_224(&[fund.key.public()]);
        let half = fund.lovelace / 2;
        let (draft, lovelace) = settle(|fee| {
            let lovelace = shares(fund.lovelace.checked_sub(fee + half)?, outputs as usize, LEAST)?;
            let made = std::iter::once(half).chain(lovelace.iter().copied()).map(|held| NewOutput::to(fund.address, held)).collect();
            let spec = Spec { inputs: vec![fund.reference()], outputs: made, fee, signers: vec![number], ..Spec::default() };
            Some((spec, lovelace))
        })?;
        self.actors.push(Actor::new(number, key, draft.output(0), half));
        let coins =
            lovelace.iter().enumerate().map(|(place, &held)| Coin { reference: draft.output(place + 1), fund: number, lovelace: held });
        self.value.coins.extend(coins);
        Some(draft)
    }

    fn next(
        &mut self,
        _most: usize,
        payload: &mut dyn FnMut(&mut Stream) -> Vec<u8>,
        stream: &mut Stream,
    ) -> Result<Vec<Draft>, SynthError> {
        let auxiliary = payload(stream);
        let draft = match self.shares.draw(stream) {
            Action::Value => self.value.one(&auxiliary, stream),
            action @ Action::Metadata => {
                let mut bytes = [0; METADATA_BYTES];
                stream.fill(&mut bytes);
                self.value.one(&crate::transaction::payload(LABEL, &bytes), stream).map(|draft| draft.named(action))
            }
            action => {
                // In turns, so that the thread of each rests for as long as can be.
                let place = self.next % self.actors.len();
                self.next += 1;
                // Transactions are made before anybody knows which epoch takes them, and a live cluster has few.
                self.actors[place].act(action, 0, &auxiliary, stream)
            }
        };
        Ok(draft.into_iter().collect())
    }
}

/// Outputs that a script locks, each with the collateral of the fund that it came from.
struct Scripted {
    script: Script,
    /// Budget of a run.
    most: Budget,
    /// The budget that a run was found to use.
    usual: Budget,
    /// True where every run uses as much, whatever its transaction: none has to be tried.
    is_loop: bool,
    locked: VecDeque<Coin>,
    collateral: Vec<OutputReference>,
    address: Address,
}

impl Scripted {
    fn new(script: Script, most: Budget) -> Result<Self, SynthError> {
        let (usual, is_loop) = (probe(&script, most)?, Loop::of(&script).is_some());
        let address = Address::script(&script.hash());
        Ok(Self { script, most, usual, is_loop, locked: VecDeque::new(), collateral: Vec::new(), address })
    }

    /// The transaction that runs the script on an output and locks what is left of it again; with what is left.
    fn spend(&self, coin: &Coin, auxiliary: &[u8]) -> Result<Option<(Draft, u64)>, SynthError> {
        let spec = |fee, budget| {
            let left = coin.lovelace.checked_sub(fee).filter(|left| *left >= self.script.least_lovelace())?;
            let spend = ScriptSpend {
                script: &self.script,
                reference: None,
                redeemer: self.script.redeemer(),
                budget,
                collateral: self.collateral[usize::from(coin.fund)],
                collateral_lovelace: COLLATERAL,
                collateral_address: None,
            };
            let spec = Spec {
                inputs: vec![coin.reference],
                outputs: vec![NewOutput { datum: Some(self.script.output_datum()), ..NewOutput::to(self.address, left) }],
                fee,
                auxiliary: auxiliary.to_vec(),
                script: Some(spend),
                signers: vec![coin.fund],
                ..Spec::default()
            };
            Some((spec, left))
        };
        if self.is_loop {
            return Ok(settle(|fee| spec(fee, self.usual)));
        }
        settle_run(&self.script, LockedOutput { reference: coin.reference, lovelace: coin.lovelace }, self.usual, self.most, spec)
    }
}

impl Source for Scripted {
    fn most_outputs(&self) -> u64 {
        self.script.most_outputs()
    }

    fn split(&mut self, number: u16, fund: &Fund, outputs: u64) -> Option<Draft> {
        let (draft, lovelace) = settle(|fee| {
            let left = fund.lovelace.checked_sub(fee + COLLATERAL)?;
            let lovelace = shares(left, outputs as usize, self.script.least_lovelace())?;
            let datum = Some(self.script.output_datum());
            let locked = lovelace.iter().map(|&lovelace| NewOutput { datum, ..NewOutput::to(self.address, lovelace) });
            let made = std::iter::once(NewOutput::to(fund.address, COLLATERAL)).chain(locked).collect();
            let spec = Spec { inputs: vec![fund.reference()], outputs: made, fee, signers: vec![number], ..Spec::default() };
            Some((spec, lovelace))
        })?;
        self.collateral.push(draft.output(0));
        let coins =
            lovelace.iter().enumerate().map(|(place, &lovelace)| Coin { reference: draft.output(place + 1), fund: number, lovelace });
        self.locked.extend(coins);
        Some(draft)
    }

    fn next(
        &mut self,
        most: usize,
        payload: &mut dyn FnMut(&mut Stream) -> Vec<u8>,
        stream: &mut Stream,
    ) -> Result<Vec<Draft>, SynthError> {
        let most = most.min(self.locked.len());
        let runs: Vec<(Coin, Vec<u8>)> = self.locked.drain(..most).map(|coin| (coin, payload(stream))).collect();
        let made = runs.par_iter().map(|(coin, auxiliary)| self.spend(coin, auxiliary)).collect::<Result<Vec<_>, _>>()?;
        let mut drafts = Vec::with_capacity(most);
        for ((coin, _), made) in runs.iter().zip(made) {
            let Some((draft, left)) = made else { break };
            self.locked.push_back(Coin { reference: draft.output(0), lovelace: left, ..*coin });
            drafts.push(draft);
        }
        Ok(drafts)
    }
}

/// Equal shares, the last with what is left over; None where they would be too small.
fn shares(lovelace: u64, count: usize, least: u64) -> Option<Vec<u64>> {
    let each = lovelace / count as u64;
    let mut shares = vec![each; count];
    *shares.last_mut()? += lovelace - each * count as u64;
    (each >= least).then_some(shares)
}
