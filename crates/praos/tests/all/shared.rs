//! Data that is not part of the project.

use std::path::PathBuf;

use slotmark_chain::Chain;
use slotmark_praos::genesis::Genesis;

/// The path of a file of the shared data.
pub fn shared(file: &str) -> PathBuf {
    let shared = std::env::var_os("SLOTMARK_SHARED")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    shared.join("data").join(file)
}

/// The real chain.
pub fn preview() -> Chain {
    let folder = std::env::var_os("SLOTMARK_PREVIEW_CHAIN").expect("SLOTMARK_PREVIEW_CHAIN names the real chain's folder");
    Chain::open(folder).expect("the real chain opens")
}

/// Its genesis.
pub fn genesis() -> Genesis {
    Genesis::read(&shared("preview-genesis/shelley-genesis.json")).expect("the genesis")
}
