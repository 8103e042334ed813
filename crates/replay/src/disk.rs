//! Random reads of a disk, past the page cache.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use serde::Serialize;

use crate::batches::mixed;

/// Bytes of a read.
const BLOCK: usize = 4_096;

/// Queue depths at which the published benchmark's machines were measured.
const DEPTHS: [usize; 2] = [1, 32];

/// Reads of 4 KiB per second at a queue depth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Reads {
    /// Reads that wait at the same time, each in a thread of its own.
    pub depth: usize,
    /// Reads.
    pub reads: u64,
    /// Time that they took, in ns.
    pub ns: u64,
}

/// Measures random reads of 4 KiB in a file of so many bytes, which is made in a folder and removed again; for this time at each of two queue depths, 1 and 32.
///
/// # Errors
/// The file can't be made there, or its file system has no reads past the page cache.
pub fn random_reads(folder: &Path, bytes: u64, each: Duration) -> io::Result<Vec<Reads>> {
    let path = folder.join("random-reads");
    let measured = write(&path, bytes).and_then(|()| {
        let file = OpenOptions::new().read(true).custom_flags(OFlags::DIRECT.bits() as i32).open(&path)?;
        DEPTHS.iter().map(|depth| at_depth(&file, bytes, *depth, each)).collect()
    });
    std::fs::remove_file(&path).or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })?;
    measured
}

/// Writes a file that no disk can hold in less: one of zeros needs no reading.
fn write(path: &Path, bytes: u64) -> io::Result<()> {
    let mut file = File::create(path)?;
    let mut buffer = vec![0u8; 1 << 20];
    for from in (0..bytes).step_by(buffer.len()) {
        (0..).zip(buffer.as_chunks_mut::<8>().0).for_each(|(place, word)| *word = mixed(1, from, place).to_le_bytes());
        file.write_all(&buffer[..(bytes - from).min(buffer.len() as u64) as usize])?;
    }
    file.sync_all()
}

fn at_depth(file: &File, bytes: u64, depth: usize, each: Duration) -> io::Result<Reads> {
    let (begin, reads) = (Instant::now(), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let reader = |place: usize| {
            let reads = &reads;
            move || -> io::Result<()> {
                // What is read past the page cache must begin where a block does, in memory too.
                let mut memory = vec![0u8; 2 * BLOCK];
                let aligned = memory.as_ptr().align_offset(BLOCK);
                let mut draws = 0..;
                // Each reads at least once: a thread may begin late.
                loop {
                    let block = mixed(2, draws.next().expect("no end"), place as u64) % (bytes / BLOCK as u64);
                    file.read_exact_at(&mut memory[aligned..aligned + BLOCK], block * BLOCK as u64)?;
                    reads.fetch_add(1, Ordering::Relaxed);
                    if begin.elapsed() >= each {
                        return Ok(());
                    }
                }
            }
        };
        let threads: Vec<_> = (0..depth).map(|place| scope.spawn(reader(place))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread that reads ended"))))
    })?;
    Ok(Reads { depth, reads: reads.into_inner(), ns: begin.elapsed().as_nanos() as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_are_counted_at_both_depths_and_the_file_is_removed() {
        let folder = tempfile::tempdir_in(".").unwrap();
        match random_reads(folder.path(), 1 << 20, Duration::ZERO) {
            Ok(found) => assert!(found.iter().map(|one| one.depth).eq(DEPTHS) && found.iter().all(|one| one.reads > 0), "{found:?}"),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "a file system without such reads: {error}"),
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(random_reads(&folder.path().join("absent"), 1 << 20, Duration::ZERO).is_err());
    }
}
