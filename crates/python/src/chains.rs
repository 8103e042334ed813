//! Chain folders: stretches, digests, figures.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use slotmark_chain::{Chain, ChainError, Decoder, Digest, summarise};

use crate::progress::{Progress, stoppable};
use crate::slotmark_error;

fn chain_error(error: ChainError) -> PyErr {
    slotmark_error("ChainError", error)
}

/// A stretch of a chain; points are `SLOT.HASH` or `origin`.
#[pyclass(frozen, get_all, module = "slotmark._core")]
pub(crate) struct Window {
    /// The point before its first block.
    start: String,
    /// Its first block.
    first: String,
    /// Its last block.
    last: String,
    /// Number of blocks.
    blocks: u64,
    /// Their bytes.
    bytes: u64,
}

/// The window of `blocks` blocks (all the rest, where None) after `start`: a point, `origin`, or `densest`, the window with the most bytes.
#[pyfunction]
#[pyo3(signature = (chain, start, blocks))]
pub(crate) fn chain_window(py: Python<'_>, chain: PathBuf, start: String, blocks: Option<u64>) -> PyResult<Window> {
    let window = py.detach(|| Chain::open(&chain)?.window_from(&start, blocks)).map_err(chain_error)?;
    let slotmark_chain::Window { range: _, start, first, last, blocks, bytes } = window;
    Ok(Window { start: start.to_string(), first: first.to_string(), last: last.to_string(), blocks, bytes })
}

/// The chunk files that a window lies in: name, bytes, SHA-256 in hex; every block's CRC is checked on the way.
#[pyfunction]
pub(crate) fn chain_sources(py: Python<'_>, chain: PathBuf, start: String, blocks: u64) -> PyResult<Vec<(String, u64, String)>> {
    let identify = || {
        let chain = Chain::open(&chain)?;
        let window = chain.window_from(&start, Some(blocks))?;
        Ok(chain.identity(&window)?.into_iter().map(|chunk| (chunk.file, chunk.bytes, chunk.sha256)).collect())
    };
    py.detach(identify).map_err(chain_error)
}

/// The digests of docs/targets.md over a window after every `every` blocks and at its end: blocks so far, digest, the last block's point.
#[pyfunction]
pub(crate) fn digests(
    py: Python<'_>,
    chain: PathBuf,
    start: String,
    blocks: u64,
    mode: String,
    every: u64,
) -> PyResult<Vec<(u64, String, String)>> {
    py.detach(|| digests_over(&chain, &start, blocks, &mode, every.max(1))).map_err(chain_error)
}

/// Returns the output of `slotmark chain info`, as JSON; `progress` gets bytes done and bytes in all, and may raise to stop.
#[pyfunction]
#[pyo3(signature = (chain, start, blocks, progress))]
pub(crate) fn chain_info(
    py: Python<'_>,
    chain: PathBuf,
    start: Option<String>,
    blocks: Option<u64>,
    progress: Progress,
) -> PyResult<String> {
    let summary = stoppable(py, &progress, chain_error, |told| {
        let chain = Chain::open(&chain)?;
        let window = chain.window_from(start.as_deref().unwrap_or("origin"), blocks)?;
        summarise(&chain, window.range, told)
    })?;
    serde_json::to_string(&summary).map_err(|error| slotmark_error("ChainError", error))
}

fn digests_over(folder: &Path, start: &str, blocks: u64, mode: &str, every: u64) -> Result<Vec<(u64, String, String)>, ChainError> {
    let chain = Chain::open(folder)?;
    let window = chain.window_from(start, Some(blocks))?;
    let (mut digest, mut decoder, mut trail) = (Digest::new(), Decoder::new(), Vec::new());
    for (done, index) in window.range.clone().enumerate() {
        let bytes = chain.bytes(index);
        match mode {
            "decode" => digest.decoded(&decoder.decode(bytes).map_err(|source| chain.block_error(index, source))?.facts()),
            "headers" => {
                let entry = chain.entry(index);
                digest.header(entry.slot, &entry.hash);
            }
            _ => digest.raw(bytes.len() as u32, chain.entry(index).crc32),
        }
        let done = done as u64 + 1;
        if done.is_multiple_of(every) || done == window.blocks {
            trail.push((done, digest.hex(), chain.point(index).to_string()));
        }
    }
    Ok(trail)
}
