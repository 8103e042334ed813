//! The stages of a profile as samplers.

use crate::draws::Sampler;
use crate::profile::{Profile, Stage};

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
