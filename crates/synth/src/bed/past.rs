//! The blocks of a bed before its first slot: they depend on the system start, so they are forged when a run begins.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use slotmark_chain::block::Era;
use slotmark_chain::{ChainWriter, Hash32, NewBlock};
use slotmark_network::Ratio;
use slotmark_network::shelley::ProtocolVersion;
use slotmark_praos::lottery::ActiveSlots;
use slotmark_praos::nonce::{Nonce, settling_slots};
use slotmark_praos::stake::Distribution;

use super::Bed;
use crate::block::{Headers, UnsealedBlock};
use crate::error::SynthError;
use crate::keys::Keys;
use crate::lottery::Lottery;
use crate::network::Folder;
use crate::pools::{HotKeys, Pool};

/// The folder of a stamped bed with its past, laid out as a node's database.
const PAST_FOLDER: &str = "past";

/// The most chains that are tried until one ends with quiet slots.
const ATTEMPTS: u64 = 32;
/// None is looked for where a smaller share of chains than this has such an end.
const LEAST_CHANCE: f64 = 0.1;

/// Forges the past of a bed into [`PAST_FOLDER`] of a folder that it was stamped into; nothing for a bed without.
///
/// Its pools make these blocks, valid as all others, but few: after each of them k/f slots pass without one. Between two blocks there may be 3k/f
/// slots, and every slot that is looked at costs a draw of each pool. In the last `quiet_slots` nodes are started: of several chains the first is
/// taken in which no pool leads one of these, where these are not too many.
pub(super) fn write(bed: &Bed, into: &Path, genesis_hash: Hash32, quiet_slots: u64) -> Result<(), SynthError> {
    let genesis = &bed.genesis;
    if genesis.first_slot == 0 {
        return Ok(());
    }
    let folder = Folder::new(into.join(PAST_FOLDER));
    // By this file cardano-node knows a database of its own network.
    folder.file("protocolMagicId", |file| write!(file, "{}", genesis.network_magic))?;
    let mut writer = ChainWriter::create(into.join(PAST_FOLDER).join("immutable"), 10 * genesis.security_parameter)?;
    let population = bed.population()?;
    let (stake, pools) = (population.distribution(), Arc::new(population.pools));
    let forge =
        Forge { bed, genesis_hash, stake, pools, share: Ratio::from_decimal(genesis.active_slot_coefficient).unwrap_or(Ratio::ONE) };
    let quiet = genesis.first_slot.saturating_sub(quiet_slots)..genesis.first_slot;
    let chance = (1.0 - genesis.active_slot_coefficient).powf(quiet_slots as f64);
    // The leaders of the first epoch depend on no block.
    let attempts = if chance < LEAST_CHANCE || genesis.first_slot <= genesis.epoch_slots { 1 } else { ATTEMPTS };
    let mut tried = forge.chain(0);
    for attempt in 1..attempts {
        if forge.lottery(tried.nonce, quiet.clone()).next(1).is_none() {
            break;
        }
        tried = forge.chain(attempt);
    }
    for Kept { bytes, header_offset, header_size, slot, hash } in tried.blocks {
        writer.append(&NewBlock { bytes: &bytes, header_offset, header_size, slot, hash })?;
    }
    writer.finish()?;
    Ok(())
}

/// A chain, and the nonce of its last epoch.
struct Tried {
    blocks: Vec<Kept>,
    nonce: Nonce,
}

/// A [`NewBlock`] that is kept.
struct Kept {
    bytes: Vec<u8>,
    header_offset: u16,
    header_size: u16,
    slot: u64,
    hash: Hash32,
}

/// The parts that all attempts share.
struct Forge<'a> {
    bed: &'a Bed,
    genesis_hash: Hash32,
    stake: Distribution,
    pools: Arc<Vec<Pool>>,
    /// f.
    share: Ratio,
}

impl Forge<'_> {
    /// The chain of an attempt: with each of them, pools begin to make blocks later in each epoch, and pause for longer.
    fn chain(&self, attempt: u64) -> Tried {
        let genesis = &self.bed.genesis;
        let hot_keys = HotKeys::new(self.bed.seed, self.bed.network().kes_periods(), &self.pools);
        let settling_slots = settling_slots(Era::Conway, genesis.security_parameter, self.share);
        let version = ProtocolVersion::of(genesis.protocol_version);
        let mut headers = Headers::new(hot_keys, self.genesis_hash, &self.pools, genesis.epoch_slots, settling_slots, version);
        let shortest = self.share.ceil_div(genesis.security_parameter);
        // In 3/f slots there is a leader nearly always, so that blocks are others than in the attempt before.
        let shift = attempt * self.share.ceil_div(3);
        let (keys, later, pause) = (Keys::new(self.bed.seed), shift % shortest, shortest + shift / shortest);
        let mut tried = Tried { blocks: Vec::new(), nonce: None };
        for epoch in 0..genesis.first_slot.div_ceil(genesis.epoch_slots) {
            tried.nonce = headers.begin_epoch(epoch);
            let end = genesis.first_slot.min((epoch + 1) * genesis.epoch_slots);
            let mut from = epoch * genesis.epoch_slots + later;
            while let Some(leadership) = self.lottery(tried.nonce, from..end).next(1) {
                from = (leadership.slot + pause).min(end);
                let sealed = UnsealedBlock { leadership, transactions: Vec::new() }.seal(&keys, &self.pools);
                let NewBlock { bytes, header_offset, header_size, slot, hash } = headers.link(&sealed);
                tried.blocks.push(Kept { bytes: bytes.to_vec(), header_offset, header_size, slot, hash });
            }
        }
        tried
    }

    fn lottery(&self, nonce: Nonce, slots: Range<u64>) -> Lottery {
        Lottery::new(&self.pools, &self.stake, &ActiveSlots::new(self.share), nonce, slots)
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use slotmark_chain::Chain;
    use slotmark_praos::check::check_chain;
    use slotmark_praos::genesis::Genesis;

    use super::*;

    const QUIET_SLOTS: u64 = 3;

    /// The slots of the last three before the first one that a pool leads, by the nonce that a check of the chain finds.
    fn led_at_the_end(seed: u64, quiet_slots: u64) -> usize {
        let mut bed = Bed { seed, ..Bed::small(&[1.0, 3.0]) };
        bed.genesis.first_slot = 1_000;
        let folder = tempfile::tempdir().expect("a folder");
        bed.write(folder.path(), &mut |_, _| ControlFlow::Continue(())).expect("a bed");
        let genesis = Arc::new(Genesis::read(&folder.path().join("genesis/genesis.shelley.json")).expect("a genesis"));
        write(&bed, folder.path(), genesis.hash, quiet_slots).expect("a past");
        let chain = Chain::open(folder.path().join(PAST_FOLDER).join("immutable")).expect("a chain");
        let report = check_chain(&chain, Some(&genesis), &mut |_, _| ControlFlow::Continue(())).expect("checked");
        assert_eq!(report.failed_blocks, 0);
        let nonce = report.epochs.last().and_then(|epoch| epoch.nonce.clone()).expect("a nonce");
        let nonce: Hash32 = hex::decode(nonce).expect("hex").try_into().expect("a hash");
        let population = bed.population().expect("a population");
        let (stake, pools) = (population.distribution(), Arc::new(population.pools));
        let mut lottery =
            Lottery::new(&pools, &stake, &ActiveSlots::new(Ratio::new(2, 5).expect("a share")), Some(nonce), 1_000 - QUIET_SLOTS..1_000);
        std::iter::from_fn(|| lottery.next(1)).count()
    }

    #[test]
    fn no_pool_leads_a_quiet_slot() {
        // One in five has no leader there by chance.
        assert!((1..=4).any(|seed| led_at_the_end(seed, 0) > 0));
        assert!((1..=4).all(|seed| led_at_the_end(seed, QUIET_SLOTS) == 0));
    }
}
