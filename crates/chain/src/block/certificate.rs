//! Certificates: what changes stake, its delegation and its pools.

use serde::{Deserialize, Serialize};

use crate::cbor::{Cursor, DecodeError, Span};
use crate::point::Hash32;

/// Hash of a key or a script: BLAKE2b-224.
pub type Hash28 = [u8; 28];

/// The owner of stake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Credential {
    /// True where the hash is that of a script, and not of a key.
    pub script: bool,
    /// The hash.
    pub hash: Hash28,
}

/// The terms on which a pool shares its rewards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolTerms {
    /// Lovelace that its owners promise to delegate to it.
    pub pledge: u64,
    /// Lovelace that it takes first.
    pub cost: u64,
    /// The share of the rest that it takes, as numerator and denominator.
    pub margin: (u64, u64),
    /// The owner of the account that its own rewards go to.
    pub account: Credential,
    /// Hashes of its owners' stake keys.
    pub owners: Vec<Hash28>,
}

/// A certificate of any era, as far as it changes accounts and who may make blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Certificate {
    /// Registers a stake credential, and delegates it at once where there is a pool (Conway).
    Registration {
        /// The credential.
        credential: Credential,
        /// The pool that it delegates to.
        pool: Option<Hash28>,
    },
    /// Ends a registration.
    Deregistration {
        /// The credential.
        credential: Credential,
    },
    /// Delegates stake to a pool.
    Delegation {
        /// The credential.
        credential: Credential,
        /// Hash of the pool's cold key.
        pool: Hash28,
    },
    /// Registers a pool, or changes its parameters.
    PoolRegistration {
        /// Hash of the pool's cold key.
        pool: Hash28,
        /// BLAKE2b-256 of the pool's VRF key.
        vrf_key_hash: Hash32,
        /// The terms by which it shares its rewards.
        terms: PoolTerms,
    },
    /// Retires a pool.
    PoolRetirement {
        /// Hash of the pool's cold key.
        pool: Hash28,
        /// The epoch at whose beginning it retires.
        epoch: u64,
    },
    /// Changes who makes blocks for a genesis key.
    GenesisDelegation {
        /// Hash of the genesis key.
        genesis_key: Hash28,
        /// Hash of the delegate's cold key.
        delegate: Hash28,
        /// BLAKE2b-256 of the delegate's VRF key.
        vrf_key_hash: Hash32,
    },
    /// Moves rewards out of the reserves or the treasury.
    InstantaneousRewards,
    /// A certificate of governance, which changes no stake.
    Governance {
        /// Lovelace that it deposits; below 0 what it gets back.
        deposit: i64,
    },
}

type Result<T> = std::result::Result<T, DecodeError>;

const POOL: &str = "a pool's id of 28 bytes";
const EXPECTED: &str = "a certificate, as [kind, …]";

/// The certificates of an array or set; none for an empty span.
pub(super) fn certificates(bytes: &[u8], span: Span) -> Result<Vec<Certificate>> {
    let mut certificates = Vec::new();
    let Some(mut cursor) = Cursor::at(bytes, span) else { return Ok(certificates) };
    let mut items = cursor.set("certificates")?;
    while items.next(&mut cursor)? {
        certificates.push(certificate(&mut cursor)?);
    }
    Ok(certificates)
}

fn certificate(cursor: &mut Cursor<'_>) -> Result<Certificate> {
    let mut fields = cursor.array(EXPECTED)?;
    let at = cursor.position();
    if !fields.next(cursor)? {
        return cursor.error(EXPECTED);
    }
    let kind = cursor.uint("the kind of a certificate")?;
    // Each of these takes one field of the certificate.
    let mut next = |cursor: &mut Cursor<'_>| if fields.next(cursor)? { Ok(()) } else { cursor.error("all fields of a certificate") };
    let mut credential = |cursor: &mut Cursor<'_>| next(cursor).and_then(|()| credential(cursor));
    let found = match kind {
        0 | 7 | 12 => Certificate::Registration { credential: credential(cursor)?, pool: None },
        1 | 8 => Certificate::Deregistration { credential: credential(cursor)? },
        2 | 10 => {
            let credential = credential(cursor)?;
            next(cursor)?;
            Certificate::Delegation { credential, pool: *cursor.bytes_of(POOL)? }
        }
        11 | 13 => {
            let credential = credential(cursor)?;
            next(cursor)?;
            Certificate::Registration { credential, pool: Some(*cursor.bytes_of(POOL)?) }
        }
        3 => {
            next(cursor)?;
            let pool = *cursor.bytes_of(POOL)?;
            next(cursor)?;
            let vrf_key_hash = *cursor.bytes_of("the hash of a VRF key")?;
            Certificate::PoolRegistration { pool, vrf_key_hash, terms: terms(cursor, next)? }
        }
        4 => {
            next(cursor)?;
            let pool = *cursor.bytes_of(POOL)?;
            next(cursor)?;
            Certificate::PoolRetirement { pool, epoch: cursor.uint("an epoch")? }
        }
        5 => {
            next(cursor)?;
            let genesis_key = *cursor.bytes_of("the hash of a genesis key")?;
            next(cursor)?;
            let delegate = *cursor.bytes_of("the hash of a delegate's key")?;
            next(cursor)?;
            Certificate::GenesisDelegation { genesis_key, delegate, vrf_key_hash: *cursor.bytes_of("the hash of a VRF key")? }
        }
        6 => Certificate::InstantaneousRewards,
        16 | 17 => {
            credential(cursor)?;
            next(cursor)?;
            let lovelace = i64::try_from(cursor.uint("a deposit in lovelace")?).unwrap_or(i64::MAX);
            Certificate::Governance { deposit: if kind == 16 { lovelace } else { -lovelace } }
        }
        9 | 14 | 15 | 18 => Certificate::Governance { deposit: 0 },
        _ => return Err(DecodeError { offset: at, expected: "a kind of certificate from 0 to 18" }),
    };
    while fields.next(cursor)? {
        cursor.skip()?;
    }
    Ok(found)
}

/// The fields of a pool from its pledge to its owners; `next` begins a field.
fn terms<'a>(cursor: &mut Cursor<'a>, mut next: impl FnMut(&mut Cursor<'a>) -> Result<()>) -> Result<PoolTerms> {
    next(cursor)?;
    let pledge = cursor.uint("a pledge in lovelace")?;
    next(cursor)?;
    let cost = cursor.uint("a cost in lovelace")?;
    next(cursor)?;
    let expected = "a margin, as a rational number from 0 to 1";
    cursor.tag(30, expected)?;
    let pair = cursor.array_of(2, expected)?;
    let margin = (cursor.uint(expected)?, cursor.uint(expected)?);
    pair.finish(cursor, expected)?;
    if margin.0 > margin.1 || margin.1 == 0 {
        return cursor.error(expected);
    }
    next(cursor)?;
    let account = reward_account(cursor)?;
    next(cursor)?;
    let mut owners = Vec::new();
    let mut items = cursor.set("a pool's owners")?;
    while items.next(cursor)? {
        owners.push(*cursor.bytes_of("the hash of an owner's key")?);
    }
    Ok(PoolTerms { pledge, cost, margin, account, owners })
}

/// A map of reward accounts, each with lovelace; none for an empty span.
pub(super) fn withdrawals(bytes: &[u8], span: Span) -> Result<Vec<(Credential, u64)>> {
    let mut withdrawals = Vec::new();
    let Some(mut cursor) = Cursor::at(bytes, span) else { return Ok(withdrawals) };
    let mut items = cursor.map("withdrawals")?;
    while items.next(&mut cursor)? {
        withdrawals.push((reward_account(&mut cursor)?, cursor.uint("lovelace")?));
    }
    Ok(withdrawals)
}

/// The owner of a reward account of 29 bytes (CIP-19).
fn reward_account(cursor: &mut Cursor<'_>) -> Result<Credential> {
    let expected = "a reward account of 29 bytes";
    let [first, hash @ ..] = cursor.bytes_of::<29>(expected)?;
    if first >> 5 != 0b111 {
        return cursor.error(expected);
    }
    Ok(Credential { script: first & 16 != 0, hash: *hash })
}

/// `[0, key hash]` or `[1, script hash]`.
fn credential(cursor: &mut Cursor<'_>) -> Result<Credential> {
    let expected = "a stake credential, as [0 or 1, hash]";
    let pair = cursor.array_of(2, expected)?;
    let script = match cursor.uint(expected)? {
        0 => false,
        1 => true,
        _ => return cursor.error(expected),
    };
    let hash = *cursor.bytes_of(expected)?;
    pair.finish(cursor, expected)?;
    Ok(Credential { script, hash })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Certificate>> {
        let bytes = hex::decode(text).unwrap();
        certificates(&bytes, Span { start: 0, end: bytes.len() as u32 })
    }

    #[test]
    fn certificates_of_each_kind_are_read() {
        let (one, two, vrf) =
            ("581c".to_owned() + &"01".repeat(28), "581c".to_owned() + &"02".repeat(28), "5820".to_owned() + &"03".repeat(32));
        let key = Credential { script: false, hash: [1; 28] };
        let script = Credential { script: true, hash: [1; 28] };
        for (text, expected) in [
            (format!("82008200{one}"), Certificate::Registration { credential: key, pool: None }),
            (format!("82018201{one}"), Certificate::Deregistration { credential: script }),
            (format!("83028200{one}{two}"), Certificate::Delegation { credential: key, pool: [2; 28] }),
            (
                format!("8a03{two}{vrf}0506d81e820102581df0{}81{one}80f6", "01".repeat(28)),
                Certificate::PoolRegistration {
                    pool: [2; 28],
                    vrf_key_hash: [3; 32],
                    terms: PoolTerms { pledge: 5, cost: 6, margin: (1, 2), account: script, owners: vec![[1; 28]] },
                },
            ),
            (format!("8304{two}1863"), Certificate::PoolRetirement { pool: [2; 28], epoch: 99 }),
            (
                format!("8405{one}{two}{vrf}"),
                Certificate::GenesisDelegation { genesis_key: [1; 28], delegate: [2; 28], vrf_key_hash: [3; 32] },
            ),
            ("82068200a0".to_owned(), Certificate::InstantaneousRewards),
            (format!("83078200{one}1a001e8480"), Certificate::Registration { credential: key, pool: None }),
            (format!("83088201{one}00"), Certificate::Deregistration { credential: script }),
            (format!("83098200{one}8102"), Certificate::Governance { deposit: 0 }),
            (format!("840a8200{one}{two}8102"), Certificate::Delegation { credential: key, pool: [2; 28] }),
            (format!("840b8200{one}{two}00"), Certificate::Registration { credential: key, pool: Some([2; 28]) }),
            (format!("840c8200{one}810200"), Certificate::Registration { credential: key, pool: None }),
            (format!("850d8200{one}{two}810200"), Certificate::Registration { credential: key, pool: Some([2; 28]) }),
            (format!("84108200{one}07f6"), Certificate::Governance { deposit: 7 }),
            (format!("83118200{one}07"), Certificate::Governance { deposit: -7 }),
        ] {
            assert_eq!(read(&format!("81{text}")), Ok(vec![expected.clone()]), "{text}");
            assert_eq!(read(&format!("d90102 9f{text}ff").replace(' ', "")), Ok(vec![expected]), "{text}");
            assert!(read(&format!("81{}", &text[..text.len() - 2])).is_err(), "{text}, cut");
        }
        assert!(read(&format!("8182138200{one}")).is_err());
        assert!(read(&format!("818202 8200{one}").replace(' ', "")).is_err());
        assert_eq!(certificates(&[], Span::default()), Ok(vec![]));
    }
}
