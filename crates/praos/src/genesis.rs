//! Genesis files, as far as the validity of headers depends on them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use slotmark_chain::Hash32;
use slotmark_chain::block::Hash28;
use slotmark_chain::hash::{Hashing, blake2b_256};

use crate::base::{Base, BaseError};
use crate::header::KesPeriods;
use crate::lottery::ActiveSlots;
use crate::nonce::Nonce;
use crate::overlay::Delegation;
use crate::ratio::Ratio;

/// A genesis file that can't be read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's message is its documentation")]
pub enum GenesisError {
    #[error("{path}: {source}. Check that it is there and that you may read it.")]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{path}: {source}. Expected a {kind} genesis file as cardano-node reads it.")]
    Json { path: PathBuf, kind: &'static str, source: serde_json::Error },
    #[error("{path}: {field}: expected {expected}.")]
    Field { path: PathBuf, field: String, expected: &'static str },
    #[error(transparent)]
    Ledger(slotmark_ledger::GenesisError),
}

/// What a network begins with.
#[derive(Clone, Debug)]
pub struct Genesis {
    /// BLAKE2b-256 of the Shelley genesis file's bytes: the first nonce.
    pub hash: Hash32,
    /// The share of slots with leaders.
    pub active_slots: ActiveSlots,
    /// Blocks after which a block is settled: k.
    pub security_parameter: u64,
    /// Slots of an epoch.
    pub epoch_slots: u64,
    /// How long KES keys are good for.
    pub kes: KesPeriods,
    /// Parameters that updates change.
    pub parameters: Parameters,
    /// Whether the treasury takes all there is to distribute (tau is 1), so that stake earns nothing.
    pub all_to_treasury: bool,
    /// How many genesis keys decide an update.
    pub update_quorum: u64,
    /// Genesis keys and their delegates, in ascending order of the keys.
    pub delegations: Vec<Delegation>,
    /// Addresses of the first unspent outputs, each with its lovelace.
    pub funds: Vec<(Vec<u8>, u64)>,
    /// Pools that are there from the beginning, with the hash of their VRF key.
    pub pools: Vec<(Hash28, Hash32)>,
    /// Hashes of stake keys that delegate from the beginning, and their pools.
    pub delegators: Vec<(Hash28, Hash28)>,
    /// BLAKE2b-256 of the Byron genesis file's bytes, whose balances are in `funds`; None where it wasn't there.
    pub byron_hash: Option<Hash32>,
    /// Whether `funds` has Byron's, all of them: the Byron genesis was read, and it had no vouchers to redeem.
    pub has_all_funds: bool,
    /// What transactions depend on; None without Alonzo's genesis file.
    pub ledger: Option<slotmark_ledger::Genesis>,
    /// Where entries are looked up: funds and delegators of a genesis on a base are there, and not here.
    pub base: Option<Arc<Base>>,
}

/// Protocol parameters on which the validity of headers depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Share of the slots that belong to the genesis keys; not used from Babbage on.
    pub decentralisation: Ratio,
    /// What an epoch's nonce is combined with; not used from Babbage on.
    pub extra_entropy: Nonce,
    /// Bytes that a header has at most.
    pub max_header_bytes: u64,
    /// Bytes that a body has at most.
    pub max_body_bytes: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ShelleyFile {
    active_slots_coeff: f64,
    security_param: u64,
    epoch_length: u64,
    #[serde(rename = "slotsPerKESPeriod")]
    slots_per_kes_period: u64,
    #[serde(rename = "maxKESEvolutions")]
    max_kes_evolutions: u64,
    update_quorum: u64,
    gen_delegs: BTreeMap<String, GenesisDelegate>,
    #[serde(deserialize_with = "funds")]
    initial_funds: Vec<(Vec<u8>, u64)>,
    protocol_params: ProtocolParameters,
    #[serde(default)]
    staking: Staking,
}

/// Bytes in hex. Decoded as they are read: a genesis may hold millions of addresses.
struct HexBytes(Vec<u8>);

impl<'de> Deserialize<'de> for HexBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        hex::decode(&*text).map(Self).map_err(|_| D::Error::custom("expected an address in hex"))
    }
}

/// Addresses in ascending order, each with its lovelace; of one that is there twice the last counts, as it does in an object.
fn funds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(Vec<u8>, u64)>, D::Error> {
    struct Funds;

    impl<'de> Visitor<'de> for Funds {
        type Value = Vec<(Vec<u8>, u64)>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("addresses, each with its lovelace")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut funds = Vec::new();
            while let Some((HexBytes(address), lovelace)) = map.next_entry()? {
                funds.push((address, lovelace));
            }
            funds.sort_by(|(one, _), (other, _)| one.cmp(other));
            funds.dedup_by(|(later, its), (earlier, kept)| {
                let twice = later == earlier;
                if twice {
                    *kept = *its;
                }
                twice
            });
            Ok(funds)
        }
    }

    deserializer.deserialize_map(Funds)
}

#[derive(Deserialize)]
struct GenesisDelegate {
    delegate: String,
    vrf: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ProtocolParameters {
    decentralisation_param: f64,
    extra_entropy: ExtraEntropy,
    max_block_header_size: u64,
    max_block_body_size: u64,
    #[serde(default)]
    tau: f64,
}

#[derive(Deserialize)]
struct ExtraEntropy {
    #[serde(default)]
    contents: Option<String>,
}

#[derive(Default, Deserialize)]
struct Staking {
    pools: BTreeMap<String, StakingPool>,
    stake: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct StakingPool {
    vrf: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ByronFile {
    non_avvm_balances: BTreeMap<String, String>,
    avvm_distr: BTreeMap<String, String>,
}

impl Genesis {
    /// Reads a Shelley genesis file, and those of Byron, Alonzo and Conway beside it (`byron-genesis.json` and so on, see
    /// [`slotmark_ledger::genesis_beside`]) where they are there.
    ///
    /// # Errors
    /// A file can't be read or isn't a genesis file; the message names file and field.
    pub fn read(shelley: &Path) -> Result<Self, GenesisError> {
        let open = || File::open(shelley).map_err(|source| GenesisError::Io { path: shelley.to_path_buf(), source });
        let mut genesis = Self::from_shelley(open()?, shelley)?;
        genesis.ledger = slotmark_ledger::Genesis::read(open()?, shelley).map_err(GenesisError::Ledger)?;
        genesis.read_byron(shelley)?;
        Ok(genesis)
    }

    /// As [`Genesis::read`] with the text of the Shelley genesis file: only those beside it are read.
    ///
    /// # Errors
    /// As [`Genesis::read`].
    pub fn read_text(text: &str, shelley: &Path) -> Result<Self, GenesisError> {
        let ledger = slotmark_ledger::Genesis::read(text.as_bytes(), shelley).map_err(GenesisError::Ledger)?;
        Ok(Self { ledger, ..Self::without_ledger(text, shelley)? })
    }

    /// As [`Genesis::read_text`] without what transactions depend on.
    pub(crate) fn without_ledger(text: &str, shelley: &Path) -> Result<Self, GenesisError> {
        let file: ShelleyFile = serde_json::from_str(text).map_err(|source| json(shelley, "Shelley", source))?;
        let mut genesis = Self::of(file, blake2b_256(&[text.as_bytes()]), shelley)?;
        genesis.read_byron(shelley)?;
        Ok(genesis)
    }

    /// The genesis that a base was made of, from the base and the files of Alonzo and Conway beside the Shelley genesis file, which isn't read.
    ///
    /// # Errors
    /// As [`Genesis::read`].
    pub fn on_base(base: Base, shelley: &Path) -> Result<Self, GenesisError> {
        let text = base.shelley();
        let file: ShelleyFile = serde_json::from_str(text).map_err(|source| json(shelley, "Shelley", source))?;
        let ledger = slotmark_ledger::Genesis::read(text.as_bytes(), shelley).map_err(GenesisError::Ledger)?;
        let rest = Self::of(file, *base.genesis_hash(), shelley)?;
        let (pools, byron_hash, has_all_funds) = (base.pools().to_vec(), base.byron_hash().copied(), base.has_all_funds());
        Ok(Self { pools, byron_hash, has_all_funds, ledger, base: Some(Arc::new(base)), ..rest })
    }

    /// Lovelace of all its unspent outputs.
    pub fn lovelace(&self) -> u64 {
        let of_base = self.base.as_ref().map_or(0, |base| base.lovelace());
        self.funds.iter().fold(of_base, |sum, (_, lovelace)| sum.saturating_add(*lovelace))
    }

    /// Whether all that was looked up in its base could be read: see [`Base::sound`].
    ///
    /// # Errors
    /// Something couldn't.
    pub fn sound(&self) -> Result<(), BaseError> {
        self.base.as_ref().map_or(Ok(()), |base| base.sound())
    }

    /// Reads Byron's balances where its file is there.
    fn read_byron(&mut self, shelley: &Path) -> Result<(), GenesisError> {
        let byron = slotmark_ledger::genesis_beside(shelley, "byron");
        match fs::read(&byron) {
            Ok(bytes) => self.add_byron(&bytes, &byron),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(source) => Err(GenesisError::Io { path: byron, source }),
        }
    }

    fn from_shelley(reader: impl Read, path: &Path) -> Result<Self, GenesisError> {
        // Hashed while it is read: a genesis may be larger than what is kept of it.
        let mut bytes = BufReader::with_capacity(1 << 16, Hashing::new(reader));
        let file: ShelleyFile = serde_json::from_reader(&mut bytes).map_err(|source| json(path, "Shelley", source))?;
        Self::of(file, bytes.get_ref().hash(), path)
    }

    fn of(file: ShelleyFile, hash: Hash32, path: &Path) -> Result<Self, GenesisError> {
        let field = Fields(path);
        let positive = |name: &str, number: u64| if number > 0 { Ok(number) } else { Err(field.error(name, "a number above 0")) };
        let share = |name: &str, number: f64| Ratio::from_decimal(number).ok_or_else(|| field.error(name, "a decimal number from 0 to 1"));
        let active = share("activeSlotsCoeff", file.active_slots_coeff)?;
        if active.is_zero() {
            return Err(field.error("activeSlotsCoeff", "a number above 0"));
        }
        let delegations = file.gen_delegs.iter().map(|(key, delegate)| {
            Ok(Delegation {
                genesis_key: field.bytes("genDelegs", key)?,
                delegate: field.bytes("genDelegs", &delegate.delegate)?,
                vrf_key_hash: field.bytes("genDelegs", &delegate.vrf)?,
            })
        });
        let mut delegations: Vec<Delegation> = delegations.collect::<Result<_, _>>()?;
        delegations.sort_by_key(|delegation| delegation.genesis_key);
        let pools = file.staking.pools.iter();
        let stake = file.staking.stake.iter();
        Ok(Self {
            hash,
            active_slots: ActiveSlots::new(active),
            security_parameter: positive("securityParam", file.security_param)?,
            epoch_slots: positive("epochLength", file.epoch_length)?,
            kes: KesPeriods {
                slots: positive("slotsPerKESPeriod", file.slots_per_kes_period)?,
                max_evolutions: positive("maxKESEvolutions", file.max_kes_evolutions)?,
            },
            parameters: Parameters {
                decentralisation: share("decentralisationParam", file.protocol_params.decentralisation_param)?,
                extra_entropy: match &file.protocol_params.extra_entropy.contents {
                    Some(contents) => Some(field.bytes("extraEntropy", contents)?),
                    None => None,
                },
                max_header_bytes: file.protocol_params.max_block_header_size,
                max_body_bytes: file.protocol_params.max_block_body_size,
            },
            all_to_treasury: share("tau", file.protocol_params.tau)?.is_one(),
            update_quorum: file.update_quorum,
            delegations,
            funds: file.initial_funds,
            pools: pools
                .map(|(id, pool)| Ok((field.bytes("staking.pools", id)?, field.bytes("staking.pools", &pool.vrf)?)))
                .collect::<Result<_, _>>()?,
            delegators: stake
                .map(|(key, pool)| Ok((field.bytes("staking.stake", key)?, field.bytes("staking.stake", pool)?)))
                .collect::<Result<_, _>>()?,
            byron_hash: None,
            has_all_funds: false,
            ledger: None,
            base: None,
        })
    }

    /// Adds Byron's balances. Vouchers, which have no address of their own here, are left out.
    fn add_byron(&mut self, bytes: &[u8], path: &Path) -> Result<(), GenesisError> {
        let file: ByronFile = serde_json::from_slice(bytes).map_err(|source| json(path, "Byron", source))?;
        for (address, lovelace) in &file.non_avvm_balances {
            let error = || Fields(path).error("nonAvvmBalances", "addresses in base 58, each with its lovelace in digits");
            let address = bs58::decode(address).into_vec().map_err(|_| error())?;
            self.funds.push((address, lovelace.parse().map_err(|_| error())?));
        }
        self.byron_hash = Some(blake2b_256(&[bytes]));
        self.has_all_funds = file.avvm_distr.is_empty();
        Ok(())
    }
}

fn json(path: &Path, kind: &'static str, source: serde_json::Error) -> GenesisError {
    let path = path.to_path_buf();
    if source.is_io() { GenesisError::Io { path, source: source.into() } } else { GenesisError::Json { path, kind, source } }
}

/// Errors of one file's fields.
struct Fields<'a>(&'a Path);

impl Fields<'_> {
    fn error(&self, field: &str, expected: &'static str) -> GenesisError {
        GenesisError::Field { path: self.0.to_path_buf(), field: field.to_owned(), expected }
    }

    fn bytes<const N: usize>(&self, field: &str, text: &str) -> Result<[u8; N], GenesisError> {
        let mut bytes = [0; N];
        match hex::decode_to_slice(text, &mut bytes) {
            Ok(()) => Ok(bytes),
            Err(_) => Err(self.error(field, if N == 28 { "hashes of 28 bytes in hex" } else { "hashes of 32 bytes in hex" })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"{"activeSlotsCoeff": 0.4, "securityParam": 10, "epochLength": 100, "slotsPerKESPeriod": 50,
        "maxKESEvolutions": 60, "updateQuorum": 2, "genDelegs": {}, "initialFunds": {"60ab": 7},
        "protocolParams": {"decentralisationParam": 0.5, "extraEntropy": {"tag": "NeutralNonce"},
                           "maxBlockHeaderSize": 1100, "maxBlockBodySize": 65536}}"#;

    fn read(text: &str) -> Result<Genesis, String> {
        Genesis::from_shelley(text.as_bytes(), Path::new("genesis.json")).map_err(|error| error.to_string())
    }

    #[test]
    fn fields_are_read_and_checked() {
        let genesis = read(FILE).unwrap();
        assert_eq!(genesis.active_slots.share(), Ratio::new(4, 10).unwrap());
        assert_eq!(genesis.parameters.decentralisation, Ratio::new(5, 10).unwrap());
        assert_eq!((genesis.funds, genesis.pools.len(), genesis.has_all_funds), (vec![(vec![0x60, 0xab], 7)], 0, false));
        assert_eq!(genesis.hash, slotmark_chain::hash::blake2b_256(&[FILE.as_bytes()]));
        let twice = read(&FILE.replace(r#""60ab": 7"#, r#""60ab": 7, "60aa": 5, "60ab": 9"#)).unwrap();
        assert_eq!(twice.funds, vec![(vec![0x60, 0xaa], 5), (vec![0x60, 0xab], 9)]);
        for (from, to, expected) in [
            ("0.4", "0.0", "genesis.json: activeSlotsCoeff: expected a number above 0."),
            ("0.4", "1.5", "genesis.json: activeSlotsCoeff: expected a decimal number from 0 to 1."),
            (r#""epochLength": 100"#, r#""epochLength": 0"#, "genesis.json: epochLength: expected a number above 0."),
            (r#""NeutralNonce""#, r#""Nonce", "contents": "ab""#, "genesis.json: extraEntropy: expected hashes of 32 bytes in hex."),
        ] {
            assert_eq!(read(&FILE.replace(from, to)).unwrap_err(), expected);
        }
        assert!(read("{}").unwrap_err().contains("Expected a Shelley genesis file"));
        assert!(read(&FILE.replace("60ab", "60a")).unwrap_err().contains("expected an address in hex at line"));
        assert!(!read(FILE).unwrap().all_to_treasury);
        assert!(read(&FILE.replace(r#""decentralisationParam""#, r#""tau": 1.0, "decentralisationParam""#)).unwrap().all_to_treasury);
    }
}
