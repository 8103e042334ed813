//! The state of the ledger as a Haskell node writes it (`NewEpochState` of cardano-ledger, Conway), as far as amaru begins with it.
//!
//! Votes, proposals and delegations to DReps are left out. Snapshots of stake are left out, since amaru works them out from three
//! such states, and so are relays and metadata of pools.

use std::collections::BTreeMap;

use slotmark_chain::CborBuffer;
use slotmark_chain::block::{Credential, Hash28, PoolTerms};
use slotmark_network::conway::Governance;
use slotmark_network::{Parameters, Ratio, put_ratio};

use super::Stake;

/// The first byte of the address of a reward account of a test network: its owner is a key, or a script.
const REWARD_ADDRESS: [u8; 2] = [0xe0, 0xf0];

impl Stake {
    /// The state after the last block of an epoch, with the rewards that its end pays; None where accounts aren't followed, something was proposed
    /// to governance, or Conway's parameters aren't known.
    pub fn new_epoch_state(&self, parameters: &Parameters, governance: &Governance) -> Option<Vec<u8>> {
        let accounts = self.accounts().filter(|accounts| !accounts.has_proposals())?;
        let parameters = parameters.encode()?;
        let pots = *accounts.pots();
        let mut out = Vec::new();
        out.array(7);
        out.uint(accounts.epoch());
        for blocks in accounts.blocks() {
            out.map(blocks.len());
            for (pool, count) in blocks {
                out.bytes(pool);
                out.uint(*count);
            }
        }
        out.array(4);
        out.array(2);
        out.uint(pots.treasury);
        out.uint(pots.reserves);
        out.array(2);
        self.put_certificates(&mut out, governance);
        out.array(6);
        self.put_outputs(&mut out);
        out.uint(pots.deposits);
        out.uint(pots.fees);
        put_governance(&mut out, governance, &parameters);
        out.array(2); // stake by credential and by pointer
        out.map(0);
        out.map(0);
        out.uint(pots.donations);
        out.array(4); // snapshots, and fees at the last
        (0..4).for_each(|_| out.null());
        put_non_myopic(&mut out);
        let update = accounts.next_update();
        out.array(1);
        out.array(2);
        out.uint(1); // complete
        out.array(5);
        out.uint(update.treasury);
        out.int(update.reserves);
        let rewards: BTreeMap<Credential, u64> = update.rewards.into_iter().collect();
        out.map(rewards.len());
        for (owner, lovelace) in &rewards {
            put_credential(&mut out, owner);
            out.array(1);
            out.array(3);
            out.uint(0);
            // Which pool earned it isn't kept, and isn't asked for.
            out.bytes(&Hash28::default());
            out.uint(*lovelace);
        }
        out.uint(update.fees);
        put_non_myopic(&mut out);
        out.null(); // stake by pool
        out.null(); // addresses of Byron to be taken away
        Some(out)
    }

    /// Appends the state of certificates: DReps, pools, accounts.
    fn put_certificates(&self, out: &mut Vec<u8>, governance: &Governance) {
        let accounts = self.accounts().expect("accounts that are followed");
        out.array(3);
        out.array(3);
        out.map(governance.dreps.len());
        for drep in &governance.dreps {
            put_credential(out, &Credential { script: drep.script, hash: drep.hash });
            out.array(4);
            out.uint(drep.expiry);
            out.array(0); // anchor
            out.uint(drep.deposit);
            out.array(0); // who delegates to it
        }
        out.map(0); // members of the committee, by their hot keys
        out.uint(0); // epochs without proposals
        out.array(4);
        for changed in [false, true] {
            let pools: BTreeMap<Hash28, &PoolTerms> = accounts.pool_terms(changed).collect();
            out.map(pools.len());
            for (pool, terms) in pools {
                let keys = if changed { &self.changed_pools } else { &self.pools };
                out.bytes(&pool);
                out.array(9);
                out.bytes(&pool);
                out.bytes(keys.get(&pool).expect("a pool with terms has a VRF key"));
                out.uint(terms.pledge);
                out.uint(terms.cost);
                put_ratio(out, Ratio::new(terms.margin.0, terms.margin.1).unwrap_or(Ratio::ZERO));
                out.bytes(&[&[REWARD_ADDRESS[usize::from(terms.account.script)]][..], &terms.account.hash].concat());
                out.array(terms.owners.len());
                terms.owners.iter().for_each(|owner| out.bytes(owner));
                out.array(0); // relays
                out.null(); // metadata
            }
        }
        out.map(self.retiring.len());
        for (pool, epoch) in &self.retiring {
            out.bytes(pool);
            out.uint(*epoch);
        }
        out.map(0); // deposits of pools
        out.array(4);
        out.array(2);
        let pools: BTreeMap<Credential, Hash28> =
            self.holdings.accounts().filter_map(|(owner, account)| Some((owner, account.pool?))).collect();
        let registered: BTreeMap<Credential, (u64, u64)> = accounts.registrations().collect();
        out.map(registered.len());
        for (owner, (rewards, deposit)) in &registered {
            put_credential(out, owner);
            out.array(4);
            out.array(1);
            out.array(2);
            out.uint(*rewards);
            out.uint(*deposit);
            out.array(0); // pointers
            match pools.get(owner) {
                Some(pool) => {
                    out.array(1);
                    out.bytes(pool);
                }
                None => out.array(0),
            }
            out.array(0); // DRep
        }
        out.map(0); // pointers
        out.map(0); // delegates of genesis keys, to come
        out.map(0); // and now
        out.array(4); // instantaneous rewards
        out.map(0);
        out.map(0);
        out.uint(0);
        out.uint(0);
    }

    fn put_outputs(&self, out: &mut Vec<u8>) {
        out.map(self.unspent_outputs());
        for (id, index, encoded) in self.all_unspent() {
            out.array(2);
            out.bytes(&id);
            out.uint(index);
            out.extend_from_slice(&encoded);
        }
    }
}

fn put_governance(out: &mut Vec<u8>, governance: &Governance, parameters: &[u8]) {
    out.array(7);
    out.array(2);
    out.array(4); // the last actions of each kind
    (0..4).for_each(|_| out.array(0));
    out.array(0); // proposals
    out.array(1);
    out.array(2);
    out.map(0); // members of the committee
    put_ratio(out, governance.committee_threshold);
    out.array(2);
    out.array(2);
    out.text(&governance.constitution_url);
    out.bytes(&governance.constitution_hash);
    out.null(); // script of the constitution
    out.extend_from_slice(parameters);
    out.extend_from_slice(parameters); // those of before
    out.array(1); // none to come
    out.uint(0);
    out.array(2);
    out.array(4); // a snapshot without votes
    out.array(0);
    (0..3).for_each(|_| out.map(0));
    out.array(4); // nothing to be ratified
    out.null();
    out.array(0);
    out.set(0);
    out.bool(false);
}

fn put_non_myopic(out: &mut Vec<u8>) {
    out.array(2);
    out.map(0);
    out.uint(0);
}

fn put_credential(out: &mut Vec<u8>, credential: &Credential) {
    out.array(2);
    out.uint(credential.script.into());
    out.bytes(&credential.hash);
}
