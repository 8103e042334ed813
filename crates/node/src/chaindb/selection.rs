//! Going over to a better chain: the ledger follows, and what is settled leaves the tree.

use std::sync::Arc;

use slotmark_chain::Hash32;
use slotmark_chain::block::{DecodeError, body_is_proven};
use slotmark_chain::rule::{Outcome, Rule};
use slotmark_praos::check::check_transactions;
use slotmark_praos::outputs::SettledTip;
use slotmark_praos::state::Undo;

use super::{ChainDb, View};
use crate::error::NodeError;

/// A block that became part of the selected chain.
#[derive(Clone, Copy, Debug)]
pub struct Adopted {
    /// Its hash.
    pub hash: Hash32,
    /// The facts that were compared.
    pub view: View,
}

/// A change of the selected chain.
#[derive(Debug)]
pub struct Switch {
    /// The last block that the chains have in common.
    pub fork: Hash32,
    /// Blocks that left the chain, the oldest first.
    pub left: Vec<Hash32>,
    /// Blocks that joined it, in order.
    pub joined: Vec<Adopted>,
}

/// The result of looking for a better chain.
#[derive(Debug, Default)]
pub struct Selection {
    /// The change, where there is a better chain.
    pub switch: Option<Switch>,
    /// Blocks that were refused, each with the rule that it breaks.
    pub refused: Vec<(Hash32, String)>,
}

impl ChainDb {
    /// Looks whether a block that came makes a better chain, and goes over to it.
    ///
    /// # Errors
    /// The store can't be written, or the ledger's base can't be read.
    pub fn select(&mut self, from: Hash32) -> Result<Selection, NodeError> {
        let mut selection = Selection::default();
        while let Some((fork, path)) = self.best_through(&from) {
            match self.go_over(fork, &path)? {
                Ok(switch) => {
                    selection.switch = Some(switch);
                    self.settle()?;
                    break;
                }
                Err((hash, why)) => {
                    self.refuse(&hash);
                    selection.refused.push((hash, why));
                }
            }
        }
        Ok(selection)
    }

    /// The way from the selected chain to the best tip through a block, where that is preferred.
    fn best_through(&self, from: &Hash32) -> Option<(Hash32, Vec<Hash32>)> {
        let usable = |hash: &Hash32| self.entries.get(hash).filter(|entry| entry.has_block && !entry.invalid);
        let mut best = (*from, usable(from)?.view);
        let mut open = vec![*from];
        while let Some(hash) = open.pop() {
            let Some(entry) = usable(&hash) else { continue };
            if entry.view.is_preferred_to(&best.1) {
                best = (hash, entry.view);
            }
            open.extend(&entry.children);
        }
        let current = self.chain.back().and_then(|tip| self.entries.get(tip)).map(|entry| entry.view);
        if current.is_some_and(|current| !best.1.is_preferred_to(&current)) {
            return None;
        }
        let mut path = Vec::new();
        let mut hash = best.0;
        while !self.on_chain(&hash) {
            path.push(hash);
            hash = usable(&hash)?.parent;
        }
        path.reverse();
        (!path.is_empty()).then_some((hash, path))
    }

    /// Goes back to a block of the chain and on along a path; where a block there is refused, all is as it was.
    fn go_over(&mut self, fork: Hash32, path: &[Hash32]) -> Result<Result<Switch, (Hash32, String)>, NodeError> {
        let kept = self.place(&fork).map_or(0, |place| place + 1);
        let left: Vec<Hash32> = self.chain.iter().skip(kept).copied().collect();
        self.go_back(left.len());
        let mut joined = Vec::new();
        for hash in path {
            match self.apply(hash, true)? {
                Ok(()) => joined.push(Adopted { hash: *hash, view: self.entries[hash].view }),
                Err(why) => {
                    self.go_back(joined.len());
                    for hash in &left {
                        if self.apply(hash, false)?.is_err() {
                            unreachable!("a block that was part of the chain");
                        }
                    }
                    return Ok(Err((*hash, why)));
                }
            }
        }
        Ok(Ok(Switch { fork, left, joined }))
    }

    fn go_back(&mut self, blocks: usize) {
        for _ in 0..blocks {
            let undo = self.chain.pop_back().and_then(|hash| self.entries.get_mut(&hash)?.undo.take());
            self.ledger.undo(undo.expect("each block of the chain can be taken back"));
        }
    }

    /// Applies the block behind the tip; where it is `new`, checks it whole.
    fn apply(&mut self, hash: &Hash32, new: bool) -> Result<Result<(), String>, NodeError> {
        let Some(block) = self.point(hash).and_then(|point| self.store.block(&point)) else { return Ok(Err("it is not here".into())) };
        let checked = self.step(&block.bytes, new);
        self.sound()?;
        let (checked, undo) = match checked {
            Ok(checked) => checked,
            Err(error) => return Ok(Err(error.to_string())),
        };
        if let Err(why) = checked {
            self.ledger.undo(undo);
            return Ok(Err(why));
        }
        let state = Arc::new(self.ledger.of_headers());
        let entry = self.entries.get_mut(hash).expect("an entry of the tree");
        (entry.state, entry.undo) = (state, Some(undo));
        self.chain.push_back(*hash);
        Ok(Ok(()))
    }

    fn step(&mut self, bytes: &[u8], new: bool) -> Result<(Result<(), String>, Undo), DecodeError> {
        let mut outcome = Outcome::default();
        let (step, undo, slot) = {
            let block = self.decoder.decode(bytes)?;
            if new {
                outcome.note(Rule::BodyHash, body_is_proven(bytes, &block.header));
                outcome.note(Rule::BodySize, block.header.body_size == Some(block.body_bytes()));
            }
            let (step, undo) = self.ledger.step_with_undo(&block);
            (step, undo, block.header.slot)
        };
        let step = match step {
            Ok(step) => step,
            Err(error) => return Ok((Err(error.to_string()), undo)),
        };
        outcome.merge(step.outcome);
        if !new {
            return Ok((Ok(()), undo));
        }
        let environment = step.environment(Some(&self.genesis), slot);
        let transactions = check_transactions(bytes, &step, &environment, self.with_scripts, &mut self.decoder, &mut outcome);
        let all = match transactions {
            Ok(all) => all,
            Err(error) => return Ok((Err(error.to_string()), undo)),
        };
        let broken = std::iter::once(&outcome).chain(&all).find_map(|outcome| outcome.result().err());
        Ok((broken.map_or(Ok(()), |rule| Err(format!("it breaks the rule {rule}: {}", rule.requirement()))), undo))
    }

    /// Marks a block as refused, with all behind it.
    fn refuse(&mut self, hash: &Hash32) {
        let mut open = vec![*hash];
        while let Some(hash) = open.pop() {
            if let Some(entry) = self.entries.get_mut(&hash) {
                entry.invalid = true;
                open.extend(&entry.children);
            }
        }
    }

    /// Settles what is more than k blocks behind the tip, and forgets what can't become part of the chain any more.
    fn settle(&mut self) -> Result<(), NodeError> {
        while self.chain.len() as u64 > self.genesis.shelley.security_parameter {
            let Some(hash) = self.chain.pop_front() else { break };
            self.store.settle(&hash)?;
            let siblings = std::mem::take(&mut self.root_children);
            let tip = self.tip_of(&hash);
            let entry = self.entries.remove(&hash).expect("an entry of the chain");
            if let Some(undo) = entry.undo {
                self.ledger.settle(SettledTip { slot: entry.view.slot, hash }, undo);
                self.sound()?;
            }
            (self.root, self.root_tip, self.root_state, self.root_children) = (hash, tip, entry.state, entry.children);
            let mut open: Vec<Hash32> = siblings.into_iter().filter(|sibling| *sibling != hash).collect();
            while let Some(hash) = open.pop() {
                if let Some(entry) = self.entries.remove(&hash) {
                    open.extend(entry.children);
                    self.store.forget(&hash);
                }
            }
        }
        Ok(())
    }
}
