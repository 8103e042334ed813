//! Updates of protocol parameters: by the genesis keys up to Babbage (rules PPUP and NEWPP of the Shelley ledger), and by Conway's governance.

use std::collections::BTreeMap;
use std::sync::Arc;

use slotmark_chain::block::{Block, DecodeError, Era, Hash28, ParameterUpdate, Transaction};
use slotmark_network::{Parameters, Ratio, shelley};

/// Proposals that wait for the end of an epoch, and the parameters that they change.
#[derive(Clone, Debug)]
pub struct Updates {
    /// Parameters of headers.
    headers: shelley::Parameters,
    /// Parameters of transactions; None where they aren't known.
    transactions: Option<Arc<Parameters>>,
    /// Parameters from the next epoch on that Conway's governance decided on; None for the same.
    decided: Option<Arc<Parameters>>,
    quorum: u64,
    /// By the epoch at whose end they are decided and the genesis key that made them.
    proposals: BTreeMap<u64, BTreeMap<Hash28, Proposal>>,
}

/// A genesis key's proposal.
#[derive(Clone, Debug)]
struct Proposal {
    /// The parameters as encoded, which must be alike to be counted together.
    encoded: Vec<u8>,
    update: ParameterUpdate,
    era: Era,
}

impl Updates {
    /// Parameters as the genesis has them.
    pub fn new(headers: shelley::Parameters, transactions: Option<Parameters>, quorum: u64) -> Self {
        Self { headers, transactions: transactions.map(Arc::new), decided: None, quorum, proposals: BTreeMap::new() }
    }

    /// The parameters of headers in the running epoch.
    pub fn headers(&self) -> &shelley::Parameters {
        &self.headers
    }

    /// The parameters of transactions in the running epoch; None where they aren't known.
    pub fn transactions(&self) -> Option<&Arc<Parameters>> {
        self.transactions.as_ref()
    }

    /// The parameters of rewards and deposits in the running epoch; None where they aren't known.
    pub fn rewards(&self) -> Option<shelley::Parameters> {
        let parameters = self.transactions.as_ref()?.shelley;
        Some(shelley::Parameters { decentralisation: self.headers.decentralisation, ..parameters })
    }

    /// Takes in a transaction's proposals: a later one of the same key replaces an earlier one.
    ///
    /// # Errors
    /// The proposals can't be read.
    pub fn apply(&mut self, block: &Block<'_, '_>, transaction: &Transaction) -> Result<(), DecodeError> {
        if let Some(update) = block.update(transaction)? {
            let proposals = self.proposals.entry(update.epoch).or_default();
            for (key, update) in update.proposals {
                let encoded = update.encoded.of(block.bytes).to_vec();
                proposals.insert(key, Proposal { encoded, update, era: block.header.era });
            }
        }
        Ok(())
    }

    /// Takes over, at the beginning of the next epoch, what Conway's governance decided on.
    pub(crate) fn decide(&mut self, parameters: Option<Arc<Parameters>>) {
        self.decided = parameters;
    }

    /// Goes into an epoch: what Conway's governance decided on is adopted, and so is what enough keys proposed alike for
    /// the end of the one before it.
    pub fn begin_epoch(&mut self, epoch: u64) {
        if let Some(parameters) = self.decided.take() {
            let shelley::Parameters { decentralisation, extra_entropy, .. } = self.headers;
            self.headers = shelley::Parameters { decentralisation, extra_entropy, ..parameters.shelley };
            self.transactions = Some(parameters);
        }
        let later = self.proposals.split_off(&epoch);
        let decided = std::mem::replace(&mut self.proposals, later);
        let Some((_, proposals)) = decided.into_iter().next_back().filter(|(at, _)| *at + 1 == epoch) else { return };
        let mut votes: BTreeMap<&[u8], (u64, &Proposal)> = BTreeMap::new();
        for proposal in proposals.values() {
            votes.entry(&proposal.encoded).or_insert((0, proposal)).0 += 1;
        }
        let mut winners = votes.values().filter(|(count, _)| *count >= self.quorum);
        if let (Some((_, adopted)), None) = (winners.next(), winners.next()) {
            self.adopt(&adopted.update);
            let mut transactions = self.transactions.take();
            if let Some(parameters) = &mut transactions
                && Arc::make_mut(parameters).adopt(&adopted.encoded, adopted.era < Era::Babbage).is_ok()
            {
                self.transactions = transactions;
            }
        }
    }

    fn adopt(&mut self, update: &ParameterUpdate) {
        let parameters = &mut self.headers;
        if let Some((numerator, denominator)) = update.decentralisation
            && let Some(d) = Ratio::share(numerator, denominator)
        {
            parameters.decentralisation = d;
        }
        parameters.extra_entropy = update.extra_entropy.unwrap_or(parameters.extra_entropy);
        parameters.max_header_bytes = update.max_header_bytes.unwrap_or(parameters.max_header_bytes);
        parameters.max_body_bytes = update.max_body_bytes.unwrap_or(parameters.max_body_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proposal(max_body_bytes: u64) -> Proposal {
        let update = ParameterUpdate {
            encoded: Default::default(),
            max_body_bytes: Some(max_body_bytes),
            max_header_bytes: None,
            decentralisation: Some((1, 2)),
            extra_entropy: None,
        };
        Proposal { encoded: max_body_bytes.to_be_bytes().to_vec(), update, era: Era::Babbage }
    }

    fn after(epoch: u64, votes: &[u64]) -> shelley::Parameters {
        let parameters = shelley::Parameters { decentralisation: Ratio::ONE, max_body_bytes: 100, ..shelley::PARAMETERS };
        let mut updates = Updates::new(parameters, None, 2);
        updates.proposals.insert(3, (0..).zip(votes).map(|(key, vote)| ([key; 28], proposal(*vote))).collect());
        updates.begin_epoch(epoch);
        assert_eq!(updates.proposals.len(), usize::from(epoch <= 3));
        *updates.headers()
    }

    #[test]
    fn a_quorum_of_equal_votes_decides_at_the_end_of_its_epoch() {
        assert_eq!(after(4, &[200, 200]).max_body_bytes, 200);
        assert_eq!(after(4, &[200, 200, 300]).decentralisation, Ratio::new(1, 2).unwrap());
        for (epoch, votes) in [(4, &[200, 300][..]), (4, &[200, 200, 300, 300]), (3, &[200, 200]), (5, &[200, 200]), (4, &[])] {
            assert_eq!(after(epoch, votes).max_body_bytes, 100, "{epoch} {votes:?}");
        }
    }
}
