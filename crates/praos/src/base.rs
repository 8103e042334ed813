//! A ledger base: what a network begins with, in one file that any number of processes look things up in.
//!
//! A genesis with millions of entries takes seconds to read and gigabytes to hold. A base is made of it once; nodes then read the
//! few records that they need, and the kernel keeps the pages of the file for all of them.
//!
//! The file: [`MAGIC`], the head's length in bytes (8) and its CRC-32 (4), the head as JSON, and two tables of records of one size each, in
//! ascending order of their keys. A record is a key, a value, and the CRC-32 (4) of the record's place in its table (8) and both of
//! them. Numbers are little-endian.
//!
//! | table | key | value |
//! | --- | --- | --- |
//! | outputs | id of the output's transaction, 32 bytes | lovelace (8), the address's length (1), the address, filled up with zeros |
//! | accounts | credential: 1 for a script's and 0 for a key's (1), its hash (28) | lovelace (8), which of the head's pools it delegates to (4); all bits set for none |

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use slotmark_chain::Hash32;
use slotmark_chain::block::{Credential, Hash28, PoolTerms};
use slotmark_chain::hash::blake2b_256;
use slotmark_network::GenesisError;
use slotmark_network::shelley::without_entries;

use crate::genesis::Genesis;
use crate::holdings::{Account, Delegated, Owner};

/// The first bytes of the file.
const MAGIC: &[u8; 8] = b"smbase1\n";
/// Bytes before the head.
const BEFORE_HEAD: u64 = 20;
/// Bytes of the longest address.
const MAX_ADDRESS: usize = u8::MAX as usize;
const CREDENTIAL_BYTES: usize = 29;
const ACCOUNT_BYTES: usize = CREDENTIAL_BYTES + 8 + 4 + CRC_BYTES;
const ID_BYTES: usize = 32;
const CRC_BYTES: usize = 4;
/// Records that are read at once, at most, where all of a table are read.
const AT_ONCE: u64 = 4_096;

/// A base that can't be made, or can't be read.
#[derive(Clone, Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's message is its documentation")]
pub enum BaseError {
    #[error("{path}: {what}. Check that it is there, that you may {may} it, and that the disk isn't full.")]
    Io { path: PathBuf, what: String, may: &'static str },
    #[error("{path}: {what}: expected a ledger base as `slotmark-node prepare` makes it. Make it anew.")]
    Damaged { path: PathBuf, what: String },
    #[error("{path}: {what}.")]
    Genesis { path: PathBuf, what: String },
}

/// The part of the file that is read at once.
#[derive(Serialize, Deserialize)]
struct Head {
    /// BLAKE2b-256 of the Shelley genesis file.
    genesis_hash: String,
    /// BLAKE2b-256 of the Byron genesis file, where there was one.
    byron_hash: Option<String>,
    /// The Shelley genesis without its entries, which are `initialFunds` and `staking`.
    shelley: String,
    has_all_funds: bool,
    has_pointers: bool,
    /// Pools that are there from the beginning, with the hash of their VRF key.
    pools: Vec<(String, String)>,
    /// The terms on which these pools share their rewards, in the same order.
    pool_terms: Vec<Option<PoolTerms>>,
    /// Delegations by pool: pool, lovelace, number of accounts.
    delegated: Vec<(String, u64, u64)>,
    outputs: u64,
    accounts: u64,
    /// The lovelace of all outputs.
    lovelace: u64,
    /// Bytes of the longest address.
    address_bytes: usize,
}

/// Records of one size in ascending order of their keys.
#[derive(Clone, Copy, Debug)]
struct Table {
    /// Its start in the file.
    start: u64,
    records: u64,
    record_bytes: usize,
    key_bytes: usize,
}

/// A ledger base that is open.
#[derive(Debug)]
pub struct Base {
    file: File,
    path: PathBuf,
    genesis_hash: Hash32,
    byron_hash: Option<Hash32>,
    shelley: String,
    has_all_funds: bool,
    has_pointers: bool,
    pools: Vec<(Hash28, Hash32)>,
    pool_terms: Vec<Option<PoolTerms>>,
    delegated: Vec<(Hash28, Delegated)>,
    lovelace: u64,
    outputs: Table,
    accounts: Table,
    fault: OnceLock<BaseError>,
}

impl Base {
    /// Makes the base of a Shelley genesis file and those beside it (see [`Genesis::read`]). The file appears when it is complete.
    ///
    /// # Errors
    /// A genesis file can't be read or isn't one, or the base can't be written.
    pub fn make(shelley: &Path, path: &Path) -> Result<(), BaseError> {
        let of_genesis = |what: String| BaseError::Genesis { path: shelley.to_path_buf(), what };
        let text = fs::read_to_string(shelley).map_err(|error| of_genesis(error.to_string()))?;
        let genesis = Genesis::without_ledger(&text, shelley).map_err(|error| of_genesis(error_without(&error, shelley)))?;
        let rest = without_entries(&text).map_err(|error| of_genesis(error.to_string()))?;
        drop(text);
        let mut partial = path.as_os_str().to_owned();
        partial.push(".partial"); // behind the whole name, of which an extension would take a part
        let partial = PathBuf::from(partial);
        let written = Parts::of(genesis, rest).map_err(of_genesis)?.write(&partial).and_then(|()| fs::rename(&partial, path));
        written.map_err(|error| {
            let _ = fs::remove_file(&partial);
            BaseError::Io { path: path.to_path_buf(), what: error.to_string(), may: "write" }
        })
    }

    /// Opens a base.
    ///
    /// # Errors
    /// It can't be read, or its head or its length isn't what it should be.
    pub fn open(path: &Path) -> Result<Self, BaseError> {
        let io = |error: io::Error| BaseError::Io { path: path.to_path_buf(), what: error.to_string(), may: "read" };
        let damaged = |what: &str| BaseError::Damaged { path: path.to_path_buf(), what: what.to_owned() };
        let file = File::open(path).map_err(io)?;
        let bytes = file.metadata().map_err(io)?.len();
        let mut before = [0; BEFORE_HEAD as usize];
        if bytes < BEFORE_HEAD {
            return Err(damaged("a file that is too short"));
        }
        file.read_exact_at(&mut before, 0).map_err(io)?;
        let (magic, before) = before.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(damaged("another kind of file"));
        }
        let (length, crc) = before.split_at(8);
        let length = u64::from_le_bytes(length.try_into().expect("8 bytes"));
        if length > bytes - BEFORE_HEAD {
            return Err(damaged("a file that is cut"));
        }
        let mut head = vec![0; length as usize];
        file.read_exact_at(&mut head, BEFORE_HEAD).map_err(io)?;
        if crc32fast::hash(&head).to_le_bytes() != crc {
            return Err(damaged("a head that is damaged"));
        }
        let head: Head = serde_json::from_slice(&head).map_err(|error| damaged(&format!("a head that can't be read ({error})")))?;
        let record_bytes = ID_BYTES + 8 + 1 + head.address_bytes.min(MAX_ADDRESS) + CRC_BYTES;
        let outputs = Table { start: BEFORE_HEAD + length, records: head.outputs, record_bytes, key_bytes: ID_BYTES };
        let end_of = |table: &Table| table.records.checked_mul(table.record_bytes as u64)?.checked_add(table.start);
        let accounts =
            end_of(&outputs).map(|start| Table { start, records: head.accounts, record_bytes: ACCOUNT_BYTES, key_bytes: CREDENTIAL_BYTES });
        let Some(accounts) = accounts.filter(|accounts| end_of(accounts) == Some(bytes)) else {
            return Err(damaged("a file that is cut, or too long"));
        };
        let wrong = || damaged("a head with a wrong hash");
        let pools = head.pools.iter().map(|(pool, vrf_key)| Some((hash(pool)?, hash(vrf_key)?))).collect::<Option<_>>();
        let delegated = head
            .delegated
            .iter()
            .map(|(pool, lovelace, accounts)| Some((hash(pool)?, Delegated { lovelace: *lovelace, accounts: *accounts })));
        Ok(Self {
            genesis_hash: hash(&head.genesis_hash).ok_or_else(wrong)?,
            byron_hash: head.byron_hash.map(|text| hash(&text).ok_or_else(wrong)).transpose()?,
            shelley: head.shelley,
            has_all_funds: head.has_all_funds,
            has_pointers: head.has_pointers,
            pools: pools.ok_or_else(wrong)?,
            pool_terms: head.pool_terms,
            delegated: delegated.collect::<Option<_>>().ok_or_else(wrong)?,
            lovelace: head.lovelace,
            outputs,
            accounts,
            fault: OnceLock::new(),
            file,
            path: path.to_path_buf(),
        })
    }

    /// BLAKE2b-256 of the Shelley genesis file that it was made of.
    pub fn genesis_hash(&self) -> &Hash32 {
        &self.genesis_hash
    }

    /// BLAKE2b-256 of the Byron genesis file whose balances are in it; None where there was no such file.
    pub fn byron_hash(&self) -> Option<&Hash32> {
        self.byron_hash.as_ref()
    }

    /// The Shelley genesis file without its entries: `initialFunds` is empty, and so are the pools and the delegators of `staking`.
    pub fn shelley(&self) -> &str {
        &self.shelley
    }

    /// Checks that all records looked up so far could be read. A record that couldn't is treated as missing: what was decided since the last check
    /// must then be thrown away.
    ///
    /// # Errors
    /// One couldn't; which, and why.
    pub fn sound(&self) -> Result<(), BaseError> {
        self.fault.get().map_or(Ok(()), |fault| Err(fault.clone()))
    }

    pub(crate) fn has_all_funds(&self) -> bool {
        self.has_all_funds
    }

    pub(crate) fn has_pointers(&self) -> bool {
        self.has_pointers
    }

    pub(crate) fn pools(&self) -> &[(Hash28, Hash32)] {
        &self.pools
    }

    pub(crate) fn pool_terms(&self) -> &[Option<PoolTerms>] {
        &self.pool_terms
    }

    /// Returns the delegations to each pool, in the order by which accounts name them.
    pub(crate) fn delegated(&self) -> &[(Hash28, Delegated)] {
        &self.delegated
    }

    /// Returns the lovelace of all outputs.
    pub(crate) fn lovelace(&self) -> u64 {
        self.lovelace
    }

    /// Returns the number of outputs.
    pub(crate) fn outputs(&self) -> u64 {
        self.outputs.records
    }

    /// The address and the lovelace of an output by its transaction's id; its index is 0.
    pub(crate) fn output(&self, id: &Hash32) -> Option<(Vec<u8>, u64)> {
        self.find(&self.outputs, id).and_then(|record| self.decode_output(&record)).map(|(_, address, lovelace)| (address, lovelace))
    }

    /// All outputs: ids of their transactions, addresses and lovelace.
    pub(crate) fn all_outputs(&self) -> impl Iterator<Item = (Hash32, Vec<u8>, u64)> {
        self.all(self.outputs, |record| self.decode_output(record))
    }

    /// All accounts, by their credentials.
    pub(crate) fn all_accounts(&self) -> impl Iterator<Item = (Credential, Account)> {
        self.all(self.accounts, |record| self.decode_account(record))
    }

    /// All records of a table, as far as they can be read: see [`Base::sound`].
    fn all<T>(&self, table: Table, decode: impl Fn(&[u8]) -> Option<T>) -> impl Iterator<Item = T> {
        let chunk = move |first: u64| {
            let records = self.read(&table, first, AT_ONCE.min(table.records - first)).unwrap_or_default();
            let decoded: Vec<_> = records.chunks_exact(table.record_bytes).map_while(&decode).collect();
            decoded
        };
        (0..table.records).step_by(AT_ONCE as usize).flat_map(chunk)
    }

    fn decode_output(&self, record: &[u8]) -> Option<(Hash32, Vec<u8>, u64)> {
        let (id, value) = record.split_first_chunk::<ID_BYTES>()?;
        let (lovelace, value) = value.split_first_chunk::<8>()?;
        let (length, address) = value.split_first()?;
        Some((*id, address.get(..usize::from(*length))?.to_vec(), u64::from_le_bytes(*lovelace)))
    }

    /// A credential's account.
    pub(crate) fn account(&self, credential: &Credential) -> Option<Account> {
        self.find(&self.accounts, &credential_key(credential)).and_then(|record| self.decode_account(&record)).map(|(_, account)| account)
    }

    fn decode_account(&self, record: &[u8]) -> Option<(Credential, Account)> {
        let (key, value) = record.split_first_chunk::<CREDENTIAL_BYTES>()?;
        let (lovelace, value) = value.split_first_chunk::<8>()?;
        let place = u32::from_le_bytes(*value.first_chunk()?);
        let pool = self.delegated.get(place as usize).map(|(pool, _)| *pool);
        let (script, hash) = key.split_first()?;
        let credential = Credential { script: *script != 0, hash: hash.try_into().expect("28 bytes") };
        Some((credential, Account { lovelace: u64::from_le_bytes(*lovelace), registered: pool.is_some(), pool }))
    }

    /// The record with a key.
    fn find(&self, table: &Table, key: &[u8]) -> Option<Vec<u8>> {
        let (mut low, mut high) = (0, table.records);
        while low < high {
            let middle = low + (high - low) / 2;
            let record = self.read(table, middle, 1)?;
            match record[..table.key_bytes].cmp(key) {
                std::cmp::Ordering::Equal => return Some(record),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// Reads records; None where they can't be read or are damaged, which [`Base::sound`] then has.
    fn read(&self, table: &Table, first: u64, count: u64) -> Option<Vec<u8>> {
        let mut bytes = vec![0; count as usize * table.record_bytes];
        if let Err(error) = self.file.read_exact_at(&mut bytes, table.start + first * table.record_bytes as u64) {
            let what = error.to_string();
            self.fault.get_or_init(|| BaseError::Io { path: self.path.clone(), what, may: "read" });
            return None;
        }
        for (place, record) in (first..).zip(bytes.chunks_exact(table.record_bytes)) {
            let (content, crc) = record.split_at(table.record_bytes - CRC_BYTES);
            if checksum(place, content) != crc {
                let what = format!("a record that is damaged, {place} of {}", table.records);
                self.fault.get_or_init(|| BaseError::Damaged { path: self.path.clone(), what });
                return None;
            }
        }
        Some(bytes)
    }
}

/// The parts of a file.
struct Parts {
    head: Head,
    /// Addresses with their lovelace, in any order.
    funds: Vec<(Vec<u8>, u64)>,
    /// Keys of accounts with their lovelace and the place of their pool, in order.
    accounts: BTreeMap<[u8; CREDENTIAL_BYTES], (u64, u32)>,
}

impl Parts {
    fn of(genesis: Genesis, shelley: String) -> Result<Self, String> {
        let total = genesis.funds.iter().try_fold(0u64, |total, (_, lovelace)| total.checked_add(*lovelace));
        let lovelace = total.ok_or("initialFunds: expected less than 2^64 lovelace in all")?;
        let address_bytes = genesis.funds.iter().map(|(address, _)| address.len()).max().unwrap_or(0);
        if address_bytes > MAX_ADDRESS {
            return Err(format!("initialFunds: an address of {address_bytes} bytes: expected {MAX_ADDRESS} at most"));
        }
        let (mut accounts, mut has_pointers) = (BTreeMap::<_, (u64, u32)>::new(), false);
        for (address, lovelace) in &genesis.funds {
            match Owner::of(address) {
                Owner::Account(credential) => accounts.entry(credential_key(&credential)).or_insert((0, u32::MAX)).0 += lovelace,
                Owner::Pointer => has_pointers = true,
                Owner::Nobody => {}
            }
        }
        let mut places: HashMap<Hash28, u32> = HashMap::new();
        let mut delegated: Vec<(Hash28, Delegated)> = Vec::new();
        for (key, pool) in &genesis.delegators {
            let place = *places.entry(*pool).or_insert_with(|| {
                delegated.push((*pool, Delegated::default()));
                delegated.len() as u32 - 1
            });
            // A key may be there twice, in small and in capital letters: the last one counts.
            accounts.entry(credential_key(&Credential { script: false, hash: *key })).or_insert((0, u32::MAX)).1 = place;
        }
        for (lovelace, place) in accounts.values() {
            if let Some((_, sum)) = delegated.get_mut(*place as usize) {
                (sum.lovelace, sum.accounts) = (sum.lovelace + lovelace, sum.accounts + 1);
            }
        }
        let head = Head {
            genesis_hash: hex::encode(genesis.hash),
            byron_hash: genesis.byron_hash.map(hex::encode),
            shelley,
            has_all_funds: genesis.has_all_funds,
            has_pointers,
            pools: genesis.pools.iter().map(|(pool, vrf_key)| (hex::encode(pool), hex::encode(vrf_key))).collect(),
            pool_terms: genesis.pool_terms,
            delegated: delegated.iter().map(|(pool, sum)| (hex::encode(pool), sum.lovelace, sum.accounts)).collect(),
            outputs: genesis.funds.len() as u64,
            accounts: accounts.len() as u64,
            lovelace,
            address_bytes,
        };
        Ok(Self { head, funds: genesis.funds, accounts })
    }

    fn write(&self, path: &Path) -> io::Result<()> {
        let mut order: Vec<(Hash32, u32)> = (0..).zip(&self.funds).map(|(place, (address, _))| (blake2b_256(&[address]), place)).collect();
        order.sort_unstable();
        let head = serde_json::to_vec(&self.head)?;
        let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
        file.write_all(MAGIC)?;
        file.write_all(&(head.len() as u64).to_le_bytes())?;
        file.write_all(&crc32fast::hash(&head).to_le_bytes())?;
        file.write_all(&head)?;
        let mut record = Vec::new();
        let mut put = |place: u64, pieces: &[&[u8]]| {
            record.clear();
            pieces.iter().for_each(|piece| record.extend_from_slice(piece));
            file.write_all(&record)?;
            file.write_all(&checksum(place, &record))
        };
        for (place, (id, fund)) in (0..).zip(&order) {
            let (address, lovelace) = &self.funds[*fund as usize];
            let padding = &[0; MAX_ADDRESS][..self.head.address_bytes - address.len()];
            put(place, &[id, &lovelace.to_le_bytes(), &[address.len() as u8], address, padding])?;
        }
        for (place, (key, (lovelace, pool))) in (0..).zip(&self.accounts) {
            put(place, &[key, &lovelace.to_le_bytes(), &pool.to_le_bytes()])?;
        }
        file.into_inner()?.sync_all()
    }
}

fn checksum(place: u64, content: &[u8]) -> [u8; CRC_BYTES] {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&place.to_le_bytes());
    crc.update(content);
    crc.finalize().to_le_bytes()
}

fn credential_key(credential: &Credential) -> [u8; CREDENTIAL_BYTES] {
    let mut key = [u8::from(credential.script); CREDENTIAL_BYTES];
    key[1..].copy_from_slice(&credential.hash);
    key
}

fn hash<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    hex::decode_to_slice(text, &mut bytes).ok().map(|()| bytes)
}

/// An error's words without the path that they begin with.
fn error_without(error: &GenesisError, path: &Path) -> String {
    let words = error.to_string();
    let prefix = format!("{}: ", path.display());
    words.strip_prefix(&prefix).unwrap_or(&words).trim_end_matches('.').to_owned()
}
