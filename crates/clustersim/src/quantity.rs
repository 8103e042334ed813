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

const SPANS: &[(&str, f64)] = &[("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 6e10), ("h", 3.6e12)];
const SIZES: &[(&str, f64)] =
    &[("B", 1.0), ("kB", 1e3), ("KiB", 1024.0), ("MB", 1e6), ("MiB", 1_048_576.0), ("GB", 1e9), ("GiB", 1_073_741_824.0)];
const RATES: &[(&str, f64)] = &[("bit/s", 1.0), ("kbit/s", 1e3), ("Mbit/s", 1e6), ("Gbit/s", 1e9)];

fn parse(text: &str, units: &[(&str, f64)], what: &str) -> Result<u64, String> {
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| c.is_alphabetic() || c == 'µ').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(split);
    let known = || units.iter().map(|(unit, _)| *unit).collect::<Vec<_>>().join(", ");
    let number: f64 = number.trim().parse().map_err(|_| format!("`{text}` is not {what}; write a number and one of {}", known()))?;
    let Some((_, factor)) = units.iter().find(|(known, _)| *known == unit.trim()) else {
        return Err(format!("`{text}` is not {what}; write a number and one of {}", known()));
    };
    let value = number * factor;
    if !(0.0..1.8e19).contains(&value) {
        return Err(format!("`{text}` is out of range for {what}"));
    }
    Ok((value + 0.5) as u64)
}

/// The quantity in the largest unit that leaves it at 1 or more, written so that it parses to the same number.
fn show(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, f64)]) -> fmt::Result {
    let (unit, factor) = units.iter().rev().find(|(_, factor)| value as f64 >= *factor).unwrap_or(&units[0]);
    write!(f, "{}{unit}", value as f64 / factor)
}

/// What a profile may hold in the place of a quantity; a bare number is read so that the error can say what it lacks.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Text(String),
    Bare(f64),
}

macro_rules! quantity {
    ($name:ident, $units:expr, $shown:expr, $what:literal) => {
        impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                parse(text, $units, $what).map(Self)
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

quantity!(Span, SPANS, &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)], "a duration");
quantity!(Bytes, SIZES, &[("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9)], "a size");
quantity!(BitRate, RATES, RATES, "a rate of transfer");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantity_is_read_with_its_unit_and_written_so_that_it_reads_the_same() {
        assert_eq!("21.26ms".parse(), Ok(Span(21_260_000)));
        assert_eq!("0 ms".parse(), Ok(Span(0)));
        assert_eq!("88.96kB".parse(), Ok(Bytes(88_960)));
        assert_eq!("10Gbit/s".parse(), Ok(BitRate(10_000_000_000)));
        for ns in [0, 1, 999, 1_000, 21_264_321, 90_200_000, 1_000_000_001] {
            assert_eq!(Span(ns).to_string().parse(), Ok(Span(ns)));
        }
    }

    #[test]
    fn a_number_without_a_unit_is_refused_with_the_units_it_may_have() {
        let error = "33".parse::<Span>().unwrap_err();
        assert!(error.contains("ms") && error.contains("33"), "{error}");
        assert!("33kB".parse::<Span>().is_err());
        assert!("-1ms".parse::<Span>().is_err());
    }
}
