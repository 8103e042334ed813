//! All tests of what this crate offers, as one program: they are linked once, and wait side by side.

mod envelopes;
mod header_cases;
mod mutations;
mod real_chain;
mod real_transactions;
mod rewards;
mod shared;
