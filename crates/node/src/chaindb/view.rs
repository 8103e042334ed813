//! The choice between two chains.

/// Slots by which two tips may differ for their VRF outputs to decide (Conway: `VRFTiebreakerFlavor` of ouroboros-consensus).
const TIE_SLOTS: u64 = 5;
/// The facts that chain selection compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// The block's number.
    pub number: u64,
    /// Its slot.
    pub slot: u64,
    /// The pool that made it.
    pub issuer: [u8; 28],
    /// Number of its operational certificate.
    pub sequence: u64,
    /// The output of the VRF.
    pub vrf: [u8; 64],
}

impl View {
    /// Returns whether a chain that ends in this is preferred to one that ends in another: by length; of the same slot and pool, by the certificate's
    /// number; where slots are near each other, by the lower VRF output. Else a node keeps its own.
    pub fn is_preferred_to(&self, other: &Self) -> bool {
        if self.number != other.number {
            return self.number > other.number;
        }
        if self.slot == other.slot && self.issuer == other.issuer && self.sequence != other.sequence {
            return self.sequence > other.sequence;
        }
        self.slot.abs_diff(other.slot) <= TIE_SLOTS && self.vrf < other.vrf
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_compared_as_conway_has_it() {
        let view = View { number: 5, slot: 100, issuer: [1; 28], sequence: 0, vrf: [5; 64] };
        let longer = View { number: 6, slot: 90, vrf: [9; 64], ..view };
        assert!(longer.is_preferred_to(&view) && !view.is_preferred_to(&longer));
        let lower = View { slot: 105, issuer: [2; 28], vrf: [4; 64], ..view };
        assert!(lower.is_preferred_to(&view) && !view.is_preferred_to(&lower));
        // Six slots apart, each keeps its own.
        let far = View { slot: 106, ..lower };
        assert!(!far.is_preferred_to(&view) && !view.is_preferred_to(&far));
        // The same pool's later certificate comes before the VRF.
        let renewed = View { sequence: 1, vrf: [9; 64], ..view };
        assert!(renewed.is_preferred_to(&view) && !view.is_preferred_to(&renewed));
        assert!(!view.is_preferred_to(&view));
    }
}
