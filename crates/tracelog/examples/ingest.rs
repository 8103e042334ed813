//! `ingest LOGDIR TABLES [THREADS]`: every file of every folder in LOGDIR, without Python; prints what it took.

use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use slotmark_tracelog::{HostFrom, Reading, Source, ingest};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [logs, tables, threads @ ..] = arguments.as_slice() else { return Err("usage: ingest LOGDIR TABLES [THREADS]".into()) };
    let mut sources = Vec::new();
    for host in fs::read_dir(logs)? {
        let host = host?.path();
        for file in fs::read_dir(&host).into_iter().flatten() {
            let path = file?.path();
            if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("stdout")) {
                sources.push(Source { host: host.file_name().unwrap_or_default().to_string_lossy().into(), path });
            }
        }
    }
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    let tables = PathBuf::from(tables);
    fs::create_dir_all(&tables)?;
    let threads = threads.first().map_or(Ok(2), |text| text.parse())?;
    let began = Instant::now();
    let done =
        ingest(&sources, &Reading { tables, threads, host_from: HostFrom::Path, elsewhere: None }, &|_, _| ControlFlow::Continue(()))?;
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "{} lines, {} rejected, {:.1} MB in {seconds:.3} s: {:.0} MB/s",
        done.lines,
        done.rejected,
        done.bytes as f64 / 1e6,
        done.bytes as f64 / 1e6 / seconds
    );
    Ok(())
}
