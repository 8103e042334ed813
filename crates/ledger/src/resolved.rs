//! The outputs that a transaction's inputs refer to.

use std::sync::Arc;

use slotmark_chain::block::{Block, Input, Output, Transaction, decode_output};
use slotmark_chain::{CborBuffer, DecodeError};

use crate::bytes::{Payment, payment};

/// An unspent output as its transaction encodes it, from Shelley on: an array, or from Babbage on a map.
pub type EncodedOutput = Arc<[u8]>;

/// The outputs that a transaction refers to, each where its input is; None where there is no such unspent output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolved {
    /// Outputs of its inputs.
    pub inputs: Vec<Option<EncodedOutput>>,
    /// Outputs of its collateral.
    pub collateral: Vec<Option<EncodedOutput>>,
    /// Outputs of its reference inputs.
    pub references: Vec<Option<EncodedOutput>>,
    /// Number of pools that it registers for the first time; it makes a deposit for each.
    pub new_pools: u64,
    /// Lovelace that credentials which leave without a stated refund paid above the deposit that holds now; 0 where accounts aren't known.
    pub older_deposits: i128,
    /// True where its certificates and withdrawals fit the accounts and pools that it finds; None where that isn't known.
    pub fits_accounts: Option<bool>,
}

impl Resolved {
    /// Looks up all that a transaction refers to; `unspent` yields the output of a transaction's id and an index.
    ///
    /// # Errors
    /// A set of inputs can't be read.
    pub fn of(
        block: &Block<'_, '_>,
        transaction: &Transaction,
        new_pools: u64,
        mut unspent: impl FnMut(&[u8; 32], u64) -> Option<EncodedOutput>,
    ) -> Result<Self, DecodeError> {
        let mut resolve = |inputs: &[Input]| {
            let output = |input: &Input| {
                let id = block.bytes[input.transaction as usize..][..32].try_into().expect("32 bytes");
                unspent(id, input.index)
            };
            inputs.iter().map(output).collect()
        };
        Ok(Self {
            inputs: resolve(&block.inputs[transaction.inputs.start as usize..transaction.inputs.end as usize]),
            collateral: resolve(&block.inputs_in(&transaction.collateral)?),
            references: resolve(&block.inputs_in(&transaction.reference_inputs)?),
            new_pools,
            older_deposits: 0,
            fits_accounts: None,
        })
    }
}

impl Resolved {
    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = Option<&EncodedOutput>> {
        self.inputs.iter().chain(&self.collateral).chain(&self.references).map(Option::as_ref)
    }
}

/// An output of lovelace at an address, encoded as an array, as genesis files don't have it.
pub fn encode_output(address: &[u8], lovelace: u64) -> EncodedOutput {
    let mut output = Vec::with_capacity(address.len() + 12);
    output.array(2);
    output.bytes(address);
    output.uint(lovelace);
    output.into()
}

/// An unspent output, decoded.
pub(crate) struct Source<'r> {
    pub(crate) bytes: &'r [u8],
    pub(crate) output: Output,
}

impl<'r> Source<'r> {
    fn decode(bytes: &'r [u8]) -> Result<Self, DecodeError> {
        Ok(Self { bytes, output: decode_output(bytes)? })
    }

    pub(crate) fn payment(&self) -> Option<Payment> {
        payment(self.output.address.of(self.bytes))
    }
}

/// All of them decoded; None where one is missing.
pub(crate) fn decode(outputs: &[Option<EncodedOutput>]) -> Result<Option<Vec<Source<'_>>>, DecodeError> {
    outputs.iter().map(|output| output.as_deref().map(Source::decode).transpose()).collect()
}
