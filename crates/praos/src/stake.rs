//! Stake, rebuilt from the transactions of a chain: unspent outputs, delegations and pools.
//!
//! After the rules DELEGS, POOL, SNAP and POOLREAP of the Shelley ledger. Rewards are left out: they hang on much more
//! than this. So stake is exact until the first rewards count, and approximate from then on, which each distribution records.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use slotmark_chain::Hash32;
use slotmark_chain::block::{Block, Certificate, Credential, DecodeError, Hash28, Output, Transaction, decode_output};
use slotmark_chain::hash::blake2b_256;
use slotmark_ledger::{EncodedOutput, Resolved, encode_output};
use slotmark_network::Ratio;

use crate::genesis::Genesis;
use crate::header::{Leader, PoolStake};
use crate::holdings::{Holdings, Journal, Owner, Place};

/// The stake that counts for the lottery of an epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    pools: HashMap<Hash28, (u64, Hash32)>,
    total: u64,
    /// True where nothing is missing in it.
    pub exact: bool,
}

impl Distribution {
    /// Exact stake: by pool its lovelace and the hash of its VRF key.
    pub fn of_pools(pools: impl IntoIterator<Item = (Hash28, (u64, Hash32))>) -> Self {
        let pools: HashMap<Hash28, (u64, Hash32)> = pools.into_iter().collect();
        let total = pools.values().fold(0u64, |total, (lovelace, _)| total.saturating_add(*lovelace));
        Self { pools, total, exact: true }
    }

    /// Returns the lottery's view of an issuer: a pool with its share, or not registered.
    pub fn leader(&self, issuer: &Hash28) -> Leader {
        let Some(&(lovelace, vrf_key_hash)) = self.pools.get(issuer) else { return Leader::NotRegistered };
        let share = Ratio::new(lovelace, self.total).unwrap_or(Ratio::ZERO);
        Leader::Pool(PoolStake { share, vrf_key_hash, exact: self.exact })
    }

    /// Its pools in the order of their ids, each with its lovelace and the hash of its VRF key.
    pub fn pools(&self) -> Vec<(&Hash28, u64, &Hash32)> {
        let mut pools: Vec<_> = self.pools.iter().map(|(id, (lovelace, vrf_key_hash))| (id, *lovelace, vrf_key_hash)).collect();
        pools.sort_unstable_by_key(|(id, ..)| *id);
        pools
    }

    /// Returns the number of pools with stake.
    pub fn pools_with_stake(&self) -> usize {
        self.pools.values().filter(|(lovelace, _)| *lovelace > 0).count()
    }

    /// Lovelace delegated to its pools.
    pub fn total_lovelace(&self) -> u64 {
        self.total
    }
}

/// The ledger, as far as stake and unspent outputs go.
pub struct Stake {
    holdings: Holdings,
    /// Registered pools, with the hash of their VRF key.
    pools: HashMap<Hash28, Hash32>,
    /// Changed pool parameters, adopted at the next epoch.
    changed_pools: HashMap<Hash28, Hash32>,
    /// Pools that retire at the beginning of an epoch.
    retiring: BTreeMap<Hash28, u64>,
    /// Stake at the beginning of the running epoch, which the next one uses.
    mark: Arc<Distribution>,
    /// Stake that the running epoch uses.
    current: Arc<Distribution>,
    /// True where everything that counts has been seen.
    exact: bool,
    /// The epoch from whose beginning on stake lacks rewards.
    lacking_from: Option<u64>,
    /// Without outputs and accounts: the distribution at the next boundary, as far as it is known.
    next_mark: Option<Arc<Distribution>>,
}

impl Stake {
    /// The stake of a genesis.
    pub fn new(genesis: &Genesis) -> Self {
        let mut stake = Self {
            holdings: Holdings::new(genesis.base.clone()),
            pools: genesis.pools.iter().copied().collect(),
            changed_pools: HashMap::new(),
            retiring: BTreeMap::new(),
            mark: Arc::default(),
            current: Arc::default(),
            exact: genesis.has_all_funds && !genesis.base.as_ref().is_some_and(|base| base.has_pointers()),
            lacking_from: None,
            next_mark: None,
        };
        for (address, lovelace) in &genesis.funds {
            let account = stake.account_of(address);
            stake.holdings.add((blake2b_256(&[address]), 0), account, *lovelace, encode_output(address, *lovelace));
        }
        for (key, pool) in &genesis.delegators {
            let account = stake.holdings.account_mut(Credential { script: false, hash: *key });
            (account.registered, account.pool) = (true, Some(*pool));
        }
        stake.mark = Arc::new(stake.distribution());
        stake.current = stake.mark.clone();
        stake
    }

    /// All but outputs and accounts: enough for the distributions of this epoch and the next one, and with `next_mark`, the
    /// distribution as accounts now are, of later ones before whose beginning no further block comes.
    pub(crate) fn without_outputs(&self, next_mark: Option<Arc<Distribution>>) -> Self {
        Self {
            holdings: Holdings::default(),
            pools: self.pools.clone(),
            changed_pools: self.changed_pools.clone(),
            retiring: self.retiring.clone(),
            mark: self.mark.clone(),
            current: self.current.clone(),
            exact: self.exact,
            lacking_from: self.lacking_from,
            next_mark: Some(next_mark.unwrap_or_else(|| self.mark.clone())),
        }
    }

    /// Keeps track of changes from here on.
    pub(crate) fn begin_journal(&mut self) {
        self.holdings.begin_journal();
    }

    /// Takes the changes since [`Stake::begin_journal`] and ends the record.
    pub(crate) fn take_journal(&mut self) -> Journal {
        self.holdings.take_journal()
    }

    /// Takes back what a journal has, the last that is still in it. `before` is the rest, as [`Stake::without_outputs`] gave it.
    pub(crate) fn undo(&mut self, before: Self, journal: Journal) {
        self.holdings.undo(journal);
        // What `before` left out is here, and so is what stands for it there.
        let Self { holdings, next_mark, .. } = std::mem::replace(self, before);
        (self.holdings, self.next_mark) = (holdings, next_mark);
    }

    /// Returns the number of unspent outputs.
    pub fn unspent_outputs(&self) -> usize {
        self.holdings.len()
    }

    /// An unspent output by its transaction's id and its index.
    pub fn unspent(&self, transaction: &Hash32, index: u64) -> Option<EncodedOutput> {
        self.holdings.output(&(*transaction, index))
    }

    /// All unspent outputs, each with its transaction's id and its index, in no order.
    pub fn all_unspent(&self) -> impl Iterator<Item = (Hash32, u64, EncodedOutput)> {
        self.holdings.outputs()
    }

    /// As [`Stake::all_unspent`], those at these addresses alone.
    pub fn unspent_at(&self, addresses: &HashSet<Vec<u8>>) -> impl Iterator<Item = (Hash32, u64, EncodedOutput)> {
        let is_wanted = |encoded: &[u8]| decode_output(encoded).is_ok_and(|output| addresses.contains(output.address.of(encoded)));
        let added = self.holdings.added_outputs().filter(move |(.., encoded)| is_wanted(encoded));
        // A genesis has an address once, and the output's place follows from it.
        let of_base = addresses.iter().filter_map(|address| {
            let id = blake2b_256(&[address]);
            Some((id, 0, self.holdings.output_of_base(&(id, 0)).map(|(address, lovelace)| encode_output(&address, lovelace))?))
        });
        added.chain(of_base)
    }

    /// Returns the number of accounts that delegate to a pool.
    pub fn delegations(&self) -> usize {
        self.holdings.delegated().map(|(_, delegated)| delegated.accounts as usize).sum()
    }

    /// The distribution that the running epoch uses.
    pub fn current(&self) -> &Arc<Distribution> {
        &self.current
    }

    /// Goes into the next epoch, of this number.
    pub fn begin_epoch(&mut self, epoch: u64) {
        if self.lacking_from.is_some_and(|from| epoch >= from) {
            self.exact = false;
        }
        // The snapshot comes first: changes and retirements that the boundary brings aren't in it.
        let mark = self.next_mark.clone().unwrap_or_else(|| Arc::new(self.distribution()));
        self.current = std::mem::replace(&mut self.mark, mark);
        self.pools.extend(self.changed_pools.drain());
        let retired: Vec<Hash28> = self.retiring.iter().filter(|(_, at)| **at <= epoch).map(|(pool, _)| *pool).collect();
        for pool in retired {
            self.retiring.remove(&pool);
            self.pools.remove(&pool);
            self.holdings.leave(&pool);
            self.lack_from(epoch + 1); // its deposit is now among the rewards
        }
    }

    /// Notes that a pool made a block in an epoch: its rewards count from the beginning of the next epoch but one.
    pub fn note_pool_block(&mut self, epoch: u64) {
        self.lack_from(epoch.saturating_add(2));
    }

    fn lack_from(&mut self, epoch: u64) {
        self.lacking_from = Some(self.lacking_from.map_or(epoch, |from| from.min(epoch)));
    }

    /// Applies a block's transactions; yields what each of them refers to, as it was before it.
    ///
    /// # Errors
    /// A certificate can't be read.
    pub fn apply(&mut self, block: &Block<'_, '_>) -> Result<Vec<Resolved>, DecodeError> {
        let apply = |(place, transaction): (u32, &Transaction)| self.apply_transaction(block, transaction, !block.invalid.contains(&place));
        (0..).zip(block.transactions).map(apply).collect()
    }

    fn apply_transaction(&mut self, block: &Block<'_, '_>, transaction: &Transaction, valid: bool) -> Result<Resolved, DecodeError> {
        let certificates = block.certificates(transaction)?;
        let find = |id: &Hash32, index| self.unspent(id, index);
        let mut resolved = Resolved::of(block, transaction, self.new_pools(&certificates), find)?;
        let (spent, outputs) = if valid {
            (block.inputs[transaction.inputs.start as usize..transaction.inputs.end as usize].to_vec(), &mut resolved.inputs)
        } else {
            (block.inputs_in(&transaction.collateral)?, &mut resolved.collateral)
        };
        for (input, output) in spent.iter().zip(outputs) {
            let id = block.bytes[input.transaction as usize..][..32].try_into().expect("32 bytes");
            if !self.holdings.spend(&(id, input.index)) {
                self.exact = false;
                *output = None; // an input that is there twice is spent once
            }
        }
        let id = blake2b_256(&[transaction.body.of(block.bytes)]);
        let outputs = &block.outputs[transaction.outputs.start as usize..transaction.outputs.end as usize];
        if !valid {
            if let Some(output) = &transaction.collateral_return {
                self.add(block, (id, outputs.len() as u64), output);
            }
            return Ok(resolved);
        }
        for (index, output) in (0..).zip(outputs) {
            self.add(block, (id, index), output);
        }
        certificates.into_iter().for_each(|certificate| self.certify(certificate));
        Ok(resolved)
    }

    /// Returns the number of pools that these certificates register for the first time.
    fn new_pools(&self, certificates: &[Certificate]) -> u64 {
        let new = certificates.iter().filter_map(|certificate| match certificate {
            Certificate::PoolRegistration { pool, .. } if !self.pools.contains_key(pool) => Some(pool),
            _ => None,
        });
        new.collect::<HashSet<_>>().len() as u64
    }

    fn add(&mut self, block: &Block<'_, '_>, place: Place, output: &Output) {
        let account = self.account_of(output.address.of(block.bytes));
        self.holdings.add(place, account, output.lovelace, output.encoded.of(block.bytes).into());
    }

    /// The account that an output at an address counts for.
    fn account_of(&mut self, address: &[u8]) -> Option<u32> {
        match Owner::of(address) {
            Owner::Account(credential) => Some(self.holdings.account(credential)),
            Owner::Pointer => {
                self.exact = false;
                None
            }
            Owner::Nobody => None,
        }
    }

    fn certify(&mut self, certificate: Certificate) {
        match certificate {
            Certificate::Registration { credential, pool } => {
                let account = self.holdings.account_mut(credential);
                account.registered = true;
                account.pool = pool.or(account.pool);
            }
            Certificate::Deregistration { credential } => {
                let account = self.holdings.account_mut(credential);
                (account.registered, account.pool) = (false, None);
            }
            Certificate::Delegation { credential, pool } => self.holdings.account_mut(credential).pool = Some(pool),
            Certificate::PoolRegistration { pool, vrf_key_hash } => {
                self.retiring.remove(&pool);
                match self.pools.entry(pool) {
                    Entry::Occupied(_) => {
                        self.changed_pools.insert(pool, vrf_key_hash);
                    }
                    Entry::Vacant(place) => {
                        place.insert(vrf_key_hash);
                    }
                }
            }
            Certificate::PoolRetirement { pool, epoch } => {
                self.retiring.insert(pool, epoch);
            }
            Certificate::InstantaneousRewards => self.exact = false,
            Certificate::GenesisDelegation { .. } | Certificate::Governance => {}
        }
    }

    /// The stake as it is now.
    pub fn distribution(&self) -> Distribution {
        let mut pools: HashMap<Hash28, (u64, Hash32)> = self.pools.iter().map(|(pool, vrf_key_hash)| (*pool, (0, *vrf_key_hash))).collect();
        for (pool, delegated) in self.holdings.delegated() {
            if let Some((sum, _)) = pools.get_mut(&pool) {
                *sum = sum.saturating_add(delegated.lovelace);
            }
        }
        Distribution { exact: self.exact, ..Distribution::of_pools(pools) }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use proptest::prelude::*;

    use super::*;
    use crate::base::Base;

    const POOLS: u8 = 4;
    const KEYS: u8 = 6;

    /// An address: of an enterprise, with a key's stake, with a script's, or with a pointer.
    fn address(kind: u8, payment: u8, key: u8) -> Vec<u8> {
        match kind % 8 {
            0 | 1 => [&[0x60][..], &[payment; 28]].concat(),
            2 => [&[0x20][..], &[payment; 28], &[key; 28]].concat(),
            3 if payment.is_multiple_of(8) => [&[0x40][..], &[payment; 28], &[1, 2, 3]].concat(),
            _ => [&[0x00][..], &[payment; 28], &[key; 28]].concat(),
        }
    }

    /// One change of a block.
    #[derive(Clone, Debug)]
    enum Step {
        /// A new output at an address, or one that the genesis has too.
        Add {
            kind: u8,
            payment: u8,
            key: u8,
            lovelace: u64,
        },
        /// An output of those that are or were there.
        Spend(prop::sample::Index),
        Certify {
            kind: u8,
            script: bool,
            key: u8,
            pool: u8,
            epochs: u64,
        },
        Epoch,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => (any::<u8>(), 0..40u8, 0..KEYS, 0..1_000_000u64)
                .prop_map(|(kind, payment, key, lovelace)| Step::Add { kind, payment, key, lovelace }),
            3 => any::<prop::sample::Index>().prop_map(Step::Spend),
            4 => (0..5u8, any::<bool>(), 0..KEYS + 2, 0..POOLS + 1, 0..3u64)
                .prop_map(|(kind, script, key, pool, epochs)| Step::Certify { kind, script, key, pool, epochs }),
            1 => Just(Step::Epoch),
        ]
    }

    /// A genesis whose funds and delegators are drawn; the last pool that is delegated to isn't registered.
    fn shelley(funds: &[(u8, u8, u8, u64)], delegators: &[(u8, u8)]) -> String {
        let funds: BTreeMap<String, u64> =
            funds.iter().map(|(kind, payment, key, lovelace)| (hex::encode(address(*kind, *payment, *key)), *lovelace)).collect();
        let stake: BTreeMap<String, String> =
            delegators.iter().map(|(key, pool)| (hex::encode([*key; 28]), hex::encode([*pool; 28]))).collect();
        let pools: BTreeMap<String, serde_json::Value> =
            (0..POOLS).map(|pool| (hex::encode([pool; 28]), serde_json::json!({"vrf": hex::encode([pool; 32])}))).collect();
        serde_json::json!({
            "activeSlotsCoeff": 0.05, "securityParam": 10, "epochLength": 100, "slotsPerKESPeriod": 50, "maxKESEvolutions": 60,
            "updateQuorum": 2, "genDelegs": {}, "initialFunds": funds, "staking": {"pools": pools, "stake": stake},
            "protocolParams": slotmark_network::shelley::PARAMETERS, "maxLovelaceSupply": 45_000_000_000_000_000_u64,
            "networkId": "Testnet", "networkMagic": 42, "slotLength": 1, "systemStart": "2022-07-07T09:33:35Z",
        })
        .to_string()
    }

    /// The same genesis, held whole and on a base.
    fn both(shelley: &str) -> [Genesis; 2] {
        let folder = tempfile::tempdir().unwrap();
        let (path, base) = (folder.path().join("shelley-genesis.json"), folder.path().join("base"));
        fs::write(&path, shelley).unwrap();
        let mut byron = slotmark_network::byron::stated("", 10, 42, 0);
        byron["nonAvvmBalances"] = serde_json::json!({"2657WMsDfac6": "7"});
        fs::write(folder.path().join("byron-genesis.json"), byron.to_string()).unwrap();
        Base::make(&path, &base).unwrap();
        [Genesis::read(&path).unwrap(), Genesis::on_base(Base::open(&base).unwrap(), &path).unwrap()]
    }

    /// All that can be asked.
    fn facts(stake: &Stake, places: &BTreeSet<Place>) -> impl PartialEq + std::fmt::Debug + use<> {
        let mut all: Vec<_> = stake.all_unspent().collect();
        all.sort();
        let addresses = (0..8).flat_map(|kind| (0..40).map(move |payment| address(kind, payment, payment % KEYS))).collect();
        let mut at: Vec<_> = stake.unspent_at(&addresses).collect();
        at.sort();
        let each: Vec<_> = places.iter().map(|(id, index)| stake.unspent(id, *index)).collect();
        assert_eq!(all.len(), stake.unspent_outputs());
        let of_pools = (stake.distribution(), stake.mark.clone(), stake.current.clone(), stake.delegations(), stake.exact);
        (all, at, each, of_pools)
    }

    /// Applies a step, of this number in all.
    fn apply(stake: &mut Stake, step: &Step, number: u64, epoch: &mut u64, places: &mut BTreeSet<Place>) {
        match step {
            Step::Add { kind, payment, key, lovelace } => {
                let address = address(*kind, *payment, *key);
                let place = (blake2b_256(&[&number.to_le_bytes(), &address]), 0);
                places.insert(place);
                let account = stake.account_of(&address);
                stake.holdings.add(place, account, *lovelace, encode_output(&address, *lovelace));
            }
            Step::Spend(index) => {
                let place = places.iter().nth(index.index(places.len().max(1)));
                let known = place.is_some_and(|place| stake.holdings.spend(place));
                assert!(place.is_none_or(|(id, index)| stake.unspent(id, *index).is_none()));
                stake.exact &= known;
            }
            Step::Certify { kind, script, key, pool, epochs } => {
                let (credential, pool) = (Credential { script: *script, hash: [*key; 28] }, [*pool; 28]);
                stake.certify(match kind {
                    0 => Certificate::Registration { credential, pool: Some(pool) },
                    1 => Certificate::Deregistration { credential },
                    2 => Certificate::Delegation { credential, pool },
                    3 => Certificate::PoolRegistration { pool, vrf_key_hash: [number as u8; 32] },
                    _ => Certificate::PoolRetirement { pool, epoch: *epoch + epochs },
                });
            }
            Step::Epoch => {
                *epoch += 1;
                stake.begin_epoch(*epoch);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn a_genesis_on_a_base_gives_the_answers_of_one_that_is_held_whole(
            funds in prop::collection::vec((any::<u8>(), 0..40u8, 0..KEYS, 0..1_000_000u64), 0..60),
            delegators in prop::collection::vec((0..KEYS + 2, 0..POOLS + 2), 0..8),
            blocks in prop::collection::vec((prop::collection::vec(step(), 0..6), 0..4usize), 0..30),
        ) {
            let genesis = both(&shelley(&funds, &delegators));
            let mut stakes = [Stake::new(&genesis[0]), Stake::new(&genesis[1])];
            let mut places: BTreeSet<Place> = stakes[0].all_unspent().map(|(id, index, _)| (id, index)).collect();
            prop_assert_eq!(facts(&stakes[0], &places), facts(&stakes[1], &places));
            prop_assert_eq!(genesis[0].lovelace(), genesis[1].lovelace());
            let (mut epoch, mut undos) = (0, Vec::new());
            for (number, (steps, back)) in (0..).zip(&blocks) {
                let before = facts(&stakes[0], &places);
                let known = places.clone();
                let epoch_before = epoch;
                let mut undo = Vec::new();
                for stake in &mut stakes {
                    (epoch, places) = (epoch_before, known.clone());
                    let outline = stake.without_outputs(None);
                    stake.begin_journal();
                    (100 * number..).zip(steps).for_each(|(number, step)| apply(stake, step, number, &mut epoch, &mut places));
                    undo.push((outline, stake.take_journal()));
                }
                prop_assert_eq!(facts(&stakes[0], &places), facts(&stakes[1], &places));
                undos.push((undo, epoch_before, known, before));
                for _ in 0..back.saturating_sub(1).min(undos.len()) {
                    let (undo, epoch_then, known, then) = undos.pop().unwrap();
                    stakes.iter_mut().zip(undo).for_each(|(stake, (outline, journal))| stake.undo(outline, journal));
                    epoch = epoch_then;
                    let found = [facts(&stakes[0], &known), facts(&stakes[1], &known)];
                    prop_assert_eq!(&found[0], &then);
                    prop_assert_eq!(&found[1], &then);
                }
            }
            prop_assert!(genesis[1].sound().is_ok());
        }
    }

    #[test]
    fn a_key_that_delegates_twice_counts_for_the_last_pool_alone() {
        let mut text: serde_json::Value = serde_json::from_str(&shelley(&[(4, 2, 0xab, 7)], &[])).unwrap();
        let (key, pools) = (hex::encode([0xab; 28]), [1, 0].map(|pool| hex::encode([pool; 28])));
        text["staking"]["stake"] = serde_json::json!({key.to_uppercase(): pools[0], key: pools[1]});
        let stakes = both(&text.to_string()).map(|genesis| Stake::new(&genesis));
        let none = BTreeSet::new();
        assert_eq!(facts(&stakes[0], &none), facts(&stakes[1], &none));
        let of_pools: Vec<_> = stakes[1].distribution().pools().into_iter().map(|(_, lovelace, _)| lovelace).collect();
        assert_eq!((of_pools, stakes[1].delegations()), (vec![7, 0, 0, 0], 1));
    }

    #[test]
    fn what_lies_beside_a_base_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("shelley-genesis.json"), folder.path().join("base.partial"));
        fs::write(&path, shelley(&[], &[])).unwrap();
        fs::write(&other, "kept").unwrap();
        Base::make(&path, &folder.path().join("base.1")).unwrap();
        assert_eq!(fs::read(&other).unwrap(), b"kept");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn a_base_that_is_cut_or_damaged_anywhere_is_found_out() {
        let folder = tempfile::tempdir().unwrap();
        let (path, whole, base) = (folder.path().join("shelley-genesis.json"), folder.path().join("whole"), folder.path().join("base"));
        fs::write(&path, shelley(&[(0, 1, 0, 5), (4, 2, 1, 7), (4, 3, 2, 9)], &[(1, 1), (5, 2)])).unwrap();
        Base::make(&path, &whole).unwrap();
        let bytes = fs::read(&whole).unwrap();
        let found_out = |bytes: &[u8], what: String| {
            fs::write(&base, bytes).unwrap();
            let error = Base::open(&base).and_then(|base| {
                let genesis = Genesis::on_base(base, &path).unwrap();
                let mut stake = Stake::new(&genesis);
                let places: Vec<_> = stake.all_unspent().map(|(id, index, _)| (id, index)).collect();
                places.iter().for_each(|place| assert!(stake.holdings.spend(place) || genesis.sound().is_err()));
                for key in 0..KEYS {
                    stake.holdings.account(Credential { script: false, hash: [key; 28] });
                }
                stake.distribution();
                genesis.sound()
            });
            let error = error.expect_err(&what).to_string();
            assert!(error.starts_with(&format!("{}: ", base.display())) && !error.contains('\n'), "{what}: {error}");
        };
        (0..bytes.len()).for_each(|length| found_out(&bytes[..length], format!("cut at {length}")));
        found_out(&[&bytes[..], &[0]].concat(), "one byte more".to_owned());
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 0x10;
            found_out(&damaged, format!("damaged at {place} of {}", bytes.len()));
        }
        let error = Base::make(&folder.path().join("none"), &base).unwrap_err().to_string();
        assert!(error.starts_with(&folder.path().join("none").display().to_string()) && !error.contains('\n'), "{error}");
    }
}
