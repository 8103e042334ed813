//! The protocol parameters that forged chains keep to, and that their genesis files state.
//!
//! Sizes, fees and prices are those of the public networks in the Conway era; slots and the block size are those of the
//! benchmarking cluster. The cost models are those in the public networks' Alonzo and Conway genesis files.

/// Major and minor protocol version in every header.
pub const PROTOCOL_VERSION: (u64, u64) = (10, 0);
/// Network id in addresses: a test network.
pub const NETWORK_ID: u8 = 0;
/// Number of the network, which nodes exchange before anything else.
pub const NETWORK_MAGIC: u32 = 42;
/// When slot 0 begins: 2025-01-01T00:00:00Z, in seconds since 1970.
pub const SYSTEM_START_S: u64 = 1_735_689_600;
/// The same as the Shelley genesis states it.
pub const SYSTEM_START: &str = "2025-01-01T00:00:00Z";
/// A slot has a leader in one of so many cases (active slot coefficient 0.05).
pub const SLOTS_PER_BLOCK: u64 = 20;
/// KES periods that an operational certificate is good for.
pub const MAX_KES_EVOLUTIONS: u64 = 62;

/// Bytes of a header at most.
pub const MAX_HEADER_BYTES: u64 = 1_100;
/// Bytes of a block's body at most.
pub const MAX_BLOCK_BODY_BYTES: u64 = 90_112;
/// Bytes of a transaction at most.
pub const MAX_TX_BYTES: u64 = 16_384;
/// Least fee: lovelace a transaction.
pub const MIN_FEE_CONSTANT: u64 = 155_381;
/// Least fee: lovelace a byte of a transaction.
pub const MIN_FEE_PER_BYTE: u64 = 44;
/// Least fee: lovelace a byte of a reference script.
pub const REFERENCE_SCRIPT_FEE_PER_BYTE: u64 = 15;
/// Lovelace a byte that an output must hold at least.
pub const LOVELACE_PER_UTXO_BYTE: u64 = 4_310;
/// The same as the Alonzo genesis states it: lovelace a word of 8 bytes, which is rounded down to bytes.
pub const LOVELACE_PER_UTXO_WORD: u64 = 34_482;
/// Lovelace that can exist.
pub const MAX_LOVELACE: u64 = 45_000_000_000_000_000;
/// Lovelace that a DRep deposits.
pub const DREP_DEPOSIT: u64 = 500_000_000;
/// Lovelace that a stake key deposits.
pub const KEY_DEPOSIT: u64 = 2_000_000;
/// Lovelace that a pool deposits.
pub const POOL_DEPOSIT: u64 = 500_000_000;
/// Bytes of an output's value at most.
pub const MAX_VALUE_BYTES: u64 = 5_000;
/// Inputs that may be collateral.
pub const MAX_COLLATERAL_INPUTS: u64 = 3;
/// Collateral must be so many percent of the fee.
pub const COLLATERAL_PERCENT: u64 = 150;

/// Memory units a transaction may use.
pub const MAX_TX_MEMORY: u64 = 14_000_000;
/// Steps that a transaction may use.
pub const MAX_TX_STEPS: u64 = 10_000_000_000;
/// Memory units a block may use.
pub const MAX_BLOCK_MEMORY: u64 = 62_000_000;
/// Steps that a block may use.
pub const MAX_BLOCK_STEPS: u64 = 40_000_000_000;
/// Price of a memory unit in lovelace, as numerator and denominator.
pub const MEMORY_PRICE: (u64, u64) = (577, 10_000);
/// Price of a step in lovelace, as numerator and denominator.
pub const STEP_PRICE: (u64, u64) = (721, 10_000_000);

/// Parameters of Plutus V1's cost model, in the ledger's order.
#[rustfmt::skip]
pub const PLUTUS_V1_COST_MODEL: [i64; 166] = [
    205_665, 812, 1, 1, 1_000, 571, 0, 1, 1_000, 24_177, 4, 1, 1_000, 32, 117_366, 10_475, 4, 23_000, 100, 23_000, 100, 23_000, 100,
    23_000, 100, 23_000, 100, 23_000, 100, 100, 100, 23_000, 100, 19_537, 32, 175_354, 32, 46_417, 4, 221_973, 511, 0, 1, 89_141,
    32, 497_525, 14_068, 4, 2, 196_500, 453_240, 220, 0, 1, 1, 1_000, 28_662, 4, 2, 245_000, 216_773, 62, 1, 1_060_367, 12_586, 1,
    208_512, 421, 1, 187_000, 1_000, 52_998, 1, 80_436, 32, 43_249, 32, 1_000, 32, 80_556, 1, 57_667, 4, 1_000, 10, 197_145, 156, 1,
    197_145, 156, 1, 204_924, 473, 1, 208_896, 511, 1, 52_467, 32, 64_832, 32, 65_493, 32, 22_558, 32, 16_563, 32, 76_511, 32,
    196_500, 453_240, 220, 0, 1, 1, 69_522, 11_687, 0, 1, 60_091, 32, 196_500, 453_240, 220, 0, 1, 1, 196_500, 453_240, 220, 0, 1,
    1, 806_990, 30_482, 4, 1_927_926, 82_523, 4, 265_318, 0, 4, 0, 85_931, 32, 205_665, 812, 1, 1, 41_182, 32, 212_342, 32, 31_220,
    32, 32_696, 32, 43_357, 32, 32_247, 32, 38_314, 32, 57_996_947, 18_975, 10,
];

/// Parameters of Plutus V2's cost model, in the ledger's order: those of the public networks. No public genesis file has them: they were voted in.
#[rustfmt::skip]
pub const PLUTUS_V2_COST_MODEL: [i64; 175] = [
    205_665, 812, 1, 1, 1_000, 571, 0, 1, 1_000, 24_177, 4, 1, 1_000, 32, 117_366, 10_475, 4, 23_000, 100, 23_000, 100, 23_000, 100,
    23_000, 100, 23_000, 100, 23_000, 100, 100, 100, 23_000, 100, 19_537, 32, 175_354, 32, 46_417, 4, 221_973, 511, 0, 1, 89_141,
    32, 497_525, 14_068, 4, 2, 196_500, 453_240, 220, 0, 1, 1, 1_000, 28_662, 4, 2, 245_000, 216_773, 62, 1, 1_060_367, 12_586, 1,
    208_512, 421, 1, 187_000, 1_000, 52_998, 1, 80_436, 32, 43_249, 32, 1_000, 32, 80_556, 1, 57_667, 4, 1_000, 10, 197_145, 156, 1,
    197_145, 156, 1, 204_924, 473, 1, 208_896, 511, 1, 52_467, 32, 64_832, 32, 65_493, 32, 22_558, 32, 16_563, 32, 76_511, 32,
    196_500, 453_240, 220, 0, 1, 1, 69_522, 11_687, 0, 1, 60_091, 32, 196_500, 453_240, 220, 0, 1, 1, 196_500, 453_240, 220, 0, 1,
    1, 1_159_724, 392_670, 0, 2, 806_990, 30_482, 4, 1_927_926, 82_523, 4, 265_318, 0, 4, 0, 85_931, 32, 205_665, 812, 1, 1, 41_182,
    32, 212_342, 32, 31_220, 32, 32_696, 32, 43_357, 32, 32_247, 32, 38_314, 32, 35_892_428, 10, 57_996_947, 18_975, 10, 38_887_044,
    32_947, 10,
];

/// Parameters of Plutus V3's cost model, in the ledger's order.
#[rustfmt::skip]
pub const PLUTUS_V3_COST_MODEL: [i64; 251] = [
    100_788, 420, 1, 1, 1_000, 173, 0, 1, 1_000, 59_957, 4, 1, 11_183, 32, 201_305, 8_356, 4, 16_000, 100, 16_000, 100, 16_000, 100,
    16_000, 100, 16_000, 100, 16_000, 100, 100, 100, 16_000, 100, 94_375, 32, 132_994, 32, 61_462, 4, 72_010, 178, 0, 1, 22_151, 32,
    91_189, 769, 4, 2, 85_848, 123_203, 7_305, -900, 1_716, 549, 57, 85_848, 0, 1, 1, 1_000, 42_921, 4, 2, 24_548, 29_498, 38, 1, 898_148,
    27_279, 1, 51_775, 558, 1, 39_184, 1_000, 60_594, 1, 141_895, 32, 83_150, 32, 15_299, 32, 76_049, 1, 13_169, 4, 22_100, 10, 28_999,
    74, 1, 28_999, 74, 1, 43_285, 552, 1, 44_749, 541, 1, 33_852, 32, 68_246, 32, 72_362, 32, 7_243, 32, 7_391, 32, 11_546, 32, 85_848,
    123_203, 7_305, -900, 1_716, 549, 57, 85_848, 0, 1, 90_434, 519, 0, 1, 74_433, 32, 85_848, 123_203, 7_305, -900, 1_716, 549, 57,
    85_848, 0, 1, 1, 85_848, 123_203, 7_305, -900, 1_716, 549, 57, 85_848, 0, 1, 955_506, 213_312, 0, 2, 270_652, 22_588, 4, 1_457_325,
    64_566, 4, 20_467, 1, 4, 0, 141_992, 32, 100_788, 420, 1, 1, 81_663, 32, 59_498, 32, 20_142, 32, 24_588, 32, 20_744, 32, 25_933, 32,
    24_623, 32, 43_053_543, 10, 53_384_111, 14_333, 10, 43_574_283, 26_308, 10, 16_000, 100, 16_000, 100, 962_335, 18, 2_780_678, 6,
    442_008, 1, 52_538_055, 3_756, 18, 267_929, 18, 76_433_006, 8_868, 18, 52_948_122, 18, 1_995_836, 36, 3_227_919, 12, 901_022, 1,
    166_917_843, 4_307, 36, 284_546, 36, 158_221_314, 26_549, 36, 74_698_472, 36, 333_849_714, 1, 254_006_273, 72, 2_174_038, 72,
    2_261_318, 64_571, 4, 207_616, 8_310, 4, 1_293_828, 28_716, 63, 0, 1, 1_006_041, 43_623, 251, 0, 1,
];

/// The least fee of a transaction in lovelace: of its size, of the bytes of scripts that it refers to, and of the units it may use.
///
/// Reference scripts cost more from 25,600 bytes on, which forged ones don't reach.
pub fn min_fee(tx_bytes: u64, reference_script_bytes: u64, memory: u64, steps: u64) -> u64 {
    let denominator = MEMORY_PRICE.1.max(STEP_PRICE.1);
    let memory_price = u128::from(memory) * u128::from(MEMORY_PRICE.0 * (denominator / MEMORY_PRICE.1));
    let step_price = u128::from(steps) * u128::from(STEP_PRICE.0 * (denominator / STEP_PRICE.1));
    let units = (memory_price + step_price).div_ceil(u128::from(denominator)) as u64;
    MIN_FEE_CONSTANT + MIN_FEE_PER_BYTE * tx_bytes + REFERENCE_SCRIPT_FEE_PER_BYTE * reference_script_bytes + units
}

/// What an output must hold at least, in lovelace, from the size of its encoding.
pub fn min_lovelace(output_bytes: u64) -> u64 {
    LOVELACE_PER_UTXO_BYTE * (160 + output_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fees_are_those_of_the_ledger() {
        assert_eq!(min_fee(300, 0, 0, 0), 168_581);
        // 14,000,000 x 0.0577 + 10,000,000,000 x 0.0000721
        assert_eq!(min_fee(0, 100, 14_000_000, 10_000_000_000), 155_381 + 1_500 + 807_800 + 721_000);
        assert_eq!(min_fee(0, 0, 1, 1), 155_382); // rounded up once
        assert_eq!(min_lovelace(65), 969_750); // of an output at a base address
    }
}
