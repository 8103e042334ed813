//! Transactions of a pool's funds, each of which spends what the one before it made.

use ed25519_dalek::{Signer, SigningKey};
use minicbor::Encoder;
use minicbor::data::Tag;
use pallas_network::facades::NodeClient;
use pallas_network::miniprotocols::localtxsubmission::{EraTx, Response};
use slotmark_chain::block::{Credential, Hash28};
use slotmark_chain::hash::{blake2b_224, blake2b_256};
use slotmark_network::shelley;

use super::{Bed, FUNDS, MAGIC, Node, run, staking_key};

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

    /// The address that all of it is at.
    pub fn address(&self) -> &'b [u8] {
        &self.bed.funds[self.pool].0
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
        let staking = staking_key(self.pool);
        let (lines, received) = match act {
            Act::Metadata(lines) => (lines, 0),
            Act::Withdrawal(lovelace) => (0, lovelace),
            Act::Deregistration => (0, shelley::PARAMETERS.key_deposit),
            Act::Abstention => (0, 0),
        };
        let metadata = write(|e| {
            e.map(1)?.u8(0)?.array(lines as u64)?;
            (0..lines).try_for_each(|_| e.bytes(&[7; 64])?.ok())
        });
        self.lovelace = self.lovelace + received - fee;
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
                Act::Withdrawal(lovelace) => {
                    e.u8(5)?.map(1)?.bytes(&[&[0xe0][..], &hash_of(&staking)].concat())?.u64(lovelace)?;
                }
            }
            Ok(())
        });
        let id = blake2b_256(&[&body]);
        let mut signers = vec![key];
        if !matches!(act, Act::Metadata(_)) {
            signers.push(&staking);
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

fn hash_of(key: &SigningKey) -> Hash28 {
    blake2b_224(&[key.verifying_key().as_bytes()])
}

fn write(run: impl FnOnce(&mut Encoder<&mut Vec<u8>>) -> Result<(), minicbor::encode::Error<std::convert::Infallible>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    run(&mut Encoder::new(&mut bytes)).unwrap();
    bytes
}
