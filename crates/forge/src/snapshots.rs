//! From a chain to the files that amaru begins with: three states of the ledger, each after the last block of an epoch, nonces and headers.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use slotmark_chain::block::Decoder;
use slotmark_chain::{Chain, Hash32};
use slotmark_network::conway::Conway;
use slotmark_network::{genesis_beside, read_json};
use slotmark_newfolder::NewFolder;
use slotmark_praos::genesis::Genesis;
use slotmark_praos::state::ChainState;

/// Number of states that amaru begins with: the stake of an epoch is that of two epochs before.
const STATES: usize = 3;

/// The made files.
pub(crate) struct Snapshots {
    /// The epochs of the states.
    pub(crate) epochs: Vec<u64>,
    /// The last block of the newest of them.
    pub(crate) slot: u64,
    pub(crate) hash: Hash32,
    /// Blocks of the chain after it.
    pub(crate) blocks_after: u64,
}

/// Writes the files of the last epochs of a chain that have ended, up to epoch `until` where that is given, into a new folder.
///
/// # Errors
/// The chain or its genesis can't be read, or has too few epochs or what isn't followed; or the folder can't be written. Nothing is left then.
pub(crate) fn write(
    chain: &Path,
    genesis: &Path,
    until: Option<u64>,
    out: &Path,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Snapshots, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let read = Genesis::read(genesis).map_err(|error| text(&error))?;
    let conway = read_json::<Conway>(&genesis_beside(genesis, "conway"), "Conway").map_err(|error| text(&error))?;
    let governance = conway.as_ref().and_then(Conway::governance);
    let governance = governance.ok_or_else(|| {
        format!("{}: expected a genesis of Conway beside it without a committee's members and a constitution's script. Give that of a forged chain.", genesis.display())
    })?;
    let genesis = Arc::new(read);
    let chain = Chain::open(chain).map_err(|error| text(&error))?;
    let slots = genesis.shelley.epoch_slots;
    let epoch_of = |index: usize| chain.entry(index).slot / slots;
    let is_last = |index: &usize| epoch_of(*index) != epoch_of(index + 1) && until.is_none_or(|until| epoch_of(*index) <= until);
    let ended = (0..chain.len().saturating_sub(1)).filter(is_last).collect::<Vec<_>>();
    let Some(first) = ended.len().checked_sub(STATES) else {
        return Err(format!(
            "{}: {} epochs have ended in it{}: expected {STATES} at least. {}.",
            chain.path().display(),
            ended.len(),
            until.map_or(String::new(), |until| format!(" up to epoch {until}")),
            match until {
                Some(_) => "Give a later one with --until".to_owned(),
                None => format!("Forge a longer chain: an epoch has {} blocks on average", genesis.active_slots.share().ceil_of(slots)),
            },
        ));
    };
    let wanted = &ended[first..];
    let failed = |path: &Path, error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => format!("{}: it is there already. Give a new folder.", path.display()),
        _ => format!("{}: can't be written ({error}). Make room or choose another place.", path.display()),
    };
    let folder = NewFolder::create(out).map_err(|error| failed(out, error))?;
    let place = |name: String| folder.path().join(name);
    let headers = place("headers".to_owned());
    fs::create_dir(&headers).map_err(|error| failed(&headers, error))?;
    let write = |path: PathBuf, content: &[u8]| fs::write(&path, content).map_err(|error| failed(&path, error));
    let mut state = ChainState::with_accounts(Some(&genesis));
    let mut decoder = Decoder::new();
    let last = wanted[STATES - 1];
    for index in 0..=last {
        let at = |source| text(&chain.block_error(index, source));
        let block = decoder.decode(chain.bytes(index)).map_err(at)?;
        let body_bytes = u64::from(block.body.end - block.body.start);
        state.step(&block.header, body_bytes, Some(&block)).map_err(at)?;
        let (slot, hash) = (block.header.slot, hex::encode(block.header.hash));
        if wanted.contains(&index) {
            let encoded = state.parameters().and_then(|parameters| state.stake()?.new_epoch_state(parameters, &governance));
            let encoded = encoded.ok_or_else(|| {
                format!("{}: accounts aren't known at slot {slot}: expected a chain from its network's first block on, without governance. Forge one.", chain.path().display())
            })?;
            write(place(format!("{slot}.{hash}.cbor")), &encoded)?;
            let start = json!({"time": 0, "slot": 0, "epoch": 0});
            let parameters =
                json!({"epoch_size_slots": slots, "slot_length": (genesis.shelley.slot_length * 1e3).round() as u64, "era_name": "Conway"});
            let settling = genesis.active_slots.share().ceil_div(2 * genesis.shelley.security_parameter);
            let history = json!({"stability_window": settling, "eras": [{"start": start, "end": null, "params": parameters}]});
            write(place(format!("history.{slot}.{hash}.json")), history.to_string().as_bytes())?;
        }
        if index == last || index == wanted[STATES - 2] {
            let header = block.header.span.of(block.bytes);
            write(place(format!("headers/{slot}.{hash}.cbor")), header)?;
        }
        if index == last {
            let nonces = state.nonces().expect("a state with a genesis");
            let hex = |nonce: Option<Hash32>| nonce.map(hex::encode);
            let tail = hex::encode(chain.entry(wanted[STATES - 2]).hash);
            let nonces = json!({
                "at": format!("{slot}.{hash}"), "active": hex(nonces.epoch), "evolving": hex(nonces.evolving), "candidate": hex(nonces.candidate), "tail": tail,
            });
            write(place("nonces.json".to_owned()), nonces.to_string().as_bytes())?;
        }
        if index % 1_000 == 0 && !progress(index as u64, last as u64 + 1) {
            return Err(format!("{}: interrupted.", out.display()));
        }
    }
    folder.finish().map_err(|error| failed(out, error))?;
    let entry = chain.entry(last);
    Ok(Snapshots {
        epochs: wanted.iter().map(|index| epoch_of(*index)).collect(),
        slot: entry.slot,
        hash: entry.hash,
        blocks_after: (chain.len() - 1 - last) as u64,
    })
}
