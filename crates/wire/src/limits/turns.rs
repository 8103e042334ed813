//! A client's turns: since when it is the client that has to send something.

use std::time::{Duration, Instant};

use super::TimeLimits;
use crate::message::{ChainSyncRequest, KeepAliveRequest};

/// Something that a client has not sent in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no {what} within {limit:?}")]
pub struct Overdue {
    /// A noun.
    pub what: &'static str,
    /// The time that there was for it.
    pub limit: Duration,
}

/// Since when it is a client's turn, in each state that has a limit. A server notes what comes and what it answers.
#[derive(Debug, Default)]
pub struct ClientTurns {
    segment: Option<Instant>,
    first_message: Option<Instant>,
    chain_sync: Option<Instant>,
    keep_alive: Option<Instant>,
    /// Requests of chain-sync that aren't answered.
    owed: u32,
}

impl ClientTurns {
    /// From now on, a message of any protocol is due.
    pub fn expect_message(&mut self, now: Instant) {
        self.first_message = Some(now);
    }

    /// Notes that a message of any protocol, or a part of one, came.
    pub fn message(&mut self) {
        self.first_message = None;
    }

    /// Notes the time since when a part of a segment is here; None where none is.
    pub fn segment(&mut self, since: Option<Instant>) {
        self.segment = since;
    }

    /// Notes a request of chain-sync.
    ///
    /// # Errors
    /// It may not come while others have no answer.
    pub fn chain_sync(&mut self, request: &ChainSyncRequest) -> Result<(), &'static str> {
        match request {
            ChainSyncRequest::RequestNext => self.owed = self.owed.saturating_add(1),
            ChainSyncRequest::FindIntersect(_) if self.owed > 0 => return Err("a request for an intersection while headers were owed"),
            ChainSyncRequest::FindIntersect(_) => {}
            ChainSyncRequest::Done => self.owed = 0,
        }
        self.chain_sync = None;
        Ok(())
    }

    /// Notes that a header, a block or a rollback was sent; the request to wait is none of them.
    pub fn answered(&mut self, now: Instant) {
        self.owed = self.owed.saturating_sub(1);
        self.intersected(now);
    }

    /// Notes that the answer to a request for an intersection was sent.
    pub fn intersected(&mut self, now: Instant) {
        if self.owed == 0 {
            self.chain_sync = Some(now);
        }
    }

    /// Notes a message of keep-alive.
    pub fn keep_alive(&mut self, request: &KeepAliveRequest, now: Instant) {
        self.keep_alive = matches!(request, KeepAliveRequest::Ping(_)).then_some(now);
    }

    /// Checks the segment alone, all that is limited for clients of a local socket.
    ///
    /// # Errors
    /// It is overdue.
    pub fn check_segment(&self, now: Instant, limits: &TimeLimits) -> Result<(), Overdue> {
        overdue(self.segment, now, "end of a segment", Some(limits.segment))
    }

    /// Checks that nothing is overdue.
    ///
    /// # Errors
    /// What is.
    pub fn check(&self, now: Instant, limits: &TimeLimits) -> Result<(), Overdue> {
        self.check_segment(now, limits)?;
        overdue(self.first_message, now, "message after the handshake", Some(limits.first_message))?;
        overdue(self.chain_sync, now, "chain-sync request", limits.chain_sync_idle)?;
        overdue(self.keep_alive, now, "keep-alive", Some(limits.keep_alive))
    }
}

fn overdue(since: Option<Instant>, now: Instant, what: &'static str, limit: Option<Duration>) -> Result<(), Overdue> {
    match (since, limit) {
        (Some(since), Some(limit)) if now.saturating_duration_since(since) > limit => Err(Overdue { what, limit }),
        _ => Ok(()),
    }
}
