//! Transactions of a pool's funds, each of which spends what the one before it made.

use ed25519_dalek::{Signer, SigningKey};
use minicbor::Encoder;
use minicbor::data::Tag;
use pallas_network::facades::NodeClient;
use pallas_network::miniprotocols::localtxsubmission::{EraTx, Response};
use slotmark_chain::block::{Credential, Hash28};
use slotmark_chain::hash::{blake2b_224, blake2b_256};
use slotmark_network::shelley;

use super::{Bed, FUNDS, MAGIC, Node, cold_key, run, staking_key};

/// The tag of a set.
const SET: Tag = Tag::new(258);

/// A pool's funds: one output at one address.
#[derive(Clone)]
pub struct Wallet<'b> {
    pub bed: &'b Bed,
    pub pool: usize,
    /// The transaction that made the output, whose index is 0.
    pub made_by: [u8; 32],
    lovelace: u64,
}

/// The acts of a transaction beside moving value.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// Lines of metadata, each of 66 bytes.
    Metadata(usize),
    /// The pool's owner abstains from votes; without that nobody may withdraw.
    Abstention,
    /// The pool's owner withdraws rewards.
    Withdrawal(u64),
    /// The pool's owner takes the registration of the stake key back, with its deposit.
    Deregistration,
    /// The pool's owner registers as a DRep with this deposit, has itself vote for its stake, and votes for the member of the committee that it is.
    Seats(u64),
    /// The pool's owner proposes these actions with a deposit each, as encoded.
    Proposals(u64, &'static [&'static [u8]]),
    /// The pool's owner, as a DRep and as a member of the committee, and the pool vote for all actions of a transaction.
    Votes([u8; 32], &'static [&'static [Voter]]),
}

/// The one who votes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voter {
    Committee,
    DRep,
    Pool,
}

/// A signed transaction.
#[derive(Clone)]
pub struct Signed {
    pub id: [u8; 32],
    pub bytes: Vec<u8>,
}

impl<'b> Wallet<'b> {
    /// The funds as the genesis has them.
    pub fn new(bed: &'b Bed, pool: usize) -> Self {
        Self { bed, pool, made_by: blake2b_256(&[&bed.funds[pool].0]), lovelace: FUNDS }
    }

    /// The owner of the pool's stake.
    pub fn owner(&self) -> Credential {
        Credential { script: false, hash: hash_of(&staking_key(self.pool)) }
    }

    /// Sends all the funds to where they are, with this fee and this many lines of metadata.
    pub fn spend(&mut self, fee: u64, lines: usize) -> Signed {
        self.act(fee, Act::Metadata(lines))
    }

    /// As [`Wallet::spend`], with an act.
    pub fn act(&mut self, fee: u64, act: Act) -> Signed {
        let (address, key) = &self.bed.funds[self.pool];
        let (staking, cold) = (staking_key(self.pool), cold_key(self.pool));
        let account = [&[0xe0][..], &hash_of(&staking)].concat();
        let (lines, received) = match act {
            Act::Metadata(lines) => (lines, 0),
            Act::Withdrawal(lovelace) => (0, lovelace),
            Act::Deregistration => (0, shelley::PARAMETERS.key_deposit),
            Act::Abstention | Act::Votes(..) => (0, 0),
            Act::Seats(deposit) => (0, deposit.wrapping_neg()),
            Act::Proposals(deposit, actions) => (0, (deposit * actions.len() as u64).wrapping_neg()),
        };
        let metadata = write(|e| {
            e.map(1)?.u8(0)?.array(lines as u64)?;
            (0..lines).try_for_each(|_| e.bytes(&[7; 64])?.ok())
        });
        self.lovelace = self.lovelace.wrapping_add(received) - fee;
        let is_plain = matches!(act, Act::Metadata(0));
        let body = write(|e| {
            e.map(if is_plain { 3 } else { 4 })?;
            e.u8(0)?.tag(SET)?.array(1)?.array(2)?.bytes(&self.made_by)?.u8(0)?;
            e.u8(1)?.array(1)?.map(2)?.u8(0)?.bytes(address)?.u8(1)?.u64(self.lovelace)?;
            e.u8(2)?.u64(fee)?;
            match act {
                Act::Metadata(0) => {}
                Act::Metadata(_) => drop(e.u8(7)?.bytes(&blake2b_256(&[&metadata]))?),
                Act::Abstention => {
                    e.u8(4)?.tag(SET)?.array(1)?.array(3)?.u8(9)?;
                    e.array(2)?.u8(0)?.bytes(&hash_of(&staking))?.array(1)?.u8(2)?;
                }
                Act::Deregistration => {
                    e.u8(4)?.tag(SET)?.array(1)?.array(2)?.u8(1)?;
                    e.array(2)?.u8(0)?.bytes(&hash_of(&staking))?;
                }
                Act::Seats(deposit) => {
                    e.u8(4)?.tag(SET)?.array(3)?;
                    e.array(4)?.u8(16)?.array(2)?.u8(0)?.bytes(&hash_of(&staking))?.u64(deposit)?.null()?;
                    e.array(3)?.u8(9)?.array(2)?.u8(0)?.bytes(&hash_of(&staking))?.array(2)?.u8(0)?.bytes(&hash_of(&staking))?;
                    e.array(3)?.u8(14)?.array(2)?.u8(0)?.bytes(&hash_of(&staking))?.array(2)?.u8(0)?.bytes(&hash_of(&staking))?;
                }
                Act::Proposals(deposit, actions) => {
                    e.u8(20)?.tag(SET)?.array(actions.len() as u64)?;
                    for action in actions {
                        e.array(4)?.u64(deposit)?.bytes(&account)?;
                        e.writer_mut().extend_from_slice(&replaced(action, &account));
                        e.array(2)?.str("")?.bytes(&[0; 32])?;
                    }
                }
                Act::Votes(transaction, voters) => {
                    e.u8(19)?.map(3)?;
                    for (number, voter, hash) in
                        [(0, Voter::Committee, hash_of(&staking)), (2, Voter::DRep, hash_of(&staking)), (4, Voter::Pool, hash_of(&cold))]
                    {
                        let of_voter = (0u64..).zip(voters).filter(|(_, voters)| voters.contains(&voter));
                        e.array(2)?.u8(number)?.bytes(&hash)?.map(of_voter.clone().count() as u64)?;
                        for (place, _) in of_voter {
                            e.array(2)?.bytes(&transaction)?.u64(place)?.array(2)?.u8(1)?.null()?;
                        }
                    }
                }
                Act::Withdrawal(lovelace) => {
                    e.u8(5)?.map(1)?.bytes(&account)?.u64(lovelace)?;
                }
            }
            Ok(())
        });
        let id = blake2b_256(&[&body]);
        let mut signers = vec![key];
        if !matches!(act, Act::Metadata(_)) {
            signers.push(&staking);
        }
        if matches!(act, Act::Votes(..)) {
            signers.push(&cold);
        }
        let witnesses = write(|e| {
            e.map(1)?.u8(0)?.tag(SET)?.array(signers.len() as u64)?;
            let mut sign = |key: &&SigningKey| e.array(2)?.bytes(key.verifying_key().as_bytes())?.bytes(&key.sign(&id).to_bytes())?.ok();
            signers.iter().try_for_each(&mut sign)
        });
        let metadata = if lines > 0 { metadata } else { vec![0xf6] };
        self.made_by = id;
        Signed { id, bytes: [vec![0x84], body, witnesses, vec![0xf5], metadata].concat() }
    }
}

/// Submits a transaction to a node: one that spends what the newest of the accepted ones made, or, where a fork took that away, an earlier one.
/// Accepted are the wallets that spent them, from the genesis's on; as they were where the node takes nothing or can't be reached.
pub fn submit(node: &Node, accepted: &mut Vec<Wallet<'_>>) {
    run(async {
        let Ok(mut client) = NodeClient::connect(node.folder.join("node.socket"), MAGIC).await else { return };
        for kept in (1..=accepted.len()).rev() {
            let mut next = accepted[kept - 1].clone();
            match client.submission().submit_tx(EraTx(6, next.spend(200_000, 0).bytes)).await {
                Ok(Response::Accepted) => {
                    accepted.truncate(kept);
                    accepted.push(next);
                    return;
                }
                Ok(_) => {}
                Err(_) => return,
            }
        }
    });
}

/// An action with an account in place of 29 bytes of 0xff.
fn replaced(action: &[u8], account: &[u8]) -> Vec<u8> {
    let mut action = action.to_vec();
    if let Some(place) = action.windows(29).position(|bytes| bytes == [0xff; 29]) {
        action[place..place + 29].copy_from_slice(account);
    }
    action
}

fn hash_of(key: &SigningKey) -> Hash28 {
    blake2b_224(&[key.verifying_key().as_bytes()])
}

fn write(run: impl FnOnce(&mut Encoder<&mut Vec<u8>>) -> Result<(), minicbor::encode::Error<std::convert::Infallible>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    run(&mut Encoder::new(&mut bytes)).unwrap();
    bytes
}
