//! Conway's governance in transactions: proposals, and votes on them.

use super::certificate::{Credential, Hash28, credential, reward_account};
use crate::cbor::{Cursor, DecodeError, Span};
use crate::point::Hash32;

/// The encoding of nothing.
const NULL: u8 = 0xf6;

/// A proposal of Conway's governance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// Lovelace that it deposits until it ends.
    pub deposit: u64,
    /// The owner of the account that the deposit goes back to.
    pub account: Credential,
    /// The action that it proposes.
    pub action: GovernanceAction,
    /// Networks of the accounts that it names: that of its deposit, and those that it would pay.
    pub networks: Vec<u8>,
}

/// A governance action. Actions of some kinds name the last one of their purpose that is to be enacted before them; None for the first of all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GovernanceAction {
    /// Other protocol parameters.
    Parameters {
        /// The change before it.
        previous: Option<ActionId>,
        /// The new parameters as encoded: a map by number of parameter.
        update: Vec<u8>,
        /// Hash of the constitution's script, which must agree to it.
        guardrails: Option<Hash28>,
    },
    /// Another protocol version.
    HardFork {
        /// The hard fork before it.
        previous: Option<ActionId>,
        /// The version, as major and minor.
        version: (u64, u64),
    },
    /// Lovelace out of the treasury.
    Withdrawals {
        /// Owners of reward accounts, each with its lovelace.
        amounts: Vec<(Credential, u64)>,
        /// Hash of the constitution's script, which must agree to it.
        guardrails: Option<Hash28>,
    },
    /// No confidence in the committee.
    NoConfidence {
        /// The change of the committee before it.
        previous: Option<ActionId>,
    },
    /// Other members of the committee.
    Committee {
        /// The change of the committee before it.
        previous: Option<ActionId>,
        /// Members that leave, by their cold credentials.
        leaving: Vec<Credential>,
        /// Members that join, each with the last epoch of its term.
        joining: Vec<(Credential, u64)>,
        /// Share of the committee that its votes take, as numerator and denominator.
        threshold: (u64, u64),
    },
    /// Another constitution.
    Constitution {
        /// The constitution before it.
        previous: Option<ActionId>,
        /// Hash of its script; None without one.
        guardrails: Option<Hash28>,
    },
    /// Nothing.
    Info,
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

/// A vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vote {
    /// The one whose it is.
    pub voter: Voter,
    /// The action that it is on.
    pub action: ActionId,
    /// The content.
    pub answer: Answer,
}

/// The content of a vote, with its number in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// 0.
    No,
    /// 1.
    Yes,
    /// 2: the voter doesn't count.
    Abstain,
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
            let action = action_id(&mut cursor)?;
            let expected = "a vote, as [0 to 2, anchor]";
            let pair = cursor.array_of(2, expected)?;
            let answer = match cursor.uint(expected)? {
                0 => Answer::No,
                1 => Answer::Yes,
                2 => Answer::Abstain,
                _ => return cursor.error(expected),
            };
            cursor.skip()?;
            pair.finish(&mut cursor, expected)?;
            votes.push(Vote { voter, action, answer });
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

/// `[transaction, place]`.
fn action_id(cursor: &mut Cursor<'_>) -> Result<ActionId, DecodeError> {
    let expected = "a governance action's id, as [transaction, place]";
    let pair = cursor.array_of(2, expected)?;
    let action = ActionId { transaction: *cursor.bytes_of(expected)?, place: cursor.uint(expected)? };
    pair.finish(cursor, expected)?;
    Ok(action)
}

/// The proposals of an array or set; none for an empty span.
pub(super) fn proposals(bytes: &[u8], span: Span) -> Result<Vec<Proposal>, DecodeError> {
    let mut proposals = Vec::new();
    let Some(mut cursor) = Cursor::at(bytes, span) else { return Ok(proposals) };
    let mut items = cursor.set("proposals")?;
    while items.next(&mut cursor)? {
        proposals.push(proposal(&mut cursor, bytes)?);
    }
    Ok(proposals)
}

/// `[deposit, account for its return, [kind, …], anchor]`.
fn proposal(cursor: &mut Cursor<'_>, bytes: &[u8]) -> Result<Proposal, DecodeError> {
    let expected = "a proposal, as [deposit, account, action, anchor]";
    let fields = cursor.array_of(4, expected)?;
    let deposit = cursor.uint("a deposit in lovelace")?;
    let (network, account) = reward_account(cursor)?;
    let mut networks = vec![network];
    let action = action(cursor, bytes, &mut networks)?;
    cursor.skip()?;
    fields.finish(cursor, expected)?;
    Ok(Proposal { deposit, account, action, networks })
}

/// `[kind, …]`; adds the networks of accounts.
fn action(cursor: &mut Cursor<'_>, bytes: &[u8], networks: &mut Vec<u8>) -> Result<GovernanceAction, DecodeError> {
    let expected = "all fields of a governance action";
    let mut fields = cursor.array("a governance action, as [kind, …]")?;
    let at = cursor.position();
    let kind = if fields.next(cursor)? { cursor.uint("a kind of governance action")? } else { u64::MAX };
    // Each of these takes one field of the action.
    let mut next = |cursor: &mut Cursor<'_>| if fields.next(cursor)? { Ok(()) } else { cursor.error(expected) };
    let mut previous = None;
    if matches!(kind, 0 | 1 | 3 | 4 | 5) {
        next(cursor)?;
        previous = optional(cursor, action_id)?;
    }
    let action = match kind {
        0 => {
            next(cursor)?;
            let update = cursor.skip()?.of(bytes).to_vec();
            next(cursor)?;
            GovernanceAction::Parameters { previous, update, guardrails: optional(cursor, script_hash)? }
        }
        1 => {
            next(cursor)?;
            GovernanceAction::HardFork { previous, version: cursor.pair("a protocol version, as [major, minor]")? }
        }
        2 => {
            next(cursor)?;
            let mut amounts = Vec::new();
            let mut items = cursor.map("withdrawals from the treasury")?;
            while items.next(cursor)? {
                let (network, owner) = reward_account(cursor)?;
                networks.push(network);
                amounts.push((owner, cursor.uint("lovelace")?));
            }
            next(cursor)?;
            GovernanceAction::Withdrawals { amounts, guardrails: optional(cursor, script_hash)? }
        }
        3 => GovernanceAction::NoConfidence { previous },
        4 => {
            next(cursor)?;
            let (mut leaving, mut joining) = (Vec::new(), Vec::new());
            let mut items = cursor.set("members that leave the committee")?;
            while items.next(cursor)? {
                leaving.push(credential(cursor)?);
            }
            next(cursor)?;
            let mut items = cursor.map("members that join the committee")?;
            while items.next(cursor)? {
                joining.push((credential(cursor)?, cursor.uint("an epoch")?));
            }
            next(cursor)?;
            let threshold = cursor.share("a threshold, as a rational number from 0 to 1")?;
            GovernanceAction::Committee { previous, leaving, joining, threshold }
        }
        5 => {
            next(cursor)?;
            let expected = "a constitution, as [anchor, script]";
            let constitution = cursor.array_of(2, expected)?;
            cursor.skip()?;
            let guardrails = optional(cursor, script_hash)?;
            constitution.finish(cursor, expected)?;
            GovernanceAction::Constitution { previous, guardrails }
        }
        6 => GovernanceAction::Info,
        _ => return Err(DecodeError { offset: at, expected: "a kind of governance action from 0 to 6" }),
    };
    fields.end(cursor, "the end of a governance action")?;
    Ok(action)
}

/// None for null.
fn optional<'a, T>(
    cursor: &mut Cursor<'a>,
    read: impl FnOnce(&mut Cursor<'a>) -> Result<T, DecodeError>,
) -> Result<Option<T>, DecodeError> {
    if cursor.peek() == Some(NULL) {
        cursor.skip()?;
        return Ok(None);
    }
    read(cursor).map(Some)
}

fn script_hash(cursor: &mut Cursor<'_>) -> Result<Hash28, DecodeError> {
    cursor.bytes_of("the hash of a script").copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cbor::indefinite;

    fn read(text: &str) -> Result<Vec<Proposal>, DecodeError> {
        let bytes = hex::decode(text).unwrap();
        proposals(&bytes, Span { start: 0, end: bytes.len() as u32 })
    }

    #[test]
    fn proposals_of_each_kind_are_read() {
        use GovernanceAction::{Committee, Constitution, HardFork, Info, NoConfidence, Parameters, Withdrawals};
        let account = "581de0".to_owned() + &"01".repeat(28);
        let anchor = "826161".to_owned() + "5820" + &"02".repeat(32);
        let script = "581c".to_owned() + &"05".repeat(28);
        let id = "825820".to_owned() + &"04".repeat(32) + "1863";
        let previous = Some(ActionId { transaction: [4; 32], place: 99 });
        let one = |action: &str| format!("841a3b9aca00{account}{action}{anchor}");
        let (owner, member) = (Credential { script: false, hash: [1; 28] }, Credential { script: true, hash: [5; 28] });
        let guardrails = Some([5; 28]);
        for (action, expected) in [
            ("8400f6a100182cf6", Parameters { previous: None, update: vec![0xa1, 0, 0x18, 0x2c], guardrails: None }),
            (&format!("8400{id}a0{script}"), Parameters { previous, update: vec![0xa0], guardrails }),
            ("8301f6820b00", HardFork { previous: None, version: (11, 0) }),
            (&format!("8301{id}820b01"), HardFork { previous, version: (11, 1) }),
            (&format!("8302a1{account}01f6"), Withdrawals { amounts: vec![(owner, 1)], guardrails: None }),
            (&format!("8302a0{script}"), Withdrawals { amounts: vec![], guardrails }),
            ("8203f6", NoConfidence { previous: None }),
            (&format!("8203{id}"), NoConfidence { previous }),
            ("8504f680a0d81e820102", Committee { previous: None, leaving: vec![], joining: vec![], threshold: (1, 2) }),
            (
                &format!("8504{id}d90102818201{script}a18201{script}07d81e820203"),
                Committee { previous, leaving: vec![member], joining: vec![(member, 7)], threshold: (2, 3) },
            ),
            (&format!("8305f682{anchor}f6"), Constitution { previous: None, guardrails: None }),
            (&format!("8305{id}82{anchor}{script}"), Constitution { previous, guardrails }),
            ("8106", Info),
        ] {
            let networks = vec![0; if matches!(&expected, Withdrawals { amounts, .. } if !amounts.is_empty()) { 2 } else { 1 }];
            let proposal = Proposal { deposit: 1_000_000_000, account: owner, action: expected, networks };
            assert_eq!(read(&format!("81{}", one(action))), Ok(vec![proposal.clone()]), "{action}");
            assert_eq!(read(&format!("d9010282{0}{0}", one(action))), Ok(vec![proposal.clone(); 2]));
            if !matches!(proposal.action, Parameters { .. }) {
                let with_breaks = hex::encode(indefinite(&hex::decode(format!("81{}", one(action))).unwrap()));
                assert_eq!(read(&with_breaks), Ok(vec![proposal]), "{action}");
            }
            let whole = one(action);
            assert!(read(&format!("81{}", &whole[..whole.len() - 2])).is_err(), "{action}, cut");
        }
        for action in ["8107", "80", "06", "8120", "8206f6", "8303f6f6", "8504f680a0d81e820302", "8504f680a0d81e820000"] {
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
        let of = |voter, place, answer| Vote { voter, action: ActionId { transaction: [4; 32], place }, answer };
        for (kind, voter) in [
            (0, Voter::Committee(by(false))),
            (1, Voter::Committee(by(true))),
            (2, Voter::DRep(by(false))),
            (3, Voter::DRep(by(true))),
            (4, Voter::Pool([3; 28])),
        ] {
            let three = format!("a1820{kind}{hash}a382{id}008201f682{id}18638200826161{id}82{id}018202f6");
            let expected = vec![of(voter, 0, Answer::Yes), of(voter, 99, Answer::No), of(voter, 1, Answer::Abstain)];
            assert_eq!(read(&three), Ok(expected.clone()));
            assert_eq!(read(&hex::encode(indefinite(&hex::decode(three).unwrap()))), Ok(expected));
        }
        assert!(read(&format!("a18202{hash}a182{id}008203f6")).is_err());
        assert!(read(&format!("a18205{hash}a0")).is_err() && read(&format!("a18202{hash}a182{id}f600")).is_err());
        assert_eq!(votes(&[], Span::default()), Ok(Vec::new()));
    }
}
