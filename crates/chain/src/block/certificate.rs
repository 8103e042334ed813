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
        /// Lovelace that it deposits, where it says so (Conway).
        deposit: Option<u64>,
    },
    /// Ends a registration.
    Deregistration {
        /// The credential.
        credential: Credential,
        /// Lovelace that it gets back, where it says so (Conway).
        refund: Option<u64>,
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
        /// Network of the account that its own rewards go to.
        network: u8,
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
    /// Gives the votes of a stake credential to another (Conway).
    VoteDelegation {
        /// The credential.
        credential: Credential,
        /// The one who votes for it.
        to: DRep,
    },
    /// Registers a DRep.
    DRepRegistration {
        /// The DRep.
        drep: Credential,
        /// Lovelace that it deposits.
        deposit: u64,
    },
    /// Ends a DRep's registration.
    DRepDeregistration {
        /// The DRep.
        drep: Credential,
        /// Lovelace that it gets back.
        refund: u64,
    },
    /// Changes a DRep's anchor.
    DRepUpdate {
        /// The DRep.
        drep: Credential,
    },
    /// Has a hot key vote for a member of the committee.
    CommitteeHotKey {
        /// The member.
        cold: Credential,
        /// The one who votes for it.
        hot: Credential,
    },
    /// Ends a membership of the committee before its term does.
    CommitteeResignation {
        /// The member.
        cold: Credential,
    },
}

/// The one who votes for a stake credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DRep {
    /// One that is to be registered.
    Registered(Credential),
    /// Nobody.
    Abstain,
    /// Nobody, which counts as a vote of no confidence.
    NoConfidence,
}

type Result<T> = std::result::Result<T, DecodeError>;

const POOL: &str = "a pool's id of 28 bytes";
const EXPECTED: &str = "a certificate, as [kind, …]";

/// The certificates of an array or set, each with its place there; none for an empty span. One that does several things comes as several.
pub(super) fn certificates(bytes: &[u8], span: Span) -> Result<Vec<(u32, Certificate)>> {
    let mut certificates = Vec::new();
    let Some(mut cursor) = Cursor::at(bytes, span) else { return Ok(certificates) };
    let mut items = cursor.set("certificates")?;
    let mut place = 0;
    while items.next(&mut cursor)? {
        certificate(&mut cursor, |certificate| certificates.push((place, certificate)))?;
        place += 1;
    }
    Ok(certificates)
}

fn certificate(cursor: &mut Cursor<'_>, mut add: impl FnMut(Certificate)) -> Result<()> {
    let mut fields = cursor.array(EXPECTED)?;
    let at = cursor.position();
    if !fields.next(cursor)? {
        return cursor.error(EXPECTED);
    }
    let kind = cursor.uint("the kind of a certificate")?;
    // Each of these takes one field of the certificate.
    let mut next = |cursor: &mut Cursor<'_>| if fields.next(cursor)? { Ok(()) } else { cursor.error("all fields of a certificate") };
    let mut credential = |cursor: &mut Cursor<'_>| next(cursor).and_then(|()| credential(cursor));
    let lovelace = "a deposit in lovelace";
    match kind {
        0 => add(Certificate::Registration { credential: credential(cursor)?, pool: None, deposit: None }),
        1 => add(Certificate::Deregistration { credential: credential(cursor)?, refund: None }),
        7 | 8 => {
            let credential = credential(cursor)?;
            next(cursor)?;
            let stated = Some(cursor.uint(lovelace)?);
            add(match kind {
                7 => Certificate::Registration { credential, pool: None, deposit: stated },
                _ => Certificate::Deregistration { credential, refund: stated },
            });
        }
        2 | 9..=13 => {
            let credential = credential(cursor)?;
            let mut pool = None;
            if !matches!(kind, 9 | 12) {
                next(cursor)?;
                pool = Some(*cursor.bytes_of(POOL)?);
            }
            let mut to = None;
            if !matches!(kind, 2 | 11) {
                next(cursor)?;
                to = Some(drep(cursor)?);
            }
            match (kind, pool) {
                (11.., pool) => {
                    next(cursor)?;
                    add(Certificate::Registration { credential, pool, deposit: Some(cursor.uint(lovelace)?) });
                }
                (_, Some(pool)) => add(Certificate::Delegation { credential, pool }),
                _ => {}
            }
            if let Some(to) = to {
                add(Certificate::VoteDelegation { credential, to });
            }
        }
        3 => {
            next(cursor)?;
            let pool = *cursor.bytes_of(POOL)?;
            next(cursor)?;
            let vrf_key_hash = *cursor.bytes_of("the hash of a VRF key")?;
            let (network, terms) = terms(cursor, next)?;
            add(Certificate::PoolRegistration { pool, vrf_key_hash, network, terms });
        }
        4 => {
            next(cursor)?;
            let pool = *cursor.bytes_of(POOL)?;
            next(cursor)?;
            add(Certificate::PoolRetirement { pool, epoch: cursor.uint("an epoch")? });
        }
        5 => {
            next(cursor)?;
            let genesis_key = *cursor.bytes_of("the hash of a genesis key")?;
            next(cursor)?;
            let delegate = *cursor.bytes_of("the hash of a delegate's key")?;
            next(cursor)?;
            add(Certificate::GenesisDelegation { genesis_key, delegate, vrf_key_hash: *cursor.bytes_of("the hash of a VRF key")? });
        }
        6 => add(Certificate::InstantaneousRewards),
        14 => add(Certificate::CommitteeHotKey { cold: credential(cursor)?, hot: credential(cursor)? }),
        15 => add(Certificate::CommitteeResignation { cold: credential(cursor)? }),
        16 | 17 => {
            let drep = credential(cursor)?;
            next(cursor)?;
            let stated = cursor.uint(lovelace)?;
            add(match kind {
                16 => Certificate::DRepRegistration { drep, deposit: stated },
                _ => Certificate::DRepDeregistration { drep, refund: stated },
            });
        }
        18 => add(Certificate::DRepUpdate { drep: credential(cursor)? }),
        _ => return Err(DecodeError { offset: at, expected: "a kind of certificate from 0 to 18" }),
    }
    while fields.next(cursor)? {
        cursor.skip()?;
    }
    Ok(())
}

/// The fields of a pool from its pledge to its owners, after the network of its account; `next` begins a field.
fn terms<'a>(cursor: &mut Cursor<'a>, mut next: impl FnMut(&mut Cursor<'a>) -> Result<()>) -> Result<(u8, PoolTerms)> {
    next(cursor)?;
    let pledge = cursor.uint("a pledge in lovelace")?;
    next(cursor)?;
    let cost = cursor.uint("a cost in lovelace")?;
    next(cursor)?;
    let margin = cursor.share("a margin, as a rational number from 0 to 1")?;
    next(cursor)?;
    let (network, account) = reward_account(cursor)?;
    next(cursor)?;
    let mut owners = Vec::new();
    let mut items = cursor.set("a pool's owners")?;
    while items.next(cursor)? {
        owners.push(*cursor.bytes_of("the hash of an owner's key")?);
    }
    Ok((network, PoolTerms { pledge, cost, margin, account, owners }))
}

/// A map of reward accounts, by network and owner, each with lovelace; none for an empty span.
pub(super) fn withdrawals(bytes: &[u8], span: Span) -> Result<Vec<(u8, Credential, u64)>> {
    let mut withdrawals = Vec::new();
    let Some(mut cursor) = Cursor::at(bytes, span) else { return Ok(withdrawals) };
    let mut items = cursor.map("withdrawals")?;
    while items.next(&mut cursor)? {
        let (network, owner) = reward_account(&mut cursor)?;
        withdrawals.push((network, owner, cursor.uint("lovelace")?));
    }
    Ok(withdrawals)
}

/// Network and owner of a reward account of 29 bytes (CIP-19).
pub(super) fn reward_account(cursor: &mut Cursor<'_>) -> Result<(u8, Credential)> {
    let expected = "a reward account of 29 bytes";
    let [first, hash @ ..] = cursor.bytes_of::<29>(expected)?;
    if first >> 5 != 0b111 {
        return cursor.error(expected);
    }
    Ok((first & 15, Credential { script: first & 16 != 0, hash: *hash }))
}

/// `[0, key hash]`, `[1, script hash]`, `[2]` for nobody or `[3]` for no confidence.
fn drep(cursor: &mut Cursor<'_>) -> Result<DRep> {
    let expected = "a DRep, as [0 or 1, hash], [2] or [3]";
    let mut fields = cursor.array(expected)?;
    let kind = if fields.next(cursor)? { cursor.uint(expected)? } else { u64::MAX };
    let found = match kind {
        0 | 1 if fields.next(cursor)? => DRep::Registered(Credential { script: kind == 1, hash: *cursor.bytes_of(expected)? }),
        2 => DRep::Abstain,
        3 => DRep::NoConfidence,
        _ => return cursor.error(expected),
    };
    fields.end(cursor, expected)?;
    Ok(found)
}

/// `[0, key hash]` or `[1, script hash]`.
pub(super) fn credential(cursor: &mut Cursor<'_>) -> Result<Credential> {
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
    use crate::cbor::indefinite;

    fn read_bytes(bytes: &[u8]) -> Result<Vec<Certificate>> {
        let found = certificates(bytes, Span { start: 0, end: bytes.len() as u32 })?;
        Ok(found.into_iter().map(|(_, certificate)| certificate).collect())
    }

    fn read(text: &str) -> Result<Vec<Certificate>> {
        read_bytes(&hex::decode(text).unwrap())
    }

    #[test]
    fn certificates_of_each_kind_are_read() {
        let (one, two, vrf) =
            ("581c".to_owned() + &"01".repeat(28), "581c".to_owned() + &"02".repeat(28), "5820".to_owned() + &"03".repeat(32));
        let key = Credential { script: false, hash: [1; 28] };
        let script = Credential { script: true, hash: [1; 28] };
        let registered = DRep::Registered(Credential { script: false, hash: [2; 28] });
        for (text, expected) in [
            (format!("82008200{one}"), Certificate::Registration { credential: key, pool: None, deposit: None }),
            (format!("82018201{one}"), Certificate::Deregistration { credential: script, refund: None }),
            (format!("83028200{one}{two}"), Certificate::Delegation { credential: key, pool: [2; 28] }),
            (
                format!("8a03{two}{vrf}0506d81e820102581df0{}81{one}80f6", "01".repeat(28)),
                Certificate::PoolRegistration {
                    pool: [2; 28],
                    vrf_key_hash: [3; 32],
                    network: 0,
                    terms: PoolTerms { pledge: 5, cost: 6, margin: (1, 2), account: script, owners: vec![[1; 28]] },
                },
            ),
            (format!("8304{two}1863"), Certificate::PoolRetirement { pool: [2; 28], epoch: 99 }),
            (
                format!("8405{one}{two}{vrf}"),
                Certificate::GenesisDelegation { genesis_key: [1; 28], delegate: [2; 28], vrf_key_hash: [3; 32] },
            ),
            ("82068200a0".to_owned(), Certificate::InstantaneousRewards),
            (format!("83078200{one}1a001e8480"), Certificate::Registration { credential: key, pool: None, deposit: Some(2_000_000) }),
            (format!("83088201{one}00"), Certificate::Deregistration { credential: script, refund: Some(0) }),
            (format!("8304{two}00"), Certificate::PoolRetirement { pool: [2; 28], epoch: 0 }),
            (format!("83098200{one}8102"), Certificate::VoteDelegation { credential: key, to: DRep::Abstain }),
            (format!("83098201{one}8103"), Certificate::VoteDelegation { credential: script, to: DRep::NoConfidence }),
            (format!("83098200{one}8200{two}"), Certificate::VoteDelegation { credential: key, to: registered }),
            (format!("840b8200{one}{two}00"), Certificate::Registration { credential: key, pool: Some([2; 28]), deposit: Some(0) }),
            (
                format!("830e8200{one}8200{two}"),
                Certificate::CommitteeHotKey { cold: key, hot: Credential { script: false, hash: [2; 28] } },
            ),
            (format!("830f8200{one}f6"), Certificate::CommitteeResignation { cold: key }),
            (format!("84108200{one}07f6"), Certificate::DRepRegistration { drep: key, deposit: 7 }),
            (format!("83118200{one}07"), Certificate::DRepDeregistration { drep: key, refund: 7 }),
            (format!("83128201{one}f6"), Certificate::DRepUpdate { drep: script }),
        ] {
            assert_eq!(read(&format!("81{text}")), Ok(vec![expected.clone()]), "{text}");
            assert_eq!(read_bytes(&indefinite(&hex::decode(format!("d9010281{text}")).unwrap())), Ok(vec![expected]), "{text}");
            assert!(read(&format!("81{}", &text[..text.len() - 2])).is_err(), "{text}, cut");
        }
        let to_pool = Certificate::Delegation { credential: key, pool: [2; 28] };
        let register = |pool, deposit| Certificate::Registration { credential: key, pool, deposit: Some(deposit) };
        let abstain = Certificate::VoteDelegation { credential: key, to: DRep::Abstain };
        for (text, one_by_one) in [
            (format!("840a8200{one}{two}8102"), [to_pool, abstain.clone()]),
            (format!("840c8200{one}810203"), [register(None, 3), abstain.clone()]),
            (format!("850d8200{one}{two}810204"), [register(Some([2; 28]), 4), abstain]),
        ] {
            assert_eq!(read(&format!("81{text}")), Ok(one_by_one.to_vec()), "{text}");
            assert_eq!(read_bytes(&indefinite(&hex::decode(format!("81{text}")).unwrap())), Ok(one_by_one.to_vec()), "{text}");
        }
        let three = hex::decode(format!("8382068200a0840a8200{one}{two}810282068200a0")).unwrap();
        let places = certificates(&three, Span { start: 0, end: three.len() as u32 }).unwrap();
        assert_eq!(places.into_iter().map(|(place, _)| place).collect::<Vec<_>>(), [0, 1, 1, 2]);
        assert!(read(&format!("8182138200{one}")).is_err() && read(&format!("8183098200{one}820200")).is_err());
        assert!(read(&format!("818202 8200{one}").replace(' ', "")).is_err());
        assert_eq!(certificates(&[], Span::default()), Ok(vec![]));
    }
}
