//! The rules that a block and its transactions keep or break, and what is known about each.

use std::fmt;

macro_rules! rules {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+) => {
        /// A rule that is checked of a block, or of each of its transactions.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Rule {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Rule {
            /// All of them, in the order in which they are reported.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The name that commands and documents use.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Returns the requirement, in a sentence.
            pub fn requirement(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc),+).trim_ascii(),)+ }
            }
        }
    };
}

rules! {
    /// The block's number is the one after its predecessor's.
    BlockNumber = "block-number",
    /// The slot is after the predecessor's.
    SlotOrder = "slot-order",
    /// The header names its predecessor's hash.
    PreviousHash = "previous-hash",
    /// The header isn't larger than the protocol parameters allow.
    HeaderLimit = "header-limit",
    /// The body isn't larger than the protocol parameters allow.
    BodyLimit = "body-limit",
    /// The header states the body's size.
    BodySize = "body-size",
    /// The header states the body's hash.
    BodyHash = "body-hash",
    /// The operational certificate has the cold key's signature.
    CertificateSignature = "certificate-signature",
    /// The operational certificate's number isn't below the issuer's last one.
    CounterLowerBound = "counter-lower-bound",
    /// The operational certificate's number is at most one above the issuer's last one.
    CounterUpperBound = "counter-upper-bound",
    /// The slot's KES period isn't before the operational certificate's.
    KesPeriodStart = "kes-period-start",
    /// The slot's KES period is before the operational certificate's end.
    KesPeriodEnd = "kes-period-end",
    /// The header has the hot key's signature, in the evolution of its slot.
    KesSignature = "kes-signature",
    /// The nonce proof and its output are the VRF key's for this slot and epoch (TPraos).
    VrfNonceProof = "vrf-nonce-proof",
    /// The leader proof and its output are the VRF key's for this slot and epoch (TPraos).
    VrfLeaderProof = "vrf-leader-proof",
    /// The proof and its output are the VRF key's for this slot and epoch (Praos).
    VrfProof = "vrf-proof",
    /// The slot of the overlay schedule is one that may have a block (TPraos).
    OverlaySlot = "overlay-slot",
    /// The issuer is the delegate whose slot it is by the overlay schedule (TPraos).
    OverlayDelegate = "overlay-delegate",
    /// The VRF key is the one registered for that delegate (TPraos).
    OverlayVrfKey = "overlay-vrf-key",
    /// The issuer is a pool with stake in the epoch's stake distribution.
    PoolRegistered = "pool-registered",
    /// The VRF key is the one registered for that pool.
    VrfKey = "vrf-key",
    /// The leader value is below the threshold of the pool's stake.
    LeaderThreshold = "leader-threshold",
    /// Every input, collateral and reference input of the transactions is an unspent output.
    InputsFound = "inputs-found",
    /// The budgets of the block's scripts together aren't above the limit of a block.
    BlockUnits = "block-units",
    /// The transaction spends at least one output.
    InputsGiven = "inputs-given",
    /// The slot is in the transaction's validity interval.
    ValidityInterval = "validity-interval",
    /// The fee isn't below the least one.
    Fee = "fee",
    /// The transaction isn't larger than the protocol parameters allow.
    TransactionLimit = "transaction-limit",
    /// Inputs, withdrawals, refunds and minted assets equal outputs, fee and deposits.
    ValueConserved = "value-conserved",
    /// Each output holds the least lovelace for its size.
    OutputLovelace = "output-lovelace",
    /// No output's value is larger than the protocol parameters allow.
    ValueLimit = "value-limit",
    /// Addresses, accounts of rewards and the transaction name this network; those of pools from Alonzo on.
    NetworkId = "network-id",
    /// The transaction names the hash of its auxiliary data.
    AuxiliaryDataHash = "auxiliary-data-hash",
    /// Each signature is the key's over the transaction's id.
    WitnessSignatures = "witness-signatures",
    /// Each key that must sign has signed.
    WitnessKeys = "witness-keys",
    /// Each script that is needed is there, and no other is among the witnesses.
    Scripts = "scripts",
    /// Each native script that is needed holds.
    NativeScripts = "native-scripts",
    /// Each datum that is needed is there, and no other is among the witnesses.
    Datums = "datums",
    /// Each Plutus script that is needed has a redeemer, and nothing else has one.
    Redeemers = "redeemers",
    /// The transaction names the hash of its redeemers, datums and cost models.
    ScriptDataHash = "script-data-hash",
    /// Collateral is of lovelace at keys' addresses, and enough of it.
    Collateral = "collateral",
    /// The budgets of the transaction's scripts together aren't above the limit of a transaction.
    TransactionUnits = "transaction-units",
    /// Certificates, withdrawals, votes and proposals fit the state of accounts, pools and governance.
    LedgerState = "ledger-state",
    /// Each script keeps to its budget.
    ScriptBudget = "script-budget",
    /// Each script succeeds; where the block marks the transaction as failing, one fails.
    ScriptResult = "script-result",
}

impl Rule {
    /// Returns whether it is checked of each transaction, and not of the block.
    pub fn is_of_transactions(self) -> bool {
        self >= Self::InputsGiven
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A set of rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules(u64);

const _: () = assert!(Rule::ALL.len() <= 64);

impl Rules {
    fn insert(&mut self, rule: Rule) {
        self.0 |= 1 << rule as u64;
    }

    /// Returns whether a rule is in the set.
    pub fn contains(self, rule: Rule) -> bool {
        self.0 >> rule as u64 & 1 == 1
    }

    /// Returns whether the set has no rule.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Its rules, in order.
    pub fn iter(self) -> impl Iterator<Item = Rule> {
        Rule::ALL.iter().copied().filter(move |rule| self.contains(*rule))
    }
}

/// The result of checking one block or transaction: each rule that concerns it is in one of the sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Rules that hold.
    pub held: Rules,
    /// Rules that are broken.
    pub broken: Rules,
    /// Rules that hold with stake that lacks rewards.
    pub approximate: Rules,
    /// Rules that can't be decided with what is known.
    pub unknown: Rules,
}

impl Outcome {
    /// Notes whether a rule holds.
    pub fn note(&mut self, rule: Rule, holds: bool) {
        if holds { self.held.insert(rule) } else { self.broken.insert(rule) }
    }

    /// Notes that a rule holds with approximate stake; if it doesn't, that it can't be decided.
    pub fn note_approximate(&mut self, rule: Rule, holds: bool) {
        if holds { self.approximate.insert(rule) } else { self.unknown.insert(rule) }
    }

    /// Notes that a rule can't be decided.
    pub fn note_unknown(&mut self, rule: Rule) {
        self.unknown.insert(rule);
    }

    /// Both together.
    pub fn merge(&mut self, other: Self) {
        self.held.0 |= other.held.0;
        self.broken.0 |= other.broken.0;
        self.approximate.0 |= other.approximate.0;
        self.unknown.0 |= other.unknown.0;
    }

    /// Ok where no rule is broken; what isn't known breaks none.
    ///
    /// # Errors
    /// The first broken rule.
    pub fn result(&self) -> Result<(), Rule> {
        self.broken.iter().next().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_rule_has_a_name_and_a_sentence() {
        let names: HashSet<_> = Rule::ALL.iter().map(|rule| rule.name()).collect();
        assert_eq!(names.len(), Rule::ALL.len());
        for rule in Rule::ALL {
            let sentence = rule.requirement();
            assert!(sentence.ends_with('.') && sentence.trim() == sentence, "{sentence}");
        }
    }

    #[test]
    fn every_rule_is_described_in_the_documentation() {
        let page = include_str!("../../../docs/chain.md");
        let rows = page.lines().filter_map(|line| line.strip_prefix("| `")).map(|row| row.split(" | ").take(2).collect::<Vec<_>>());
        let described: Vec<_> = rows.map(|cells| (cells[0].trim_end_matches('`'), cells[1])).collect();
        let rules: Vec<_> = Rule::ALL.iter().map(|rule| (rule.name(), rule.requirement())).collect();
        assert_eq!(described, rules);
    }

    #[test]
    fn the_first_broken_rule_is_the_result() {
        let mut outcome = Outcome::default();
        outcome.note(Rule::BlockNumber, true);
        outcome.note_unknown(Rule::LeaderThreshold);
        outcome.note_approximate(Rule::PoolRegistered, false);
        assert_eq!(outcome.result(), Ok(()));
        assert!(outcome.unknown.contains(Rule::PoolRegistered) && outcome.approximate.is_empty());
        outcome.note(Rule::VrfProof, false);
        outcome.note(Rule::KesSignature, false);
        assert_eq!(outcome.result(), Err(Rule::KesSignature));
        assert_eq!(outcome.broken.iter().collect::<Vec<_>>(), [Rule::KesSignature, Rule::VrfProof]);
    }
}
