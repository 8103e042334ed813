//! The eras of blocks.

use crate::cbor::{Cursor, DecodeError};

/// An era, by the tag that its blocks carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "Cardano's own names")]
pub enum Era {
    ByronBoundary,
    Byron,
    Shelley,
    Allegra,
    Mary,
    Alonzo,
    Babbage,
    Conway,
}

impl Era {
    /// The era of a tag; None for an unknown one.
    pub fn from_tag(tag: u64) -> Option<Self> {
        use Era::{Allegra, Alonzo, Babbage, Byron, ByronBoundary, Conway, Mary, Shelley};
        [ByronBoundary, Byron, Shelley, Allegra, Mary, Alonzo, Babbage, Conway].get(usize::try_from(tag).ok()?).copied()
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Era::ByronBoundary => "Byron boundary",
            Era::Byron => "Byron",
            Era::Shelley => "Shelley",
            Era::Allegra => "Allegra",
            Era::Mary => "Mary",
            Era::Alonzo => "Alonzo",
            Era::Babbage => "Babbage",
            Era::Conway => "Conway",
        }
    }
}

/// Opens `[era, block]`.
pub(super) fn open(cursor: &mut Cursor<'_>) -> Result<Era, DecodeError> {
    cursor.array_of(2, "a block, as [era, block]")?;
    let at = cursor.position();
    let expected = "an era from 0 (Byron boundary) to 7 (Conway)";
    Era::from_tag(cursor.uint(expected)?).ok_or(DecodeError { offset: at, expected })
}
