//! Folders that are whole or absent, however their writer ends: runs, chains, simulated run directories.
//!
//! A folder is written under a temporary name beside its place, `.NAME.partial-…`, and renamed when complete. Its writer holds a
//! lock on a file in it, which the system frees with the process. So the next one that writes to the same place can distinguish what a
//! killed process left, and removes it; a folder whose writer lives is let be.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::path::{Path, PathBuf};

/// The file in an unfinished folder that its writer holds a lock on.
const LOCK: &str = "writing.lock";

/// A folder that is being written. Dropping it unfinished removes what was written.
#[derive(Debug)]
pub struct NewFolder {
    place: PathBuf,
    partial: PathBuf,
    /// The lock, as long as the folder isn't finished.
    lock: Option<File>,
}

impl NewFolder {
    /// Makes the temporary folder for a new folder at `place`, and the folders above it.
    ///
    /// What killed processes left there is removed, with a line for each on standard error.
    ///
    /// # Errors
    /// There is something at `place` ([`io::ErrorKind::AlreadyExists`]), a file is where a folder above it is to be
    /// ([`io::ErrorKind::NotADirectory`]), or it can't be written.
    pub fn create(place: impl AsRef<Path>) -> io::Result<Self> {
        let place = place.as_ref().to_path_buf();
        if place.symlink_metadata().is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let name = place.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let mut prefix = OsString::from(".");
        prefix.push(name);
        prefix.push(".partial-");
        let above = place.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(above).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => io::ErrorKind::NotADirectory.into(),
            _ => error,
        })?;
        remove_stale(above, &prefix)?;
        loop {
            let mut name = prefix.clone();
            name.push(format!("{:08x}", RandomState::new().hash_one(&place) as u32));
            let partial = place.with_file_name(name);
            match fs::create_dir(&partial) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made?,
            }
            match locked(&partial) {
                Ok(Some(lock)) => return Ok(Self { place, partial, lock: Some(lock) }),
                // A process that starts at the same moment took it for one that was left.
                Ok(None) => continue,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => {
                    let _ = fs::remove_dir_all(&partial);
                    return Err(error);
                }
            }
        }
    }

    /// Returns the path to write to.
    pub fn path(&self) -> &Path {
        &self.partial
    }

    /// Puts the folder in its place.
    ///
    /// # Errors
    /// It can't be renamed, as where another writer was faster; what was written is removed then.
    pub fn finish(mut self) -> io::Result<()> {
        fs::rename(&self.partial, &self.place)?;
        self.lock = None;
        fs::remove_file(self.place.join(LOCK))
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        if self.lock.is_some() {
            let _ = fs::remove_dir_all(&self.partial);
        }
    }
}

/// The lock of an unfinished folder; None where another process has it.
fn locked(partial: &Path) -> io::Result<Option<File>> {
    let path = partial.join(LOCK);
    let lock = File::options().read(true).write(true).create(true).truncate(false).open(&path)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    // The process that held it before may have removed the folder, or made another of that name.
    let same = same_file(&lock, &path)?;
    Ok(same.then_some(lock))
}

fn same_file(open: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let (open, there) = (open.metadata()?, fs::metadata(path)?);
    Ok((open.dev(), open.ino()) == (there.dev(), there.ino()))
}

fn remove_stale(above: &Path, prefix: &OsString) -> io::Result<()> {
    let mut left = Vec::new();
    for entry in fs::read_dir(above)? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(prefix.as_encoded_bytes()) && entry.file_type()?.is_dir() {
            left.push(entry.path());
        }
    }
    left.sort();
    for folder in left {
        // Another process is writing it, or it belongs to another user.
        let Ok(Some(_lock)) = locked(&folder) else { continue };
        if fs::remove_dir_all(&folder).is_ok() {
            eprintln!("slotmark: removed {}, which a process that was stopped had left unfinished", folder.display());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_folder_is_there_when_it_is_finished_and_not_before() {
        let above = tempfile::tempdir().unwrap();
        let place = above.path().join("a/b/new");
        let new = NewFolder::create(&place).unwrap();
        fs::write(new.path().join("file"), "x").unwrap();
        assert!(!place.exists());
        new.finish().unwrap();
        assert_eq!(names(&place), ["file"]);
        assert_eq!(names(place.parent().unwrap()), ["new"]);
        assert_eq!(NewFolder::create(&place).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn a_file_above_is_named_as_what_it_is() {
        let above = tempfile::tempdir().unwrap();
        let file = above.path().join("file");
        fs::write(&file, "x").unwrap();
        for place in ["new", "a/new"] {
            assert_eq!(NewFolder::create(file.join(place)).unwrap_err().kind(), io::ErrorKind::NotADirectory);
        }
        assert_eq!(names(above.path()), ["file"]);
    }

    #[test]
    fn what_is_dropped_leaves_nothing() {
        let above = tempfile::tempdir().unwrap();
        let new = NewFolder::create(above.path().join("new")).unwrap();
        fs::write(new.path().join("file"), "x").unwrap();
        drop(new);
        assert_eq!(names(above.path()), Vec::<String>::new());
    }

    #[test]
    fn what_was_left_is_removed_and_what_is_being_written_is_let_be() {
        let above = tempfile::tempdir().unwrap();
        for left in [".new.partial-1", ".new.partial-cafe", ".other.partial-1"] {
            fs::create_dir(above.path().join(left)).unwrap();
            fs::write(above.path().join(left).join("file"), "x").unwrap();
        }
        fs::write(above.path().join(".new.partial-file"), "x").unwrap();
        let first = NewFolder::create(above.path().join("new")).unwrap();
        let second = NewFolder::create(above.path().join("new")).unwrap();
        assert!(first.path().is_dir());
        fs::write(first.path().join("file"), "x").unwrap();
        first.finish().unwrap();
        assert!(second.finish().is_err());
        assert_eq!(names(above.path()), [".new.partial-file", ".other.partial-1", "new"]);
    }
}
