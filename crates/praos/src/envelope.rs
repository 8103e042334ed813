//! Text envelopes: keys and certificates in files, in the form that cardano-cli writes and cardano-node reads.
//!
//! A JSON object of `type`, `description` and `cborHex`, with four spaces of indentation and a line feed at its end.

use serde::{Deserialize, Serialize};
use slotmark_chain::CborBuffer;

use crate::certificate::Certificate;
use crate::kes;

/// An envelope that isn't what was expected.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// No envelope at all.
    #[error("not a text envelope: expected a JSON object with type, description and cborHex")]
    Json,
    /// An envelope of something else.
    #[error("a text envelope of type {found}: expected {expected}")]
    Type {
        /// Its type.
        found: String,
        /// The one that was asked for.
        expected: &'static str,
    },
    /// An envelope whose content doesn't fit its type.
    #[error("a text envelope of type {0} whose cborHex isn't one")]
    Content(&'static str),
}

/// A text envelope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Envelope {
    /// The type of its content.
    #[serde(rename = "type")]
    kind: String,
    description: String,
    #[serde(rename = "cborHex")]
    cbor_hex: String,
}

/// Something that cardano-cli keeps in a text envelope.
pub trait Enveloped: Sized {
    /// The envelope's type.
    const TYPE: &'static str;

    /// The envelope's description.
    fn description(&self) -> String;

    /// The content, in CBOR.
    fn to_cbor(&self) -> Vec<u8>;

    /// Reads the content; None where it isn't one.
    fn from_cbor(bytes: &[u8]) -> Option<Self>;
}

impl Envelope {
    /// Puts something into an envelope.
    pub fn of<T: Enveloped>(content: &T) -> Self {
        Self { kind: T::TYPE.to_owned(), description: content.description(), cbor_hex: hex::encode(content.to_cbor()) }
    }

    /// Reads an envelope's file.
    ///
    /// # Errors
    /// The text is no envelope.
    pub fn read(text: &str) -> Result<Self, EnvelopeError> {
        serde_json::from_str(text).map_err(|_| EnvelopeError::Json)
    }

    /// The file, as cardano-cli writes it.
    pub fn text(&self) -> String {
        let [kind, description] = [&self.kind, &self.description].map(|text| serde_json::Value::from(text.as_str()).to_string());
        format!("{{\n    \"type\": {kind},\n    \"description\": {description},\n    \"cborHex\": \"{}\"\n}}\n", self.cbor_hex)
    }

    /// Returns the name of the type of its content.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Returns its content, in CBOR; None where it isn't in hexadecimal digits.
    pub fn content(&self) -> Option<Vec<u8>> {
        hex::decode(&self.cbor_hex).ok()
    }

    /// Takes out what is in it.
    ///
    /// # Errors
    /// It holds something else.
    pub fn open<T: Enveloped>(&self) -> Result<T, EnvelopeError> {
        if self.kind != T::TYPE {
            return Err(EnvelopeError::Type { found: self.kind.clone(), expected: T::TYPE });
        }
        self.content().and_then(|bytes| T::from_cbor(&bytes)).ok_or(EnvelopeError::Content(T::TYPE))
    }
}

macro_rules! byte_keys {
    ($($(#[doc = $doc:literal])+ $name:ident = $type:literal, $description:literal, $bytes:expr;)+) => {
        $(
            $(#[doc = $doc])+
            #[derive(Clone, Debug, PartialEq, Eq)]
            pub struct $name(pub [u8; $bytes]);

            impl Enveloped for $name {
                const TYPE: &'static str = $type;

                fn description(&self) -> String {
                    $description.to_owned()
                }

                fn to_cbor(&self) -> Vec<u8> {
                    let mut bytes = Vec::new();
                    bytes.bytes(&self.0);
                    bytes
                }

                fn from_cbor(bytes: &[u8]) -> Option<Self> {
                    byte_string(bytes).map(Self)
                }
            }
        )+
    };
}

byte_keys! {
    /// A pool's cold key: the seed of an Ed25519 key.
    ColdSigningKey = "StakePoolSigningKey_ed25519", "Stake Pool Operator Signing Key", 32;
    /// The public half of a pool's cold key.
    ColdVerificationKey = "StakePoolVerificationKey_ed25519", "Stake Pool Operator Verification Key", 32;
    /// A VRF key: its seed, then its public half.
    VrfSigningKey = "VrfSigningKey_PraosVRF", "VRF Signing Key", 64;
    /// The public half of a VRF key.
    VrfVerificationKey = "VrfVerificationKey_PraosVRF", "VRF Verification Key", 32;
    /// A KES key before its first evolution.
    KesSigningKey = "KesSigningKey_ed25519_kes_2^6", "KES Signing Key", kes::SIGNING_KEY_BYTES;
    /// The public half of a KES key.
    KesVerificationKey = "KesVerificationKey_ed25519_kes_2^6", "KES Verification Key", 32;
    /// A payment key: the seed of an Ed25519 key.
    PaymentSigningKey = "PaymentSigningKeyShelley_ed25519", "Payment Signing Key", 32;
    /// The public half of a payment key.
    PaymentVerificationKey = "PaymentVerificationKeyShelley_ed25519", "Payment Verification Key", 32;
    /// The key of an output that the genesis holds: the seed of an Ed25519 key.
    GenesisUtxoSigningKey = "GenesisUTxOSigningKey_ed25519", "Genesis Initial UTxO Signing Key", 32;
    /// The public half of the key of an output that the genesis holds.
    GenesisUtxoVerificationKey = "GenesisUTxOVerificationKey_ed25519", "Genesis Initial UTxO Verification Key", 32;
    /// A stake key: the seed of an Ed25519 key.
    StakeSigningKey = "StakeSigningKeyShelley_ed25519", "Stake Signing Key", 32;
    /// The public half of a stake key.
    StakeVerificationKey = "StakeVerificationKeyShelley_ed25519", "Stake Verification Key", 32;
    /// A DRep's key: the seed of an Ed25519 key.
    DRepSigningKey = "DRepSigningKey_ed25519", "Delegate Representative Signing Key", 32;
    /// The public half of a DRep's key.
    DRepVerificationKey = "DRepVerificationKey_ed25519", "Delegate Representative Verification Key", 32;
}

/// An operational certificate, with the cold key that signed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationalCertificate {
    /// The certificate.
    pub certificate: Certificate,
    /// The pool's cold key.
    pub cold_key: [u8; 32],
}

impl Enveloped for OperationalCertificate {
    const TYPE: &'static str = "NodeOperationalCertificate";

    fn description(&self) -> String {
        String::new()
    }

    /// `[[hot key, number, KES period, signature], cold key]`.
    fn to_cbor(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.array(2);
        bytes.array(4);
        bytes.bytes(&self.certificate.hot_key);
        bytes.uint(self.certificate.sequence);
        bytes.uint(self.certificate.kes_period);
        bytes.bytes(&self.certificate.signature);
        bytes.bytes(&self.cold_key);
        bytes
    }

    fn from_cbor(bytes: &[u8]) -> Option<Self> {
        let (hot_key, rest) = bytes.strip_prefix(&[0x82, 0x84, 0x58, 32])?.split_first_chunk()?;
        let (sequence, rest) = uint(rest)?;
        let (kes_period, rest) = uint(rest)?;
        let (signature, rest) = rest.strip_prefix(&[0x58, 64])?.split_first_chunk()?;
        let cold_key = rest.strip_prefix(&[0x58, 32])?.try_into().ok()?;
        Some(Self { certificate: Certificate { hot_key: *hot_key, sequence, kes_period, signature: *signature }, cold_key })
    }
}

/// The number that a pool's next operational certificate gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssueCounter {
    /// The number.
    pub next: u64,
    /// The pool's cold key.
    pub cold_key: [u8; 32],
}

impl Enveloped for IssueCounter {
    const TYPE: &'static str = "NodeOperationalCertificateIssueCounter";

    fn description(&self) -> String {
        format!("Next certificate issue number: {}", self.next)
    }

    /// `[number, cold key]`.
    fn to_cbor(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.array(2);
        bytes.uint(self.next);
        bytes.bytes(&self.cold_key);
        bytes
    }

    fn from_cbor(bytes: &[u8]) -> Option<Self> {
        let (next, rest) = uint(bytes.strip_prefix(&[0x82])?)?;
        Some(Self { next, cold_key: rest.strip_prefix(&[0x58, 32])?.try_into().ok()? })
    }
}

/// A byte string of CBOR that is all there is, of exactly `N` bytes.
fn byte_string<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    let mut head = Vec::new();
    head.head(2, N as u64);
    bytes.strip_prefix(&head[..])?.try_into().ok()
}

/// An unsigned integer of CBOR, and what comes after it.
fn uint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (&initial, rest) = bytes.split_first()?;
    let width = match initial {
        0..24 => return Some((u64::from(initial), rest)),
        24..28 => 1 << (initial - 24),
        _ => return None,
    };
    let (number, rest) = rest.split_at_checked(width)?;
    Some((number.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comes_back<T: Enveloped + PartialEq + std::fmt::Debug>(content: T, prefix: &str) {
        let envelope = Envelope::of(&content);
        assert!(envelope.cbor_hex.starts_with(prefix), "{}", envelope.cbor_hex);
        let read = Envelope::read(&envelope.text()).unwrap();
        assert_eq!(read, envelope);
        assert_eq!(read.open(), Ok(content));
        let cut = Envelope { cbor_hex: read.cbor_hex[2..].to_owned(), ..read };
        assert_eq!(cut.open::<T>(), Err(EnvelopeError::Content(T::TYPE)));
    }

    #[test]
    fn contents_come_back_as_they_went_in() {
        comes_back(ColdSigningKey([1; 32]), "5820");
        comes_back(VrfSigningKey([1; 64]), "5840");
        comes_back(KesSigningKey([1; 608]), "590260");
        comes_back(KesVerificationKey([1; 32]), "5820");
        for next in [0, 23, 24, 255, 256, 65_535, 65_536, u64::from(u32::MAX), 1 << 32, u64::MAX] {
            comes_back(IssueCounter { next, cold_key: [2; 32] }, "82");
            let certificate = Certificate { hot_key: [3; 32], sequence: next, kes_period: next / 2, signature: [4; 64] };
            comes_back(OperationalCertificate { certificate, cold_key: [2; 32] }, "82845820");
        }
    }

    #[test]
    fn the_file_has_the_form_of_cardano_cli() {
        let text = Envelope::of(&IssueCounter { next: 1, cold_key: [0xab; 32] }).text();
        let expected = format!(
            "{{\n    \"type\": \"NodeOperationalCertificateIssueCounter\",\n    \
             \"description\": \"Next certificate issue number: 1\",\n    \"cborHex\": \"82015820{}\"\n}}\n",
            "ab".repeat(32)
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn other_envelopes_are_refused() {
        let envelope = Envelope::of(&ColdSigningKey([1; 32]));
        let found = ColdSigningKey::TYPE.to_owned();
        assert_eq!(envelope.open::<VrfSigningKey>(), Err(EnvelopeError::Type { found, expected: VrfSigningKey::TYPE }));
        assert_eq!(Envelope::read("{}"), Err(EnvelopeError::Json));
    }
}
