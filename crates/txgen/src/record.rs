//! Records of each transaction, and of all.

use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Serialize, Serializer};
use slotmark_chain::Hash32;

/// The times of one transaction, in ns since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Record {
    /// Its id.
    #[serde(serialize_with = "as_hex")]
    pub id: Hash32,
    /// The name of the action that it is, or `script`.
    pub action: &'static str,
    /// To whom it was offered.
    pub target: SocketAddr,
    /// Time at which it was due.
    pub due_ns: u64,
    /// Time at which its id was sent.
    pub offered_ns: u64,
    /// Time at which the target asked for it; None where it never did.
    pub requested_ns: Option<u64>,
    /// Time at which the target acknowledged its id; None where it never did.
    pub acknowledged_ns: Option<u64>,
}

/// As hexadecimal digits.
pub(crate) fn as_hex<S: Serializer>(id: &Hash32, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&hex::encode(id))
}

/// Totals of all transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Transactions that there were.
    pub transactions: u64,
    /// Number of these that were offered.
    pub offered: u64,
    /// Number of these that were asked for.
    pub requested: u64,
    /// Number of these that were acknowledged.
    pub acknowledged: u64,
    /// From the first offer to the last, in ns.
    pub elapsed_ns: u64,
    /// Transactions a second that were asked of us; None for all at once.
    pub tps_asked: Option<f64>,
    /// Transactions a second that were offered; None for fewer than two.
    pub tps_offered: Option<f64>,
    #[serde(skip)]
    first_ns: u64,
}

impl Summary {
    /// A summary of nothing yet.
    pub fn new(transactions: u64, tps_asked: f64) -> Self {
        Self { transactions, tps_asked: tps_asked.is_finite().then_some(tps_asked), ..Self::default() }
    }

    /// Adds a transaction.
    pub fn add(&mut self, record: &Record) {
        let last_ns = (self.first_ns + self.elapsed_ns).max(record.offered_ns);
        self.first_ns = if self.offered == 0 { record.offered_ns } else { self.first_ns.min(record.offered_ns) };
        self.elapsed_ns = last_ns - self.first_ns;
        self.offered += 1;
        self.requested += u64::from(record.requested_ns.is_some());
        self.acknowledged += u64::from(record.acknowledged_ns.is_some());
        self.tps_offered = (self.elapsed_ns > 0).then(|| (self.offered - 1) as f64 * 1e9 / self.elapsed_ns as f64);
    }
}

/// The time by the system's clock, in ns since 1970.
pub fn now_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_has_the_rate_between_the_first_offer_and_the_last() {
        let mut summary = Summary::new(4, 2.0);
        for (offered_ns, requested) in [(3_000_000_000, true), (1_000_000_000, false), (2_000_000_000, true)] {
            let requested_ns = requested.then_some(offered_ns + 5);
            let target = SocketAddr::from(([127, 0, 0, 1], 1));
            summary.add(&Record { id: [1; 32], action: "value", target, due_ns: 0, offered_ns, requested_ns, acknowledged_ns: None });
        }
        assert_eq!((summary.offered, summary.requested, summary.acknowledged), (3, 2, 0));
        assert_eq!((summary.elapsed_ns, summary.tps_offered), (2_000_000_000, Some(1.0)));
    }
}
