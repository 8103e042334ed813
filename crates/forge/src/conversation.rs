//! Messages between this program and the one that started it.
//!
//! Standard output has JSON lines: `{"progress":[DONE,TOTAL]}`, each of which waits for a line on standard input, and one at the end,
//! `{"made":…}` or `{"failed":{"error":…,"message":…}}`. The end of standard input stops the work.

use std::fmt::Display;
use std::io::{self, BufRead as _, Write as _};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use serde::Serialize;

/// Shortest interval at which progress is written.
const EVERY: Duration = Duration::from_millis(50);

/// A failure that a user can mend: the name of an exception of `slotmark.errors`, and its message.
#[derive(Debug, Serialize)]
pub(crate) struct Failure {
    error: &'static str,
    message: String,
}

impl Failure {
    /// The constructor of failures that are one exception.
    pub(crate) fn of<E: Display>(error: &'static str) -> impl Fn(E) -> Self {
        move |message| Self { error, message: message.to_string() }
    }
}

fn write(name: &str, json: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{{\"{name}\":{json}}}")?;
    out.flush()
}

/// The next line of standard input; empty at its end.
pub(crate) fn read() -> io::Result<String> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(line)
}

/// Writes how the work ended: what was made, as JSON, or why nothing was.
pub(crate) fn end(done: &Result<String, Failure>) -> io::Result<()> {
    match done {
        Ok(json) => write("made", json),
        Err(failure) => write("failed", &serde_json::to_string(failure)?),
    }
}

/// Progress that is written, and may be stopped.
#[derive(Default)]
pub(crate) struct Progress {
    last: Option<Instant>,
}

impl Progress {
    /// Takes what is done, and of how much. Writes it where it is the first or all, or the last time was long ago.
    pub(crate) fn step(&mut self, done: u64, total: u64) -> ControlFlow<()> {
        if done < total && self.last.is_some_and(|last| last.elapsed() < EVERY) {
            return ControlFlow::Continue(());
        }
        let answer = write("progress", &format!("[{done},{total}]")).and_then(|()| read());
        self.last = Some(Instant::now());
        if answer.is_ok_and(|line| !line.is_empty()) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}
