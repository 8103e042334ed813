//! Quantities with their units, as profiles write them: `21.26ms`, `88.96kB`, `10Gbit/s`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A span of virtual time in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(
    /// Nanoseconds.
    pub u64,
);

/// A size in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(
    /// Bytes.
    pub u64,
);

/// A rate of transfer in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct BitRate(
    /// Bits per second.
    pub u64,
);

/// A rate at which transactions are offered, in bytes per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Load(
    /// Bytes per second.
    pub u64,
);

/// The kind of a quantity; each has units of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A duration, in ns at the least.
    Duration,
    /// A size, in bytes.
    Size,
    /// A rate of transfer, in bits per second.
    Rate,
    /// A rate at which transactions are offered, in bytes per second.
    Load,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Duration, Self::Size, Self::Rate, Self::Load];

    /// The units it may be written in, with what each is worth in the smallest.
    pub fn units(self) -> &'static [(&'static str, f64)] {
        match self {
            Self::Duration => &[("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 6e10), ("h", 3.6e12)],
            Self::Size => {
                &[("B", 1.0), ("kB", 1e3), ("KiB", 1024.0), ("MB", 1e6), ("MiB", 1_048_576.0), ("GB", 1e9), ("GiB", 1_073_741_824.0)]
            }
            Self::Rate => &[("bit/s", 1.0), ("kbit/s", 1e3), ("Mbit/s", 1e6), ("Gbit/s", 1e9)],
            Self::Load => &[("B/s", 1.0), ("kB/s", 1e3), ("MB/s", 1e6)],
        }
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Duration => "a duration",
            Self::Size => "a size",
            Self::Rate => "a rate of transfer",
            Self::Load => "a load",
        }
    }
}

/// A number with a unit, as it is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity<'t> {
    /// The number, 0 or more.
    pub number: f64,
    /// The unit; empty where there is none.
    pub unit: &'t str,
    /// The unit's kind, and its value in the smallest of its kind; None where there is no unit.
    pub of: Option<(Kind, f64)>,
}

impl<'t> Quantity<'t> {
    /// Takes a text such as `21.26ms`, `0 ms` or `1e3` apart; None where it is no number, or its unit is unknown.
    pub fn parse(text: &'t str) -> Option<Self> {
        let text = text.trim();
        let digits = |from: usize| from + text[from..].bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
        let mut end = digits(0);
        if let Some(exponent) = text[end..].strip_prefix(['e', 'E']) {
            let signed = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            if signed.starts_with(|sign: char| sign.is_ascii_digit()) {
                end = digits(text.len() - signed.len());
            }
        }
        let (number, unit) = (text[..end].parse::<f64>().ok()?, text[end..].trim_start());
        if unit.is_empty() {
            return Some(Self { number, unit, of: None });
        }
        let of = Kind::ALL.into_iter().find_map(|kind| {
            let (_, worth) = kind.units().iter().find(|(known, _)| *known == unit)?;
            Some((kind, *worth))
        })?;
        Some(Self { number, unit, of: Some(of) })
    }
}

fn parse(text: &str, kind: Kind) -> Result<u64, String> {
    let known =
        Quantity::parse(text).and_then(|quantity| quantity.of.filter(|(found, _)| *found == kind).map(|of| (quantity.number, of.1)));
    let Some((number, worth)) = known else {
        let units: Vec<&str> = kind.units().iter().map(|(unit, _)| *unit).collect();
        return Err(format!("`{text}` is not {}; write a number and one of {}", kind.name(), units.join(", ")));
    };
    let value = number * worth;
    if value >= 1.8e19 {
        return Err(format!("`{text}` is out of range for {}", kind.name()));
    }
    Ok((value + 0.5) as u64)
}

/// The quantity in the largest unit that leaves it at 1 or more, written so that it parses to the same number.
fn show(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, f64)]) -> fmt::Result {
    let (unit, factor) = units.iter().rev().find(|(_, factor)| value as f64 >= *factor).unwrap_or(&units[0]);
    write!(f, "{}{unit}", value as f64 / factor)
}

/// A profile's value in the place of a quantity; a bare number is read so that the error can name what it lacks.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Text(String),
    Bare(f64),
}

macro_rules! quantity {
    ($name:ident, $kind:expr, $shown:expr) => {
        impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                parse(text, $kind).map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                show(f, self.0, $shown)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = match Written::deserialize(deserializer)? {
                    Written::Text(text) => text,
                    Written::Bare(number) => number.to_string(),
                };
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

quantity!(Span, Kind::Duration, &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)]);
quantity!(Bytes, Kind::Size, &[("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9)]);
quantity!(BitRate, Kind::Rate, Kind::Rate.units());
quantity!(Load, Kind::Load, Kind::Load.units());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantity_is_read_with_its_unit_and_written_so_that_it_reads_the_same() {
        assert_eq!("21.26ms".parse(), Ok(Span(21_260_000)));
        assert_eq!("0 ms".parse(), Ok(Span(0)));
        assert_eq!("88.96kB".parse(), Ok(Bytes(88_960)));
        assert_eq!("10Gbit/s".parse(), Ok(BitRate(10_000_000_000)));
        assert_eq!("4.5kB/s".parse(), Ok(Load(4_500)));
        for ns in [0, 1, 999, 1_000, 21_264_321, 90_200_000, 1_000_000_001] {
            assert_eq!(Span(ns).to_string().parse(), Ok(Span(ns)));
        }
    }

    #[test]
    fn a_number_without_a_unit_is_refused_with_the_units_it_may_have() {
        let error = "33".parse::<Span>().unwrap_err();
        assert!(error.contains("ms") && error.contains("33"), "{error}");
        assert!("33kB".parse::<Span>().is_err());
        assert!("33kB/s".parse::<BitRate>().is_err());
        for text in ["-1ms", "ms", "", "1..2ms", "1e400s", "nan", "infs", "1 fortnight", "1e-", "1µ"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
        assert_eq!("1e3us".parse(), Ok(Span(1_000_000)));
        assert_eq!(".5 µs".parse(), Ok(Span(500)));
    }
}
