//! Scripts that transactions run, each with its datum and its redeemer.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};
use slotmark_chain::hash::{blake2b_224, blake2b_256};
use slotmark_network::STATED;
use slotmark_network::shelley::{self, VAN_ROSSEM};
use slotmark_praos::envelope::Envelope;

use super::language::V3Costs;
use super::{Budget, Language, LaterCosts, Loop, data, evaluate};
use crate::address::Hash28;
use crate::error::SynthError;
use crate::transaction::NewDatum;

/// Bytes of a file of a script, a datum or a redeemer at most: more than fits into a transaction in any of their forms.
const MOST_FILE_BYTES: u64 = 65_536;

/// Least lovelace of a locked output: well above the ledger's minimum.
const LEAST: u64 = 2_000_000;

/// A Plutus script, and what each run of it is given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Stated", into = "Stated")]
pub struct Script {
    name: String,
    language: Language,
    bytes: Vec<u8>,
    datum: Vec<u8>,
    redeemer: Vec<u8>,
    /// The major version of the protocol that it is run under.
    protocol_version: u64,
}

/// A script as `bed.json` has it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Stated {
    name: String,
    /// Its type in text envelopes.
    #[serde(rename = "type")]
    kind: String,
    hash: String,
    script: String,
    datum: String,
    redeemer: String,
}

impl Script {
    /// The countdown, from this number.
    pub fn countdown(count: u64) -> Self {
        Self::of_loop(Loop::Countdown, count)
    }

    /// A loop, with this number of rounds.
    pub fn of_loop(one: Loop, rounds: u64) -> Self {
        let datum = crate::transaction::datum(&[]);
        Self {
            name: one.name().to_owned(),
            language: one.language(),
            bytes: one.program(),
            datum,
            redeemer: one.redeemer(rounds),
            protocol_version: one.protocol_version(),
        }
    }

    /// The script as it is run under a major version of the protocol.
    ///
    /// # Errors
    /// Only a later version has all that it is made of.
    pub fn under(self, major: u64) -> Result<Self, SynthError> {
        let reads = |major| slotmark_ledger::reads_under(self.language as usize, &self.bytes, major);
        if major < VAN_ROSSEM && !reads(major) && reads(VAN_ROSSEM) {
            let message = format!(
                "the script needs protocol version {VAN_ROSSEM}, and the network has {major}. Give --protocol-version {VAN_ROSSEM}, or \
                 --set genesis.protocol_version={VAN_ROSSEM} for a profile"
            );
            return Err(SynthError::Script { place: self.name, message });
        }
        Ok(Self { protocol_version: major, ..self })
    }

    /// The script with another redeemer.
    #[cfg(test)]
    pub(super) fn with_redeemer(self, redeemer: Vec<u8>) -> Self {
        Self { redeemer, ..self }
    }

    /// Reads a script from its text envelope, with a datum and a redeemer in JSON as cardano-cli has it or in hexadecimal digits, and
    /// runs it once under a major version of the protocol: in a transaction like those that will run it, which may use as much as `most`.
    ///
    /// Only regular files are read, of at most 64 KiB.
    ///
    /// # Errors
    /// A file can't be read, isn't what it should be, or the script doesn't succeed; the message names the file.
    pub fn read(script: &Path, datum: &Path, redeemer: &Path, most: Budget, major: u64) -> Result<Self, SynthError> {
        let wrong = |path: &Path, message: String| SynthError::Script { place: path.display().to_string(), message };
        let expected = "expected cardano-cli's text envelope of a script: type PlutusScriptV1, V2 or V3, and cborHex";
        let envelope = Envelope::read(&text(script)?).map_err(|_| wrong(script, expected.to_owned()))?;
        let language = Language::ALL.into_iter().find(|language| envelope.kind() == language.envelope_type());
        let bytes = envelope.content().and_then(|bytes| inner(&bytes));
        let (Some(language), Some(bytes)) = (language, bytes) else { return Err(wrong(script, expected.to_owned())) };
        let [datum, redeemer] = [datum, redeemer].map(|path| data::read(&text(path)?).map_err(|why| wrong(path, why)));
        let name = script.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let read = Self { name, language, bytes, datum: datum?, redeemer: redeemer?, protocol_version: *shelley::PROTOCOL_MAJORS.start() };
        let read = read.under(major)?;
        read.used(most)?;
        Ok(read)
    }

    /// Returns what one run of it uses, in a transaction of its own that may use as much as `most`.
    ///
    /// # Errors
    /// It doesn't succeed, or a transaction with it is too large.
    pub fn used(&self, most: Budget) -> Result<Budget, SynthError> {
        evaluate::probe(self, most)
    }

    /// The cost models that a network needs for it beside those of genesis files. Of Plutus V3 the countdown alone needs no more.
    pub(crate) fn costs(&self) -> LaterCosts {
        let v3 = if self.language == Language::V3 && self.bytes != super::loop_script() { V3Costs::Plomin } else { V3Costs::Genesis };
        LaterCosts { v2: self.language == Language::V2, v3 }.under(self.protocol_version)
    }

    /// Returns its name: that of a loop, or its file's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its language.
    pub fn language(&self) -> Language {
        self.language
    }

    /// BLAKE2b-224 of the language's tag, which counts from 1, and the script.
    pub fn hash(&self) -> Hash28 {
        blake2b_224(&[&[self.language.number() as u8 + 1], &self.bytes])
    }

    /// Its hash in hexadecimal digits.
    pub fn hash_text(&self) -> String {
        hex::encode(self.hash())
    }

    /// The script, as a witness set holds it: a CBOR byte string with the flat-encoded program in it.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the datum of its outputs, encoded.
    pub(crate) fn datum(&self) -> &[u8] {
        &self.datum
    }

    /// Returns the redeemer that it is run with, encoded.
    pub(crate) fn redeemer(&self) -> &[u8] {
        &self.redeemer
    }

    /// The datum as its outputs have it: the first Plutus can't see inline ones.
    pub(crate) fn output_datum(&self) -> NewDatum<'_> {
        match self.language {
            Language::V1 => NewDatum::Hashed(blake2b_256(&[&self.datum])),
            Language::V2 | Language::V3 => NewDatum::Inline(&self.datum),
        }
    }

    /// Returns the least lovelace of an output that it locks.
    pub(crate) fn least_lovelace(&self) -> u64 {
        STATED.least_lovelace(80 + self.datum.len() as u64).max(LEAST)
    }

    /// Outputs with its datum that a transaction can make at most, as far as its size goes.
    pub(crate) fn most_outputs(&self) -> u64 {
        let datum = if self.language == Language::V1 { 40 } else { self.datum.len() as u64 + 10 };
        ((shelley::PARAMETERS.max_transaction_bytes - 700) / (50 + datum)).max(1)
    }
}

impl From<Script> for Stated {
    fn from(script: Script) -> Self {
        Self {
            hash: script.hash_text(),
            kind: script.language.envelope_type().to_owned(),
            script: hex::encode(&script.bytes),
            datum: hex::encode(&script.datum),
            redeemer: hex::encode(&script.redeemer),
            name: script.name,
        }
    }
}

impl TryFrom<Stated> for Script {
    type Error = String;

    fn try_from(stated: Stated) -> Result<Self, String> {
        let language = Language::ALL.into_iter().find(|language| stated.kind == language.envelope_type());
        let hexadecimal = |text: &str| hex::decode(text).map_err(|_| "the script of the workload isn't in hexadecimal digits".to_owned());
        let script = Self {
            language: language.ok_or("the script of the workload is of no version of Plutus")?,
            bytes: hexadecimal(&stated.script)?,
            datum: hexadecimal(&stated.datum)?,
            redeemer: hexadecimal(&stated.redeemer)?,
            name: stated.name,
            protocol_version: *shelley::PROTOCOL_MAJORS.start(),
        };
        if script.hash_text() != stated.hash {
            return Err("the script of the workload has another hash than is stated".into());
        }
        Ok(script)
    }
}

/// The script in an envelope's content: in one byte string more than in a witness set, or, as some tools write it, as there.
fn inner(content: &[u8]) -> Option<Vec<u8>> {
    let outer = byte_string(content)?;
    Some(if byte_string(outer).is_some() { outer.to_vec() } else { content.to_vec() })
}

/// Returns the content of a CBOR byte string of definite length that has nothing behind it.
fn byte_string(bytes: &[u8]) -> Option<&[u8]> {
    let (head, length) = match *bytes {
        [head @ 0x40..0x58, ..] => (1, usize::from(head & 0x1f)),
        [0x58, length, ..] => (2, usize::from(length)),
        [0x59, high, low, ..] => (3, usize::from(u16::from_be_bytes([high, low]))),
        _ => return None,
    };
    bytes.get(head..).filter(|rest| rest.len() == length)
}

/// A small regular file.
fn text(path: &Path) -> Result<String, SynthError> {
    let wrong = |message: String| SynthError::Script { place: path.display().to_string(), message };
    let unreadable = |error: std::io::Error| {
        wrong(match error.kind() {
            ErrorKind::NotFound => "isn't there. Put the file there, or name another one".to_owned(),
            ErrorKind::InvalidData => "not text in UTF-8".to_owned(),
            _ => format!("can't be read ({error})"),
        })
    };
    // A pipe would be waited for, and a link may lead anywhere.
    if !path.symlink_metadata().map_err(unreadable)?.is_file() {
        return Err(wrong("not a regular file. Put the file itself there".to_owned()));
    }
    let mut text = String::new();
    File::open(path).map_err(unreadable)?.take(MOST_FILE_BYTES + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > MOST_FILE_BYTES {
        return Err(wrong(format!("above {MOST_FILE_BYTES} bytes: no script, datum or redeemer of that size fits into a transaction")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use slotmark_chain::CborBuffer;

    use super::super::flat::{self, Term};
    use super::*;
    use crate::budgets::Budgets;

    /// A script of Plutus V3 with this body, whose argument is the context.
    fn of(body: Term) -> Script {
        let mut bytes = Vec::new();
        bytes.bytes(&flat::program([1, 1, 0], &body.lambda()));
        Script { bytes, ..Script::countdown(0) }
    }

    #[test]
    fn a_script_that_goes_ever_deeper_ends_with_its_budget() {
        // Calls itself, and has the result go through another function: each call waits for all behind it.
        let itself = Term::Variable(1).apply(Term::Variable(1));
        let deeper = Term::Variable(1).lambda().apply(itself).lambda();
        let script = of(deeper.clone().apply(deeper));
        for major in shelley::PROTOCOL_MAJORS {
            let script = script.clone().under(major).expect("a script");
            for limit in [Budgets::PUBLIC.transaction, Budget { memory: 140_000_000, steps: 100_000_000_000 }] {
                let refused = script.used(limit).unwrap_err().to_string();
                assert!(refused.contains("uses more than a transaction may"), "{major}: {refused}");
            }
        }
    }

    #[test]
    fn a_script_that_nests_as_deep_as_a_transaction_allows_is_read() {
        // (program 1.1.0 (lam context (delay (delay … (con unit ()))))): two delays a byte.
        let flat = [&[1, 1, 0, 0x21][..], &[0x11; 14_999], &[0x14, 0x99]].concat();
        let mut bytes = Vec::new();
        bytes.bytes(&flat);
        let nested = Script { bytes, ..Script::countdown(0) };
        for major in shelley::PROTOCOL_MAJORS {
            let refused = nested.clone().under(major).expect("a script").used(Budgets::PUBLIC.transaction).unwrap_err().to_string();
            assert!(refused.contains("the script fails"), "{major}: {refused}");
        }
    }

    #[test]
    fn a_script_is_priced_by_the_version_that_it_is_run_under() {
        let costs = |major| Script::countdown(1).under(major).expect("a script").costs().model(Language::V3).len();
        assert_eq!((costs(10), costs(11)), (251, 350));
    }
}
