//! What the tables of a run tell, put together host by host: `slots` by slot, `usage` by sample of resources.

mod columns;
mod slots;
mod usage;

pub use columns::{Clock, ToldError, Wanted, WantedHost};
pub use slots::{SlotFiles, slots_told};
pub use usage::usage_told;
