//! Exact shares.

use serde::{Deserialize, Serialize};

/// A share from 0 to 1, as a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ratio {
    numerator: u64,
    denominator: u64,
}

impl Ratio {
    /// Nothing.
    pub const ZERO: Self = Self { numerator: 0, denominator: 1 };
    /// All.
    pub const ONE: Self = Self { numerator: 1, denominator: 1 };

    /// A share; None where it is no number from 0 to 1.
    pub fn new(numerator: u64, denominator: u64) -> Option<Self> {
        (numerator <= denominator && denominator > 0).then_some(Self { numerator, denominator })
    }

    /// The share that a decimal number in a genesis file means: 0.05 is 1/20, and not the nearest binary fraction.
    ///
    /// None outside 0 to 1, and where it has more than 17 decimals.
    pub fn from_decimal(number: f64) -> Option<Self> {
        // The shortest decimal that reads as this f64 is the file's text, which has at most 15 significant digits.
        let text = format!("{number}");
        let (whole, decimals) = text.split_once('.').unwrap_or((&text, ""));
        if decimals.len() > 17 {
            return None;
        }
        let digits = format!("{whole}{decimals}").parse().ok()?;
        Self::new(digits, 10u64.pow(decimals.len() as u32))
    }

    /// Above the line.
    pub fn numerator(&self) -> u64 {
        self.numerator
    }

    /// Below the line.
    pub fn denominator(&self) -> u64 {
        self.denominator
    }

    /// Whether it is nothing.
    pub fn is_zero(&self) -> bool {
        self.numerator == 0
    }

    /// Whether it is all.
    pub fn is_one(&self) -> bool {
        self.numerator == self.denominator
    }

    /// The nearest f64.
    pub fn as_f64(&self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// The whole number at or above `count` times this share.
    pub fn ceil_of(&self, count: u64) -> u128 {
        (u128::from(count) * u128::from(self.numerator)).div_ceil(u128::from(self.denominator))
    }

    /// The whole number at or above `count` divided by this share, at most `u64::MAX`; that too for a share of 0.
    pub fn ceil_div(&self, count: u64) -> u64 {
        if self.is_zero() {
            return u64::MAX;
        }
        let quotient = (u128::from(count) * u128::from(self.denominator)).div_ceil(u128::from(self.numerator));
        quotient.min(u128::from(u64::MAX)) as u64
    }

    /// The whole number at or below 1 divided by this share; `u64::MAX` for 0.
    pub fn floor_of_inverse(&self) -> u64 {
        self.denominator.checked_div(self.numerator).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_taken_as_written() {
        for (text, numerator, denominator) in
            [("0.05", 5, 100), ("1", 1, 1), ("1.0", 1, 1), ("0.0", 0, 1), ("0.123456789012345", 123_456_789_012_345, 1_000_000_000_000_000)]
        {
            let number: f64 = text.parse().unwrap();
            assert_eq!(Ratio::from_decimal(number), Ratio::new(numerator, denominator), "{text}");
            assert!(Ratio::from_decimal(number).is_some(), "{text}");
        }
        for number in [-0.1, 1.5, f64::NAN, f64::INFINITY, 1e-20] {
            assert_eq!(Ratio::from_decimal(number), None, "{number}");
        }
        assert_eq!((Ratio::new(2, 1), Ratio::new(0, 0)), (None, None));
    }

    #[test]
    fn products_and_quotients_are_rounded_up() {
        let twentieth = Ratio::from_decimal(0.05).unwrap();
        assert_eq!((twentieth.ceil_of(20), twentieth.ceil_of(21)), (1, 2));
        assert_eq!((twentieth.ceil_div(1_296), Ratio::ZERO.ceil_div(1)), (25_920, u64::MAX));
        assert_eq!(Ratio::new(2, 5).unwrap().floor_of_inverse(), 2);
        assert_eq!(Ratio::ONE.ceil_of(u64::MAX), u128::from(u64::MAX));
    }
}
