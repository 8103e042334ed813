//! The content of messages: the columns of the rows that they become.

use super::values::{RESOURCES_NEEDED, RESOURCES_OPTIONAL};

/// The columns of a message's row. Numbers are as in the log; None where a message hasn't the field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Body<'a> {
    /// A row of `resources`, in the order of its columns: those that every log has, and the others.
    Resources([i64; RESOURCES_NEEDED], [Option<i64>; RESOURCES_OPTIONAL]),
    /// A row of `slot_events`.
    Slot(Slot),
    /// A row of `ledger_metrics`.
    Ledger(Ledger),
    /// A row of `block_events`.
    Block(Block<'a>),
    /// A row of `transactions`.
    Transactions(Transactions),
    /// The node's facts for `hosts`.
    Version(Version<'a>),
}

/// A step of the forge loop.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "fields are named as the columns of the tables, which docs/tables.md explains")]
pub struct Slot {
    pub slot: Option<i64>,
    pub block_no: Option<i64>,
}

/// The ledger's size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "as above")]
pub struct Ledger {
    pub slot: i64,
    pub utxo_size: Option<i64>,
    pub chain_density: Option<f64>,
}

/// An event of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "as above")]
pub struct Block<'a> {
    pub block: &'a [u8],
    pub slot: Option<i64>,
    pub block_no: Option<i64>,
    pub previous: Option<&'a [u8]>,
    pub size_bytes: Option<i64>,
    pub length: Option<i64>,
    pub connection: Option<Connection<'a>>,
}

/// The two addresses of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Connection<'a> {
    /// The node's own end; None where the line doesn't have it.
    pub local: Option<Address<'a>>,
    /// The peer's.
    pub remote: Address<'a>,
}

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Address<'a> {
    /// An IP address, or a name; IPv6 as the log has it.
    pub host: &'a [u8],
    /// In digits.
    pub port: &'a [u8],
}

/// An event of transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "as above")]
pub struct Transactions {
    pub count: Option<i64>,
    pub accepted: Option<i64>,
    pub rejected: Option<i64>,
}

/// Name and version of the node.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "as above")]
pub struct Version<'a> {
    pub version: &'a [u8],
    pub revision: &'a [u8],
    pub compiler: &'a [u8],
}
