//! The tree of headers and blocks behind the last settled block, the chain that is selected among them, and the ledger at its tip.

mod selection;
mod view;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use slotmark_chain::block::{DecodeError, Decoder, Era, Header, decode_header_alone};
use slotmark_chain::hash::blake2b_224;
use slotmark_chain::rule::Rule;
use slotmark_chain::{Hash32, Point, Tip};
use slotmark_praos::genesis::Genesis;
use slotmark_praos::header::{Leader, check_header};
use slotmark_praos::outputs::{Outputs, SettledTip};
use slotmark_praos::stake::Stake;
use slotmark_praos::state::{ChainState, Outlook, Undo};

use crate::error::NodeError;
use crate::ledger::LedgerSet;
use crate::store::{Store, StoredBlock};
pub use selection::{Adopted, Selection, Switch};
pub use view::View;

/// Stands for what is before the first block.
pub const ORIGIN: Hash32 = [0; 32];

/// A header in the tree.
pub struct Entry {
    /// The hash before it.
    pub parent: Hash32,
    /// The facts that selection compares.
    pub view: View,
    /// Its header, as encoded.
    pub header: Arc<[u8]>,
    /// Bytes of its body, as it states them.
    pub body_bytes: u64,
    /// True where its block is here.
    pub has_block: bool,
    /// True where its block was refused, or one before it.
    pub invalid: bool,
    /// The state that headers behind it are checked against.
    state: Arc<ChainState>,
    children: Vec<Hash32>,
    /// Takes its block back, while it is on the selected chain.
    undo: Option<Undo>,
}

/// Reasons why a header isn't taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderFault {
    /// It can't be read.
    Unreadable(DecodeError),
    /// The header before it isn't known.
    NoParent,
    /// It breaks a rule.
    Breaks(Rule),
    /// The state that its proofs are checked against isn't known.
    Unchecked,
    /// It is behind a block that was refused.
    BehindInvalid,
}

impl std::fmt::Display for HeaderFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreadable(error) => write!(f, "a header that can't be read: {error}"),
            Self::NoParent => f.write_str("a header whose predecessor is not known"),
            Self::Breaks(rule) => write!(f, "a header that breaks the rule {rule}: {}", rule.requirement()),
            Self::Unchecked => f.write_str("a header whose epoch or stake is not known, so that its proofs cannot be checked"),
            Self::BehindInvalid => f.write_str("a header behind a block that was refused"),
        }
    }
}

/// The fields of a header that are read before it is taken.
#[derive(Clone, Copy, Debug)]
pub struct Summary {
    /// Its hash.
    pub hash: Hash32,
    /// The hash before it.
    pub parent: Hash32,
    /// Its slot.
    pub slot: u64,
    /// Its number.
    pub number: u64,
}

/// The tree, and the chain.
pub struct ChainDb {
    genesis: Arc<Genesis>,
    store: Arc<Store>,
    entries: HashMap<Hash32, Entry>,
    /// The last settled block, or the origin.
    root: Hash32,
    root_tip: Option<Tip>,
    root_state: Arc<ChainState>,
    root_children: Vec<Hash32>,
    /// The selected chain behind the root.
    chain: VecDeque<Hash32>,
    /// The ledger at the chain's tip.
    ledger: ChainState,
    /// Keeps the unspent outputs up to the last settled block; None where the ledger has the changes since the genesis.
    set: Option<Arc<LedgerSet>>,
    decoder: Decoder,
    with_scripts: bool,
}

impl ChainDb {
    /// Rebuilds the ledger from the settled blocks, and selects a chain among the others.
    ///
    /// # Errors
    /// A settled block can't be read, or doesn't fit this genesis.
    pub fn open(
        genesis: Arc<Genesis>,
        store: Arc<Store>,
        mut volatile: Vec<Arc<StoredBlock>>,
        set: Option<Arc<LedgerSet>>,
        with_scripts: bool,
    ) -> Result<Self, NodeError> {
        let mut ledger = ChainState::with_accounts(Some(&genesis));
        let mut decoder = Decoder::new();
        // The block up to which the set has everything, where that isn't reached yet.
        let mut behind = set.as_ref().and_then(|set| set.tip());
        if let (Some(set), None) = (&set, behind) {
            keep_in(set, &mut ledger)?;
        }
        for index in 0..store.settled_len() {
            let damaged = || {
                let expected = "a Conway block that fits the genesis; remove the database folder to fetch the chain anew";
                NodeError::content(store.folder(), format!("settled block {index}, counted from 0"), expected)
            };
            let block = store.settled(index)?.ok_or_else(damaged)?;
            let decoded = decoder.decode(&block.bytes).map_err(|_| damaged())?;
            let step = if behind.is_some() {
                // The set has the block's changes already; the rest of the ledger is made again.
                ledger.step(&decoded)
            } else {
                let (step, undo) = ledger.step_with_undo(&decoded);
                ledger.settle(SettledTip { slot: block.slot, hash: block.hash }, undo);
                step
            };
            let step = step.map_err(|_| damaged())?;
            genesis.sound()?;
            step.outcome.result().map_err(|_| damaged())?;
            if let Some(set) = &set {
                set.sound()?;
                if behind.is_some_and(|tip| tip.hash == block.hash) {
                    behind = None;
                    keep_in(set, &mut ledger)?;
                }
            }
        }
        if let (Some(set), Some(tip)) = (&set, behind) {
            let what = format!(
                "a set of unspent outputs after the block {} of slot {}, which the chain doesn't have",
                hex::encode(tip.hash),
                tip.slot
            );
            return Err(set.damaged(what, "a settled block of the chain"));
        }
        let root_tip = ledger.tip();
        let root = root_tip.map_or(ORIGIN, |tip| hash_of(&tip.point));
        let root_state = Arc::new(ledger.of_headers());
        let mut db = Self {
            genesis,
            store,
            entries: HashMap::new(),
            root,
            root_tip,
            root_state,
            root_children: Vec::new(),
            chain: VecDeque::new(),
            ledger,
            set,
            decoder,
            with_scripts,
        };
        volatile.sort_by_key(|block| block.number);
        for block in volatile {
            let known = db.add_header(block.header());
            if known.is_ok_and(|hash| hash == block.hash) {
                db.note_block(&block);
                db.select(block.hash)?;
            } else {
                db.store.forget(&block.hash);
            }
        }
        Ok(db)
    }

    /// Checks that everything that was looked up could be read, and that all that is settled was written.
    ///
    /// # Errors
    /// Something couldn't.
    pub fn sound(&self) -> Result<(), NodeError> {
        self.genesis.sound()?;
        self.set.as_ref().map_or(Ok(()), |set| set.sound())
    }

    /// Makes the set of unspent outputs durable.
    ///
    /// # Errors
    /// It can't be written.
    pub fn snapshot(&self) -> Result<(), NodeError> {
        let Some(set) = &self.set else { return Ok(()) };
        set.snapshot();
        set.sound()
    }

    /// The ledger at the tip.
    pub fn ledger(&self) -> &ChainState {
        &self.ledger
    }

    /// The genesis.
    pub fn genesis(&self) -> &Genesis {
        &self.genesis
    }

    /// The selected chain's tip; None at the origin.
    pub fn tip(&self) -> Option<Tip> {
        self.chain.back().map(|hash| self.tip_of(hash)).unwrap_or(self.root_tip)
    }

    fn tip_of(&self, hash: &Hash32) -> Option<Tip> {
        let entry = self.entries.get(hash)?;
        Some(Tip { point: Point::Block { slot: entry.view.slot, hash: *hash }, block_no: entry.view.number })
    }

    /// The hash of the tip; [`ORIGIN`] where there is none.
    pub fn tip_hash(&self) -> Hash32 {
        self.chain.back().copied().unwrap_or(self.root)
    }

    /// The last settled block; [`ORIGIN`] where there is none.
    pub fn root(&self) -> Hash32 {
        self.root
    }

    /// The last settled block's tip; None at the origin.
    pub fn root_tip(&self) -> Option<Tip> {
        self.root_tip
    }

    /// The selected chain behind the last settled block.
    pub fn chain(&self) -> &VecDeque<Hash32> {
        &self.chain
    }

    /// A header of the tree.
    pub fn entry(&self, hash: &Hash32) -> Option<&Entry> {
        self.entries.get(hash)
    }

    /// Returns whether a block is on the selected chain behind the last settled block, or is that one.
    pub fn on_chain(&self, hash: &Hash32) -> bool {
        *hash == self.root || self.place(hash).is_some()
    }

    /// The place of a block on the selected chain, 0 for the first one behind the root.
    pub fn place(&self, hash: &Hash32) -> Option<usize> {
        let number = self.entries.get(hash)?.view.number;
        let first = self.entries.get(self.chain.front()?)?.view.number;
        let place = usize::try_from(number.checked_sub(first)?).ok()?;
        (self.chain.get(place) == Some(hash)).then_some(place)
    }

    /// The point of a block of the tree; the origin for [`ORIGIN`].
    pub fn point(&self, hash: &Hash32) -> Option<Point> {
        if *hash == self.root {
            return Some(self.root_tip.map_or(Point::Origin, |tip| tip.point));
        }
        self.tip_of(hash).map(|tip| tip.point)
    }

    /// Returns the conditions for a block in a slot, on a block of the tree.
    pub fn outlook(&self, on: &Hash32, slot: u64) -> Option<Outlook> {
        if *on == self.tip_hash() {
            return self.ledger.outlook(Era::Conway, slot);
        }
        self.state_of(on)?.outlook(Era::Conway, slot)
    }

    fn state_of(&self, hash: &Hash32) -> Option<&Arc<ChainState>> {
        if *hash == self.root { Some(&self.root_state) } else { self.entries.get(hash).map(|entry| &entry.state) }
    }

    /// Reads what a header states.
    ///
    /// # Errors
    /// It can't be read.
    pub fn read(header: &[u8]) -> Result<Summary, HeaderFault> {
        let header = decode_header_alone(Era::Conway, header).map_err(HeaderFault::Unreadable)?;
        Ok(Summary { hash: header.hash, parent: parent_of(&header)?, slot: header.slot, number: header.block_no })
    }

    /// Returns whether a header can be checked: not where stake isn't known so far ahead of the ledger.
    pub fn can_check(&self, header: &Summary) -> bool {
        let epoch = |slot: u64| slot / self.genesis.shelley.epoch_slots;
        let tip_slot = self.ledger.tip().map_or(0, |tip| slot_of(&tip.point));
        header.parent == self.tip_hash() || epoch(header.slot) <= epoch(tip_slot) + 1
    }

    /// Checks a header and takes it into the tree, where it isn't there yet.
    ///
    /// # Errors
    /// It isn't valid.
    pub fn add_header(&mut self, bytes: &[u8]) -> Result<Hash32, HeaderFault> {
        let header = decode_header_alone(Era::Conway, bytes).map_err(HeaderFault::Unreadable)?;
        let hash = header.hash;
        if let Some(known) = self.entries.get(&hash) {
            return if known.invalid { Err(HeaderFault::BehindInvalid) } else { Ok(hash) };
        }
        let parent = parent_of(&header)?;
        if self.entries.get(&parent).is_some_and(|parent| parent.invalid) {
            return Err(HeaderFault::BehindInvalid);
        }
        let mut state = if parent == self.tip_hash() {
            self.ledger.of_next_header(Era::Conway, header.slot)
        } else {
            self.state_of(&parent).ok_or(HeaderFault::NoParent)?.of_headers()
        };
        let body_bytes = header.body_size.unwrap_or(0);
        let step = state.step_header(&header, body_bytes);
        if step.epoch.is_none() || step.leader == Leader::Unknown {
            return Err(HeaderFault::Unchecked);
        }
        let mut outcome = step.outcome;
        outcome.merge(check_header(&header, &step.surroundings(Some(&self.genesis))));
        outcome.result().map_err(HeaderFault::Breaks)?;
        let vrf = header.vrf[0].and_then(|vrf| vrf.output.try_into().ok());
        let (Some(vrf), Some(issuer), Some(certificate)) = (vrf, header.issuer, header.certificate) else {
            return Err(HeaderFault::Breaks(Rule::VrfProof));
        };
        let view = View { number: header.block_no, slot: header.slot, issuer: blake2b_224(&[issuer]), sequence: certificate.sequence, vrf };
        let entry = Entry {
            parent,
            view,
            header: bytes.into(),
            body_bytes,
            has_block: false,
            invalid: false,
            state: Arc::new(state),
            children: Vec::new(),
            undo: None,
        };
        self.entries.insert(hash, entry);
        self.children_mut(&parent).push(hash);
        Ok(hash)
    }

    fn children_mut(&mut self, hash: &Hash32) -> &mut Vec<Hash32> {
        if *hash == self.root {
            return &mut self.root_children;
        }
        &mut self.entries.get_mut(hash).expect("a parent in the tree").children
    }

    /// Notes that the block of a header is in the store.
    pub fn note_block(&mut self, block: &StoredBlock) {
        if let Some(entry) = self.entries.get_mut(&block.hash) {
            entry.has_block = true;
        }
    }
}

/// Has a set keep the unspent outputs of a ledger, which must be as many.
fn keep_in(set: &Arc<LedgerSet>, ledger: &mut ChainState) -> Result<(), NodeError> {
    let (found, expected) = (set.count(), ledger.stake().map_or(0, Stake::unspent_outputs) as u64);
    if found != expected {
        return Err(set.damaged(format!("{found} unspent outputs"), &format!("{expected}, as the chain makes them")));
    }
    ledger.keep_outputs_in(Arc::clone(set) as Arc<dyn Outputs>);
    Ok(())
}

/// The hash before a header; [`ORIGIN`] before the first one, which states none: a header that states that hash isn't the first.
fn parent_of(header: &Header<'_>) -> Result<Hash32, HeaderFault> {
    match header.prev_hash {
        None => Ok(ORIGIN),
        Some(ORIGIN) => Err(HeaderFault::Breaks(Rule::PreviousHash)),
        Some(hash) => Ok(hash),
    }
}

/// The hash at a point; [`ORIGIN`] at the origin.
pub fn hash_of(point: &Point) -> Hash32 {
    match point {
        Point::Origin => ORIGIN,
        Point::Block { hash, .. } => *hash,
    }
}

/// The slot at a point; 0 at the origin.
pub fn slot_of(point: &Point) -> u64 {
    match point {
        Point::Origin => 0,
        Point::Block { slot, .. } => *slot,
    }
}
