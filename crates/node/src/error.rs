//! Errors that end a node.

use std::io;
use std::path::{Path, PathBuf};

use slotmark_chain::ChainError;
use slotmark_network::GenesisError;
use slotmark_praos::base::BaseError;
use slotmark_praos::envelope::EnvelopeError;

/// Reasons why a node can't start, or go on.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's message is its documentation")]
pub enum NodeError {
    #[error("{path}: {source}. Check that it is there and that you may read it.")]
    Read { path: PathBuf, source: io::Error },
    #[error("{path}: {source}. Check that the folder is there, that the disk isn't full and that you may write there.")]
    Write { path: PathBuf, source: io::Error },
    #[error("{path}: {what}: expected {expected}.")]
    Content { path: PathBuf, what: String, expected: String },
    #[error(
        "{path}: the set of unspent outputs can't be read or written ({reason}). Check that the disk isn't full and that you may write there; what was settled before is kept."
    )]
    Set { path: PathBuf, reason: String },
    #[error("{path}: {source}.")]
    Envelope { path: PathBuf, source: EnvelopeError },
    #[error(transparent)]
    Genesis(#[from] GenesisError),
    #[error(transparent)]
    Base(#[from] BaseError),
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error("{address}: {source}. Another process may listen there: choose another --host-addr or --port.")]
    Listen { address: String, source: io::Error },
    #[error("{path}: {source}. Another process may listen there: choose another --socket-path.")]
    Socket { path: PathBuf, source: io::Error },
    #[error("{0}")]
    Runtime(#[from] io::Error),
}

impl NodeError {
    pub(crate) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Read { path, source }
    }

    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Write { path, source }
    }

    pub(crate) fn content(path: &Path, what: impl ToString, expected: impl Into<String>) -> Self {
        Self::Content { path: path.to_path_buf(), what: what.to_string(), expected: expected.into() }
    }
}
