//! The extension module slotmark._core: thin bindings over the crates.
