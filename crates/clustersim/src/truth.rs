//! The true events, in true time.

use std::collections::VecDeque;

use serde_json::{Value, json};
use slotmark_tracelog::Column;

use crate::event::Block;

/// No such moment.
pub const NEVER: u64 = u64::MAX;

/// The way in which a block came onto a host's chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AdoptedBy {
    /// Not at all.
    #[default]
    Nothing,
    /// It extended the chain: `AddedToCurrentChain` names it.
    Extension,
    /// The chain switched to a fork whose tip it was: `SwitchedToAFork` names it.
    Fork,
    /// A later block took it along; no log line names it.
    Carried,
}

impl AdoptedBy {
    /// The word for it in `truth.jsonl`.
    pub fn word(self) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::Extension => Some("extension"),
            Self::Fork => Some("fork"),
            Self::Carried => Some("carried"),
        }
    }
}

/// A value of the truth: its columns in a table, and its members in a line of JSON.
pub(crate) trait Datum: Copy {
    /// The value of what did not happen.
    const NONE: Self;

    /// Adds its columns, with a row for each value.
    fn columns(name: &'static str, values: impl Iterator<Item = Self> + Clone, columns: &mut Vec<Column>);

    /// Gives its members.
    fn members(self, name: &'static str, each: &mut impl FnMut(&'static str, Member));
}

/// The columns of a table with these rows.
pub(crate) fn columns<T: Datum>(rows: impl Iterator<Item = T> + Clone) -> Vec<Column> {
    let mut columns = Vec::new();
    T::columns("", rows, &mut columns);
    columns
}

/// A member of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Member {
    Whole(Option<i64>),
    Word(Option<&'static str>),
}

impl From<Member> for Value {
    fn from(member: Member) -> Self {
        match member {
            Member::Whole(number) => json!(number),
            Member::Word(word) => json!(word),
        }
    }
}

fn known(number: u64) -> Option<i64> {
    (number != NEVER).then_some(number as i64)
}

/// A moment, or another number from 0 on.
impl Datum for u64 {
    const NONE: Self = NEVER;

    fn columns(name: &'static str, values: impl Iterator<Item = Self> + Clone, columns: &mut Vec<Column>) {
        Option::columns(name, values.map(known), columns);
    }

    fn members(self, name: &'static str, each: &mut impl FnMut(&'static str, Member)) {
        known(self).members(name, each);
    }
}

impl Datum for Option<i64> {
    const NONE: Self = None;

    fn columns(name: &'static str, values: impl Iterator<Item = Self> + Clone, columns: &mut Vec<Column>) {
        columns.push(Column::optional(name, values));
    }

    fn members(self, name: &'static str, each: &mut impl FnMut(&'static str, Member)) {
        each(name, Member::Whole(self));
    }
}

/// 1 or 0.
impl Datum for bool {
    const NONE: Self = false;

    fn columns(name: &'static str, values: impl Iterator<Item = Self> + Clone, columns: &mut Vec<Column>) {
        Option::columns(name, values.map(|value| Some(i64::from(value))), columns);
    }

    fn members(self, name: &'static str, each: &mut impl FnMut(&'static str, Member)) {
        each(name, Member::Whole(Some(i64::from(self))));
    }
}

impl Datum for u32 {
    const NONE: Self = 0;

    fn columns(name: &'static str, values: impl Iterator<Item = Self> + Clone, columns: &mut Vec<Column>) {
        columns.push(Column::whole(name, values.map(i64::from)));
    }

    fn members(self, name: &'static str, each: &mut impl FnMut(&'static str, Member)) {
        each(name, Member::Whole(Some(i64::from(self))));
    }
}

impl Datum for AdoptedBy {
    const NONE: Self = Self::Nothing;

    fn columns(name: &'static str, values: impl Iterator<Item = Self> + Clone, columns: &mut Vec<Column>) {
        columns.push(Column::optional_text(name, values.map(Self::word)));
    }

    fn members(self, name: &'static str, each: &mut impl FnMut(&'static str, Member)) {
        each(name, Member::Word(self.word()));
    }
}

/// Makes structs of the truth: each field is a column of a table and a member of a line, or all those of a struct in it.
macro_rules! truths {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl Datum for $name {
            const NONE: Self = Self { $($field: Datum::NONE,)* };

            fn columns(_: &'static str, values: impl Iterator<Item = Self> + Clone, columns: &mut Vec<Column>) {
                $(Datum::columns(stringify!($field), values.clone().map(|value| value.$field), columns);)*
            }

            fn members(self, _: &'static str, each: &mut impl FnMut(&'static str, Member)) {
                $(self.$field.members(stringify!($field), each);)*
            }
        }
    )*};
}

truths! {
    /// The first moments, in ns since slot 0 and true time, at which a host did something with a block; `NEVER` where it did not.
    Observation {
        /// Its header was received.
        noticed_ns: u64,
        /// A fetch request was sent whose newest block it was.
        requested_ns: u64,
        /// The longest request whose newest block it was.
        range: u32,
        /// Its body was received.
        fetched_ns: u64,
        /// Its header was announced to a follower.
        announced_ns: u64,
        /// Its body was sent to a follower.
        sending_ns: u64,
        /// It became part of the host's chain.
        adopted_ns: u64,
        /// The way in which it was adopted.
        adopted_by: AdoptedBy,
    }

    /// Times at which the stages of making a block ended, in ns since slot 0 and true time.
    ForgingTimes {
        /// The forge loop's iteration started.
        started_ns: u64,
        /// The block context was there.
        block_context_ns: u64,
        /// The ledger state was there.
        ledger_state_ns: u64,
        /// The ledger view was there.
        ledger_view_ns: u64,
        /// The leadership check was done.
        leadership_ns: u64,
        /// The ledger was ticked.
        ledger_tick_ns: u64,
        /// The mempool's snapshot was there.
        mempool_snapshot_ns: u64,
    }

    /// One sample of a node's resource counters; sums since it started, but for the sizes. The node logs times in whole hundredths of a second.
    #[derive(Default)]
    ResourceSample {
        /// CPU time of the mutator, in ns.
        mutator_ns: u64,
        /// CPU time of collections, in ns.
        gc_ns: u64,
        /// Major collections.
        major_gcs: u64,
        /// Minor collections.
        minor_gcs: u64,
        /// Bytes allocated.
        allocated_bytes: u64,
        /// Bytes alive after the last collection.
        live_bytes: u64,
        /// Bytes of the heap.
        heap_bytes: u64,
        /// Resident bytes.
        rss_bytes: u64,
        /// Bytes written to the file system.
        fs_written_bytes: u64,
    }

    /// The true events on a host in one slot of its own clock. Moments are ns since slot 0 and true time, before 0 where the host's clock is ahead;
    /// `None` for what did not happen.
    SlotTruth {
        /// The slot.
        slot: u64,
        /// True where the host led it.
        leads: bool,
        /// The forge loop started.
        started_ns: Option<i64>,
        /// The block context was there.
        block_context_ns: Option<i64>,
        /// The number of the block to build on; -1 for genesis.
        context_number: Option<i64>,
        /// The ledger state was there.
        ledger_state_ns: Option<i64>,
        /// The ledger view was there.
        ledger_view_ns: Option<i64>,
        /// The host knew whether it leads.
        leadership_ns: Option<i64>,
        /// The ledger was measured.
        measured_ns: Option<i64>,
        /// The number of the tip then; -1 for genesis.
        tip_number: Option<i64>,
        /// The slot of the tip then.
        tip_slot: Option<i64>,
        /// Unspent outputs then.
        utxo: Option<i64>,
        /// Resources were sampled.
        sampled_ns: Option<i64>,
        /// The sample.
        resources: ResourceSample,
        /// The most transactions that the mempool held when it changed.
        mempool_txs: Option<i64>,
    }
}

impl SlotTruth {
    /// The mempool changed.
    pub(crate) fn note_mempool(&mut self, txs: u32) {
        self.mempool_txs = self.mempool_txs.max(Some(i64::from(txs)));
    }
}

/// The truth of slots that are not over: of more than one where the host leads one and logs late.
#[derive(Debug, Default)]
pub(crate) struct OpenSlots(VecDeque<SlotTruth>);

impl OpenSlots {
    /// Begins a slot.
    pub(crate) fn begin(&mut self, slot: u64, leads: bool) {
        self.0.push_back(SlotTruth { slot, leads, ..SlotTruth::NONE });
    }

    /// Returns that of a slot, if it is not over.
    pub(crate) fn of(&mut self, slot: u64) -> Option<&mut SlotTruth> {
        self.0.iter_mut().rev().find(|truth| truth.slot == slot)
    }

    /// Returns that of the slot in which a host's clock is, from 0 on.
    pub(crate) fn at(&mut self, slot: i64) -> Option<&mut SlotTruth> {
        let slot = u64::try_from(slot).ok()?;
        if self.0.back().is_none_or(|truth| truth.slot < slot) {
            // By its own clock, a host goes down within a slot.
            self.begin(slot, false);
        }
        self.0.back_mut()
    }

    /// Takes out the first, if its slot is over, or in any case.
    pub(crate) fn take(&mut self, any: bool) -> Option<SlotTruth> {
        let over = |truth: &SlotTruth| any || !truth.leads || truth.leadership_ns.is_some();
        if self.0.front().is_some_and(over) { self.0.pop_front() } else { None }
    }
}

/// The true events of a simulation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// Every block that was forged, after genesis at index 0.
    pub blocks: Vec<Block>,
    /// Its forging, by index.
    pub forging: Vec<ForgingTimes>,
    /// Observations of each host of each block: by host, then by block index; a host's list may end early.
    pub observations: Vec<Vec<Observation>>,
    /// The chain each host ended on: the index of its tip.
    pub tips: Vec<u32>,
    /// By how many ns each host's clock is ahead: what it logs is true time plus this.
    pub clock_ahead_ns: Vec<i64>,
    /// The slots simulated.
    pub slots: u64,
}

impl Truth {
    /// Returns a host's observation of a block.
    pub fn observation(&self, host: usize, block: u32) -> Observation {
        self.observations[host].get(block as usize).copied().unwrap_or(Observation::NONE)
    }

    /// The hash of a block in hex, or what a log has for that of genesis.
    pub fn hash(&self, block: u32) -> String {
        String::from_utf8_lossy(self.blocks[block as usize].name()).into_owned()
    }

    /// The chain that ends in a block, genesis left out, oldest first.
    pub fn chain_to(&self, tip: u32) -> Vec<u32> {
        let mut chain = Vec::new();
        let mut at = tip;
        while at != 0 {
            chain.push(at);
            at = self.blocks[at as usize].parent;
        }
        chain.reverse();
        chain
    }

    /// The chain that most blocks long: that of the highest tip; the lower VRF value decides.
    pub fn chain(&self) -> Vec<u32> {
        let best = self.tips.iter().copied().max_by_key(|tip| {
            let block = &self.blocks[*tip as usize];
            (block.height, std::cmp::Reverse(block.vrf))
        });
        best.map(|tip| self.chain_to(tip)).unwrap_or_default()
    }
}
