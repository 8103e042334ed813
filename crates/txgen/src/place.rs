//! Places that a load comes from, each with targets of its own.

use std::net::SocketAddr;
use std::str::FromStr;

/// A place: its share of all transactions, and who gets them.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// In any unit, the same for all places; above 0.
    pub share: f64,
    /// Each transaction of the place goes to one of them.
    pub targets: Vec<SocketAddr>,
}

impl FromStr for Place {
    type Err = String;

    /// `SHARE=ADDRESS:PORT,ADDRESS:PORT`
    fn from_str(text: &str) -> Result<Self, String> {
        let expected =
            || format!("'{text}': expected a share above 0 and the targets of the place, as 2.5=198.18.0.1:30000,198.18.0.2:30001");
        let (share, targets) = text.split_once('=').ok_or_else(expected)?;
        let share: f64 = share.parse().map_err(|_| expected())?;
        let targets = targets.split(',').map(str::parse).collect::<Result<Vec<_>, _>>().map_err(|_| expected())?;
        if share.is_finite() && share > 0.0 { Ok(Self { share, targets }) } else { Err(expected()) }
    }
}

/// Shares a number out among places: whole numbers that add up to it, each within one of its share.
pub fn shared_out(number: u64, places: &[Place]) -> Vec<u64> {
    let all: f64 = places.iter().map(|place| place.share).sum();
    let mut before = 0.0;
    let mut given = 0;
    let mut next = |place: &Place| {
        before += place.share;
        let until = if before >= all { number } else { ((number as f64 * before / all).round() as u64).clamp(given, number) };
        until - std::mem::replace(&mut given, until)
    };
    places.iter().map(&mut next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_and_share_numbers_out() {
        let places = ["1=127.0.0.1:1,127.0.0.1:2", "0.5=127.0.0.1:3", "2.5=127.0.0.1:4"].map(|text| text.parse::<Place>().expect(text));
        assert_eq!(places[0].targets.len(), 2);
        assert_eq!(shared_out(8, &places), [2, 1, 5]);
        for number in 0..100 {
            let shares = shared_out(number, &places);
            assert_eq!(shares.iter().sum::<u64>(), number);
            assert!(shares.iter().zip(&places).all(|(&one, place)| (one as f64 - number as f64 * place.share / 4.0).abs() <= 1.0));
        }
        for wrong in ["", "1", "0=127.0.0.1:1", "-1=127.0.0.1:1", "inf=127.0.0.1:1", "1=", "1=node-0:1"] {
            assert!(wrong.parse::<Place>().unwrap_err().contains("expected a share above 0"), "{wrong}");
        }
    }
}
