//! Rows of a run's tables, put together host by host: `slots` by slot, `usage` by sample of resources.

mod columns;
mod keys;
mod slots;
mod usage;

pub use columns::{Clock, Numbers, SlotRowsError, Table, TableColumn, Wanted, WantedHost};
pub use slots::{SlotFiles, slot_rows};
pub use usage::usage_rows;
