//! Proposals of Conway's governance: what they may change beside governance itself.

use crate::cbor::{Cursor, DecodeError, Span};

/// A proposal of Conway's governance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// Lovelace that it deposits until it ends.
    pub deposit: u64,
    /// What it proposes.
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
    cursor.skip()?;
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
    Ok(Proposal { deposit, action: kind })
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
            let proposal = Proposal { deposit: 1_000_000_000, action: expected };
            assert_eq!(read(&format!("81{}", one(action))), Ok(vec![proposal]));
            assert_eq!(read(&format!("d9010282{0}{0}", one(action))), Ok(vec![proposal; 2]));
        }
        for action in ["8107", "80", "06", "8120"] {
            assert!(read(&format!("81{}", one(action))).is_err(), "{action}");
        }
        assert!(read(&format!("81831a3b9aca00{account}8106")).is_err(), "without an anchor");
        assert_eq!(proposals(&[], Span::default()), Ok(Vec::new()));
    }
}
