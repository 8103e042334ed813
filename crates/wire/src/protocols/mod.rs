//! The mini-protocols, each in a file of its own: its number, its messages, and what a peer may send when and for how long.
//!
//! After the network specification, and `TimeLimits.hs`, `Limits.hs` and the codecs of ouroboros-network.

use std::time::Instant;

use crate::handshake::Side;
use crate::limits::{Arrivals, Due, Overdue, PeerRules, SMALL_BYTES, TimeLimits};
use crate::message::{MessageError, unexpected};

/// The number of peer sharing, which is known and not spoken here.
pub const PEER_SHARING: u16 = 10;

/// The messages of one mini-protocol, from either side.
trait MiniProtocol: Sized {
    /// A peer in the protocol; `()` where it has no limits.
    type State: PeerState<Self>;

    /// The sides of a node that speak it, each with the protocol's number there.
    const NUMBERS: &'static [(Side, u16)];

    /// The protocol's number at a side; where that doesn't speak it, at the one that does.
    fn number(side: Side) -> u16 {
        Self::NUMBERS.iter().find(|(at, _)| *at == side).unwrap_or(&Self::NUMBERS[0]).1
    }

    /// Returns whether the responder (the server) sends it.
    fn is_from_responder(&self) -> bool;

    /// Returns whether it ends the protocol.
    fn is_done(&self) -> bool;

    /// Appends the message.
    fn encode(&self, out: &mut Vec<u8>);

    /// Reads a whole message of one side.
    ///
    /// # Errors
    /// It isn't one.
    fn decode(from_responder: bool, bytes: &[u8]) -> Result<Self, MessageError>;
}

/// The state of a peer in one mini-protocol: what it may send, and by when.
trait PeerState<M>: Default {
    /// Notes a message that is sent to it.
    fn sent(&mut self, _message: &M, _now: Instant) {}

    /// Notes a message that came from it.
    ///
    /// # Errors
    /// It may not come now.
    fn received(&mut self, _message: &M, _rules: &PeerRules, _now: Instant) -> Result<(), String> {
        Ok(())
    }

    /// Bytes that its next message has at most.
    fn max_bytes(&self, _from_responder: bool) -> usize {
        SMALL_BYTES
    }

    /// The answer that is due from it as a server.
    fn due(&self) -> Due {
        None
    }

    /// Checks its turn as a client.
    ///
    /// # Errors
    /// A request is overdue.
    fn check_turn(&self, _rules: &PeerRules, _now: Instant) -> Result<(), Overdue> {
        Ok(())
    }
}

impl<M> PeerState<M> for () {}

/// The one list of mini-protocols: from it come their modules, [`Message`] and [`PeerLimits`].
macro_rules! mini_protocols {
    ($($protocol:ident in $module:ident;)*) => {
        $(pub mod $module;)*

        /// A message of any mini-protocol.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Message {
            $(
                #[allow(missing_docs, reason = "the module's documentation is the variant's")]
                $protocol($module::Message),
            )*
        }

        $(
            impl From<$module::Message> for Message {
                fn from(message: $module::Message) -> Self {
                    Self::$protocol(message)
                }
            }
        )*

        impl Message {
            /// Returns whether a protocol is spoken at a side of a node.
            #[must_use]
            pub fn is_spoken(side: Side, number: u16) -> bool {
                false $(|| $module::Message::NUMBERS.contains(&(side, number)))*
            }

            /// The protocol's number at a side of a node that speaks it.
            #[must_use]
            pub fn number(&self, side: Side) -> u16 {
                match self {
                    $(Self::$protocol(_) => $module::Message::number(side),)*
                }
            }

            /// Returns whether the responder (the server) sends it.
            #[must_use]
            pub fn is_from_responder(&self) -> bool {
                match self {
                    $(Self::$protocol(message) => message.is_from_responder(),)*
                }
            }

            /// Returns whether it ends its protocol.
            #[must_use]
            pub fn is_done(&self) -> bool {
                match self {
                    $(Self::$protocol(message) => message.is_done(),)*
                }
            }

            /// Appends the message.
            pub fn encode(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$protocol(message) => message.encode(out),)*
                }
            }

            /// Reads a whole message of the protocol that has a number at a side of a node, from its responder or its initiator.
            ///
            /// # Errors
            /// It isn't one, or no such protocol is spoken.
            pub fn decode(side: Side, number: u16, from_responder: bool, bytes: &[u8]) -> Result<Self, MessageError> {
                $(
                    if $module::Message::NUMBERS.contains(&(side, number)) {
                        return $module::Message::decode(from_responder, bytes).map(Self::$protocol);
                    }
                )*
                unexpected("a protocol that is not spoken here")
            }
        }

        /// The state of a peer in all mini-protocols of one connection between nodes, by which its messages are accepted or refused.
        pub struct PeerLimits {
            rules: PeerRules,
            arrivals: Arrivals,
            $($module: <$module::Message as MiniProtocol>::State,)*
        }

        impl PeerLimits {
            /// Nothing was sent yet. A peer that is trusted may leave its chain as it is for as long as it likes.
            #[must_use]
            pub fn new(trustable: bool, limits: TimeLimits) -> Self {
                Self { rules: PeerRules { trustable, limits }, arrivals: Arrivals::default(), $($module: Default::default(),)* }
            }

            /// Returns the arrivals of segments and of the first message.
            pub fn arrivals(&mut self) -> &mut Arrivals {
                &mut self.arrivals
            }

            /// Bytes that the next message of a protocol has at most.
            #[must_use]
            pub fn max_bytes(&self, number: u16, from_responder: bool) -> usize {
                $(
                    if $module::Message::NUMBERS.contains(&(Side::Node, number)) {
                        return PeerState::<$module::Message>::max_bytes(&self.$module, from_responder);
                    }
                )*
                SMALL_BYTES
            }

            /// Notes a message that is sent.
            pub fn sent(&mut self, message: &Message, now: Instant) {
                match message {
                    $(Message::$protocol(message) => self.$module.sent(message, now),)*
                }
            }

            /// Notes a message that came.
            ///
            /// # Errors
            /// It may not come now.
            pub fn received(&mut self, message: &Message, now: Instant) -> Result<(), String> {
                self.arrivals.message();
                match message {
                    $(Message::$protocol(message) => self.$module.received(message, &self.rules, now),)*
                }
            }

            /// Checks that nothing is overdue.
            ///
            /// # Errors
            /// Something is.
            pub fn check(&self, now: Instant) -> Result<(), String> {
                self.arrivals.check(now, &self.rules.limits).map_err(|overdue| overdue.to_string())?;
                $(PeerState::<$module::Message>::check_turn(&self.$module, &self.rules, now).map_err(|overdue| overdue.to_string())?;)*
                let all: &[Due] = &[$(PeerState::<$module::Message>::due(&self.$module)),*];
                match all.iter().flatten().find(|(deadline, _)| *deadline < now) {
                    Some((_, what)) => Err(format!("it did not send {what}")),
                    None => Ok(()),
                }
            }
        }
    };
}

mini_protocols! {
    ChainSync in chain_sync;
    BlockFetch in block_fetch;
    TxSubmission in tx_submission;
    KeepAlive in keep_alive;
    LocalTxSubmission in local_tx_submission;
    LocalStateQuery in local_state_query;
    LocalTxMonitor in local_tx_monitor;
}

#[cfg(test)]
mod tests;
