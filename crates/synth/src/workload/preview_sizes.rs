//! Sizes of blocks on the preview network, and their numbers of transactions.
//!
//! Taken from its first 59,315 blocks (slots 0 to 1,295,990; Alonzo and Babbage). Draws are independent: that busy
//! times follow busy times isn't modelled.

use crate::random::Stream;

/// Blocks with transactions, of 59,315.
const NOT_EMPTY: u64 = 12_000;
const BLOCKS: u64 = 59_315;

/// Quantiles of the blocks with transactions, sorted by size and then by transactions:
/// (rank of 10,000, bytes of the whole block, transactions).
#[rustfmt::skip]
const QUANTILES: [(u64, u64, u64); 218] = [
    (0, 1_055, 1), (50, 1_083, 1), (100, 1_083, 1), (150, 1_083, 1), (200, 1_084, 1), (250, 1_084, 1), (300, 1_084, 1), (350, 1_084, 1),
    (400, 1_084, 1), (450, 1_084, 1), (500, 1_084, 1), (550, 1_084, 1), (600, 1_094, 1), (650, 1_136, 1), (700, 1_153, 1),
    (750, 1_153, 1), (800, 1_153, 1), (850, 1_163, 1), (900, 1_198, 1), (950, 1_223, 1), (1_000, 1_252, 1), (1_050, 1_266, 1),
    (1_100, 1_267, 1), (1_150, 1_280, 2), (1_200, 1_306, 2), (1_250, 1_313, 1), (1_300, 1_324, 1), (1_350, 1_343, 1), (1_400, 1_350, 1),
    (1_450, 1_354, 1), (1_500, 1_376, 1), (1_550, 1_386, 1), (1_600, 1_389, 1), (1_650, 1_391, 1), (1_700, 1_394, 1), (1_750, 1_398, 1),
    (1_800, 1_421, 1), (1_850, 1_442, 2), (1_900, 1_449, 1), (1_950, 1_479, 1), (2_000, 1_483, 1), (2_050, 1_487, 1), (2_100, 1_511, 1),
    (2_150, 1_544, 2), (2_200, 1_581, 1), (2_250, 1_613, 2), (2_300, 1_660, 1), (2_350, 1_681, 1), (2_400, 1_723, 3), (2_450, 1_763, 1),
    (2_500, 1_774, 1), (2_550, 1_780, 1), (2_600, 1_784, 1), (2_650, 1_787, 1), (2_700, 1_791, 1), (2_750, 1_794, 1), (2_800, 1_797, 1),
    (2_850, 1_799, 1), (2_900, 1_802, 1), (2_950, 1_804, 1), (3_000, 1_807, 1), (3_050, 1_809, 1), (3_100, 1_810, 1), (3_150, 1_812, 1),
    (3_200, 1_813, 2), (3_250, 1_815, 1), (3_300, 1_816, 1), (3_350, 1_818, 1), (3_400, 1_819, 1), (3_450, 1_820, 1), (3_500, 1_821, 1),
    (3_550, 1_822, 1), (3_600, 1_823, 1), (3_650, 1_825, 1), (3_700, 1_827, 1), (3_750, 1_828, 1), (3_800, 1_829, 1), (3_850, 1_830, 1),
    (3_900, 1_831, 1), (3_950, 1_833, 1), (4_000, 1_834, 1), (4_050, 1_835, 1), (4_100, 1_836, 1), (4_150, 1_837, 1), (4_200, 1_839, 1),
    (4_250, 1_840, 1), (4_300, 1_840, 2), (4_350, 1_842, 1), (4_400, 1_843, 1), (4_450, 1_844, 1), (4_500, 1_845, 1), (4_550, 1_847, 1),
    (4_600, 1_848, 1), (4_650, 1_850, 1), (4_700, 1_851, 1), (4_750, 1_852, 1), (4_800, 1_854, 1), (4_850, 1_855, 1), (4_900, 1_857, 1),
    (4_950, 1_858, 1), (5_000, 1_860, 1), (5_050, 1_862, 1), (5_100, 1_863, 1), (5_150, 1_864, 1), (5_200, 1_867, 1), (5_250, 1_869, 1),
    (5_300, 1_870, 1), (5_350, 1_873, 1), (5_400, 1_875, 1), (5_450, 1_877, 1), (5_500, 1_880, 1), (5_550, 1_884, 1), (5_600, 1_886, 1),
    (5_650, 1_889, 1), (5_700, 1_893, 1), (5_750, 1_897, 1), (5_800, 1_903, 1), (5_850, 1_911, 1), (5_900, 1_916, 2), (5_950, 1_924, 2),
    (6_000, 1_947, 2), (6_050, 1_989, 1), (6_100, 2_013, 3), (6_150, 2_029, 2), (6_200, 2_041, 2), (6_250, 2_053, 2), (6_300, 2_063, 2),
    (6_350, 2_074, 2), (6_400, 2_090, 2), (6_450, 2_104, 2), (6_500, 2_121, 2), (6_550, 2_141, 3), (6_600, 2_169, 2), (6_650, 2_200, 6),
    (6_700, 2_232, 3), (6_750, 2_260, 2), (6_800, 2_289, 2), (6_850, 2_318, 3), (6_900, 2_336, 2), (6_950, 2_351, 3), (7_000, 2_370, 3),
    (7_050, 2_386, 2), (7_100, 2_405, 3), (7_150, 2_436, 2), (7_200, 2_469, 2), (7_250, 2_506, 2), (7_300, 2_538, 2), (7_350, 2_596, 3),
    (7_400, 2_661, 3), (7_450, 2_719, 3), (7_500, 2_764, 3), (7_550, 2_824, 3), (7_600, 2_881, 4), (7_650, 2_919, 1), (7_700, 2_974, 3),
    (7_750, 3_037, 2), (7_800, 3_111, 4), (7_850, 3_212, 4), (7_900, 3_343, 6), (7_950, 3_465, 9), (8_000, 3_662, 5), (8_050, 3_857, 5),
    (8_100, 4_043, 11), (8_150, 4_335, 2), (8_200, 4_504, 1), (8_250, 4_504, 1), (8_300, 4_513, 1), (8_350, 4_576, 1), (8_400, 4_779, 1),
    (8_450, 4_949, 2), (8_500, 5_088, 10), (8_550, 5_217, 2), (8_600, 5_300, 3), (8_650, 5_364, 1), (8_700, 5_475, 2), (8_750, 5_529, 2),
    (8_800, 5_660, 2), (8_850, 5_819, 2), (8_900, 5_939, 1), (8_950, 6_120, 2), (9_000, 6_253, 4), (9_050, 6_348, 3), (9_100, 6_542, 5),
    (9_150, 6_789, 1), (9_200, 7_016, 2), (9_250, 7_235, 2), (9_300, 7_519, 7), (9_350, 7_786, 2), (9_400, 8_158, 6), (9_450, 8_605, 5),
    (9_500, 9_100, 3), (9_550, 9_786, 2), (9_600, 10_554, 2), (9_650, 11_582, 2), (9_700, 12_462, 11), (9_750, 13_714, 1),
    (9_800, 14_999, 1), (9_850, 15_513, 3), (9_900, 16_352, 1), (9_910, 16_620, 7), (9_920, 17_017, 10), (9_930, 17_357, 5),
    (9_940, 17_791, 3), (9_950, 18_547, 5), (9_960, 20_281, 4), (9_970, 21_737, 2), (9_980, 29_366, 4), (9_990, 63_876, 14),
    (9_991, 63_876, 14), (9_992, 63_876, 14), (9_993, 63_876, 14), (9_994, 63_876, 14), (9_995, 63_876, 14), (9_996, 63_876, 14),
    (9_997, 63_876, 14), (9_998, 63_876, 14), (9_999, 63_876, 14), (10_000, 64_074, 210),
];

/// A block with transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockShape {
    /// Bytes of the whole block.
    pub(super) bytes: u64,
    pub(super) transactions: u64,
}

/// Draws a block; None for one without transactions.
pub(super) fn draw(stream: &mut Stream) -> Option<BlockShape> {
    (stream.below(BLOCKS) < NOT_EMPTY).then(|| at(stream.below(10_000 * FINE)))
}

/// Parts of a rank, so that sizes between two quantiles come out too.
const FINE: u64 = 1_000;

/// The block at a rank of 10,000 x [`FINE`]: sizes between two quantiles lie on a line, transactions are the nearer one's.
fn at(rank: u64) -> BlockShape {
    let upper = QUANTILES.partition_point(|&(quantile, ..)| quantile * FINE <= rank).min(QUANTILES.len() - 1);
    let (low, high) = (QUANTILES[upper - 1], QUANTILES[upper]);
    let (passed, whole) = (rank - low.0 * FINE, (high.0 - low.0) * FINE);
    let bytes = low.1 + (high.1 - low.1) * passed / whole;
    BlockShape { bytes, transactions: if passed * 2 < whole { low.2 } else { high.2 } }
}

#[cfg(test)]
mod tests {
    use slotmark_chain::{Chain, Decoder};

    use super::*;

    #[test]
    fn quantiles_ascend() {
        assert!(QUANTILES.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1));
        assert_eq!((QUANTILES[0].0, QUANTILES[QUANTILES.len() - 1].0), (0, 10_000));
    }

    #[test]
    fn drawn_blocks_lie_in_the_table() {
        for (rank, bytes, transactions) in QUANTILES {
            let shape = at((rank * FINE).min(10_000 * FINE - 1));
            assert!(shape.bytes.abs_diff(bytes) <= 10, "{shape:?} at {rank}"); // the last one is cut by one part
            assert_eq!(shape.transactions, transactions);
        }
    }

    #[test]
    #[ignore = "needs the shared data: the real chain"]
    fn the_table_is_that_of_the_real_chain() {
        let folder = std::env::var_os("SLOTMARK_PREVIEW_CHAIN").expect("SLOTMARK_PREVIEW_CHAIN names the real chain's folder");
        let chain = Chain::open(folder).expect("a chain");
        let mut decoder = Decoder::new();
        let mut real = Vec::new();
        for index in 0..chain.len() {
            let bytes = chain.bytes(index);
            let transactions = decoder.decode(bytes).expect("a block").transactions.len() as u64;
            if transactions > 0 {
                real.push((bytes.len() as u64, transactions));
            }
        }
        real.sort_unstable();
        assert_eq!((chain.len() as u64, real.len() as u64), (BLOCKS, NOT_EMPTY));
        for (rank, bytes, transactions) in QUANTILES {
            let place = (rank as usize * real.len() / 10_000).min(real.len() - 1);
            assert_eq!((bytes, transactions), real[place], "at rank {rank}");
        }
    }
}
