//! Folders that are whole or absent.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;

use crate::os_error;

/// A folder that is whole or absent: written under a temporary name beside its place, with a lock that ends with the process.
///
/// What killed processes left of one at the same place is removed, with a line for each on standard error.
#[pyclass(frozen, module = "slotmark._core")]
pub(crate) struct NewFolder {
    /// None when it was finished or removed.
    folder: Mutex<Option<slotmark_newfolder::NewFolder>>,
    /// The path to write to until it is finished.
    #[pyo3(get)]
    path: PathBuf,
}

#[pymethods]
impl NewFolder {
    /// Makes the temporary folder, and the folders above it. Raises OSError, also where something is at the place already.
    #[new]
    fn new(place: PathBuf) -> PyResult<Self> {
        let folder = slotmark_newfolder::NewFolder::create(place).map_err(os_error)?;
        let path = folder.path().to_path_buf();
        Ok(Self { folder: Mutex::new(Some(folder)), path })
    }

    /// Puts the folder in its place. Raises OSError where that can't be done; what was written is removed then.
    fn finish(&self) -> PyResult<()> {
        let folder = self.folder.lock().unwrap_or_else(PoisonError::into_inner).take();
        folder.map_or(Ok(()), |folder| folder.finish().map_err(os_error))
    }

    /// Removes what was written, if it wasn't finished.
    fn remove(&self) {
        drop(self.folder.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}
