//! The history of eras as local clients get it: they turn slots into times and epochs by it.

use std::path::Path;

use slotmark_chain::CborBuffer;
use slotmark_network::Network;
use slotmark_network::byron::Byron;
use slotmark_praos::genesis::Genesis;

use crate::config::read_json;
use crate::error::NodeError;

/// Eras between Byron and Conway, all over before slot 0: Shelley, Allegra, Mary, Alonzo, Babbage.
const PAST_ERAS: usize = 5;
/// Picoseconds a millisecond.
const PICOS: u128 = 1_000_000_000;

/// The eras of a network that is in Conway from its first slot on.
pub struct Eras {
    byron: Parameters,
    later: Parameters,
}

/// The parameters of an era.
#[derive(Clone, Copy)]
struct Parameters {
    epoch_slots: u64,
    slot_ms: u64,
    /// Slots behind the tip in which no further era can begin.
    safe_slots: u64,
}

impl Eras {
    /// Reads what Byron's genesis file has of its era; the rest is known.
    ///
    /// # Errors
    /// The file can't be read, or lacks it.
    pub fn read(byron: &Path, genesis: &Genesis, network: &Network) -> Result<Self, NodeError> {
        let file: Byron = read_json(byron, "a Byron genesis file")?;
        let slot_ms = file.block_version_data.slot_duration.parse();
        let slot_ms = slot_ms.map_err(|_| NodeError::content(byron, "blockVersionData.slotDuration", "milliseconds in digits"))?;
        let k = file.protocol_consts.k;
        let stability = genesis.active_slots.share().ceil_div(3 * genesis.shelley.security_parameter);
        Ok(Self {
            byron: Parameters { epoch_slots: 10 * k, slot_ms, safe_slots: 2 * k },
            later: Parameters { epoch_slots: genesis.shelley.epoch_slots, slot_ms: network.slot_ms, safe_slots: stability },
        })
    }

    /// Appends all eras with their bounds. The last one ends as late as is sure where `next_slot` comes behind the tip: at the
    /// end of the epoch that the safe zone reaches into.
    pub fn encode(&self, out: &mut Vec<u8>, next_slot: u64) {
        let epochs = next_slot.saturating_add(self.later.safe_slots).div_ceil(self.later.epoch_slots);
        out.begin_array();
        summary(out, &self.byron, 0);
        (0..PAST_ERAS).for_each(|_| summary(out, &self.later, 0));
        summary(out, &self.later, epochs);
        out.end();
    }
}

/// Appends an era that begins with slot 0 and ends with an epoch.
fn summary(out: &mut Vec<u8>, parameters: &Parameters, end: u64) {
    let Parameters { epoch_slots, slot_ms, safe_slots } = *parameters;
    out.array(3);
    for epoch in [0, end] {
        let slot = epoch.saturating_mul(epoch_slots);
        out.array(3);
        picoseconds(out, u128::from(slot) * u128::from(slot_ms) * PICOS);
        out.uint(slot);
        out.uint(epoch);
    }
    // The [0] is a rest of an older form; the last number is the window of Genesis mode.
    out.array(4);
    out.uint(epoch_slots);
    out.uint(slot_ms);
    out.array(3);
    out.uint(0);
    out.uint(safe_slots);
    out.numbers(&[0]);
    out.uint(safe_slots);
}

/// Appends a whole number, which is a big one for CBOR from 214 days on.
fn picoseconds(out: &mut Vec<u8>, number: u128) {
    if let Ok(small) = u64::try_from(number) {
        return out.uint(small);
    }
    let bytes = number.to_be_bytes();
    let zeros = number.leading_zeros() as usize / 8;
    out.tag(2);
    out.bytes(&bytes[zeros..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_big_numbers_where_they_must_be() {
        let encoded = |number| {
            let mut out = Vec::new();
            picoseconds(&mut out, number);
            out
        };
        assert_eq!(encoded(u128::from(u64::MAX)), [&[0x1b][..], &[0xff; 8]].concat());
        // 1,040 days, after which mainnet's Byron era ended.
        assert_eq!(encoded(89_856_000 * 1_000 * PICOS), [0xc2, 0x49, 0x04, 0xdf, 0x00, 0xa3, 0xec, 0x29, 0x80, 0x00, 0x00]);
    }
}
