//! Exact fractions.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number that isn't negative, as a fraction. In a genesis file it is a decimal number, or an object of numerator and denominator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    numerator: u64,
    denominator: u64,
}

/// The forms in genesis files.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Whole(u64),
    Decimal(f64),
    Fraction { numerator: u64, denominator: u64 },
}

impl Ratio {
    /// Nothing.
    pub const ZERO: Self = Self { numerator: 0, denominator: 1 };
    /// All.
    pub const ONE: Self = Self { numerator: 1, denominator: 1 };

    /// A fraction; None where its denominator is 0.
    pub const fn new(numerator: u64, denominator: u64) -> Option<Self> {
        if denominator == 0 { None } else { Some(Self { numerator, denominator }) }
    }

    /// A share; None where it is no number from 0 to 1.
    pub fn share(numerator: u64, denominator: u64) -> Option<Self> {
        Self::new(numerator, denominator).filter(Self::is_share)
    }

    /// The fraction that a decimal number in a genesis file means: 0.05 is 1/20, and not the nearest binary fraction.
    ///
    /// None below 0, and where it has more than 17 decimals.
    pub fn from_decimal(number: f64) -> Option<Self> {
        // The shortest decimal that reads as this f64 is the file's text, which has at most 15 significant digits.
        let text = format!("{number}");
        let (whole, decimals) = text.split_once('.').unwrap_or((&text, ""));
        if decimals.len() > 17 {
            return None;
        }
        Self::new(format!("{whole}{decimals}").parse().ok()?, 10u64.pow(decimals.len() as u32))
    }

    /// Above the line.
    pub const fn numerator(&self) -> u64 {
        self.numerator
    }

    /// Below the line; not 0.
    pub const fn denominator(&self) -> u64 {
        self.denominator
    }

    /// Returns whether it is from 0 to 1.
    pub fn is_share(&self) -> bool {
        self.numerator <= self.denominator
    }

    /// Returns whether it is 0.
    pub fn is_zero(&self) -> bool {
        self.numerator == 0
    }

    /// Returns whether it is 1.
    pub fn is_one(&self) -> bool {
        self.numerator == self.denominator
    }

    /// The nearest f64.
    pub fn as_f64(&self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// The whole number at or above `count` times this fraction.
    pub fn ceil_of(&self, count: u64) -> u128 {
        (u128::from(count) * u128::from(self.numerator)).div_ceil(u128::from(self.denominator))
    }

    /// The whole number at or above `count` divided by this fraction, at most `u64::MAX`; that too for a fraction of 0.
    pub fn ceil_div(&self, count: u64) -> u64 {
        if self.is_zero() {
            return u64::MAX;
        }
        let quotient = (u128::from(count) * u128::from(self.denominator)).div_ceil(u128::from(self.numerator));
        quotient.min(u128::from(u64::MAX)) as u64
    }

    /// The whole number at or below 1 divided by this fraction; `u64::MAX` for 0.
    pub fn floor_of_inverse(&self) -> u64 {
        self.denominator.checked_div(self.numerator).unwrap_or(u64::MAX)
    }

    /// Returns whether a part of a whole is this share of it or more. A part of nothing is no share of it.
    pub fn is_reached(&self, part: u64, whole: u64) -> bool {
        let part = if whole == 0 { 0 } else { part };
        u128::from(part) * u128::from(self.denominator) >= u128::from(whole.max(1)) * u128::from(self.numerator)
    }

    /// The larger one of two.
    pub fn or_larger(self, other: Self) -> Self {
        if other.is_reached(self.numerator, self.denominator) { self } else { other }
    }

    /// The same number in its lowest terms.
    pub fn reduced(&self) -> Self {
        let (mut divisor, mut rest) = (self.denominator, self.numerator);
        while rest > 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        Self { numerator: self.numerator / divisor, denominator: self.denominator / divisor }
    }
}

impl Default for Ratio {
    /// Nothing.
    fn default() -> Self {
        Self::ZERO
    }
}

impl Serialize for Ratio {
    /// As a decimal number for people, which is a whole one where the denominator is 1; exactly for programs.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (serializer.is_human_readable(), self.denominator) {
            (true, 1) => serializer.serialize_u64(self.numerator),
            (true, _) => serializer.serialize_f64(self.as_f64()),
            (false, _) => (self.numerator, self.denominator).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Ratio {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = if deserializer.is_human_readable() {
            match Written::deserialize(deserializer) {
                Ok(Written::Whole(number)) => Self::new(number, 1),
                Ok(Written::Decimal(number)) => Self::from_decimal(number),
                Ok(Written::Fraction { numerator, denominator }) => Self::new(numerator, denominator),
                Err(_) => None,
            }
        } else {
            let (numerator, denominator) = Deserialize::deserialize(deserializer)?;
            Self::new(numerator, denominator)
        };
        read.ok_or_else(|| D::Error::custom("expected a number from 0 on, as a decimal or a fraction"))
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
            assert_eq!(Ratio::from_decimal(number), Ratio::share(numerator, denominator), "{text}");
            assert!(Ratio::from_decimal(number).is_some(), "{text}");
        }
        for number in [-0.1, f64::NAN, f64::INFINITY, 1e-20] {
            assert_eq!(Ratio::from_decimal(number), None, "{number}");
        }
        assert_eq!((Ratio::share(2, 1), Ratio::new(2, 1).map(|two| two.as_f64()), Ratio::new(0, 0)), (None, Some(2.0), None));
    }

    #[test]
    fn files_have_decimals_or_fractions() {
        for (text, numerator, denominator, written) in
            [("15", 15, 1, "15"), ("0.0577", 577, 10_000, "0.0577"), (r#"{"numerator": 2, "denominator": 8}"#, 2, 8, "0.25")]
        {
            let read: Ratio = serde_json::from_str(text).unwrap();
            assert_eq!((Some(read), serde_json::to_string(&read).unwrap()), (Ratio::new(numerator, denominator), written.to_owned()));
        }
        for text in ["-1", "-0.5", "1e-30", r#""1""#, r#"{"numerator": 1, "denominator": 0}"#] {
            assert!(serde_json::from_str::<Ratio>(text).is_err(), "{text}");
        }
        assert_eq!(Ratio::new(6, 8).unwrap().reduced(), Ratio::new(3, 4).unwrap());
        assert_eq!(Ratio::new(0, 8).unwrap().reduced(), Ratio::ZERO);
    }

    #[test]
    fn shares_are_reached_exactly() {
        let share = Ratio::new(2, 3).unwrap();
        assert!(share.is_reached(2_000_000, 3_000_000) && !share.is_reached(1_999_999, 3_000_000));
        assert!(
            !share.is_reached(0, 0) && !share.is_reached(7, 0) && Ratio::ZERO.is_reached(0, 0) && Ratio::ONE.is_reached(u64::MAX, u64::MAX)
        );
        let half = Ratio::new(5, 10).unwrap();
        assert_eq!((share.or_larger(half), half.or_larger(share), half.or_larger(Ratio::ZERO)), (share, share, half));
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
