//! All tests of what this crate offers, as one program: they are linked once, and wait side by side.

mod server;
mod short_attack;
