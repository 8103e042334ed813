//! The parts of a block's transactions.

use std::ops::Range;

use crate::cbor::{Buffer, Span};

/// Items whose content isn't read: their places and number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The whole array or map.
    pub span: Span,
    /// Its items or entries.
    pub count: u32,
}

/// An input: an output of an earlier transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    /// Start of the earlier transaction's id of 32 bytes.
    pub transaction: u32,
    /// Index of the output; `u64::MAX` for a kind of Byron input that later clients don't support.
    pub index: u64,
}

/// An output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The whole output.
    pub encoded: Span,
    /// The address: its bytes, in Byron its CBOR.
    pub address: Span,
    /// Lovelace.
    pub lovelace: u64,
    /// Other assets, as a map.
    pub assets: Option<Span>,
    /// A datum's hash, or from Babbage on `[kind, datum]`.
    pub datum: Option<Span>,
    /// A script to refer to, under tag 24.
    pub script: Option<Span>,
}

/// A signature on a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VkeyWitness {
    /// Start of the key of 32 bytes.
    pub key: u32,
    /// Start of the signature of 64 bytes.
    pub signature: u32,
}

/// A script's argument and budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Redeemer {
    /// Its purpose: 0 spend, 1 mint, 2 certificate, 3 reward, 4 vote, 5 proposal.
    pub purpose: u8,
    /// Index within its purpose.
    pub index: u32,
    /// The argument, as Plutus data.
    pub data: Span,
    /// Memory units.
    pub memory: u64,
    /// Steps.
    pub steps: u64,
}

/// A witness set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Witnesses {
    /// The whole set.
    pub encoded: Span,
    /// Key witnesses, as a range of the block's.
    pub vkeys: Range<u32>,
    /// Redeemers, as a range of the block's.
    pub redeemers: Range<u32>,
    /// All redeemers, as encoded; empty without any.
    pub redeemers_encoded: Span,
    /// Native scripts.
    pub native_scripts: Listing,
    /// Bootstrap witnesses.
    pub bootstrap: Listing,
    /// Plutus scripts, versions 1 to 3.
    pub plutus_scripts: [Listing; 3],
    /// Datums.
    pub datums: Listing,
}

/// A transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transaction {
    /// The body; its BLAKE2b-256 is the transaction's id.
    pub body: Span,
    /// Inputs, as a range of the block's.
    pub inputs: Range<u32>,
    /// Outputs, as a range of the block's.
    pub outputs: Range<u32>,
    /// Lovelace; 0 in Byron, where it isn't written down.
    pub fee: u64,
    /// The slot from which it is no longer valid.
    pub invalid_hereafter: Option<u64>,
    /// The slot from which it is valid.
    pub invalid_before: Option<u64>,
    /// Certificates.
    pub certificates: Listing,
    /// Withdrawals of rewards.
    pub withdrawals: Listing,
    /// A proposed change of parameters (up to Babbage).
    pub update: Option<Span>,
    /// Hash of the auxiliary data.
    pub auxiliary_hash: Option<Span>,
    /// Minted assets.
    pub mint: Listing,
    /// Hash of redeemers, datums and cost models.
    pub script_data_hash: Option<Span>,
    /// Collateral inputs.
    pub collateral: Listing,
    /// Keys that must sign.
    pub required_signers: Listing,
    /// 0 for test networks, 1 for mainnet.
    pub network: Option<u64>,
    /// The output that returns the rest of the collateral.
    pub collateral_return: Option<Output>,
    /// Lovelace.
    pub total_collateral: Option<u64>,
    /// Reference inputs.
    pub reference_inputs: Listing,
    /// Votes.
    pub votes: Listing,
    /// Proposals.
    pub proposals: Listing,
    /// The stated value of the treasury, in lovelace.
    pub treasury: Option<u64>,
    /// Lovelace given to the treasury.
    pub donation: Option<u64>,
    /// The witness set.
    pub witnesses: Witnesses,
}

/// A block's transactions, flat: they refer to the rest by ranges.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) transactions: Vec<Transaction>,
    pub(super) inputs: Vec<Input>,
    pub(super) outputs: Vec<Output>,
    pub(super) vkeys: Vec<VkeyWitness>,
    pub(super) redeemers: Vec<Redeemer>,
    pub(super) invalid: Vec<u32>,
    pub(super) fees: u64,
    pub(super) buffer: Buffer,
}

impl Parts {
    pub(super) fn clear(&mut self) {
        self.transactions.clear();
        self.inputs.clear();
        self.outputs.clear();
        self.vkeys.clear();
        self.redeemers.clear();
        self.invalid.clear();
        self.fees = 0;
    }
}
