//! A bed's files with another system start.

use std::fs;
use std::path::Path;

use serde_json::Value;
use slotmark_chain::Hash32;
use slotmark_network::{byron, shelley};

use super::{Addresses, Bed, genesis_name, past, write_error};
use crate::error::SynthError;
use crate::network::{ERAS, Folder};

/// Files that go along as they are.
const DESCRIPTION: [&str; 6] = ["bed.json", "meta.json", "node-specs.json", "profile.json", "profile.toml", "topology.json"];
/// Folders of keys, which hold a folder for each owner.
const KEYS: [&str; 4] = ["drep-keys", "pools-keys", "stake-delegators", "utxo-keys"];

/// Copies a bed into a folder that is there, with slot 0 at `start_s` seconds since 1970, the hashes of the genesis files in all
/// configurations, and topologies for the addresses. The blocks before the bed's first slot are forged into the folder `past`, laid out as a
/// node's database; no pool leads one of the last `quiet_slots` before it, if such a chain is found.
///
/// # Errors
/// A file of the bed is missing or isn't what it should be, or one can't be written; the message names it.
pub fn stamp(bed: &Path, into: &Path, start_s: u64, quiet_slots: u64, addresses: Addresses) -> Result<(), SynthError> {
    let description = Bed::read(bed)?;
    let start = i64::try_from(start_s).ok().and_then(|start| chrono::DateTime::from_timestamp(start, 0));
    let start =
        start.ok_or_else(|| SynthError::Refused(format!("a start {start_s} s after 1970: expected a time before the year 10000.")))?;
    let start = start.format("%Y-%m-%dT%H:%M:%SZ").to_string();
    let target = Folder::new(into);
    for name in DESCRIPTION {
        copy(&bed.join(name), &into.join(name))?;
    }
    let genesis = target.below("genesis");
    let mut hashes = [Hash32::default(); 5];
    for (era, hash) in ERAS.iter().zip(&mut hashes) {
        let name = genesis_name(era);
        let path = bed.join("genesis").join(&name);
        let text = read(&path)?;
        let stamped = match *era {
            "Byron" => byron::with_start(&text, start_s),
            "Shelley" => shelley::with_start(&text, &start),
            _ => Ok(text),
        };
        let stamped = stamped.map_err(|error| damaged(&path, &error))?;
        *hash = genesis.file(&name, |file| file.write_all(stamped.as_bytes()))?;
    }
    for owners in KEYS {
        copy_keys(&bed.join("genesis").join(owners), &into.join("genesis").join(owners))?;
    }
    for (number, host) in description.hosts.iter().enumerate() {
        let path = bed.join(&host.name).join("config.json");
        let mut configuration: serde_json::Map<String, Value> =
            serde_json::from_str(&read(&path)?).map_err(|error| damaged(&path, &error))?;
        for (era, hash) in ERAS.iter().zip(&hashes) {
            configuration.insert(format!("{era}GenesisHash"), hex::encode(hash).into());
        }
        let place = target.below(&host.name);
        place.json("config.json", &configuration)?;
        place.json("topology.json", &description.topology(number as u32, addresses))?;
    }
    past::write(&description, into, hashes[1], quiet_slots)
}

fn read(path: &Path) -> Result<String, SynthError> {
    fs::read_to_string(path).map_err(|error| SynthError::Bed {
        path: path.to_path_buf(),
        message: format!("can't be read ({error}). `slotmark cluster check` names all that is wrong with the bed."),
    })
}

fn damaged(path: &Path, error: &serde_json::Error) -> SynthError {
    let message = format!("isn't what it should be ({error}). `slotmark cluster check` names all that is wrong with the bed.");
    SynthError::Bed { path: path.to_path_buf(), message }
}

/// Copies a file and who may read it. What is no file, as a link that leads elsewhere, is refused.
fn copy(from: &Path, to: &Path) -> Result<(), SynthError> {
    let wrong = |message: String| SynthError::Bed { path: from.to_path_buf(), message };
    let kind = from.symlink_metadata().map_err(|error| wrong(format!("can't be read ({error}). Make the bed anew.")))?;
    if !kind.is_file() {
        return Err(wrong("isn't a file. Put the file itself there.".to_owned()));
    }
    fs::copy(from, to).map(drop).map_err(write_error(to.to_path_buf()))
}

/// Copies the keys of all owners, a folder for each.
fn copy_keys(from: &Path, to: &Path) -> Result<(), SynthError> {
    // A bed without DReps has no folder of theirs.
    let Ok(owners) = fs::read_dir(from) else { return Ok(()) };
    let wrong = |error: std::io::Error| SynthError::Bed { path: from.to_path_buf(), message: format!("can't be read ({error}).") };
    for owner in owners {
        let owner = owner.map_err(wrong)?;
        let place = to.join(owner.file_name());
        fs::create_dir_all(&place).map_err(write_error(place.clone()))?;
        for file in fs::read_dir(owner.path()).map_err(wrong)? {
            let file = file.map_err(wrong)?;
            copy(&file.path(), &place.join(file.file_name()))?;
        }
    }
    Ok(())
}
