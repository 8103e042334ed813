//! Writing messages: what a form's values are, and who writes them.

#[cfg(feature = "ingest")]
use std::marker::PhantomData;

#[cfg(feature = "ingest")]
use super::Members;
use super::Message;
use crate::json::Value;
use crate::reason::Reason;

/// One way in which nodes write one message.
pub trait Form<'a>: Copy {
    /// The message.
    const MESSAGE: Message;
    /// Its name.
    const NAME: &'static str;

    /// The thread that writes it.
    fn thread(&self) -> Thread;

    /// The peer that it is about, where there is one.
    fn peer(&self) -> Option<Peer> {
        None
    }

    /// Writes a line from behind `"ns":"` to the name of the thread.
    fn write(&self, out: &mut impl Out);

    /// Calls `each` with the members that have a value of their own, as a reader of the line would be, but for the peer.
    ///
    /// # Errors
    /// What `each` fails with.
    fn each(&self, each: impl FnMut(&[u8], Value<'a>) -> Result<bool, Reason>) -> Result<(), Reason>;
}

/// The thread that writes a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thread {
    /// Always the same one.
    Named(&'static str),
    /// One for each peer.
    Numbered(u32),
}

/// Takes the text of a line.
pub trait Out {
    /// Writes text as it is.
    fn put(&mut self, text: &[u8]);
    /// Writes a whole number.
    fn whole(&mut self, number: i64);
    /// Writes a number with a fraction.
    fn real(&mut self, number: f64);
    /// Writes who is connected with whom, as `FROM:PORT TO:PORT`.
    fn connection(&mut self, peer: Peer);
    /// Writes the name of a transaction, in hex.
    fn transaction(&mut self, number: u32);
    /// Writes the hash of the key of the pool that makes a host's blocks, in hex.
    fn issuer(&mut self, host: u32);
    /// Writes the VRF output of 64 bytes that decides between blocks of equal height, in hex: here the value as often as it fits.
    fn tie_break(&mut self, value: u64) {
        let mut digits = [0; 16];
        hex(&value.to_be_bytes(), &mut digits);
        for _ in 0..8 {
            self.put(&digits);
        }
    }
}

/// A value of a form.
pub trait Datum<'a>: Copy {
    /// Writes it as JSON.
    fn write(&self, out: &mut impl Out);

    /// Returns the value that a reader takes from it.
    fn value(&self) -> Value<'a>;
}

impl<'a> Datum<'a> for i64 {
    #[inline]
    fn write(&self, out: &mut impl Out) {
        out.whole(*self);
    }

    #[inline]
    fn value(&self) -> Value<'a> {
        Value::Whole(*self)
    }
}

impl<'a> Datum<'a> for f64 {
    #[inline]
    fn write(&self, out: &mut impl Out) {
        out.real(*self);
    }

    #[inline]
    fn value(&self) -> Value<'a> {
        Value::Real(*self)
    }
}

/// Text without anything that JSON escapes.
impl<'a> Datum<'a> for &'a [u8] {
    #[inline]
    fn write(&self, out: &mut impl Out) {
        out.put(b"\"");
        out.put(self);
        out.put(b"\"");
    }

    #[inline]
    fn value(&self) -> Value<'a> {
        Value::String(self)
    }
}

/// `HASH@SLOT`, or `genesis (origin)`.
#[derive(Clone, Copy, Debug)]
pub struct Point<'a> {
    /// The block's hash, and its slot; None for genesis.
    pub block: Option<(&'a [u8], u64)>,
}

impl<'a> Datum<'a> for Point<'a> {
    #[inline]
    fn write(&self, out: &mut impl Out) {
        match self.block {
            Some((hash, slot)) => {
                out.put(b"\"");
                out.put(hash);
                out.put(b"@");
                out.whole(slot as i64);
                out.put(b"\"");
            }
            None => out.put(b"\"genesis (origin)\""),
        }
    }

    /// The hash alone: a reader leaves the slot.
    #[inline]
    fn value(&self) -> Value<'a> {
        Value::String(self.block.map_or(b"genesis (origin)", |(hash, _)| hash))
    }
}

/// The tip of a chain: its point and its block number.
#[derive(Clone, Copy, Debug)]
pub struct Tip<'a> {
    /// The tip's hash, block number and slot; None for genesis.
    pub block: Option<(&'a [u8], i64, u64)>,
}

impl<'a> Datum<'a> for Tip<'a> {
    #[inline]
    fn write(&self, out: &mut impl Out) {
        match self.block {
            Some((hash, number, slot)) => {
                out.put(b"{\"block\":\"");
                out.put(hash);
                out.put(b"\",\"blockNo\":");
                out.whole(number);
                out.put(b",\"slot\":");
                out.whole(slot as i64);
                out.put(b"}");
            }
            None => out.put(b"{\"block\":\"genesis\",\"blockNo\":-1,\"slot\":0}"),
        }
    }

    fn value(&self) -> Value<'a> {
        Value::Null
    }
}

/// A peer, by its number.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub u32);

impl Peer {
    #[inline]
    pub(super) fn write(self, out: &mut impl Out) {
        out.put(b"{\"connectionId\":\"");
        out.connection(self);
        out.put(b"\"}");
    }
}

/// Size of a mempool.
#[derive(Clone, Copy, Debug)]
pub struct MempoolSize {
    /// Bytes of its transactions.
    pub bytes: u64,
    /// Its transactions.
    pub transactions: u32,
}

impl<'a> Datum<'a> for MempoolSize {
    #[inline]
    fn write(&self, out: &mut impl Out) {
        out.put(b"{\"bytes\":");
        out.whole(self.bytes as i64);
        out.put(b",\"numTxs\":");
        out.whole(i64::from(self.transactions));
        out.put(b"}");
    }

    #[inline]
    fn value(&self) -> Value<'a> {
        Value::Whole(i64::from(self.transactions))
    }
}

/// A transaction, by its number.
#[derive(Clone, Copy, Debug)]
pub struct Transaction(pub u32);

impl<'a> Datum<'a> for Transaction {
    #[inline]
    fn write(&self, out: &mut impl Out) {
        out.put(b"{\"txid\":\"");
        out.transaction(self.0);
        out.put(b"\"}");
    }

    fn value(&self) -> Value<'a> {
        Value::Null
    }
}

/// Writes a list of transactions by their numbers.
#[inline]
fn write_transactions(numbers: impl Iterator<Item = u32>, out: &mut impl Out) {
    out.put(b"[");
    for (place, number) in numbers.enumerate() {
        out.put(if place == 0 { b"{\"tx\":" as &[u8] } else { b",{\"tx\":" });
        Transaction(number).write(out);
        out.put(b"}");
    }
    out.put(b"]");
}

/// Transactions that follow each other.
#[derive(Clone, Copy, Debug)]
pub struct TransactionList {
    /// The number of the first.
    pub first: u32,
    /// Number of transactions.
    pub count: u32,
}

impl<'a> Datum<'a> for TransactionList {
    #[inline]
    fn write(&self, out: &mut impl Out) {
        write_transactions((0..self.count).map(|place| self.first + place), out);
    }

    fn value(&self) -> Value<'a> {
        Value::Null
    }
}

/// Any transactions, by their numbers.
#[derive(Clone, Copy, Debug)]
pub struct AnyTransactions<'t>(pub &'t [u32]);

impl<'a> Datum<'a> for AnyTransactions<'_> {
    fn write(&self, out: &mut impl Out) {
        write_transactions(self.0.iter().copied(), out);
    }

    fn value(&self) -> Value<'a> {
        Value::Null
    }
}

/// The facts by which a node decides between chains.
#[derive(Clone, Copy, Debug)]
pub struct SelectView {
    /// The tip's block number.
    pub block_no: i64,
    /// The tip's slot.
    pub slot: u64,
    /// Number of the operational certificate that the tip was made under.
    pub certificate_no: u64,
    /// The host that made the tip.
    pub issuer: u32,
    /// The value that decides between blocks of equal height.
    pub vrf: u64,
}

impl<'a> Datum<'a> for SelectView {
    #[inline]
    fn write(&self, out: &mut impl Out) {
        out.put(b"{\"blockNo\":");
        out.whole(self.block_no);
        out.put(b",\"issueNo\":");
        out.whole(self.certificate_no as i64);
        out.put(b",\"issuerHash\":\"");
        out.issuer(self.issuer);
        out.put(b"\",\"kind\":\"PraosTiebreakerView\",\"slotNo\":");
        out.whole(self.slot as i64);
        out.put(b",\"tieBreakVRF\":\"");
        out.tie_break(self.vrf);
        out.put(b"\"}");
    }

    fn value(&self) -> Value<'a> {
        Value::Null
    }
}

/// The beginning or the end of something that takes time (`enclosedTime`).
#[derive(Clone, Copy, Debug)]
pub enum EnclosedTime {
    /// It begins.
    Begin,
    /// It ends, after so many seconds.
    End(f64),
}

impl<'a> Datum<'a> for EnclosedTime {
    fn write(&self, out: &mut impl Out) {
        match self {
            Self::Begin => out.put(b"{\"tag\":\"RisingEdge\"}"),
            Self::End(seconds) => {
                out.put(b"{\"contents\":");
                out.real(*seconds);
                out.put(b",\"tag\":\"FallingEdgeWith\"}");
            }
        }
    }

    fn value(&self) -> Value<'a> {
        Value::Null
    }
}

/// A ledger snapshot, of which a log line has nothing.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot;

impl<'a> Datum<'a> for Snapshot {
    fn write(&self, out: &mut impl Out) {
        out.put(b"{\"kind\":\"snapshot\"}");
    }

    fn value(&self) -> Value<'a> {
        Value::Null
    }
}

/// Writes bytes in hex into twice as many.
pub fn hex(bytes: &[u8], text: &mut [u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (two, byte) in text.chunks_exact_mut(2).zip(bytes) {
        two.copy_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
}

/// The members of a form.
#[cfg(feature = "ingest")]
pub(crate) struct Made<'f, 'c, F> {
    form: F,
    connection: &'c [u8],
    values: PhantomData<&'f ()>,
}

#[cfg(feature = "ingest")]
impl<'f, 'c, F: Form<'f>> Made<'f, 'c, F> {
    /// Makes a form that writes a connection for its peer: `LOCAL:PORT REMOTE:PORT`.
    pub(crate) fn new(form: F, connection: &'c [u8]) -> Self {
        Self { form, connection, values: PhantomData }
    }
}

#[cfg(feature = "ingest")]
impl<'f: 'c, 'c, F: Form<'f>> Members<'c> for Made<'f, 'c, F> {
    #[inline]
    fn each(&mut self, mut each: impl FnMut(&[u8], Value<'c>) -> Result<bool, Reason>) -> Result<(), Reason> {
        if self.form.peer().is_some() {
            each(b"peer", Value::String(self.connection))?;
        }
        self.form.each(|key, value| each(key, value))
    }
}
