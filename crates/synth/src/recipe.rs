//! The settings of a forged chain.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use slotmark_network::shelley;
pub use slotmark_network::shelley::{PREVIEW_SECURITY_PARAMETER, PUBLIC_KES_PERIOD_SLOTS};
use slotmark_praos::header::KesPeriods;

use crate::actions::Shares;
use crate::budgets::Budgets;
use crate::error::SynthError;
use crate::genesis::{MAX_DELEGATORS, MAX_EXTRA_OUTPUTS};
use crate::plutus::Loop;
use crate::random::Stream;

/// Chunk files of 10k slots can't be shorter than the mean gap between blocks, nor have an index that fills the memory.
const SECURITY_PARAMETERS: RangeInclusive<u64> = 2..=100_000;
/// The largest transactions that any workload needs fit into a block; none is larger than what peers send in one message.
const BODY_BYTES: RangeInclusive<u64> = 16_384..=2_000_000;
/// Number of workloads that a mix may have.
const KINDS: usize = 4;
/// Weights of a mix stay so small that nothing overflows.
const MAX_WEIGHT: u32 = 1_000_000;

/// All that decides a chain's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// The content of its blocks.
    pub workload: Workload,
    /// Number of blocks.
    pub blocks: u64,
    /// Decides everything that is random.
    pub seed: u64,
    /// Blocks after which a block is settled, k, from 2 to 100,000: chunk files have 10k slots, and epochs 10k/f, which is 200k.
    pub security_parameter: u64,
    /// Slots a KES period, 1 at least.
    pub kes_period_slots: u64,
    /// Unspent outputs in the genesis beyond the 16,384 that are always there, up to 16,000,000.
    pub utxo: u64,
    /// Stake keys in the genesis beyond the 16 that are always there, up to 4,000,000, each with an output of its own. They delegate to the
    /// pools in turns; where there are any, a fifth of the rewards goes to the treasury and not all of it.
    pub delegators: u64,
    /// Bytes of a block's body at most, from 16,384 to 2,000,000.
    pub max_block_body_bytes: u64,
    /// The major version of the protocol, one of [`shelley::PROTOCOL_MAJORS`].
    pub protocol_version: u64,
    /// Budgets of scripts.
    pub budgets: Budgets,
    /// Number of transactions that share a block's budget, where a loop runs in them; 0: each has as much as a transaction may have.
    pub txs_per_block: u32,
}

impl Recipe {
    /// Makes a recipe for blocks of a workload by seed 1, on a network like preview, without extra outputs.
    pub fn new(workload: Workload, blocks: u64) -> Self {
        Self {
            workload,
            blocks,
            seed: 1,
            security_parameter: PREVIEW_SECURITY_PARAMETER,
            kes_period_slots: PUBLIC_KES_PERIOD_SLOTS,
            utxo: 0,
            delegators: 0,
            max_block_body_bytes: shelley::PARAMETERS.max_body_bytes,
            protocol_version: *shelley::PROTOCOL_MAJORS.start(),
            budgets: Budgets::PUBLIC,
            txs_per_block: 0,
        }
    }

    /// Slots a chunk file: 10k, as cardano-node has it.
    pub fn chunk_slots(&self) -> u64 {
        10 * self.security_parameter
    }

    /// Slots an epoch: 10k/f.
    pub fn epoch_slots(&self) -> u64 {
        self.chunk_slots() * shelley::SLOTS_PER_BLOCK
    }

    /// Returns the periods in which KES keys are valid.
    pub fn kes_periods(&self) -> KesPeriods {
        KesPeriods { slots: self.kes_period_slots, max_evolutions: shelley::MAX_KES_EVOLUTIONS }
    }

    pub(crate) fn check(&self) -> Result<(), SynthError> {
        if self.blocks == 0 {
            return Err(SynthError::NoBlocks);
        }
        if !SECURITY_PARAMETERS.contains(&self.security_parameter) {
            let (least, most) = (*SECURITY_PARAMETERS.start(), *SECURITY_PARAMETERS.end());
            return Err(SynthError::SecurityParameter { found: self.security_parameter, least, most });
        }
        if self.kes_period_slots == 0 {
            return Err(SynthError::KesPeriod);
        }
        if !BODY_BYTES.contains(&self.max_block_body_bytes) {
            let (least, most) = (*BODY_BYTES.start(), *BODY_BYTES.end());
            return Err(SynthError::BodyBytes { found: self.max_block_body_bytes, least, most });
        }
        if !shelley::PROTOCOL_MAJORS.contains(&self.protocol_version) {
            let (least, most) = (*shelley::PROTOCOL_MAJORS.start(), *shelley::PROTOCOL_MAJORS.end());
            return Err(SynthError::ProtocolVersion { found: self.protocol_version, least, most });
        }
        self.budgets.check()?;
        if self.utxo > MAX_EXTRA_OUTPUTS {
            return Err(SynthError::Outputs { found: self.utxo, most: MAX_EXTRA_OUTPUTS });
        }
        if self.delegators > MAX_DELEGATORS {
            return Err(SynthError::Delegators { found: self.delegators, most: MAX_DELEGATORS });
        }
        if self.delegators > 0 && matches!(self.workload, Workload::Acting(_)) {
            return Err(SynthError::ActsOnRewards { workload: self.workload.to_string() });
        }
        Ok(())
    }
}

/// The content of a chain's blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Workload {
    /// Full blocks of transactions with two inputs, two outputs, two signatures and 100 bytes of payload.
    ValueOnly,
    /// Small blocks: transactions that run one of our loops for as long as their budget lasts.
    Loop(Loop),
    /// Full blocks of transactions that move value, and of others that do what else the ledger knows, by shares.
    Acting(Shares),
    /// No transactions.
    Empty,
    /// Sizes and numbers of transactions as on the preview network's first 1.3 million slots: four in five blocks are empty.
    PreviewLike,
    /// Full blocks of transactions that run a script of a file.
    Script,
    /// Blocks of several of the others, drawn by weight.
    Mix(Weights),
}

/// Weights of a mix: how often it has a block of each of [`Workload::KINDS`], in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Weights([u32; KINDS]);

impl Workload {
    /// Workloads that a mix may have.
    pub const KINDS: [Workload; KINDS] = [Workload::ValueOnly, Workload::PLUTUS_LOOP, Workload::Empty, Workload::PreviewLike];
    /// The countdown.
    pub const PLUTUS_LOOP: Workload = Workload::Loop(Loop::Countdown);

    /// A mix of these by weight; None where a kind is there twice or is a mix, a weight is 0 or above 1,000,000, or there is none.
    pub fn mix(parts: &[(Workload, u32)]) -> Option<Self> {
        let mut weights = [0; KINDS];
        for (part, weight) in parts {
            let place = &mut weights[Self::KINDS.iter().position(|kind| kind == part)?];
            if *place > 0 || !(1..=MAX_WEIGHT).contains(weight) {
                return None;
            }
            *place = *weight;
        }
        (!parts.is_empty()).then_some(Self::Mix(Weights(weights)))
    }

    /// The loop that its transactions run, or those of a part of it.
    pub fn of_loop(self) -> Option<Loop> {
        match self {
            Self::Loop(one) => Some(one),
            Self::Mix(Weights(weights)) => {
                Self::KINDS.into_iter().zip(weights).filter(|(_, weight)| *weight > 0).find_map(|(kind, _)| kind.of_loop())
            }
            _ => None,
        }
    }

    /// The kind of the next block.
    pub(crate) fn pick(self, stream: &mut Stream) -> Self {
        let Self::Mix(Weights(weights)) = self else { return self };
        let mut drawn = stream.below(weights.iter().map(|&weight| u64::from(weight)).sum());
        let wins = |&(_, weight): &(Workload, u32)| {
            let wins = drawn < u64::from(weight);
            drawn = drawn.saturating_sub(u64::from(weight));
            wins
        };
        Self::KINDS.into_iter().zip(weights).find(wins).map_or(self, |(kind, _)| kind)
    }
}

impl fmt::Display for Workload {
    /// As [`FromStr`] reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Acting(shares) = self
            && ![Shares::MIXED, Shares::VOTING].contains(shares)
        {
            return f.pad(&format!("mixed:{shares}"));
        }
        let Self::Mix(Weights(weights)) = self else {
            return f.pad(match self {
                Workload::ValueOnly => "value-only",
                Workload::Loop(one) => one.workload(),
                Workload::PreviewLike => "preview-like",
                Workload::Script => "script",
                Workload::Acting(Shares::VOTING) => "voting",
                Workload::Acting(_) => "mixed",
                Workload::Empty | Workload::Mix(_) => "empty",
            });
        };
        let parts = Self::KINDS.iter().zip(weights).filter(|(_, weight)| **weight > 0);
        let parts: Vec<String> = parts.map(|(kind, weight)| format!("{kind}={weight}")).collect();
        f.pad(&format!("mix:{}", parts.join(",")))
    }
}

/// Text that names no workload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no workload: expected value-only, plutus-loop, empty, preview-like, mixed, voting, script, another loop ({others}), or mixed with shares \
     of actions, as in mixed:value=3,vote=1, or a mix of the first four by whole weights from 1 to 1000000, as in mix:value-only=3,plutus-loop=1", others = other_loops()
)]
pub struct UnknownWorkload(pub String);

/// Loops beside the countdown.
fn other_loops() -> String {
    Loop::all().skip(1).map(|one| one.workload()).collect::<Vec<_>>().join(", ")
}

impl FromStr for Workload {
    type Err = UnknownWorkload;

    fn from_str(text: &str) -> Result<Self, UnknownWorkload> {
        let kind = |name: &str| Self::KINDS.into_iter().find(|kind| kind.to_string() == name);
        let of_loop = |name: &str| Loop::all().find(|one| one.workload() == name).map(Self::Loop);
        let part = |part: &str| {
            let (name, weight) = part.split_once('=')?;
            Some((kind(name)?, weight.parse().ok()?))
        };
        let read = match text.strip_prefix("mix:") {
            Some(parts) => parts.split(',').map(part).collect::<Option<Vec<_>>>().and_then(|parts| Self::mix(&parts)),
            None if text == Self::Script.to_string() => Some(Self::Script),
            None if text == "mixed" => Some(Self::Acting(Shares::MIXED)),
            None if text == "voting" => Some(Self::Acting(Shares::VOTING)),
            None => match text.strip_prefix("mixed:") {
                Some(shares) => shares.parse().ok().map(Self::Acting),
                None => kind(text).or_else(|| of_loop(text)),
            },
        };
        read.ok_or_else(|| UnknownWorkload(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_are_read_as_they_are_written() {
        let mix = Workload::mix(&[(Workload::PLUTUS_LOOP, 1), (Workload::ValueOnly, 3)]).expect("a mix");
        assert_eq!(mix.to_string(), "mix:value-only=3,plutus-loop=1");
        let of = |text: &str| text.parse::<Workload>().expect(text);
        for workload in Workload::KINDS.into_iter().chain(Loop::all().map(Workload::Loop)).chain([
            mix,
            of("mixed"),
            of("voting"),
            of("mixed:value=3,vote=1"),
        ]) {
            assert_eq!(workload.to_string().parse(), Ok(workload));
        }
        for wrong in [
            "value",
            "",
            "mix",
            "mix:",
            "mix:empty",
            "mix:empty=",
            "mix:empty=0",
            "mix:empty=-1",
            "mix:empty=1.5",
            "mix:empty=1000001",
            "mix:empty=1,",
            "mix:empty=1,empty=1",
            "mix:other=1",
            "mix:ecdsa-loop=1",
            "mixed:",
            "mixed:votes=1",
            "mix:mix:empty=1",
        ] {
            let error = wrong.parse::<Workload>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("'{wrong}' is no workload")), "{error}");
            assert!(Workload::KINDS.iter().all(|kind| error.contains(&kind.to_string())), "{error}");
        }
    }

    #[test]
    fn a_mix_has_its_kinds_by_weight() {
        let mix: Workload = "mix:value-only=3,empty=1".parse().expect("a mix");
        let mut stream = Stream::new(1, "test", 0);
        let drawn: Vec<Workload> = (0..4_000).map(|_| mix.pick(&mut stream)).collect();
        let empty = drawn.iter().filter(|kind| **kind == Workload::Empty).count();
        assert!((880..1_120).contains(&empty), "{empty}"); // 1,000 expected, standard deviation 27
        assert!(drawn.iter().all(|kind| matches!(kind, Workload::Empty | Workload::ValueOnly)));
    }

    #[test]
    fn recipes_that_make_no_chain_are_refused() {
        let recipe = Recipe::new(Workload::Empty, 1);
        assert!(recipe.check().is_ok());
        assert!(matches!(Recipe { blocks: 0, ..recipe }.check(), Err(SynthError::NoBlocks)));
        assert!(matches!(Recipe { kes_period_slots: 0, ..recipe }.check(), Err(SynthError::KesPeriod)));
        for protocol_version in [9, 12] {
            assert!(matches!(Recipe { protocol_version, ..recipe }.check(), Err(SynthError::ProtocolVersion { .. })), "{protocol_version}");
        }
        assert!(Recipe { protocol_version: 11, ..recipe }.check().is_ok());
        assert!(matches!(Recipe { utxo: 16_000_001, ..recipe }.check(), Err(SynthError::Outputs { .. })));
        assert!(matches!(Recipe { delegators: 4_000_001, ..recipe }.check(), Err(SynthError::Delegators { .. })));
        let acting = Recipe { delegators: 1, workload: Workload::Acting(Shares::MIXED), ..recipe };
        assert!(matches!(acting.check(), Err(SynthError::ActsOnRewards { .. })));
        assert!(matches!(Recipe { max_block_body_bytes: 4_096, ..recipe }.check(), Err(SynthError::BodyBytes { .. })));
        assert!(Recipe { budgets: Budgets { block: Budgets::PUBLIC.share(9), ..Budgets::PUBLIC }, ..recipe }.check().is_err());
        for security_parameter in [0, 1, 100_001, u64::MAX] {
            let refused = Recipe { security_parameter, ..recipe }.check();
            assert!(matches!(refused, Err(SynthError::SecurityParameter { .. })), "{security_parameter}");
        }
    }
}
