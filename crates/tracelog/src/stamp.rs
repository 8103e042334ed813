//! The time at the beginning of a line, as nodes write it.

/// Writes times as `2025-08-01T16:54:49.000765259Z`, one after the other: most of them share their second.
#[derive(Clone, Debug)]
pub struct Stamp {
    /// The second that `text` holds.
    second: i64,
    text: [u8; 19],
}

impl Default for Stamp {
    fn default() -> Self {
        Self { second: i64::MIN, text: [0; 19] }
    }
}

impl Stamp {
    /// Appends a line's beginning up to its namespace, `{"at":"…","ns":"`, for a time in ns since 1970.
    pub fn begin_line(&mut self, out: &mut Vec<u8>, at_ns: i128) {
        let second = (at_ns / 1_000_000_000) as i64;
        let fraction = (at_ns % 1_000_000_000) as u32;
        if second != self.second {
            self.second = second;
            let (year, month, day) = date_of(second as u64 / 86_400);
            let of_day = second as u64 % 86_400;
            let two = |value: u64| [b'0' + (value / 10) as u8, b'0' + (value % 10) as u8];
            let text = &mut self.text;
            text[0..2].copy_from_slice(&two(year / 100));
            text[2..4].copy_from_slice(&two(year % 100));
            text[4] = b'-';
            text[5..7].copy_from_slice(&two(month));
            text[7] = b'-';
            text[8..10].copy_from_slice(&two(day));
            text[10] = b'T';
            text[11..13].copy_from_slice(&two(of_day / 3_600));
            text[13] = b':';
            text[14..16].copy_from_slice(&two(of_day / 60 % 60));
            text[16] = b':';
            text[17..19].copy_from_slice(&two(of_day % 60));
        }
        out.extend_from_slice(b"{\"at\":\"");
        out.extend_from_slice(&self.text);
        if fraction > 0 {
            let mut digits = *b".000000000";
            let mut rest = fraction;
            for place in (1..10).rev() {
                digits[place] = b'0' + (rest % 10) as u8;
                rest /= 10;
            }
            let mut length = 10;
            while digits[length - 1] == b'0' {
                length -= 1;
            }
            out.extend_from_slice(&digits[..length]);
        }
        out.extend_from_slice(b"Z\",\"ns\":\"");
    }
}

/// Year, month and day of a number of days since 1970-01-01.
pub fn date_of(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let of_era = shifted % 146_097;
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}
