//! Pieces of transactions, read off their bytes: addresses, assets, scripts and datums.

use std::collections::HashMap;

use pallas_codec::minicbor::data::Type;
use pallas_codec::minicbor::{self, Decoder};
use slotmark_chain::block::{Credential, Hash28, Output};
use slotmark_chain::hash::{blake2b_224, blake2b_256};
use slotmark_chain::{DecodeError, Hash32};

/// Takes the failure of a foreign decoder for one of ours. Its place is from the beginning of the piece, or of the block where ours read it.
pub(crate) fn failure(error: &minicbor::decode::Error) -> DecodeError {
    DecodeError { offset: error.position().unwrap_or_default(), expected: "a well-formed part of a transaction" }
}

pub(crate) type Result<T> = std::result::Result<T, minicbor::decode::Error>;

/// The credential that may spend an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Payment {
    Credential(Credential),
    /// An address of Byron's, which a bootstrap witness answers for.
    Byron,
}

/// Returns the credential that may spend an output at an address (CIP-19); None where nothing can be paid to the address.
pub(crate) fn payment(address: &[u8]) -> Option<Payment> {
    match address.first()? >> 4 {
        kind @ 0..=7 => {
            let hash = address.get(1..29)?.try_into().expect("28 bytes");
            Some(Payment::Credential(Credential { script: kind & 1 != 0, hash }))
        }
        8 => Some(Payment::Byron),
        _ => None,
    }
}

/// The items of an array or a set, each as encoded.
pub(crate) fn items(bytes: &[u8]) -> Result<Vec<&[u8]>> {
    let mut decoder = Decoder::new(bytes);
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    if decoder.datatype()? == Type::Tag {
        decoder.tag()?;
    }
    let count = decoder.array()?;
    let mut found = Vec::new();
    while more(&mut decoder, count, found.len())? {
        found.push(item(bytes, &mut decoder)?);
    }
    Ok(found)
}

/// The entries of a map, each key and value as encoded.
pub(crate) fn entries(bytes: &[u8]) -> Result<Vec<(&[u8], &[u8])>> {
    let mut decoder = Decoder::new(bytes);
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let count = decoder.map()?;
    let mut found = Vec::new();
    while more(&mut decoder, count, found.len())? {
        found.push((item(bytes, &mut decoder)?, item(bytes, &mut decoder)?));
    }
    Ok(found)
}

/// Returns whether another item comes, of `count` items or of an indefinite number; takes the break of the latter.
fn more(decoder: &mut Decoder<'_>, count: Option<u64>, found: usize) -> Result<bool> {
    match count {
        Some(count) => Ok((found as u64) < count),
        None if decoder.datatype()? == Type::Break => {
            decoder.skip()?;
            Ok(false)
        }
        None => Ok(true),
    }
}

fn item<'b>(bytes: &'b [u8], decoder: &mut Decoder<'b>) -> Result<&'b [u8]> {
    let start = decoder.position();
    decoder.skip()?;
    Ok(&bytes[start..decoder.position()])
}

/// A byte string's content, one piece or several.
pub(crate) fn content(encoded: &[u8]) -> Result<Vec<u8>> {
    let mut decoder = Decoder::new(encoded);
    decoder.bytes_iter()?.try_fold(Vec::new(), |mut content, piece| {
        content.extend_from_slice(piece?);
        Ok(content)
    })
}

/// Lovelace and other assets, with a sign: what goes into a transaction counts above zero, what comes out below.
#[derive(Default)]
pub(crate) struct Balance {
    pub(crate) lovelace: i128,
    assets: HashMap<(Hash28, Vec<u8>), i128>,
}

impl Balance {
    /// Adds a map of assets by policy and name this many times.
    pub(crate) fn add_assets(&mut self, encoded: &[u8], times: i128) -> Result<()> {
        for (policy, names) in entries(encoded)? {
            let policy: Hash28 = hash(policy)?;
            for (name, amount) in entries(names)? {
                let amount = i128::from(Decoder::new(amount).int()?);
                *self.assets.entry((policy, content(name)?)).or_default() += times * amount;
            }
        }
        Ok(())
    }

    pub(crate) fn add_output(&mut self, bytes: &[u8], output: &Output, times: i128) -> Result<()> {
        self.lovelace += times * i128::from(output.lovelace);
        output.assets.map_or(Ok(()), |assets| self.add_assets(assets.of(bytes), times))
    }

    /// Returns whether there is nothing beside lovelace.
    pub(crate) fn is_lovelace(&self) -> bool {
        self.assets.values().all(|amount| *amount == 0)
    }
}

/// A byte string of this many bytes.
pub(crate) fn hash<const N: usize>(encoded: &[u8]) -> Result<[u8; N]> {
    content(encoded)?.try_into().map_err(|_| minicbor::decode::Error::message("a hash of another length"))
}

/// A script's language: 0 for native scripts, 1 to 3 for versions of Plutus.
pub(crate) type Language = u8;

/// A script that a transaction has or refers to.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) hash: Hash28,
    pub(crate) language: Language,
    /// The bytes that are hashed, but for the language: a native script as encoded, or Plutus's own bytes.
    pub(crate) bytes: Vec<u8>,
}

impl Script {
    pub(crate) fn new(language: Language, encoded: &[u8]) -> Result<Self> {
        let bytes = if language == 0 { encoded.to_vec() } else { content(encoded)? };
        Ok(Self { hash: blake2b_224(&[&[language], &bytes]), language, bytes })
    }

    /// The script that an output has for reference: `[language, script]` in a byte string under tag 24.
    pub(crate) fn of_output(bytes: &[u8], output: &Output) -> Result<Option<Self>> {
        let Some(span) = output.script else { return Ok(None) };
        let mut decoder = Decoder::new(span.of(bytes));
        decoder.tag()?;
        let start = decoder.position();
        let inner = content(&span.of(bytes)[start..])?;
        match items(&inner)?[..] {
            [language, script] => Self::new(Decoder::new(language).u8()?, script).map(Some),
            _ => Err(minicbor::decode::Error::message("a script that isn't [language, script]")),
        }
    }
}

/// The datum of an output.
pub(crate) enum Datum {
    Hash(Hash32),
    Inline,
}

pub(crate) fn datum(bytes: &[u8], output: &Output) -> Result<Option<Datum>> {
    let Some(span) = output.datum else { return Ok(None) };
    let encoded = span.of(bytes);
    // Outputs that are arrays have the hash's own bytes for a datum, others [0, hash] or [1, datum].
    let is_array = output.encoded.of(bytes).first().is_some_and(|initial| initial >> 5 == 4);
    if let (true, Ok(hash)) = (is_array, encoded.try_into()) {
        return Ok(Some(Datum::Hash(hash)));
    }
    match items(encoded)?[..] {
        [kind, value] if Decoder::new(kind).u8()? == 0 => Ok(Some(Datum::Hash(hash(value)?))),
        [_, _] => Ok(Some(Datum::Inline)),
        _ => Err(minicbor::decode::Error::message("a datum that isn't [kind, datum]")),
    }
}

/// The hash of a datum as encoded.
pub(crate) fn datum_hash(encoded: &[u8]) -> Hash32 {
    blake2b_256(&[encoded])
}
