//! The stages of a profile as samplers.

use crate::draws::Sampler;
use crate::profile::{Profile, Stage};

/// No stage takes longer: two years, so that sums of times have room.
const LONGEST_NS: u64 = 1 << 56;

/// A duration in ns, times a factor.
pub(crate) fn slowed(drawn: u64, factor: f64) -> u64 {
    if factor == 1.0 { drawn } else { ((drawn as f64 * factor) as u64).min(LONGEST_NS) }
}

/// Makes a sampler for each stage of a profile, by its place there.
macro_rules! stages {
    ($($group:ident: $($stage:ident),*;)*) => {
        /// The stages, and the jitter of links.
        pub(crate) struct Stages {
            $($(pub(crate) $stage: Sampler,)*)*
            pub(crate) jitter: Sampler,
        }

        impl Stages {
            pub(crate) fn new(profile: &Profile) -> Self {
                let sampler = |stage: &Stage| Sampler::new(stage.mean, stage.sigma);
                Self {
                    $($($stage: sampler(&profile.$group.$stage),)*)*
                    jitter: Sampler::exponential(profile.network.jitter),
                }
            }
        }
    };
}

stages! {
    forging: started, block_context, ledger_state, ledger_view, leadership, ledger_tick, mempool_snapshot, forge, forged_to_announced, self_adopt;
    peer: header_notice, notice_to_fetch, serve, receive, fetched_to_announced, adopt;
}
