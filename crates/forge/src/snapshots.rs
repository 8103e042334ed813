//! From a chain to the files that amaru begins with: three states of the ledger, each after the last block of an epoch, nonces and headers.

use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use slotmark_chain::block::Decoder;
use slotmark_chain::{Chain, Hash32};
use slotmark_network::conway::{Conway, Governance};
use slotmark_network::{genesis_beside, read_json};
use slotmark_newfolder::NewFolder;
use slotmark_praos::genesis::Genesis;
use slotmark_praos::header::check_header;
use slotmark_praos::nonce::Nonce;
use slotmark_praos::state::ChainState;

/// Number of states that amaru begins with: the stake of an epoch is that of two epochs before.
const STATES: usize = 3;

/// The folder of headers.
const HEADERS: &str = "headers";

/// The epochs whose ends are taken.
#[derive(Clone, Copy)]
pub(crate) struct Until {
    /// The newest; the last that has ended where it isn't given.
    pub(crate) epoch: Option<u64>,
    /// True where the chain's last epoch has ended too, though no block follows.
    pub(crate) ended: bool,
}

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

/// Writes the files of the last epochs of a chain that have ended into a new folder.
///
/// # Errors
/// The chain or its genesis can't be read, or has too few epochs or what isn't followed; a header breaks a rule, as where the chain is of another genesis; or the
/// folder can't be written. Nothing is left then.
pub(crate) fn write(
    chain: &Path,
    genesis_file: &Path,
    until: Until,
    out: &Path,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Snapshots, String> {
    let (genesis, governance) = read(genesis_file)?;
    let chain = Chain::open(chain).map_err(|error| error.to_string())?;
    let ends = ends(&chain, &genesis, until)?;
    let files = Files::create(out)?;
    let mut state = ChainState::with_accounts(Some(&genesis));
    let mut decoder = Decoder::new();
    let [_, before, last] = ends;
    for index in 0..=last {
        let at = |source| chain.block_error(index, source).to_string();
        let block = decoder.decode(chain.bytes(index)).map_err(at)?;
        let step = state.step(&block).map_err(at)?;
        let mut outcome = step.outcome;
        outcome.merge(check_header(&block.header, &step.surroundings(Some(&genesis))));
        outcome.result().map_err(|rule| {
            let (path, slot, genesis) = (chain.block_path(index), block.header.slot, genesis_file.display());
            let path = path.display();
            format!(
                "{path}: the block of slot {slot} breaks the rule {} with {genesis}: expected the chain of that genesis. `slotmark chain check` lists every such block.",
                rule.name()
            )
        })?;
        let point = format!("{}.{}", block.header.slot, hex::encode(block.header.hash));
        if ends.contains(&index) {
            let encoded = state.parameters().and_then(|parameters| state.stake()?.new_epoch_state(parameters, &governance));
            let encoded = encoded.ok_or_else(|| {
                let path = chain.path().display();
                format!("{path}: accounts aren't known at {point}: expected a chain from its network's first block on, without governance. Forge one.")
            })?;
            files.write(&format!("{point}.cbor"), &encoded)?;
            files.write(&format!("history.{point}.json"), history(&genesis).to_string().as_bytes())?;
        }
        if [before, last].contains(&index) {
            files.write(&format!("{HEADERS}/{point}.cbor"), block.header.span.of(block.bytes))?;
        }
        if index == last {
            let nonces = nonces(&state, &point, &chain.entry(before).hash);
            files.write("nonces.json", nonces.to_string().as_bytes())?;
        }
        if index % 1_000 == 0 && progress(index as u64, last as u64 + 1).is_break() {
            return Err(format!("{}: interrupted.", out.display()));
        }
    }
    files.finish()?;
    let entry = chain.entry(last);
    Ok(Snapshots {
        epochs: ends.iter().map(|index| chain.entry(*index).slot / genesis.shelley.epoch_slots).collect(),
        slot: entry.slot,
        hash: entry.hash,
        blocks_after: (chain.len() - 1 - last) as u64,
    })
}

/// Reads a genesis, and the governance that Conway's beside it begins with.
fn read(path: &Path) -> Result<(Arc<Genesis>, Governance), String> {
    let genesis = Genesis::read(path).map_err(|error| error.to_string())?;
    let conway = read_json::<Conway>(&genesis_beside(path, "conway"), "Conway").map_err(|error| error.to_string())?;
    let governance = conway.as_ref().and_then(Conway::governance);
    let governance = governance.filter(|governance| governance.members.is_empty() && governance.guardrails.is_none()).ok_or_else(|| {
        let path = path.display();
        format!("{path}: expected a genesis of Conway beside it without a committee's members and a constitution's script. Give that of a forged chain.")
    })?;
    Ok((Arc::new(genesis), governance))
}

/// The last blocks of the last epochs that have ended, by their indexes.
fn ends(chain: &Chain, genesis: &Genesis, until: Until) -> Result<[usize; STATES], String> {
    let slots = genesis.shelley.epoch_slots;
    let epoch_of = |index: usize| chain.entry(index).slot / slots;
    let has_ended = |index: usize| if index + 1 < chain.len() { epoch_of(index) != epoch_of(index + 1) } else { until.ended };
    let mut ended = (0..chain.len()).filter(|index| has_ended(*index)).collect::<Vec<_>>();
    if let (Some(epoch), Some(newest)) = (until.epoch, ended.last().map(|index| epoch_of(*index)))
        && epoch > newest
    {
        let path = chain.path().display();
        return Err(format!(
            "{path}: epoch {epoch} hasn't ended in it: expected {newest}, the newest that has, or an earlier one. Give that with --until."
        ));
    }
    ended.retain(|index| until.epoch.is_none_or(|epoch| epoch_of(*index) <= epoch));
    ended.last_chunk().copied().ok_or_else(|| {
        let (up_to, remedy) = match until.epoch {
            Some(epoch) => (format!(" up to epoch {epoch}"), "Give a later one with --until".to_owned()),
            None => {
                let blocks = genesis.active_slots.share().ceil_of(slots);
                (
                    String::new(),
                    format!("Forge a longer chain (an epoch has {blocks} blocks on average), or give --ended if its last epoch has"),
                )
            }
        };
        format!("{}: {} epochs have ended in it{up_to}: expected {STATES} at least. {remedy}.", chain.path().display(), ended.len())
    })
}

/// The eras of a network that is in Conway from its first slot on.
fn history(genesis: &Genesis) -> Value {
    let shelley = &genesis.shelley;
    let slot_ms = (shelley.slot_length * 1e3).round() as u64;
    json!({
        "stability_window": genesis.active_slots.share().ceil_div(2 * shelley.security_parameter),
        "eras": [{
            "start": {"time": 0, "slot": 0, "epoch": 0},
            "end": null,
            "params": {"epoch_size_slots": shelley.epoch_slots, "slot_length": slot_ms, "era_name": "Conway"},
        }],
    })
}

/// The nonces at a point; `tail` is the last block of the epoch before.
fn nonces(state: &ChainState, point: &str, tail: &Hash32) -> Value {
    let nonces = state.nonces().expect("a state with a genesis");
    let hex = |nonce: Nonce| nonce.map(hex::encode);
    json!({
        "at": point,
        "active": hex(nonces.epoch),
        "evolving": hex(nonces.evolving),
        "candidate": hex(nonces.candidate),
        "tail": hex::encode(tail),
    })
}

/// The new folder, which is there only when it is whole.
struct Files<'p> {
    place: &'p Path,
    folder: NewFolder,
}

impl<'p> Files<'p> {
    fn create(place: &'p Path) -> Result<Self, String> {
        let folder = NewFolder::create(place).map_err(|error| failed(place, &error))?;
        let headers = folder.path().join(HEADERS);
        fs::create_dir(&headers).map_err(|error| failed(&headers, &error))?;
        Ok(Self { place, folder })
    }

    fn write(&self, name: &str, content: &[u8]) -> Result<(), String> {
        let path = self.folder.path().join(name);
        fs::write(&path, content).map_err(|error| failed(&path, &error))
    }

    fn finish(self) -> Result<(), String> {
        self.folder.finish().map_err(|error| failed(self.place, &error))
    }
}

fn failed(path: &Path, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AlreadyExists => format!("{}: it is there already. Give a new folder.", path.display()),
        _ => format!("{}: can't be written ({error}). Make room or choose another place.", path.display()),
    }
}
