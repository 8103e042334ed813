//! The parts of genesis files that the validity of headers depends on.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use slotmark_chain::Hash32;
use slotmark_chain::block::{Credential, Hash28, PoolTerms};
use slotmark_chain::hash::blake2b_256;
use slotmark_ledger::{EncodedOutput, encode_output};
use slotmark_network::byron::Byron;
use slotmark_network::conway::{Beginning, DRep, Governance};
use slotmark_network::shelley::{StakingPool, StatedCredential};
use slotmark_network::{GenesisError, Hex, Network, Parameters, Ratio, Shelley, genesis_beside};

use crate::base::{Base, BaseError};
use crate::header::KesPeriods;
use crate::lottery::ActiveSlots;
use crate::overlay::Delegation;

/// The initial state of a network.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Genesis {
    /// BLAKE2b-256 of the Shelley genesis file's bytes: the first nonce.
    pub hash: Hash32,
    /// The Shelley genesis, without its funds and its staking.
    pub shelley: Shelley,
    /// The share of slots with leaders.
    pub active_slots: ActiveSlots,
    /// Genesis keys and their delegates, in ascending order of the keys.
    pub delegations: Vec<Delegation>,
    /// Addresses of the first unspent outputs, each with its lovelace.
    pub funds: Vec<(Vec<u8>, u64)>,
    /// Pools that are there from the beginning, with the hash of their VRF key.
    pub pools: Vec<(Hash28, Hash32)>,
    /// The terms on which these pools share their rewards, in the same order; None for one whose account isn't stated.
    pub pool_terms: Vec<Option<PoolTerms>>,
    /// Hashes of stake keys that delegate from the beginning, and their pools.
    pub delegators: Vec<(Hash28, Hash28)>,
    /// BLAKE2b-256 of the Byron genesis file's bytes, whose balances are in `funds`; None where it wasn't there.
    pub byron_hash: Option<Hash32>,
    /// True where `funds` has all of Byron's: the Byron genesis was read, and it had no vouchers to redeem.
    pub has_all_funds: bool,
    /// The part that transactions depend on; None without Alonzo's genesis file.
    pub ledger: Option<Ledger>,
    /// The base in which entries are looked up: it has the funds and delegators of a genesis on a base.
    #[serde(skip)]
    pub base: Option<Arc<Base>>,
}

/// The part of a network's initial state that transactions depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// The network itself.
    pub network: Network,
    /// Its first parameters.
    pub parameters: Parameters,
    /// Its first DReps.
    #[serde(default)]
    pub dreps: Vec<DRep>,
    /// The governance that Conway begins with; None where it isn't known.
    #[serde(default)]
    pub governance: Option<Governance>,
}

impl Genesis {
    /// Reads a Shelley genesis file, and those of Byron, Alonzo and Conway beside it (`byron-genesis.json` and so on, see
    /// [`genesis_beside`]) where they are there.
    ///
    /// # Errors
    /// A file can't be read or isn't a genesis file; the message names file and field.
    pub fn read(path: &Path) -> Result<Self, GenesisError> {
        let (shelley, hash) = Shelley::read(path)?;
        Self::of(shelley, hash, path)?.with_byron(path)?.with_ledger(path)
    }

    /// As [`Genesis::read`] with the text of the Shelley genesis file: only those beside it are read.
    ///
    /// # Errors
    /// As [`Genesis::read`].
    pub fn read_text(text: &str, path: &Path) -> Result<Self, GenesisError> {
        Self::without_ledger(text, path)?.with_ledger(path)
    }

    /// As [`Genesis::read_text`] without what transactions depend on.
    pub(crate) fn without_ledger(text: &str, path: &Path) -> Result<Self, GenesisError> {
        Self::of(Shelley::parse(text, path)?, blake2b_256(&[text.as_bytes()]), path)?.with_byron(path)
    }

    /// The genesis that a base was made of, from the base and the files of Alonzo and Conway beside the Shelley genesis file, which isn't read.
    ///
    /// # Errors
    /// As [`Genesis::read`].
    pub fn on_base(base: Base, path: &Path) -> Result<Self, GenesisError> {
        let rest = Self::of(Shelley::parse(base.shelley(), path)?, *base.genesis_hash(), path)?.with_ledger(path)?;
        let (pools, byron_hash, has_all_funds) = (base.pools().to_vec(), base.byron_hash().copied(), base.has_all_funds());
        let pool_terms = base.pool_terms().to_vec();
        Ok(Self { pools, pool_terms, byron_hash, has_all_funds, base: Some(Arc::new(base)), ..rest })
    }

    /// Returns the periods in which KES keys are valid.
    pub fn kes(&self) -> KesPeriods {
        KesPeriods { slots: self.shelley.kes_period_slots, max_evolutions: self.shelley.max_kes_evolutions }
    }

    /// Lovelace of all its unspent outputs.
    pub fn lovelace(&self) -> u64 {
        let of_base = self.base.as_ref().map_or(0, |base| base.lovelace());
        self.funds.iter().fold(of_base, |sum, (_, lovelace)| sum.saturating_add(*lovelace))
    }

    /// Its unspent outputs in ascending order of the ids of their transactions, each with its id; all indexes are 0.
    pub fn outputs(&self) -> impl Iterator<Item = (Hash32, EncodedOutput)> {
        let mut funds: Vec<_> =
            self.funds.iter().map(|(address, lovelace)| (blake2b_256(&[address]), encode_output(address, *lovelace))).collect();
        funds.sort_unstable_by_key(|(id, _)| *id);
        let of_base = self.base.iter().flat_map(|base| base.all_outputs());
        funds.into_iter().chain(of_base.map(|(id, address, lovelace)| (id, encode_output(&address, lovelace))))
    }

    /// Checks that every entry looked up in its base could be read: see [`Base::sound`].
    ///
    /// # Errors
    /// Something couldn't.
    pub fn sound(&self) -> Result<(), BaseError> {
        self.base.as_ref().map_or(Ok(()), |base| base.sound())
    }

    /// The genesis of a Shelley genesis file alone.
    fn of(mut shelley: Shelley, hash: Hash32, path: &Path) -> Result<Self, GenesisError> {
        let active = Ratio::from_decimal(shelley.active_slots_coeff);
        for (field, share) in [
            ("activeSlotsCoeff", active),
            ("decentralisationParam", Some(shelley.parameters.decentralisation)),
            ("tau", Some(shelley.parameters.tau)),
        ] {
            if !share.is_some_and(|share| share.is_share()) {
                return Err(GenesisError::field(path, field, "a decimal number from 0 to 1"));
            }
        }
        let active = active.filter(|share| !share.is_zero());
        for (field, is_zero) in [
            ("activeSlotsCoeff", active.is_none()),
            ("securityParam", shelley.security_parameter == 0),
            ("epochLength", shelley.epoch_slots == 0),
            ("slotsPerKESPeriod", shelley.kes_period_slots == 0),
            ("maxKESEvolutions", shelley.max_kes_evolutions == 0),
        ] {
            if is_zero {
                return Err(GenesisError::field(path, field, "a number above 0"));
            }
        }
        let delegation = |(key, to): &(_, slotmark_network::shelley::Delegate)| {
            let Hex(genesis_key) = *key;
            Delegation { genesis_key, delegate: to.delegate.0, vrf_key_hash: to.vrf.0 }
        };
        let staking = std::mem::take(&mut shelley.staking);
        Ok(Self {
            hash,
            active_slots: ActiveSlots::new(active.unwrap_or(Ratio::ONE)),
            delegations: shelley.delegates.iter().map(delegation).collect(),
            funds: std::mem::take(&mut shelley.funds).0.into_iter().map(|(address, lovelace)| (address.0, lovelace)).collect(),
            pools: staking.pools.iter().map(|(id, pool)| (id.0, pool.vrf.0)).collect(),
            pool_terms: staking.pools.iter().map(|(_, pool)| terms(pool)).collect(),
            delegators: staking.stake.iter().map(|(key, pool)| (key.0, pool.0)).collect(),
            byron_hash: None,
            has_all_funds: false,
            ledger: None,
            base: None,
            shelley,
        })
    }

    /// The same with what transactions depend on.
    fn with_ledger(self, path: &Path) -> Result<Self, GenesisError> {
        let ledger = match Parameters::read(&self.shelley.parameters, path)? {
            Some((parameters, Beginning { dreps, governance })) => {
                Some(Ledger { network: self.shelley.network(path)?, parameters, dreps, governance })
            }
            None => None,
        };
        Ok(Self { ledger, ..self })
    }

    /// The same with Byron's balances, where its file is there. Vouchers, which have no address of their own here, are left out.
    fn with_byron(mut self, path: &Path) -> Result<Self, GenesisError> {
        let path = genesis_beside(path, "byron");
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(self),
            Err(source) => return Err(GenesisError::Io { path, source }),
        };
        let file: Byron = serde_json::from_slice(&bytes).map_err(|source| GenesisError::json(&path, "Byron", source))?;
        for (address, lovelace) in &file.non_avvm_balances {
            let error = || GenesisError::field(&path, "nonAvvmBalances", "addresses in base 58, each with its lovelace in digits");
            let address = bs58::decode(address).into_vec().map_err(|_| error())?;
            self.funds.push((address, lovelace.parse().map_err(|_| error())?));
        }
        self.byron_hash = Some(blake2b_256(&[&bytes]));
        self.has_all_funds = file.avvm_distr.is_empty();
        Ok(self)
    }
}

/// The terms of a pool of a genesis.
fn terms(pool: &StakingPool) -> Option<PoolTerms> {
    let account = match pool.reward_account?.credential {
        StatedCredential::KeyHash(Hex(hash)) => Credential { script: false, hash },
        StatedCredential::ScriptHash(Hex(hash)) => Credential { script: true, hash },
    };
    let margin = (pool.margin.numerator(), pool.margin.denominator());
    let owners = pool.owners.iter().map(|owner| owner.0).collect();
    Some(PoolTerms { pledge: pool.pledge, cost: pool.cost, margin, account, owners })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"{"activeSlotsCoeff": 0.4, "securityParam": 10, "epochLength": 100, "slotsPerKESPeriod": 50,
        "maxKESEvolutions": 60, "updateQuorum": 2, "genDelegs": {}, "initialFunds": {"60ab": 7}, "maxLovelaceSupply": 9,
        "networkId": "Testnet", "networkMagic": 42, "slotLength": 1, "systemStart": "2022-07-07T09:33:35Z",
        "protocolParams": {"a0": 0.25, "decentralisationParam": 0.5, "eMax": 18, "extraEntropy": {"tag": "NeutralNonce"},
                           "keyDeposit": 0, "maxBlockBodySize": 65536, "maxBlockHeaderSize": 1100, "maxTxSize": 16384, "minFeeA": 44,
                           "minFeeB": 155381, "minUTxOValue": 0, "nOpt": 100, "poolDeposit": 0,
                           "protocolVersion": {"major": 11, "minor": 0}, "rho": 0.125, "tau": 0.2}}"#;

    fn read(text: &str) -> Result<Genesis, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("genesis.json");
        fs::write(&path, text).unwrap();
        Genesis::read(&path).map_err(|error| error.to_string().replace(&format!("{}/", folder.path().display()), ""))
    }

    #[test]
    fn fields_are_read_and_checked() {
        let genesis = read(FILE).unwrap();
        assert_eq!(genesis.active_slots.share(), Ratio::new(4, 10).unwrap());
        assert_eq!(genesis.shelley.parameters.decentralisation, Ratio::new(5, 10).unwrap());
        assert_eq!((genesis.funds, genesis.pools.len(), genesis.has_all_funds), (vec![(vec![0x60, 0xab], 7)], 0, false));
        assert_eq!(genesis.hash, slotmark_chain::hash::blake2b_256(&[FILE.as_bytes()]));
        let twice = read(&FILE.replace(r#""60ab": 7"#, r#""60ab": 7, "60aa": 5, "60ab": 9"#)).unwrap();
        assert_eq!(twice.funds, vec![(vec![0x60, 0xaa], 5), (vec![0x60, 0xab], 9)]);
        for (from, to, expected) in [
            ("0.4", "0.0", "genesis.json: activeSlotsCoeff: expected a number above 0."),
            ("0.4", "1.5", "genesis.json: activeSlotsCoeff: expected a decimal number from 0 to 1."),
            (r#""epochLength": 100"#, r#""epochLength": 0"#, "genesis.json: epochLength: expected a number above 0."),
            (
                r#""NeutralNonce""#,
                r#""Nonce", "contents": "ab""#,
                "genesis.json: expected 32 bytes in hex at line 4 column 131. Expected a genesis file of Shelley as cardano-node reads it.",
            ),
        ] {
            assert_eq!(read(&FILE.replace(from, to)).unwrap_err(), expected);
        }
        assert!(read("{}").unwrap_err().contains("Expected a genesis file of Shelley"));
        assert!(read(&FILE.replace("60ab", "60a")).unwrap_err().contains("expected an address in hex at line"));
        for (tau, is_all) in [("0.2", false), ("1.0", true), ("1", true)] {
            assert_eq!(read(&FILE.replace("0.2}", &format!("{tau}}}"))).unwrap().shelley.parameters.tau.is_one(), is_all, "{tau}");
        }
    }
}
