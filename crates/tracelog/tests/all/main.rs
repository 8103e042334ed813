//! All tests of what this crate offers, as one program: they are linked once, and wait side by side.

mod any_bytes;
mod dingo_threads;
mod fuzz;
mod hostile_lines;
mod real_lines;
mod table_files;
mod trace_schema;
