//! Calendar time without a library.

/// Seconds since 1970 of a time like `2025-08-01T16:54:49Z`.
pub(crate) fn parse_start(text: &str) -> Option<u64> {
    let bytes = text.as_bytes();
    if bytes.len() != 20 || bytes[10] != b'T' || bytes[19] != b'Z' {
        return None;
    }
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<u64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let days = days_before(year, month) + day - 1;
    Some(days * 86_400 + hour * 3_600 + minute * 60 + second)
}

/// Days from 1970-01-01 to the first of a month.
fn days_before(year: u64, month: u64) -> u64 {
    // Years that begin in March, so that the leap day is the last.
    let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    year * 365 + year / 4 - year / 100 + year / 400 + (month * 306 + 5) / 10 - 719_468
}

#[cfg(test)]
mod tests {
    use slotmark_tracelog::date_of;

    use super::*;

    #[test]
    fn dates_go_there_and_back() {
        assert_eq!(parse_start("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(parse_start("2025-08-01T16:54:49Z"), Some(1_754_067_289));
        for days in (0..40_000).step_by(13) {
            let (year, month, day) = date_of(days);
            assert_eq!(parse_start(&format!("{year:04}-{month:02}-{day:02}T00:00:00Z")), Some(days * 86_400));
        }
        assert_eq!(parse_start("2025-08-01"), None);
    }
}
