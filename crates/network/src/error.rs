//! Reading genesis files, and what may be wrong with one.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

/// A genesis file that can't be read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's message is its documentation")]
pub enum GenesisError {
    #[error("{path}: {source}. Check that it is there and that you may read it.")]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{path}: {source}. Expected a genesis file of {era} as cardano-node reads it.")]
    Json { path: PathBuf, era: &'static str, source: serde_json::Error },
    #[error("{path}: {field}: expected {expected}.")]
    Field { path: PathBuf, field: &'static str, expected: &'static str },
}

impl GenesisError {
    /// The error of a field whose value is out of its range.
    pub fn field(path: &Path, field: &'static str, expected: &'static str) -> Self {
        Self::Field { path: path.to_path_buf(), field, expected }
    }

    /// The error of a file that isn't what it should be, or that can't be read to its end.
    pub fn json(path: &Path, era: &'static str, source: serde_json::Error) -> Self {
        let path = path.to_path_buf();
        if source.is_io() { Self::Io { path, source: source.into() } } else { Self::Json { path, era, source } }
    }
}

/// Returns the path of an era's genesis file beside Shelley's: the same name with the other era in it, as `genesis.alonzo.json` beside
/// `genesis.shelley.json`; else `alonzo-genesis.json`.
pub fn genesis_beside(shelley: &Path, era: &str) -> PathBuf {
    let era = era.to_lowercase();
    let name = shelley.file_name().and_then(|name| name.to_str()).filter(|name| name.contains("shelley"));
    shelley.with_file_name(name.map_or_else(|| format!("{era}-genesis.json"), |name| name.replacen("shelley", &era, 1)))
}

/// Reads an era's genesis file, piece by piece; None where it isn't there.
///
/// # Errors
/// It can't be read, or isn't one.
pub fn read_json<T: DeserializeOwned>(path: &Path, era: &'static str) -> Result<Option<T>, GenesisError> {
    match File::open(path) {
        Ok(file) => {
            let file = BufReader::with_capacity(1 << 16, file);
            serde_json::from_reader(file).map(Some).map_err(|source| GenesisError::json(path, era, source))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(GenesisError::Io { path: path.to_path_buf(), source }),
    }
}
