//! All tests of what this crate offers, as one program: they are linked once, and wait side by side.

mod byron;
mod damage;
mod real_chain;
