//! Checks that a server sends a chain: each header names the one before it by its hash, and each body is that of its header.

use slotmark_chain::block::{Header, body_is_proven};
use slotmark_chain::{Block, Hash32, Point};

/// A check of the blocks or headers after a point, one after the other.
pub struct Check {
    before: Option<Hash32>,
    seen: u64,
}

impl Check {
    /// Nothing seen yet after `start`.
    pub fn after(start: &Point) -> Self {
        let before = match start {
            Point::Origin => None,
            Point::Block { hash, .. } => Some(*hash),
        };
        Self { before, seen: 0 }
    }

    /// Takes the next header.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn header(&mut self, header: &Header<'_>) -> Result<(), String> {
        self.seen += 1;
        // The first header of a chain may name the genesis, which no point stands for.
        if self.before.is_some() && header.prev_hash != self.before {
            return Err(self.about(header, "it doesn't name the header before it, or that header isn't what its issuer made"));
        }
        self.before = Some(header.hash);
        Ok(())
    }

    /// Takes the next block.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn block(&mut self, block: &Block<'_, '_>) -> Result<(), String> {
        self.header(&block.header)?;
        self.body(block)
    }

    /// Takes the next block, for which a header of this hash was announced.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn fetched(&mut self, block: &Block<'_, '_>, announced: Option<Hash32>) -> Result<(), String> {
        self.header(&block.header)?;
        if announced != Some(block.header.hash) {
            return Err(self.about(&block.header, "it isn't of the header that was announced for it"));
        }
        self.body(block)
    }

    fn body(&self, block: &Block<'_, '_>) -> Result<(), String> {
        if !body_is_proven(block.bytes, &block.header) {
            return Err(self.about(&block.header, "its body hasn't the hash that its header names"));
        }
        Ok(())
    }

    fn about(&self, header: &Header<'_>, what: &str) -> String {
        let hash = header.hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        format!("the server sent wrong bytes: block {} of the window ({}.{hash}): {what}", self.seen - 1, header.slot)
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use slotmark_chain::{Chain, Decoder};
    use slotmark_synth::{Recipe, Workload, forge};

    use super::*;

    /// Checks a stretch of blocks, of which one may be changed.
    fn checked(chain: &Chain, start: usize, change: impl Fn(usize, &mut Vec<u8>)) -> Result<(), String> {
        let mut decoder = Decoder::new();
        let mut check = Check::after(&chain.point(start));
        for index in start + 1..chain.len() {
            let mut bytes = chain.bytes(index).to_vec();
            change(index, &mut bytes);
            let Ok(block) = decoder.decode(&bytes) else { return Err("can't be decoded".into()) };
            check.block(&block)?;
        }
        Ok(())
    }

    #[test]
    fn any_flipped_byte_but_one_of_the_last_header_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chain");
        let recipe = Recipe { seed: 5, ..Recipe::new(Workload::PreviewLike, 12) };
        forge(&recipe, &path, &mut |_| ControlFlow::Continue(())).unwrap();
        let chain = Chain::open(&path).unwrap();
        assert_eq!(checked(&chain, 3, |_, _| ()), Ok(()));
        let length = chain.bytes(7).len();
        // Every place of the header, and places all over the body; the two bytes of the envelope are not hashed.
        for place in (2..1_000.min(length)).chain((1_000..length).step_by(37)) {
            let flipped = checked(&chain, 3, |index, bytes| {
                if index == 7 {
                    bytes[place] ^= 0x01
                }
            });
            assert!(flipped.is_err(), "byte {place} of {length}");
        }
        let other = checked(&chain, 3, |index, bytes| {
            if index == 7 {
                *bytes = chain.bytes(8).to_vec()
            }
        });
        assert!(other.is_err_and(|why| why.contains("block 3 of the window")));
    }

    #[test]
    #[ignore = "needs the shared data: the real chain"]
    fn every_block_of_preview_passes() {
        let folder = std::env::var_os("SLOTMARK_PREVIEW_CHAIN").expect("SLOTMARK_PREVIEW_CHAIN names the real chain's folder");
        let chain = Chain::open(folder).unwrap();
        assert_eq!(checked(&chain, 0, |_, _| ()), Ok(()));
    }
}
