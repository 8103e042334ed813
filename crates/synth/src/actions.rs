//! Doings of transactions beside moving value: certificates, withdrawals, tokens, reference scripts, proposals and votes.
//!
//! An actor is a key of the workload. It is the key of a stake credential, of a pool, of a DRep and of a minting policy at once, so that one signature
//! is enough. What it does next may depend on what it did before: each of its transactions spends an output of the one before, its thread, so that
//! no node takes them in another order.

use std::fmt;
use std::str::FromStr;

use slotmark_chain::hash::{blake2b_224, blake2b_256};
use slotmark_chain::{CborBuffer, Hash32};
use slotmark_network::{conway, shelley};

use crate::address::{Address, Hash28};
use crate::random::Stream;
use crate::transaction::{Beside, Draft, NewOutput, OutputReference, Spec, settle};

/// Lovelace of an output that holds a script for reference.
const REFERENCE_LOVELACE: u64 = 10_000_000;
/// Least lovelace of a thread.
const LEAST: u64 = 5_000_000;
/// Tokens are minted in numbers below this.
const MOST_TOKENS: u64 = 1_000_000;
/// Name of all tokens.
const TOKEN: &[u8] = b"load";
/// Epochs in which a proposal waits at most.
const PROPOSAL_EPOCHS: u64 = conway::PARAMETERS.gov_action_lifetime;
/// Lovelace that a pool states as its cost: more than the least on any network.
const POOL_COST: u64 = 500_000_000;

/// One thing that a transaction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Moves value, and nothing beside.
    Value,
    /// Moves value, with 1,000 bytes of metadata.
    Metadata,
    /// Registers a stake credential, which abstains from votes, or takes the registration back.
    Registration,
    /// Delegates stake to the actor's pool.
    Delegation,
    /// Withdraws all that the reward account holds: deposits of proposals that expired.
    Withdrawal,
    /// Registers a pool, or changes its terms.
    Pool,
    /// Mints tokens or burns them, with the policy in the witnesses.
    Token,
    /// Publishes the policy for reference, or mints by reference to it.
    Reference,
    /// Registers a DRep, or renews it.
    DRep,
    /// Proposes an action that changes nothing.
    Proposal,
    /// Votes on the actor's proposal.
    Vote,
}

impl Action {
    /// All of them in their order, each with its name in profiles.
    const NAMED: [(Self, &'static str); 11] = [
        (Self::Value, "value"),
        (Self::Metadata, "metadata"),
        (Self::Registration, "registration"),
        (Self::Delegation, "delegation"),
        (Self::Withdrawal, "withdrawal"),
        (Self::Pool, "pool"),
        (Self::Token, "token"),
        (Self::Reference, "reference"),
        (Self::DRep, "drep"),
        (Self::Proposal, "proposal"),
        (Self::Vote, "vote"),
    ];

    /// Returns its name in profiles.
    pub fn name(self) -> &'static str {
        Self::NAMED[self as usize].1
    }
}

/// Shares of actions in all transactions, in any unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shares([u32; Action::NAMED.len()]);

/// Text that names no shares.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}': expected shares of actions from 1 to 1000000, as value=5,vote=1; actions are {names}", names = names())]
pub struct UnknownShares(pub String);

fn names() -> String {
    Action::NAMED.map(|(_, name)| name).join(", ")
}

impl Shares {
    /// Half of the transactions move value; the others do everything else.
    pub const MIXED: Self = Self([50, 5, 8, 8, 5, 3, 8, 5, 2, 1, 5]);
    /// Votes, and what there must be for them, beside value.
    pub const VOTING: Self = Self([50, 0, 0, 0, 0, 0, 0, 0, 4, 6, 40]);

    /// The action of the next transaction.
    pub(crate) fn draw(&self, stream: &mut Stream) -> Action {
        let mut drawn = stream.below(self.0.iter().map(|&share| u64::from(share)).sum());
        for ((action, _), share) in Action::NAMED.into_iter().zip(self.0) {
            match drawn.checked_sub(u64::from(share)) {
                Some(left) => drawn = left,
                None => return action,
            }
        }
        Action::Value
    }
}

impl fmt::Display for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let there = Action::NAMED.into_iter().zip(self.0).filter(|(_, share)| *share > 0);
        f.write_str(&there.map(|((_, name), share)| format!("{name}={share}")).collect::<Vec<_>>().join(","))
    }
}

impl FromStr for Shares {
    type Err = UnknownShares;

    fn from_str(text: &str) -> Result<Self, UnknownShares> {
        let wrong = || UnknownShares(text.to_owned());
        let mut shares = [0; Action::NAMED.len()];
        for part in text.split(',') {
            let (name, share) = part.split_once('=').ok_or_else(wrong)?;
            let place = Action::NAMED.iter().position(|(_, known)| *known == name).ok_or_else(wrong)?;
            let share: u32 = share.parse().ok().filter(|share| (1..=1_000_000).contains(share)).ok_or_else(wrong)?;
            if std::mem::replace(&mut shares[place], share) > 0 {
                return Err(wrong());
            }
        }
        Ok(Self(shares))
    }
}

/// A key that does things, and what it has done.
pub(crate) struct Actor {
    /// The number of its key, for signing.
    signer: u16,
    key: Hash28,
    thread: OutputReference,
    lovelace: u64,
    done: Done,
    /// Epochs at whose beginning deposits of proposals go back to its reward account.
    refunds: Vec<u64>,
}

/// State that earlier transactions of an actor made.
#[derive(Clone, Copy, Default)]
struct Done {
    registered: bool,
    pool: bool,
    drep: bool,
    /// The last proposal, with the epoch that it was made in.
    proposal: Option<(Hash32, u64)>,
    /// Lovelace in the reward account.
    rewards: u64,
    reference: Option<OutputReference>,
    /// Tokens in the thread.
    tokens: u64,
}

impl Actor {
    /// The actor of a key whose thread is an output with so much, at its [`Actor::address`].
    pub(crate) fn new(signer: u16, key: Hash28, thread: OutputReference, lovelace: u64) -> Self {
        Self { signer, key, thread, lovelace, done: Done::default(), refunds: Vec::new() }
    }

    /// Gives it its first thread.
    pub(crate) fn begin(&mut self, thread: OutputReference, lovelace: u64) {
        (self.thread, self.lovelace) = (thread, lovelace);
    }

    /// Does one thing in an epoch, or first what it depends on; None where the thread holds too little. `auxiliary` is the transaction's.
    pub(crate) fn act(&mut self, action: Action, epoch: u64, auxiliary: &[u8], stream: &mut Stream) -> Option<Draft> {
        self.enter(epoch);
        let script = self.policy_script();
        let policy = blake2b_224(&[&[0], &script]);
        let before = self.done;
        let mut done = before;
        let mut beside = Beside::default();
        let mut deposit = 0_i128;
        let mut publishes = false;
        let mut proposes = false;
        let action = self.possible(action);
        match action {
            Action::Value | Action::Metadata => {}
            Action::Registration if before.registered => {
                beside.certificates.push(self.certificate(8, |out| out.uint(shelley::PARAMETERS.key_deposit)));
                deposit = -i128::from(shelley::PARAMETERS.key_deposit);
                done.registered = false;
            }
            Action::Registration => {
                let certificate = |out: &mut Vec<u8>| {
                    out.array(1);
                    out.uint(2); // abstains
                    out.uint(shelley::PARAMETERS.key_deposit);
                };
                beside.certificates.push(self.certificate(12, certificate));
                deposit = shelley::PARAMETERS.key_deposit.into();
                done.registered = true;
            }
            Action::Delegation => beside.certificates.push(self.certificate(2, |out| out.bytes(&self.key))),
            Action::Withdrawal => {
                beside.withdrawal = Some((self.account(), before.rewards));
                deposit = -i128::from(before.rewards);
                done.rewards = 0;
            }
            Action::Pool => {
                beside.certificates.push(self.pool(stream.below(100)));
                deposit = if before.pool { 0 } else { shelley::PARAMETERS.pool_deposit.into() };
                done.pool = true;
            }
            Action::Token => {
                let minted = if before.tokens > 0 { -(before.tokens as i64) } else { 1 + stream.below(MOST_TOKENS) as i64 };
                beside.mint = Some((policy, minted));
                beside.native = Some(script.clone());
                done.tokens = before.tokens.saturating_add_signed(minted);
            }
            Action::Reference => match before.reference {
                None => publishes = true,
                Some(reference) => {
                    let minted = 1 + stream.below(MOST_TOKENS) as i64;
                    beside.mint = Some((policy, minted));
                    beside.reference = Some((reference, script.len() as u64));
                    done.tokens = before.tokens.saturating_add_signed(minted);
                }
            },
            Action::DRep if before.drep => beside.certificates.push(self.certificate(18, CborBuffer::null)),
            Action::DRep => {
                let certificate = |out: &mut Vec<u8>| {
                    out.uint(conway::PARAMETERS.drep_deposit);
                    out.null();
                };
                beside.certificates.push(self.certificate(16, certificate));
                deposit = conway::PARAMETERS.drep_deposit.into();
                done.drep = true;
            }
            Action::Proposal => {
                beside.proposal = Some(self.proposal());
                deposit = conway::PARAMETERS.gov_action_deposit.into();
                proposes = true;
            }
            Action::Vote => beside.vote = before.proposal.map(|(proposal, _)| self.vote(&proposal, stream.below(3))),
        }
        let published = if publishes { REFERENCE_LOVELACE } else { 0 };
        let (draft, lovelace) = settle(|fee| {
            let left = i128::from(self.lovelace) - i128::from(fee) - i128::from(published) - deposit;
            let left = u64::try_from(left).ok().filter(|left| *left >= LEAST)?;
            let tokens = (done.tokens > 0).then_some((policy, done.tokens));
            let mut outputs = vec![NewOutput { tokens, ..NewOutput::to(self.address(), left) }];
            if publishes {
                outputs.push(NewOutput { native: Some(&script), ..NewOutput::to(self.address(), REFERENCE_LOVELACE) });
            }
            let spec = Spec {
                inputs: vec![self.thread],
                outputs,
                fee,
                auxiliary: auxiliary.to_vec(),
                signers: vec![self.signer],
                beside: beside.clone(),
                ..Spec::default()
            };
            Some((spec, left))
        })?;
        if publishes {
            done.reference = Some(draft.output(1));
        }
        if proposes {
            done.proposal = Some((draft.id, epoch));
            // It expires in the first epoch that begins after the last one for votes on it, and its deposit goes back at its end.
            self.refunds.push(epoch + PROPOSAL_EPOCHS + 2);
        }
        (self.thread, self.lovelace, self.done) = (draft.output(0), lovelace, done);
        Some(draft.named(action))
    }

    /// Goes into an epoch: deposits go back to the reward account, if it is there, and nobody votes any more on what was proposed too long ago.
    fn enter(&mut self, epoch: u64) {
        let waiting = self.refunds.len();
        self.refunds.retain(|at| *at > epoch);
        if self.done.registered {
            self.done.rewards += (waiting - self.refunds.len()) as u64 * conway::PARAMETERS.gov_action_deposit;
        }
        self.done.proposal = self.done.proposal.filter(|(_, proposed)| epoch <= proposed + PROPOSAL_EPOCHS);
    }

    /// Returns what has to be done first for an action, or the action itself.
    fn possible(&self, action: Action) -> Action {
        let Done { registered, pool, drep, proposal, rewards, .. } = self.done;
        match action {
            Action::Registration if rewards > 0 => Action::Withdrawal, // without which it can't be taken back
            Action::Delegation | Action::Withdrawal | Action::Proposal if !registered => Action::Registration,
            Action::Delegation if !pool => Action::Pool,
            Action::Vote if !drep => Action::DRep,
            Action::Vote if proposal.is_none() => self.possible(Action::Proposal),
            other => other,
        }
    }

    /// The address of its thread, which carries no stake.
    pub(crate) fn address(&self) -> Address {
        Address::key(&self.key)
    }

    /// Whoever has the key may mint.
    fn policy_script(&self) -> Vec<u8> {
        let mut script = Vec::with_capacity(32);
        script.array(2);
        script.uint(0);
        script.bytes(&self.key);
        script
    }

    /// A reward account of a test network.
    fn account(&self) -> [u8; 29] {
        let mut account = [0xe0; 29];
        account[1..].copy_from_slice(&self.key);
        account
    }

    /// A certificate of the key's credential, and what else it has: one or two items.
    fn certificate(&self, kind: u64, rest: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut certificate = Vec::with_capacity(64);
        certificate.array(if matches!(kind, 12 | 16) { 4 } else { 3 });
        certificate.uint(kind);
        certificate.array(2);
        certificate.uint(0);
        certificate.bytes(&self.key);
        rest(&mut certificate);
        certificate
    }

    /// The registration of a pool with a margin in percent.
    fn pool(&self, margin: u64) -> Vec<u8> {
        let mut certificate = Vec::with_capacity(160);
        certificate.array(10);
        certificate.uint(3);
        certificate.bytes(&self.key);
        certificate.bytes(&blake2b_256(&[b"vrf", &self.key]));
        certificate.uint(0); // pledge
        certificate.uint(POOL_COST);
        certificate.tag(30);
        certificate.array(2);
        certificate.uint(margin);
        certificate.uint(100);
        certificate.bytes(&self.account());
        certificate.set(1);
        certificate.bytes(&self.key);
        certificate.array(0); // relays
        certificate.null();
        certificate
    }

    /// `[deposit, account, [6], [url, hash]]`
    fn proposal(&self) -> Vec<u8> {
        let mut proposal = Vec::with_capacity(96);
        proposal.array(4);
        proposal.uint(conway::PARAMETERS.gov_action_deposit);
        proposal.bytes(&self.account());
        proposal.array(1);
        proposal.uint(6);
        proposal.array(2);
        proposal.text("");
        proposal.bytes(&[0; 32]);
        proposal
    }

    /// `{[2, key]: {[transaction, 0]: [vote, null]}}`
    fn vote(&self, proposal: &Hash32, vote: u64) -> Vec<u8> {
        let mut votes = Vec::with_capacity(80);
        votes.map(1);
        votes.array(2);
        votes.uint(2);
        votes.bytes(&self.key);
        votes.map(1);
        votes.array(2);
        votes.bytes(proposal);
        votes.uint(0);
        votes.array(2);
        votes.uint(vote);
        votes.null();
        votes
    }
}

/// Appends an amount with tokens, `[lovelace, {policy: {name: tokens}}]`.
pub(crate) fn put_amount(buffer: &mut Vec<u8>, lovelace: u64, tokens: Option<(Hash28, u64)>) {
    let Some((policy, count)) = tokens else { return buffer.uint(lovelace) };
    buffer.array(2);
    buffer.uint(lovelace);
    buffer.map(1);
    buffer.bytes(&policy);
    buffer.map(1);
    buffer.bytes(TOKEN);
    buffer.uint(count);
}

/// Appends what is minted, `{policy: {name: tokens}}`, or burnt where the number is negative.
pub(crate) fn put_mint(buffer: &mut Vec<u8>, (policy, count): (Hash28, i64)) {
    buffer.map(1);
    buffer.bytes(&policy);
    buffer.map(1);
    buffer.bytes(TOKEN);
    buffer.int(count);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read_as_they_are_written_and_drawn_by_weight() {
        assert!(Action::NAMED.into_iter().all(|(action, name)| action.name() == name));
        for shares in [Shares::MIXED, Shares::VOTING] {
            assert_eq!(shares.to_string().parse(), Ok(shares));
        }
        for wrong in ["", "value", "value=0", "value=1,value=2", "other=1", "value=-1"] {
            assert!(wrong.parse::<Shares>().unwrap_err().to_string().contains("actions are value, metadata"), "{wrong}");
        }
        let shares: Shares = "value=3,vote=1".parse().expect("shares");
        let mut stream = Stream::new(1, "test", 0);
        let votes = (0..4_000).filter(|_| shares.draw(&mut stream) == Action::Vote).count();
        assert!((880..1_120).contains(&votes), "{votes}"); // 1,000 expected, standard deviation 27
    }
}
