//! The needs of a transaction beside its inputs: keys that sign, scripts that run.

use std::collections::{BTreeMap, BTreeSet};

use pallas_codec::minicbor;
use slotmark_chain::block::{Block, Certificate, Credential, Era, GovernanceAction, Hash28, Transaction, Voter};
use slotmark_chain::{DecodeError, Hash32};

use crate::bytes::{Balance, Payment, Result, Script, entries, hash, items};
use crate::certificates::Demands;
use crate::resolved::Source;

/// The item that a script runs for, as redeemers name it: its purpose (0 spend, 1 mint, 2 certificate, 3 reward, 4 vote, 5 proposal) and its index.
pub(crate) type Pointer = (u8, u32);

/// The needs of a transaction's body, without its inputs.
pub(crate) struct Needs {
    /// Keys that must sign.
    pub(crate) keys: BTreeSet<Hash28>,
    /// True where more keys must sign, which can't be found in the transaction.
    pub(crate) unknown_keys: bool,
    /// Scripts that must be there, and what for.
    pub(crate) scripts: Vec<(Pointer, Hash28)>,
    /// Value that goes in above what comes out, without inputs, outputs and deposits that depend on parameters.
    pub(crate) balance: Balance,
    /// Deposits for stake credentials less refunds, in numbers.
    pub(crate) key_deposits: i128,
    /// Networks of the reward accounts that it names: those that are withdrawn from, and from Alonzo on, those of pools and proposals.
    pub(crate) networks: Vec<u8>,
}

impl Needs {
    pub(crate) fn of(block: &Block<'_, '_>, transaction: &Transaction) -> Result<Self> {
        let mut needs = Self {
            keys: BTreeSet::new(),
            unknown_keys: transaction.update.is_some(),
            scripts: Vec::new(),
            balance: Balance::default(),
            key_deposits: 0,
            networks: Vec::new(),
        };
        needs.balance.lovelace -= i128::from(transaction.fee) + i128::from(transaction.donation.unwrap_or_default());
        for signer in items(transaction.required_signers.span.of(block.bytes))? {
            needs.keys.insert(hash(signer)?);
        }
        let mint = transaction.mint.span.of(block.bytes);
        needs.balance.add_assets(mint, 1)?;
        let policies: BTreeSet<Hash28> = entries(mint)?.into_iter().map(|(policy, _)| hash(policy)).collect::<Result<_>>()?;
        needs.scripts.extend((0..).zip(policies).map(|(index, policy)| ((1, index), policy)));
        for (index, certificate) in block.numbered_certificates(transaction).map_err(foreign)? {
            if block.header.era >= Era::Conway
                && matches!(certificate, Certificate::GenesisDelegation { .. } | Certificate::InstantaneousRewards)
            {
                return Err(minicbor::decode::Error::message("a certificate of an earlier era"));
            }
            if let Certificate::PoolRegistration { network, .. } = certificate
                && block.header.era >= Era::Alonzo
            {
                needs.networks.push(network);
            }
            let Demands { credentials, deposit, key_deposits, unknown_signers } = Demands::of(&certificate);
            credentials.into_iter().for_each(|credential| needs.witness(credential, (2, index)));
            needs.balance.lovelace -= deposit;
            needs.key_deposits += key_deposits;
            needs.unknown_keys |= unknown_signers;
        }
        needs.take_withdrawals(block.withdrawals(transaction).map_err(foreign)?);
        needs.take_voters(block.votes(transaction).map_err(foreign)?.into_iter().map(|vote| vote.voter));
        for (index, proposal) in (0..).zip(block.proposals(transaction).map_err(foreign)?) {
            needs.balance.lovelace -= i128::from(proposal.deposit);
            needs.networks.extend(proposal.networks);
            use GovernanceAction::{Parameters, Withdrawals};
            if let Parameters { guardrails: Some(guard), .. } | Withdrawals { guardrails: Some(guard), .. } = proposal.action {
                needs.scripts.push(((5, index), guard));
            }
        }
        Ok(needs)
    }

    /// Withdrawals run in the order of network and credential, scripts before keys.
    fn take_withdrawals(&mut self, withdrawals: Vec<(u8, Credential, u64)>) {
        let mut accounts = Vec::new();
        for (network, owner, lovelace) in withdrawals {
            accounts.push((network, !owner.script, owner.hash));
            self.balance.lovelace += i128::from(lovelace);
            self.networks.push(network);
        }
        accounts.sort_unstable();
        for (index, (_, is_key, hash)) in (0..).zip(accounts) {
            self.witness(Credential { script: !is_key, hash }, (3, index));
        }
    }

    /// Voters come in the order of committee, representatives, pools, each with scripts before keys.
    fn take_voters(&mut self, voters: impl Iterator<Item = Voter>) {
        let ranked = voters.map(|voter| match voter {
            Voter::Committee(credential) => (0, !credential.script, credential.hash),
            Voter::DRep(credential) => (1, !credential.script, credential.hash),
            Voter::Pool(hash) => (2, true, hash),
        });
        let ranked: BTreeSet<(u8, bool, Hash28)> = ranked.collect();
        for (index, (_, is_key, hash)) in (0..).zip(ranked) {
            self.witness(Credential { script: !is_key, hash }, (4, index));
        }
    }

    /// Adds what spending the inputs needs; `ids` are their places, in the order of `inputs`.
    pub(crate) fn take_inputs(&mut self, places: &[(Hash32, u64)], inputs: &[Source<'_>], collateral: &[Source<'_>]) -> Result<()> {
        let sorted: BTreeMap<_, _> = places.iter().zip(inputs).collect();
        for (index, input) in (0..).zip(sorted.values()) {
            self.take_payment(input.payment(), Some((0, index)))?;
            self.balance.add_output(input.bytes, &input.output, 1)?;
        }
        collateral.iter().try_for_each(|source| self.take_payment(source.payment(), None))
    }

    fn take_payment(&mut self, payment: Option<Payment>, pointer: Option<Pointer>) -> Result<()> {
        match (payment, pointer) {
            (Some(Payment::Credential(credential)), Some(pointer)) => self.witness(credential, pointer),
            (Some(Payment::Credential(Credential { script: false, hash })), None) => drop(self.keys.insert(hash)),
            (Some(Payment::Credential(_)), None) => {} // collateral at a script: another rule's matter
            (Some(Payment::Byron), _) => self.unknown_keys = true,
            (None, _) => return Err(minicbor::decode::Error::message("an output at no address that can be paid to")),
        }
        Ok(())
    }

    fn witness(&mut self, credential: Credential, pointer: Pointer) {
        match credential.script {
            true if self.scripts.last() == Some(&(pointer, credential.hash)) => {} // a certificate that does several things runs it once
            true => self.scripts.push((pointer, credential.hash)),
            false => drop(self.keys.insert(credential.hash)),
        }
    }
}

/// The failure of our decoder as that of the other: its place is from the beginning of the block.
pub(crate) fn foreign(error: DecodeError) -> minicbor::decode::Error {
    minicbor::decode::Error::message(error.expected).at(error.offset)
}

/// Scripts among a transaction's witnesses.
pub(crate) fn witness_scripts(block: &Block<'_, '_>, transaction: &Transaction) -> Result<Vec<Script>> {
    let set = &transaction.witnesses;
    let [one, two, three] = set.plutus_scripts;
    let mut scripts = Vec::new();
    for (language, listing) in (0..).zip([set.native_scripts, one, two, three]) {
        for encoded in items(listing.span.of(block.bytes))? {
            scripts.push(Script::new(language, encoded)?);
        }
    }
    Ok(scripts)
}

/// Scripts that outputs hold for reference, one for each output that has one.
pub(crate) fn reference_scripts<'s, 'r: 's>(outputs: impl Iterator<Item = &'s Source<'r>>) -> Result<Vec<Script>> {
    outputs.filter_map(|source| Script::of_output(source.bytes, &source.output).transpose()).collect()
}
