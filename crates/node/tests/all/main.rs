//! All tests of what this crate offers, as one program: they are linked once, and wait side by side.

mod accounts;
mod bed;
mod clients;
mod cluster;
mod flood;
mod full_disk;
mod governance;
mod hostile;
mod ledger;
mod peers;
mod transactions;
