//! Changes of level in series of runs, looked at run by run. `docs/history.md` has the method and its rates;
//! `python/slotmark/statistics/change_points.py` makes p-values of what is found here, and decides.

mod robust;
mod series;

pub use series::{Candidate, FIRST, HELD_BACK, LOOKED_AT, Series, Spread};
