//! Unspent outputs that are kept elsewhere, in memory or on disk: those after the last settled block.

use slotmark_chain::Hash32;
use slotmark_chain::block::decode_output;
use slotmark_ledger::EncodedOutput;

use crate::holdings::Owner;

/// The place of an output: its transaction's id and its index.
pub type Place = (Hash32, u64);

/// The block after which a set is what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettledTip {
    /// Its slot.
    pub slot: u64,
    /// Its hash.
    pub hash: Hash32,
}

/// The changes of a settled block. Outputs that it makes and spends itself are in neither list.
#[derive(Debug, Default)]
pub struct SettledChanges {
    /// Unspent before, and spent by it.
    pub spent: Vec<Place>,
    /// Made by it, and unspent after it.
    pub made: Vec<(Place, EncodedOutput)>,
}

/// A set of unspent outputs. An operation that fails is noted by the implementation, whose owner asks for it: until then an output that can't be read is
/// treated as missing.
pub trait Outputs: Send + Sync {
    /// The output at a place; None where there is none.
    fn get(&self, place: &Place) -> Option<EncodedOutput>;

    /// Returns the number of outputs.
    fn count(&self) -> u64;

    /// Calls `take` with the place of every output and the output.
    fn each(&self, take: &mut dyn FnMut(Place, &[u8]));

    /// Takes the changes of the next settled block in.
    fn settle(&self, tip: SettledTip, changes: SettledChanges);
}

/// The owner of an output's stake and its lovelace; None where it can't be read.
pub(crate) fn owner_of(encoded: &[u8]) -> Option<(Owner, u64)> {
    let output = decode_output(encoded).ok()?;
    Some((Owner::of(output.address.of(encoded)), output.lovelace))
}
