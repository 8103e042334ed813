//! A series that is looked at as it grows: each run is judged by those that were known before it.

use crate::robust::{CUT, cut, longer, median, spread_about, weights};

/// The newest runs of a level that are looked at: of older ones no more is learned.
pub const LOOKED_AT: usize = 120;

/// Runs of a first level that it takes before anything is compared with it, where it isn't known otherwise what runs differ by.
pub const FIRST: usize = 12;

/// Runs of a level from which on its own spread counts whatever was known before, and of a new one from which on its place need not be clear.
pub const HELD_BACK: usize = 8;

/// Degrees of freedom that a known spread of runs of one build counts for at most.
const MOST_DEGREES: f64 = 30.0;

/// Up to this many runs since the last change each is tested; later only where a cumulative sum shows that there may be something.
const FEW: usize = 30;

/// The amount that the cumulative sum loses with each run, in standard deviations.
const SLACK: f64 = 0.5;

/// The sum from which on a test is made. No change can be sure below 4.5.
const SCREEN: f64 = 3.0;

/// Runs after which the level that the cumulative sum is about is computed anew.
const REFRESH: u32 = 30;

/// The newest runs that a cumulative sum begins with.
const SUMMED_UP: usize = 20;

/// The standard deviation, as a share of the level, of runs that were all equal.
const EQUAL: f64 = 1e-6;

/// The degrees of freedom by which the spread of the new level is taken for that of the old one.
const RIGHT: f64 = 2.0;

/// The weight of a place's own probability beside that of being within one run: of a step that is clear, three places are within one run of it.
const OF_ITSELF: f64 = 0.1;

/// A factor that makes the likeliest place certain, for where all runs before it were equal.
const CERTAIN: f64 = 1e12;

/// The variance of runs of one build, and its degrees of freedom.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spread {
    /// The variance of a run's level.
    pub variance: f64,
    /// Its degrees of freedom.
    pub degrees: f64,
}

impl Spread {
    /// The two together, each by its degrees of freedom; all 0 where neither has any.
    fn with(self, other: Spread) -> Spread {
        let degrees = self.degrees + other.degrees;
        if degrees == 0.0 {
            return Spread::default();
        }
        Spread { variance: (self.degrees * self.variance + other.degrees * other.variance) / degrees, degrees }
    }
}

/// A change that the newest run shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The first run of the new level.
    pub first: usize,
    /// Student's t of the difference, 0 or more, as if its place had not been looked for.
    pub t: f64,
    /// Its degrees of freedom.
    pub degrees: f64,
    /// By how much the level changed.
    pub size: f64,
    /// Runs of the new level.
    pub after: usize,
    /// The probability that the place is right within one run.
    pub placed: f64,
}

/// A series that is looked at run by run. Runs are known by their places, which rise with time.
#[derive(Debug)]
pub struct Series {
    least: usize,
    runs: Vec<Run>,
    before: Option<Spread>,
    settled: bool,
    alike: Alike,
    found_alike: Alike,
    screen: Screen,
}

#[derive(Clone, Copy, Debug)]
struct Run {
    place: usize,
    level: f64,
    variance: f64,
}

/// The autocorrelation of neighbouring runs, and the number of runs that it is of.
#[derive(Clone, Copy, Debug, Default)]
struct Alike {
    correlation: f64,
    runs: f64,
}

/// Cumulative sums about the level so far, both ways.
#[derive(Debug, Default)]
struct Screen {
    centre: f64,
    spread: f64,
    up: f64,
    down: f64,
    /// Runs until the level is computed anew; 0 where it has to be.
    fresh: u32,
}

impl Series {
    /// A series of no runs. `least` is how many runs of a new level it takes to be sure of it, at least one; `spread` what is known of what runs of one build differ by.
    pub fn new(least: usize, spread: Option<Spread>) -> Self {
        let before = spread.map(|one| Spread { degrees: one.degrees.min(MOST_DEGREES), ..one });
        let (alike, screen) = (Alike::default(), Screen::default());
        Self { least: least.max(1), runs: Vec::new(), before, settled: false, alike, found_alike: alike, screen }
    }

    /// The place of the newest run; None where there is none.
    pub fn newest(&self) -> Option<usize> {
        self.runs.last().map(|run| run.place)
    }

    /// Takes a run; returns the change that it shows. A run from before the last settled change shows none.
    ///
    /// `variance` is that of the level by what varies within the run, 0 where that isn't known. With `last` no run follows: then a single run
    /// that is off is looked for, too.
    pub fn add(&mut self, place: usize, level: f64, variance: f64, last: bool) -> Option<Candidate> {
        let at = match (self.runs.first(), self.runs.last()) {
            (Some(oldest), Some(newest)) if place < newest.place => {
                if place < oldest.place && self.settled {
                    return None;
                }
                self.screen.fresh = 0;
                self.runs.partition_point(|run| run.place < place)
            }
            _ => self.runs.len(),
        };
        self.runs.insert(at, Run { place, level, variance });
        let count = self.runs.len();
        if count <= self.least_before() || (count > FEW && !self.may_differ(level) && !last) {
            return None;
        }
        self.candidate()
    }

    /// Takes the change that begins with a run for sure: what comes is compared with the runs since then.
    pub fn settle(&mut self, first: usize) {
        let at = self.runs.partition_point(|run| run.place < first);
        let before: Vec<f64> = self.runs[at.saturating_sub(LOOKED_AT)..at].iter().map(|run| run.level).collect();
        let known = self.before.unwrap_or_default();
        self.before = Some(if before.len() > 1 {
            let own = spread_about(&before, median(&before)).powi(2);
            let together = known.with(Spread { variance: own, degrees: ((before.len() - 1) as f64).min(MOST_DEGREES) });
            Spread { degrees: together.degrees.min(MOST_DEGREES), ..together }
        } else {
            known
        });
        self.settled = true;
        self.alike = self.found_alike;
        self.runs.drain(..at);
        self.screen.fresh = 0;
    }

    /// Runs before a change that it takes: one is enough of a first level where it is known what runs differ by.
    fn least_before(&self) -> usize {
        match self.before {
            None => FIRST,
            Some(_) if self.settled => self.least,
            Some(_) => 1,
        }
    }

    /// Returns whether cumulative sums about the level so far leave room for a change; far cheaper than a test.
    fn may_differ(&mut self, level: f64) -> bool {
        let screen = &mut self.screen;
        if screen.fresh == 0 {
            let before = &self.runs[..self.runs.len() - 1];
            let levels: Vec<f64> = before[(before.len() + 1).saturating_sub(LOOKED_AT)..].iter().map(|run| run.level).collect();
            let centre = median(&levels);
            *screen = Screen { centre, spread: spread_about(&levels, centre), up: 0.0, down: 0.0, fresh: REFRESH };
            for run in &before[(before.len() + 1).saturating_sub(SUMMED_UP)..] {
                screen.sum_up(run.level);
            }
        }
        screen.fresh -= 1;
        screen.sum_up(level);
        screen.up >= SCREEN || screen.down >= SCREEN
    }

    /// The change where the newest runs differ most from those before them.
    fn candidate(&mut self) -> Option<Candidate> {
        let runs = &self.runs[self.runs.len().saturating_sub(LOOKED_AT)..];
        let levels: Vec<f64> = runs.iter().map(|run| run.level).collect();
        let variances: Vec<f64> = runs.iter().map(|run| run.variance).collect();
        let count = levels.len();
        let centre = median(&levels);
        let spread = self.together(spread_about(&levels, centre), count);
        if spread == 0.0 {
            return None;
        }
        let weights = weights(&variances, spread);
        let away = cut(&levels, centre, spread, &weights);
        let least = self.least_before().min(count - 1);
        let all: f64 = weights.iter().sum();
        let whole = weighed(&weights, &away);
        let (mut left, mut sum) = (0.0, 0.0);
        let mut gain = Vec::with_capacity(count - least);
        for end in 1..count {
            left += weights[end - 1];
            sum += weights[end - 1] * away[end - 1];
            if end >= least {
                let right = all - left;
                let apart = (whole - sum) / right - sum / left;
                gain.push(apart * apart * left * right / all);
            }
        }
        let best = largest(&gain);
        let split = least + best;
        let found = self.judged(&levels, &variances, split);
        let scale = found.variance.map_or(CERTAIN, |variance| spread * spread / variance / 2.0);
        let chances: Vec<f64> = gain.iter().map(|one| ((one - gain[best]) * scale).exp()).collect();
        // The place within one run of which the change most probably is: the likeliest, unless its neighbours are much likelier on one side.
        let near: Vec<f64> = (0..chances.len()).map(|at| chances[at.saturating_sub(1)..chances.len().min(at + 2)].iter().sum()).collect();
        let placed = near[best] / chances.iter().sum::<f64>();
        let likeliest: Vec<f64> = near.iter().zip(&chances).map(|(near, own)| near + OF_ITSELF * own).collect();
        let at = least + largest(&likeliest);
        let first = self.runs[self.runs.len() - count + at].place;
        Some(Candidate { first, t: found.t, degrees: found.degrees, size: found.size, after: count - at.max(split), placed })
    }

    /// The spread of few runs, weighed against what was known before.
    fn together(&self, own: f64, count: usize) -> f64 {
        match self.before {
            Some(known) if count <= FEW && known.degrees > 0.0 => {
                known.with(Spread { variance: own.powi(2), degrees: (count - 1) as f64 }).variance.sqrt()
            }
            _ => own,
        }
    }

    /// A test of no change at a place.
    fn judged(&mut self, levels: &[f64], variances: &[f64], split: usize) -> Judged {
        let (before, after) = levels.split_at(split);
        let centre = median(before);
        let own = spread_about(before, centre).powi(2);
        let known = self.before.unwrap_or_default();
        let Spread { mut variance, degrees } = known.with(Spread { variance: own, degrees: (before.len() - 1) as f64 });
        if before.len() >= HELD_BACK {
            variance = variance.max(own);
        }
        let were_equal = variance <= 0.0;
        if were_equal {
            // Any other is off.
            variance = (EQUAL * (centre.abs() + median(after).abs())).powi(2);
            if variance == 0.0 {
                variance = 1.0;
            }
        }
        let spread = variance.sqrt();
        let weights = weights(variances, spread);
        let (ours, theirs) = weights.split_at(split);
        let (all_ours, all_theirs): (f64, f64) = (ours.iter().sum(), theirs.iter().sum());
        let away = cut(before, centre, spread, ours);
        let mean = weighed(ours, &away) / all_ours;
        // One run, or two, may be spikes: they are cut about the old level, more about their own.
        let about = if after.len() > 2 { median(after) } else { centre };
        let beyond: Vec<f64> = cut(after, about, spread, theirs).iter().map(|one| one + (about - centre) / spread).collect();
        // Whether one run alone is a spike is all that is asked of it.
        let new = if after.len() == 1 { (after[0] - centre) / spread } else { weighed(theirs, &beyond) / all_theirs };
        let wider = if after.len() > 2 {
            let squares: f64 = theirs.iter().zip(after).map(|(weight, level)| weight * ((level - centre) / spread - new).powi(2)).sum();
            ((squares + RIGHT) / ((after.len() - 1) as f64 + RIGHT)).max(1.0)
        } else {
            1.0
        };
        let from_mean: Vec<f64> = away.iter().map(|one| one - mean).collect();
        let alike = self.resemblance(&from_mean);
        let error = (longer(before.len(), alike) / all_ours + wider * longer(after.len(), alike) / all_theirs).sqrt();
        Judged {
            t: (new - mean).abs() / error,
            degrees: degrees.max(1.0),
            size: (new - mean) * spread,
            variance: (!were_equal).then_some(variance),
        }
    }

    /// The autocorrelation of neighbouring runs, of this level and earlier ones together, drawn towards none where runs are few.
    fn resemblance(&mut self, away: &[f64]) -> f64 {
        let count = away.len() as f64;
        let squares: f64 = away.iter().map(|one| one * one).sum();
        let mut found = 0.0;
        if away.len() > 3 && squares > 0.0 {
            found = away.windows(2).map(|two| two[0] * two[1]).sum::<f64>() / squares;
            found += (1.0 + 3.0 * found) / count;
        }
        let known = self.alike.runs.min(50.0);
        let together = known + count;
        let mean = (found * count + self.alike.correlation * known) / together;
        self.found_alike = Alike { correlation: mean, runs: together };
        (mean * together / (together + 2.0)).clamp(0.0, 0.9)
    }
}

/// A test of no change at a place: Student's t, its degrees of freedom, by how much the level changed, and the variance of one run, none where all were equal.
struct Judged {
    t: f64,
    degrees: f64,
    size: f64,
    variance: Option<f64>,
}

impl Screen {
    fn sum_up(&mut self, level: f64) {
        if self.spread == 0.0 {
            // All were equal.
            self.up = if level == self.centre { 0.0 } else { f64::INFINITY };
            return;
        }
        let away = ((level - self.centre) / self.spread).clamp(-CUT, CUT);
        self.up = (self.up + away - SLACK).max(0.0);
        self.down = (self.down - away - SLACK).max(0.0);
    }
}

/// The sum of some values, each by its weight.
fn weighed(weights: &[f64], values: &[f64]) -> f64 {
    weights.iter().zip(values).map(|(weight, value)| weight * value).sum()
}

/// The place of the first of the largest values.
fn largest(values: &[f64]) -> usize {
    values.iter().enumerate().fold(0, |best, (at, value)| if *value > values[best] { at } else { best })
}
