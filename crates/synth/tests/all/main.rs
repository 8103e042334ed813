//! All tests of what this crate offers, as one program: they are linked once, and wait side by side.

mod appended;
mod bed;
mod forged;
mod form;
mod ledger;
mod load;
mod network;
