//! The work of each slot: the leadership check, a block where the pool leads, and a look at the ledger.

use std::sync::Arc;

use slotmark_tracelog::{Point as LogPoint, forms};

use super::Core;
use super::upstream::wait;
use crate::chaindb::{ORIGIN, slot_of};
use crate::clock::now_ns;
use crate::error::NodeError;
use crate::options::Stage;
use crate::store::StoredBlock;

/// The text for the hash of no block in a log line.
const GENESIS_HASH: &str = "GenesisHash";

impl Core {
    /// Sees to the slot that has begun since the last look; slots that went by meanwhile are missed.
    pub(super) fn slot(&mut self) -> Result<(), NodeError> {
        let Some(slot) = self.clock.slot_at(now_ns()).filter(|slot| self.last_slot.is_none_or(|last| *slot > last)) else { return Ok(()) };
        self.last_slot = Some(slot);
        self.try_intersections();
        if self.credentials.is_some() {
            self.check_leadership(slot)?;
        }
        self.log_ledger(slot);
        Ok(())
    }

    fn check_leadership(&mut self, slot: u64) -> Result<(), NodeError> {
        let at = slot as i64;
        self.log.line(forms::StartLeadershipCheck { slot: at });
        // A block of the same slot is one that this one competes with: both are built on the same parent.
        let tip = self.db.tip_hash();
        let on_tip = self.tip().is_none_or(|tip| slot_of(&tip.point) < slot);
        let parent = match self.db.entry(&tip) {
            _ if on_tip => tip,
            Some(entry) if entry.view.slot == slot => entry.parent,
            _ => return Ok(()), // the chain is ahead of this clock
        };
        let before = self.db.point(&parent).map_or(0, |point| slot_of(&point));
        let number = match self.db.entry(&parent) {
            Some(entry) => entry.view.number + 1,
            None => self.db.root_tip().filter(|_| parent != ORIGIN).map_or(0, |tip| tip.block_no + 1),
        };
        let parent_text = if parent == ORIGIN { GENESIS_HASH.to_owned() } else { hex::encode(parent) };
        let point = LogPoint { block: (parent != ORIGIN).then_some((parent_text.as_bytes(), before)) };
        self.log.line(forms::BlockContext { slot: at, tip: point, next: number as i64 });
        self.log.line(forms::LedgerState { slot: at });
        let Some(outlook) = self.db.outlook(&parent, slot) else { return Ok(()) };
        self.log.line(forms::LedgerView { slot: at });
        let Some(credentials) = &mut self.credentials else { return Ok(()) };
        let Some(leadership) = credentials.leads(slot, &outlook, self.db.genesis()) else {
            self.log.line(forms::NodeNotLeader { slot: at });
            return Ok(());
        };
        self.log.line(forms::NodeIsLeader { slot: at });
        wait(self.options.delay(Stage::Forge));
        self.log.line(forms::ForgeTickedLedgerState { tip: point, slot: at });
        // What waits is valid behind the tip, and not behind its parent.
        let transactions = if on_tip { self.mempool.block(slot, &outlook) } else { slotmark_synth::assembly::Transactions::default() };
        self.log.line(forms::ForgingMempoolSnapshot { tip_hash: parent_text.as_bytes(), tip_slot: before as i64, tip: point, slot: at });
        let previous = (parent != ORIGIN).then_some(parent);
        let Some(bytes) = credentials.block(&leadership, number, previous, &transactions.body(), self.db.genesis()) else {
            eprintln!("slotmark-node: slot {slot} is led, but its KES period is not one that the operational certificate is good for");
            return Ok(());
        };
        let Some(block) = StoredBlock::new(bytes.into()).map(Arc::new) else { return Ok(()) };
        let text = hex::encode(block.hash);
        self.log.line(forms::ForgedBlock { block: text.as_bytes(), number: number as i64, previous: parent_text.as_bytes(), slot: at });
        if let Err(fault) = self.db.add_header(block.header()) {
            eprintln!("slotmark-node: its own block of slot {slot} was refused: {fault}");
            return Ok(());
        }
        self.add_block(&block)?;
        if self.db.tip_hash() == block.hash {
            self.log.line(forms::AdoptedBlock { block: text.as_bytes(), size_bytes: block.bytes.len() as i64, slot: at });
        }
        Ok(())
    }

    fn log_ledger(&self, slot: u64) {
        let Some(stake) = self.db.ledger().stake() else { return };
        let first = self.db.root_tip().map_or(0, |tip| slot_of(&tip.point));
        let blocks = self.db.chain().len() as f64;
        let slots = self.tip_slot().saturating_sub(first);
        self.log.line(forms::LedgerMetrics {
            density: if slots == 0 { 0.0 } else { blocks / slots as f64 },
            delegations: stake.delegations() as i64,
            slot: slot as i64,
            utxo_size: stake.unspent_outputs() as i64,
        });
    }
}
