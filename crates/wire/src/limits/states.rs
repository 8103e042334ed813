//! The state of all protocols of a connection between nodes that is used both ways.

use std::time::{Duration, Instant};

use super::{ClientTurns, LARGE_BYTES, SMALL_BYTES, TimeLimits};
use crate::message::{BlockFetchRequest, ChainSyncRequest, KeepAliveRequest, Message, TxSubmissionRequest};
use crate::mux::protocol;

const SHORT: Duration = Duration::from_secs(10);
const LONG: Duration = Duration::from_secs(60);
/// A server at its tip may be silent for this many seconds; the limit is drawn anew each time.
const MUST_REPLY_S: std::ops::Range<u64> = 601..911;

/// A moment by which something must have come, and what.
type Deadline = Option<(Instant, &'static str)>;

/// The state of all protocols of one connection, by which a peer's messages are accepted or refused.
pub struct PeerLimits {
    trustable: bool,
    limits: TimeLimits,
    /// The peer as a client.
    turns: ClientTurns,
    /// Chain-sync, with the peer as server.
    requested: u32,
    awaiting: bool,
    intersecting: bool,
    chain_sync: Deadline,
    /// Block-fetch, with the peer as server.
    ranges: u32,
    streaming: bool,
    block_fetch: Deadline,
    /// Tx-submission, with the peer as client.
    offers: Offers,
    tx_submission: Deadline,
    /// Keep-alive, with the peer as server.
    cookie: Option<u16>,
    alive: Deadline,
}

/// The request to a client of tx-submission.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Offers {
    NotBegun,
    Nothing,
    Ids { blocking: bool, at_most: u16 },
    Transactions,
    Ended,
}

impl PeerLimits {
    /// Nothing was sent yet. A peer that is trusted may leave its chain as it is for as long as it likes.
    pub fn new(trustable: bool, limits: TimeLimits) -> Self {
        Self {
            trustable,
            limits,
            turns: ClientTurns::default(),
            requested: 0,
            awaiting: false,
            intersecting: false,
            chain_sync: None,
            ranges: 0,
            streaming: false,
            block_fetch: None,
            offers: Offers::NotBegun,
            tx_submission: None,
            cookie: None,
            alive: None,
        }
    }

    /// Returns the turns of the peer as a client.
    pub fn turns(&mut self) -> &mut ClientTurns {
        &mut self.turns
    }

    /// Bytes that the next message of a protocol has at most.
    pub fn max_bytes(&self, number: u16, from_responder: bool) -> usize {
        match (number, from_responder) {
            (protocol::BLOCK_FETCH, true) if self.streaming => LARGE_BYTES,
            (protocol::TX_SUBMISSION, false) if !matches!(self.offers, Offers::NotBegun) => LARGE_BYTES,
            _ => SMALL_BYTES,
        }
    }

    /// Notes a message that is sent.
    pub fn sent(&mut self, message: &Message, now: Instant) {
        let within = |limit, what| Some((now + limit, what));
        match message {
            Message::ChainSync(ChainSyncRequest::RequestNext) => {
                self.requested += 1;
                if self.requested == 1 {
                    self.chain_sync = within(SHORT, "an answer to a request for the next header within 10 s");
                }
            }
            Message::ChainSync(ChainSyncRequest::FindIntersect(_)) => {
                self.intersecting = true;
                self.chain_sync = within(SHORT, "an intersection within 10 s");
            }
            Message::RollForward(..) | Message::RollBackward(..) => self.turns.answered(now),
            Message::IntersectFound(..) | Message::IntersectNotFound(_) => self.turns.intersected(now),
            Message::BlockFetch(BlockFetchRequest::Range(..)) => {
                self.ranges += 1;
                if self.ranges == 1 {
                    self.block_fetch = within(LONG, "an answer to a request for blocks within 60 s");
                }
            }
            Message::TxRequest(TxSubmissionRequest::Ids { blocking, requested, .. }) => {
                self.offers = Offers::Ids { blocking: *blocking, at_most: *requested };
                self.tx_submission = if *blocking { None } else { within(SHORT, "ids of transactions within 10 s") };
            }
            Message::TxRequest(TxSubmissionRequest::Transactions(_)) => {
                self.offers = Offers::Transactions;
                self.tx_submission = within(SHORT, "transactions within 10 s");
            }
            Message::KeepAlive(KeepAliveRequest::Ping(cookie)) => {
                self.cookie = Some(*cookie);
                self.alive = within(LONG, "an answer of keep-alive within 60 s");
            }
            _ => {}
        }
    }

    /// Notes a message that came.
    ///
    /// # Errors
    /// It may not come now.
    pub fn received(&mut self, message: &Message, now: Instant) -> Result<(), String> {
        self.turns.message();
        let within = |limit, what| Some((now + limit, what));
        let unasked = |what: &str| Err(format!("{what} that was not asked for"));
        match message {
            Message::RollForward(..) | Message::RollBackward(..) => {
                if self.requested == 0 || self.intersecting {
                    return unasked("a header");
                }
                self.requested -= 1;
                self.awaiting = false;
                self.chain_sync =
                    if self.requested > 0 { within(SHORT, "an answer to a request for the next header within 10 s") } else { None };
            }
            Message::AwaitReply => {
                if self.requested == 0 || self.awaiting || self.intersecting {
                    return unasked("a request to wait");
                }
                self.awaiting = true;
                let limit = MUST_REPLY_S.start + u64::from(now.elapsed().subsec_nanos()) % (MUST_REPLY_S.end - MUST_REPLY_S.start);
                self.chain_sync = if self.trustable {
                    None
                } else {
                    within(Duration::from_secs(limit), "a header within the 601 s to 911 s that a chain may stand still")
                };
            }
            Message::IntersectFound(..) | Message::IntersectNotFound(_) => {
                if !std::mem::take(&mut self.intersecting) {
                    return unasked("an intersection");
                }
                self.chain_sync = None;
            }
            Message::ChainSync(request) => self.turns.chain_sync(request)?,
            Message::StartBatch => {
                if self.ranges == 0 || self.streaming {
                    return unasked("a batch of blocks");
                }
                self.streaming = true;
                self.block_fetch = within(LONG, "a block within 60 s");
            }
            Message::Block(_) => {
                if !self.streaming {
                    return unasked("a block");
                }
                self.block_fetch = within(LONG, "a block within 60 s");
            }
            Message::BatchDone | Message::NoBlocks => {
                if self.ranges == 0 || self.streaming != (*message == Message::BatchDone) {
                    return unasked("the end of a batch");
                }
                self.streaming = false;
                self.ranges -= 1;
                self.block_fetch = if self.ranges > 0 { within(LONG, "an answer to a request for blocks within 60 s") } else { None };
            }
            Message::TxInit => {
                if self.offers != Offers::NotBegun {
                    return Err("a second beginning of tx-submission".into());
                }
                self.offers = Offers::Nothing;
            }
            Message::TxIds(ids) => {
                let Offers::Ids { blocking, at_most } = self.offers else { return unasked("ids of transactions") };
                if ids.len() > usize::from(at_most) || (blocking && ids.is_empty()) {
                    return Err(format!("{} ids of transactions, where {at_most} at most were asked for", ids.len()));
                }
                (self.offers, self.tx_submission) = (Offers::Nothing, None);
            }
            Message::Txs(_) => {
                if self.offers != Offers::Transactions {
                    return unasked("a transaction");
                }
                (self.offers, self.tx_submission) = (Offers::Nothing, None);
            }
            Message::TxDone => {
                if !matches!(self.offers, Offers::Ids { blocking: true, .. }) {
                    return Err("an end of tx-submission where there may be none".into());
                }
                self.offers = Offers::Ended;
            }
            Message::KeepAlive(request) => self.turns.keep_alive(request, now),
            Message::Alive(cookie) => {
                if self.cookie.take() != Some(*cookie) {
                    return Err("an answer of keep-alive with another cookie".into());
                }
                self.alive = None;
            }
            _ => {}
        }
        Ok(())
    }

    /// Checks that nothing is overdue.
    ///
    /// # Errors
    /// What is.
    pub fn check(&self, now: Instant) -> Result<(), String> {
        self.turns.check(now, &self.limits).map_err(|overdue| overdue.to_string())?;
        let all = [self.chain_sync, self.block_fetch, self.tx_submission, self.alive];
        match all.into_iter().flatten().find(|(deadline, _)| *deadline < now) {
            Some((_, what)) => Err(format!("it did not send {what}")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use slotmark_chain::Point;

    use super::*;

    #[test]
    fn what_comes_unasked_or_late_is_refused() {
        let now = Instant::now();
        let header = Message::RollForward(vec![0x80].into(), None);
        let idle = TimeLimits { chain_sync_idle: Some(Duration::from_secs(100)), ..TimeLimits::default() };
        let mut limits = PeerLimits::new(false, idle);
        assert!(limits.received(&header, now).is_err());
        limits.sent(&Message::ChainSync(ChainSyncRequest::RequestNext), now);
        assert!(limits.check(now + SHORT).is_ok() && limits.check(now + 2 * SHORT).is_err());
        assert!(limits.received(&Message::AwaitReply, now).is_ok());
        assert!(limits.received(&Message::AwaitReply, now).is_err());
        assert!(limits.check(now + Duration::from_secs(600)).is_ok() && limits.check(now + Duration::from_secs(912)).is_err());
        assert!(limits.received(&header, now).is_ok() && limits.received(&header, now).is_err());

        assert!(limits.received(&Message::StartBatch, now).is_err());
        limits.sent(&Message::BlockFetch(BlockFetchRequest::Range(Point::Origin, Point::Origin)), now);
        assert_eq!(limits.max_bytes(protocol::BLOCK_FETCH, true), SMALL_BYTES);
        assert!(limits.received(&Message::BatchDone, now).is_err());
        assert!(limits.received(&Message::StartBatch, now).is_ok());
        assert_eq!(limits.max_bytes(protocol::BLOCK_FETCH, true), LARGE_BYTES);
        assert!(limits.received(&Message::BatchDone, now).is_ok());
        assert!(limits.received(&Message::Block(vec![].into()), now).is_err());

        assert!(limits.received(&Message::TxIds(vec![]), now).is_err());
        assert!(limits.received(&Message::TxInit, now).is_ok() && limits.received(&Message::TxInit, now).is_err());
        limits.sent(&Message::TxRequest(TxSubmissionRequest::Ids { blocking: true, acknowledged: 0, requested: 1 }), now);
        assert!(limits.received(&Message::TxIds(vec![([0; 32], 1), ([1; 32], 1)]), now).is_err());

        assert!(limits.check(now + Duration::from_secs(900)).is_ok());
        assert!(limits.received(&Message::ChainSync(ChainSyncRequest::RequestNext), now).is_ok());
        limits.sent(&header, now);
        assert!(limits.check(now + Duration::from_secs(99)).is_ok() && limits.check(now + Duration::from_secs(101)).is_err());
    }
}
