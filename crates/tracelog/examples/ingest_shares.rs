//! `ingest_shares LOGDIR`: where the time goes. Each step is done alone over all files, on one thread, in turns; prints medians of
//! CPU time, which a busy machine changes less than time.
//!
//! What the steps leave of the whole is finding line ends, collecting rows, and writing Parquet.

use std::error::Error;
use std::fs::{self, File};
use std::hint::black_box;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use slotmark_tracelog::{HostFrom, LineReader, Reading, Source, SourceDigest, ingest};

const ROUNDS: usize = 5;
/// Read at once, as ingest does.
const BYTES: usize = 256 << 10;

type Outcome = Result<(), Box<dyn Error>>;

fn read(path: &Path, mut each: impl FnMut(&[u8])) -> Outcome {
    let (mut file, mut buffer) = (File::open(path)?, vec![0; BYTES]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(()),
            read => each(&buffer[..read]),
        }
    }
}

fn reading(path: &Path) -> Outcome {
    read(path, |bytes| {
        black_box(bytes);
    })
}

fn hashing(path: &Path) -> Outcome {
    let mut hash = SourceDigest::default();
    read(path, |bytes| hash.update(bytes))?;
    black_box(hash.finish());
    Ok(())
}

/// Lines across the ends of what is read at once are left out.
fn parsing(path: &Path) -> Outcome {
    let mut lines = LineReader::default();
    read(path, |bytes| {
        for line in bytes.split(|&byte| byte == b'\n').skip(1) {
            let _ = black_box(lines.read(line));
        }
    })
}

fn finding_lines(path: &Path) -> Outcome {
    read(path, |bytes| {
        for line in bytes.split(|&byte| byte == b'\n').skip(1) {
            black_box(line);
        }
    })
}

/// CPU time of this process so far, with the kernel's on its behalf.
fn cpu_seconds() -> Result<f64, Box<dyn Error>> {
    const TICKS_A_SECOND: f64 = 100.0;
    let stat = fs::read_to_string("/proc/self/stat")?;
    let (_, behind_name) = stat.rsplit_once(')').ok_or("/proc/self/stat: no name")?;
    let ticks = behind_name.split_whitespace().skip(11).take(2).map(str::parse::<u64>).sum::<Result<u64, _>>()?;
    Ok(ticks as f64 / TICKS_A_SECOND)
}

fn main() -> Outcome {
    let logs = std::env::args().nth(1).ok_or("usage: ingest_shares LOGDIR")?;
    let mut files: Vec<PathBuf> = Vec::new();
    for host in fs::read_dir(logs)? {
        let log = host?.path().join("stdout");
        if log.is_file() {
            files.push(log);
        }
    }
    files.sort();
    let bytes = files.iter().map(|file| Ok(fs::metadata(file)?.len())).sum::<std::io::Result<u64>>()?;
    let steps: [fn(&Path) -> Outcome; 4] = [reading, hashing, finding_lines, parsing];
    let mut times = [const { Vec::new() }; 5];
    for _ in 0..ROUNDS {
        for (step, times) in steps.iter().zip(&mut times) {
            let began = cpu_seconds()?;
            files.iter().try_for_each(|file| step(file))?;
            times.push(cpu_seconds()? - began);
        }
        let tables = tempfile::tempdir()?;
        let source = |path: &PathBuf| Source { host: path.display().to_string(), path: path.clone() };
        let sources: Vec<Source> = files.iter().map(source).collect();
        let reading = Reading { tables: tables.path().into(), threads: 1, host_from: HostFrom::Path, elsewhere: None };
        let began = cpu_seconds()?;
        ingest(&sources, &reading, &|_, _| ControlFlow::Continue(()))?;
        times[4].push(cpu_seconds()? - began);
    }
    let [read, hash, lines, parse, whole] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[ROUNDS / 2]
    });
    println!("  one thread, medians of {ROUNDS} rounds; {:.0} MB/s of CPU in all, of which", bytes as f64 / 1e6 / whole);
    for (what, seconds) in [
        ("reading from the page cache", read),
        ("BLAKE3 of the files", hash - read),
        ("taking lines apart", parse - lines),
        ("line ends, rows and Parquet", whole - hash - (parse - lines)),
    ] {
        println!("    {:3.0} %  {what} ({:.0} MB/s alone)", 100.0 * seconds / whole, bytes as f64 / 1e6 / seconds);
    }
    Ok(())
}
