//! Series of runs, in which changes of level are looked for.

use pyo3::prelude::*;
use slotmark_levels::{Candidate, FIRST, HELD_BACK, LOOKED_AT, Series, Spread};

/// A series and the change that its newest run shows: its number, the first run of the new level, Student's t, its degrees of freedom,
/// by how much the level changed, runs of the new level, and the probability that the place is right within one run.
type Shown = (usize, usize, f64, f64, f64, usize, f64);

/// Series of the same runs, each looked at run by run.
#[pyclass(module = "slotmark._core")]
pub(crate) struct Levels(Vec<Series>);

#[pymethods]
impl Levels {
    /// Runs of a first level that it takes before anything is compared with it, where it isn't known otherwise what runs differ by.
    #[classattr]
    const FIRST: usize = FIRST;

    /// Runs of a level from which on its own spread counts whatever was known before, and of a new one from which on its place need not be clear.
    #[classattr]
    const HELD_BACK: usize = HELD_BACK;

    /// The newest runs of a level that are looked at: of older ones no more is learned.
    #[classattr]
    const LOOKED_AT: usize = LOOKED_AT;

    /// Series of no runs: how many runs of a new level it takes to be sure of it, and per series the variance that is known of runs of one build with its degrees of freedom.
    #[new]
    fn new(least: usize, spreads: Vec<Option<(f64, f64)>>) -> Self {
        let known = |(variance, degrees)| Spread { variance, degrees };
        Self(spreads.into_iter().map(|spread| Series::new(least, spread.map(known))).collect())
    }

    /// Takes a run, by its place in time: its level in each series, not a number where it lacks one, and the variance of that by what varies within it.
    ///
    /// Returns the changes that it shows, by series; with ``last``, no run follows.
    fn add(&mut self, place: usize, levels: Vec<f64>, variances: Vec<f64>, last: bool) -> Vec<Shown> {
        let of_run = self.0.iter_mut().zip(levels).zip(variances).enumerate();
        of_run
            .filter(|(_, ((_, level), _))| !level.is_nan())
            .filter_map(|(number, ((series, level), variance))| Some((number, series.add(place, level, variance, last)?)))
            .map(|(number, Candidate { first, t, degrees, size, after, placed })| (number, first, t, degrees, size, after, placed))
            .collect()
    }

    /// Takes the change of a series that begins with a run for sure: what comes is compared with the runs since then.
    fn settle(&mut self, series: usize, first: usize) {
        self.0[series].settle(first);
    }

    /// The place of the newest run of a series that has one.
    fn newest(&self, series: usize) -> usize {
        self.0[series].newest().unwrap_or_default()
    }
}
