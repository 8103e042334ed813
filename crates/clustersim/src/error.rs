//! Errors of the simulator.

use std::path::PathBuf;

/// Reasons why a simulation could not be made or written.
#[derive(Debug, thiserror::Error)]
pub enum SimulationError {
    /// A profile that can't be read or makes no sense.
    #[error("profile {name}: {message}")]
    Profile {
        /// The profile's name, or the place in it.
        name: String,
        /// The expected value and the remedy.
        message: String,
    },
    /// A topology that can't be read or doesn't fit the profile.
    #[error("topology {place}: {message}")]
    Topology {
        /// The file or the kind of topology.
        place: String,
        /// The expected value and the remedy.
        message: String,
    },
    /// A run directory that is in the way.
    #[error("{0}: exists already; name another directory or remove it.")]
    Exists(PathBuf),
    /// A file that can't be written.
    #[error("{path}: can't be written ({source}). Nothing was kept; make room or choose another place, and run again.")]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// A table that can't be written.
    #[error("{path}: can't write this table ({source}). Nothing was kept; make room and run again.")]
    Table {
        /// The folder of tables.
        path: PathBuf,
        /// The writer's error.
        source: parquet::errors::ParquetError,
    },
    /// The threads can't be started.
    #[error("{count} threads can't be started ({source}); choose fewer.")]
    Threads {
        /// As many as were asked for.
        count: usize,
        /// The error.
        source: rayon::ThreadPoolBuildError,
    },
    /// The caller asked to stop.
    #[error("stopped before the end; nothing was kept.")]
    Stopped,
}

impl SimulationError {
    pub(crate) fn profile(name: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Profile { name: name.into(), message: message.into() }
    }

    pub(crate) fn topology(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Topology { place: place.into(), message: message.into() }
    }

    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}
