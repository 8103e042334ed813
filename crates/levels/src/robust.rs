//! Levels and spreads of runs, a few of which may be off by any amount.

/// Standard deviations from its level at which a run's distance is cut.
pub(crate) const CUT: f64 = 2.5;

/// The variance of a standard normal variable that is cut there.
const CUT_VARIANCE: f64 = 0.9765;

/// The ratio of a normal variable's standard deviation to the median of its distances from the middle.
const OF_MEDIAN: f64 = 1.4826;

/// The ratio of a normal variable's standard deviation to the mean of its distances from the middle.
const OF_MEAN: f64 = 1.2533;

/// The median, of an even number the upper one of two. There is at least one value.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut found = values.to_vec();
    *found.select_nth_unstable_by(values.len() / 2, f64::total_cmp).1
}

/// The standard deviation of one run, of runs that are cut at [`CUT`] of it (Huber's proposal 2); 0 where most are equal and the others too.
pub(crate) fn spread_about(levels: &[f64], centre: f64) -> f64 {
    let away: Vec<f64> = levels.iter().map(|level| (level - centre).abs()).collect();
    let mut spread = OF_MEDIAN * median(&away);
    if spread == 0.0 {
        spread = OF_MEAN * away.iter().sum::<f64>() / away.len() as f64;
    }
    if spread == 0.0 {
        return 0.0;
    }
    for _ in 0..8 {
        let most = CUT * spread;
        let squares: f64 = away.iter().map(|one| one.min(most).powi(2)).sum();
        let following = (squares / (levels.len() - 1).max(1) as f64 / CUT_VARIANCE).sqrt();
        if (following - spread).abs() < 1e-2 * spread {
            return following;
        }
        spread = following;
    }
    spread
}

/// The weight of each run, 1 for one that varies within as most do: what runs differ by, and what varies within each, add up.
pub(crate) fn weights(variances: &[f64], spread: f64) -> Vec<f64> {
    let (all, usual) = (spread * spread, median(variances));
    let between = (all - usual).max(0.0);
    variances.iter().map(|variance| all / (between + variance).max(0.25 * all)).collect()
}

/// Distances from a centre in standard deviations, cut at [`CUT`] of each run's own.
pub(crate) fn cut(levels: &[f64], centre: f64, spread: f64, weights: &[f64]) -> Vec<f64> {
    levels
        .iter()
        .zip(weights)
        .map(|(level, weight)| {
            let root = weight.sqrt();
            ((level - centre) / spread * root).clamp(-CUT, CUT) / root
        })
        .collect()
}

/// The factor by which neighbours that are alike make the variance of a mean of runs larger.
pub(crate) fn longer(runs: usize, alike: f64) -> f64 {
    let runs = runs as f64;
    (1.0 + alike) / (1.0 - alike) - 2.0 * alike / runs * (1.0 - alike.powf(runs)) / (1.0 - alike).powi(2)
}
