//! The initial state of a network: the genesis file of each era, the protocol parameters in them, and the peers of a node.
//!
//! A file per era (`shelley`, `byron`, `alonzo`, `conway`, `dijkstra`) has what is read of its genesis, what the networks of slotmark state in
//! it, and, of its parameters, how updates change them and how the ledger encodes them. `parameters` puts the parameters together, and `update` is how Conway's governance changes them. `topology` is the file of a node's peers.

pub mod alonzo;
pub mod byron;
pub mod conway;
mod cost_models;
pub mod dijkstra;
mod entries;
mod error;
mod parameters;
mod ratio;
pub mod shelley;
mod topology;
mod update;

pub use cost_models::{
    PLUTUS_V1_COST_MODEL, PLUTUS_V2_COST_MODEL, PLUTUS_V3_COST_MODEL, PLUTUS_V3_PLOMIN_COST_MODEL, PLUTUS_V3_VAN_ROSSEM_COST_MODEL,
};
pub use entries::{Entries, Hex, HexText};
pub use error::{GenesisError, genesis_beside, read_json};
pub use parameters::{CostModels, Parameters, STATED, Units, put_ratio};
pub use ratio::Ratio;
pub use shelley::{Network, Shelley};
pub use topology::{AccessPoint, Topology};
pub use update::Update;
