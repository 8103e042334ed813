//! Conway's governance in transactions: proposals, and votes on them.

use super::certificate::{Credential, reward_account};
use crate::cbor::{Cursor, DecodeError, Span};
use crate::point::Hash32;

/// A proposal of Conway's governance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// Lovelace that it deposits until it ends.
    pub deposit: u64,
    /// The owner of the account that the deposit goes back to.
    pub account: Credential,
    /// The kind of its action.
    pub action: GovernanceAction,
}

/// The kind of a governance action, with its number in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GovernanceAction {
    /// 0: other protocol parameters.
    Parameters,
    /// 1: another protocol version.
    HardFork,
    /// 2: lovelace out of the treasury.
    Withdrawals,
    /// 3: no confidence in the committee.
    NoConfidence,
    /// 4: other members of the committee.
    Committee,
    /// 5: another constitution.
    Constitution,
    /// 6: nothing.
    Info,
}

impl GovernanceAction {
    const ALL: [Self; 7] =
        [Self::Parameters, Self::HardFork, Self::Withdrawals, Self::NoConfidence, Self::Committee, Self::Constitution, Self::Info];
}

/// A governance action: the transaction that proposed it, and its place among that one's proposals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ActionId {
    /// The transaction's id.
    pub transaction: Hash32,
    /// The place, from 0 on.
    pub place: u64,
}

/// The one who votes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voter {
    /// A member of the committee, by the hot credential.
    Committee(Credential),
    /// A DRep.
    DRep(Credential),
    /// A pool, by the hash of its cold key.
    Pool([u8; 28]),
}

/// A vote, whatever it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vote {
    /// The one whose it is.
    pub voter: Voter,
    /// The action that it is on.
    pub action: ActionId,
}

/// The votes of a map of maps; none for an empty span.
pub(super) fn votes(bytes: &[u8], span: Span) -> Result<Vec<Vote>, DecodeError> {
    let mut votes = Vec::new();
    let Some(mut cursor) = Cursor::at(bytes, span) else { return Ok(votes) };
    let mut voters = cursor.map("votes by voter")?;
    while voters.next(&mut cursor)? {
        let voter = voter(&mut cursor)?;
        let mut actions = cursor.map("votes by action")?;
        while actions.next(&mut cursor)? {
            let expected = "a governance action's id, as [transaction, place]";
            let pair = cursor.array_of(2, expected)?;
            let action = ActionId { transaction: *cursor.bytes_of(expected)?, place: cursor.uint(expected)? };
            pair.finish(&mut cursor, expected)?;
            cursor.skip()?;
            votes.push(Vote { voter, action });
        }
    }
    Ok(votes)
}

/// `[0 to 4, hash]`.
fn voter(cursor: &mut Cursor<'_>) -> Result<Voter, DecodeError> {
    let expected = "a voter, as [0 to 4, hash]";
    let pair = cursor.array_of(2, expected)?;
    let kind = cursor.uint(expected)?;
    let hash = *cursor.bytes_of(expected)?;
    pair.finish(cursor, expected)?;
    Ok(match kind {
        0 | 1 => Voter::Committee(Credential { script: kind == 1, hash }),
        2 | 3 => Voter::DRep(Credential { script: kind == 3, hash }),
        4 => Voter::Pool(hash),
        _ => return cursor.error(expected),
    })
}

/// The proposals of an array or set; none for an empty span.
pub(super) fn proposals(bytes: &[u8], span: Span) -> Result<Vec<Proposal>, DecodeError> {
    let mut proposals = Vec::new();
    let Some(mut cursor) = Cursor::at(bytes, span) else { return Ok(proposals) };
    let mut items = cursor.set("proposals")?;
    while items.next(&mut cursor)? {
        proposals.push(proposal(&mut cursor)?);
    }
    Ok(proposals)
}

/// `[deposit, account for its return, [kind, …], anchor]`.
fn proposal(cursor: &mut Cursor<'_>) -> Result<Proposal, DecodeError> {
    let expected = "a proposal, as [deposit, account, action, anchor]";
    let fields = cursor.array_of(4, expected)?;
    let deposit = cursor.uint("a deposit in lovelace")?;
    let account = reward_account(cursor)?;
    let mut action = cursor.array("a governance action, as [kind, …]")?;
    let at = cursor.position();
    let kind = if action.next(cursor)? { cursor.uint("a kind of governance action")? } else { u64::MAX };
    let known = usize::try_from(kind).ok().and_then(|kind| GovernanceAction::ALL.get(kind));
    let Some(&kind) = known else { return Err(DecodeError { offset: at, expected: "a kind of governance action from 0 to 6" }) };
    while action.next(cursor)? {
        cursor.skip()?;
    }
    cursor.skip()?;
    fields.finish(cursor, expected)?;
    Ok(Proposal { deposit, account, action: kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Proposal>, DecodeError> {
        let bytes = hex::decode(text).unwrap();
        proposals(&bytes, Span { start: 0, end: bytes.len() as u32 })
    }

    #[test]
    fn proposals_of_each_kind_are_read() {
        let account = "581de0".to_owned() + &"01".repeat(28);
        let anchor = "826161".to_owned() + "5820" + &"02".repeat(32);
        let one = |action: &str| format!("841a3b9aca00{account}{action}{anchor}");
        for (action, expected) in [
            ("8400f6a100182cf6", GovernanceAction::Parameters),
            ("8301f6820b00", GovernanceAction::HardFork),
            (&format!("8302a1{account}01f6"), GovernanceAction::Withdrawals),
            ("8203f6", GovernanceAction::NoConfidence),
            ("8504f680a0d81e820102", GovernanceAction::Committee),
            (&format!("8305f682{anchor}f6"), GovernanceAction::Constitution),
            ("8106", GovernanceAction::Info),
        ] {
            let account = Credential { script: false, hash: [1; 28] };
            let proposal = Proposal { deposit: 1_000_000_000, account, action: expected };
            assert_eq!(read(&format!("81{}", one(action))), Ok(vec![proposal]));
            assert_eq!(read(&format!("d9010282{0}{0}", one(action))), Ok(vec![proposal; 2]));
        }
        for action in ["8107", "80", "06", "8120"] {
            assert!(read(&format!("81{}", one(action))).is_err(), "{action}");
        }
        assert!(read(&format!("81831a3b9aca00{account}8106")).is_err(), "without an anchor");
        assert_eq!(proposals(&[], Span::default()), Ok(Vec::new()));
    }

    #[test]
    fn votes_of_each_voter_are_read() {
        let (hash, id) = ("581c".to_owned() + &"03".repeat(28), "5820".to_owned() + &"04".repeat(32));
        let read = |text: &str| {
            let bytes = hex::decode(text).unwrap();
            votes(&bytes, Span { start: 0, end: bytes.len() as u32 })
        };
        let by = |script| Credential { script, hash: [3; 28] };
        let of = |voter, place| Vote { voter, action: ActionId { transaction: [4; 32], place } };
        for (kind, voter) in [
            (0, Voter::Committee(by(false))),
            (1, Voter::Committee(by(true))),
            (2, Voter::DRep(by(false))),
            (3, Voter::DRep(by(true))),
            (4, Voter::Pool([3; 28])),
        ] {
            let two = format!("a1820{kind}{hash}a282{id}008201f682{id}18638200826161{id}");
            assert_eq!(read(&two), Ok(vec![of(voter, 0), of(voter, 99)]));
        }
        assert!(read(&format!("a18205{hash}a0")).is_err() && read(&format!("a18202{hash}a182{id}f600")).is_err());
        assert_eq!(votes(&[], Span::default()), Ok(Vec::new()));
    }
}
