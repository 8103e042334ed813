//! Points in time as log lines write them.

use std::ops::Range;

use crate::reason::Reason;

/// Times at which a node can have logged, in ns since 1970: from the year 2000 to the year 2200.
const PLAUSIBLE_NS: Range<i64> = 946_684_800_000_000_000..7_258_118_400_000_000_000;

/// The time of a line, in ns since 1970, out of the field that has it.
#[inline]
pub(crate) fn line_time(field: &'static str, text: &[u8]) -> Result<i64, Reason> {
    let ts_ns = parse_time(text).ok_or(Reason::Wrong(field))?;
    if PLAUSIBLE_NS.contains(&ts_ns) { Ok(ts_ns) } else { Err(Reason::OutOfRange(field)) }
}

/// Reads the times of lines that follow one another: most are of the same second as the line before.
#[derive(Default)]
pub(crate) struct LineTimes {
    /// The last time up to its second, as it is written, and in ns since 1970.
    second: Option<([u8; 19], i64)>,
}

impl LineTimes {
    /// Does as [`line_time`].
    #[inline]
    pub(crate) fn read(&mut self, field: &'static str, text: &[u8]) -> Result<i64, Reason> {
        if let (Some((second, ns)), Some((begin, [b'.', fraction @ ..]))) = (&self.second, text.split_first_chunk())
            && begin == second
            && let Some((more_ns, b"Z")) = nanoseconds(fraction)
        {
            return Ok(ns + more_ns);
        }
        let ts_ns = line_time(field, text)?;
        self.second = text.first_chunk().map(|second| (*second, ts_ns - ts_ns.rem_euclid(1_000_000_000)));
        Ok(ts_ns)
    }
}

/// Nanoseconds since 1970, UTC, of an RFC 3339 time with `Z` and up to nine digits of a fraction.
///
/// A blank in the place of the `T` is taken, as nodes of 8.x wrote it. None where it is no such time or outside int64's range.
#[must_use]
pub fn parse_time(text: &[u8]) -> Option<i64> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T' | b't' | b' ', h1, h2, b':', i1, i2, b':', s1, s2, rest @ ..] = text else {
        return None;
    };
    let mut wrong = false;
    let mut two = |tens: &u8, ones: &u8| {
        let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
        wrong |= tens > 9 || ones > 9;
        i64::from(tens) * 10 + i64::from(ones)
    };
    let year = two(y1, y2) * 100 + two(y3, y4);
    let (month, day, hour, minute, second) = (two(m1, m2), two(d1, d2), two(h1, h2), two(i1, i2), two(s1, s2));
    if wrong || !(1..=12).contains(&month) || day < 1 || day > days_in(year, month) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let (nanoseconds, rest) = match rest {
        [b'.', fraction @ ..] => nanoseconds(fraction)?,
        rest => (0, rest),
    };
    if !matches!(rest, b"Z" | b"z" | b"+00:00") {
        return None;
    }
    let seconds = days_since_1970(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
    seconds.checked_mul(1_000_000_000)?.checked_add(nanoseconds)
}

/// The nanoseconds that a fraction's one to nine digits stand for, and what comes behind them.
#[inline]
fn nanoseconds(fraction: &[u8]) -> Option<(i64, &[u8])> {
    const WORTH: [i64; 10] = [0, 100_000_000, 10_000_000, 1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];
    if let Some((&[digits @ .., last], rest)) = fraction.split_first_chunk::<9>()
        && let (Some(eight), last @ 0..=9) = (eight_digits(digits), last.wrapping_sub(b'0'))
    {
        return Some((eight * 10 + i64::from(last), rest));
    }
    let (mut number, mut digits) = (0_i64, 0);
    while let Some(digit) = fraction.get(digits).map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit <= 9 && digits < 9) {
        number = number * 10 + i64::from(digit);
        digits += 1;
    }
    (digits > 0).then(|| (number * WORTH[digits], &fraction[digits..]))
}

/// The number that eight digits are, all of which are looked at together.
#[inline]
fn eight_digits(text: [u8; 8]) -> Option<i64> {
    const EACH: u64 = u64::MAX / 255;
    let digits = u64::from_le_bytes(text).wrapping_sub(EACH * u64::from(b'0'));
    // A byte below the digits has its highest bit from here on, and one above them gets it.
    if (digits | digits.wrapping_add(EACH * (0x7f - 9))) & (EACH * 0x80) != 0 {
        return None;
    }
    let twos = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = twos.wrapping_mul(100).wrapping_add(twos >> 16) & 0x0000_ffff_0000_ffff;
    Some((fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff) as i64)
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a date of the Gregorian calendar, counted in years that begin in March.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let months_since_march = (month + 9) % 12;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + (months_since_march * 153 + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_time_is_the_same_whatever_was_read_before(
            times in prop::collection::vec("2025-12-0[1-2]T07:06:(4[0-1]|60)(\\.([0-9]{1,9}|[0-9/:;p]{8,10}))?(Z|z|\\+00:00|Z )", 1..8),
        ) {
            let mut lines = LineTimes::default();
            for time in times {
                prop_assert_eq!(lines.read("at", time.as_bytes()), line_time("at", time.as_bytes()), "{}", time);
            }
        }

        #[test]
        fn eight_digits_are_read_as_one_by_one(text in prop::array::uniform8(prop_oneof![9 => b'0'..=b'9', 1 => any::<u8>()])) {
            let expected = text.iter().try_fold(0, |number, byte| {
                byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0'))
            });
            prop_assert_eq!(eight_digits(text), expected);
        }
    }

    #[test]
    fn times_keep_their_nanoseconds() {
        assert_eq!(parse_time(b"1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(parse_time(b"2026-08-25T18:19:38.026973857Z"), Some(1_787_681_978_026_973_857));
        assert_eq!(parse_time(b"2020-05-15T19:38:20.00Z"), Some(1_589_571_500_000_000_000));
        assert_eq!(parse_time(b"2023-05-17 16:00:08.3351Z"), Some(1_684_339_208_335_100_000));
        assert_eq!(parse_time(b"2000-02-29T23:59:59.999999999+00:00"), Some(951_868_799_999_999_999));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "2025",
            "2025-13-01T00:00:00Z",
            "2025-02-29T00:00:00Z",
            "2025-01-01T24:00:00Z",
            "2025-01-01T00:00:00",
            "2025-01-01T00:00:00.Z",
            "2025-01-01T00:00:00.0123456789Z",
            "2025-01-01T00:00:00+01:00",
        ] {
            assert_eq!(parse_time(text.as_bytes()), None, "{text}");
        }
    }
}
