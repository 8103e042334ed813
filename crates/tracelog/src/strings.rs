//! Each string that occurs again and again, kept once.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::words::Words;

/// The number of a string in its [`Strings`].
pub(crate) type Id = i32;

/// A map whose keys come from log lines.
pub(crate) type Map<K, V> = HashMap<K, V, BuildHasherDefault<Fold>>;

/// A map whose keys mostly differ by their ends, as namespaces do.
pub(crate) type EndMap<K, V> = HashMap<K, V, BuildHasherDefault<End>>;

/// Strings in the order in which they were first seen.
#[derive(Default)]
pub(crate) struct Strings {
    ids: Map<Box<[u8]>, Id>,
    words: Words,
}

impl Strings {
    /// The number of a string; a byte that is no UTF-8 becomes the replacement character.
    pub(crate) fn id(&mut self, text: &[u8]) -> Id {
        if let Some(&id) = self.ids.get(text) {
            return id;
        }
        let id = self.ids.len() as Id;
        self.ids.insert(text.into(), id);
        self.words.push(String::from_utf8_lossy(text).into_owned().into_bytes());
        id
    }

    /// All strings by their numbers.
    pub(crate) const fn words(&self) -> &Words {
        &self.words
    }
}

/// Hashes eight bytes at a time. Log lines come from the user's own nodes: no attacker chooses them to collide.
#[derive(Default)]
pub(crate) struct Fold(u64);

impl Hasher for Fold {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            self.fold(chunk.first_chunk().map_or(0, |word| u64::from_le_bytes(*word)));
        }
        self.fold(chunks.remainder().iter().fold(bytes.len() as u64, |sum, &byte| sum << 8 | u64::from(byte)));
    }

    #[inline]
    fn write_usize(&mut self, _: usize) {} // the length, which counts above
}

impl Fold {
    #[inline]
    fn fold(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word ^ 0x9e37_79b9_7f4a_7c15) * 0xa076_1d64_78bd_642f_u128;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }
}

/// Hashes the length and the last eight bytes.
#[derive(Default)]
pub(crate) struct End(Fold);

impl Hasher for End {
    fn finish(&self) -> u64 {
        self.0.finish()
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        match bytes.last_chunk() {
            Some(end) => self.0.fold(u64::from_le_bytes(*end) ^ (bytes.len() as u64) << 56),
            None => self.0.write(bytes),
        }
    }

    #[inline]
    fn write_usize(&mut self, _: usize) {} // the length, which counts above
}
