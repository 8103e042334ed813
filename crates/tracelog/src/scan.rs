//! Finding bytes, sixteen at a time.

/// Bytes that are compared together.
const WIDTH: usize = 16;

/// Sixteen bytes. A comparison gives one bit a byte, the lowest for the first.
#[derive(Clone, Copy)]
pub(crate) struct Wide(imp::Bytes);

impl Wide {
    #[inline(always)]
    fn load(bytes: &[u8; WIDTH]) -> Self {
        Self(imp::load(bytes))
    }

    /// Returns the bytes that equal this one, as a mask.
    #[inline(always)]
    pub(crate) fn is(self, byte: u8) -> u32 {
        imp::equal(self.0, byte)
    }

    /// Returns the bytes that are at most this one, as a mask.
    #[inline(always)]
    pub(crate) fn at_most(self, byte: u8) -> u32 {
        imp::at_most(self.0, byte)
    }
}

#[cfg(target_arch = "x86_64")]
mod imp {
    use std::arch::x86_64::{__m128i, _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_set_epi64x, _mm_set1_epi8};

    pub(super) type Bytes = __m128i;

    #[inline(always)]
    pub(super) fn load(bytes: &[u8; super::WIDTH]) -> Bytes {
        let all = u128::from_le_bytes(*bytes);
        // SAFETY: SSE2, as all below, is part of x86-64.
        unsafe { _mm_set_epi64x((all >> 64) as i64, all as i64) }
    }

    #[inline(always)]
    pub(super) fn equal(bytes: Bytes, byte: u8) -> u32 {
        // SAFETY: as above.
        unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte as i8))) as u32 }
    }

    #[inline(always)]
    pub(super) fn at_most(bytes: Bytes, byte: u8) -> u32 {
        // SAFETY: as above.
        unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(byte as i8)), bytes)) as u32 }
    }
}

/// For other CPUs, what the compiler makes of it.
#[cfg(not(target_arch = "x86_64"))]
mod imp {
    pub(super) type Bytes = [u8; super::WIDTH];

    #[inline(always)]
    pub(super) fn load(bytes: &[u8; super::WIDTH]) -> Bytes {
        *bytes
    }

    #[inline(always)]
    pub(super) fn equal(bytes: Bytes, byte: u8) -> u32 {
        bytes.iter().enumerate().fold(0, |mask, (place, &one)| mask | u32::from(one == byte) << place)
    }

    #[inline(always)]
    pub(super) fn at_most(bytes: Bytes, byte: u8) -> u32 {
        bytes.iter().enumerate().fold(0, |mask, (place, &one)| mask | u32::from(one <= byte) << place)
    }
}

/// The first place from `from` on for which `wanted` sets a bit.
#[inline(always)]
pub(crate) fn find(bytes: &[u8], from: usize, wanted: impl Fn(Wide) -> u32) -> Option<usize> {
    let Some(last) = bytes.len().checked_sub(WIDTH) else { return find_in_few(bytes, from, wanted) };
    let mut at = from;
    while at < bytes.len() {
        // At the end, bytes that were seen before are looked at again rather than fewer than sixteen.
        let base = at.min(last);
        let chunk = bytes[base..].first_chunk()?;
        let mask = wanted(Wide::load(chunk)) >> (at - base);
        if mask != 0 {
            return Some(at + mask.trailing_zeros() as usize);
        }
        at = base + WIDTH;
    }
    None
}

#[cold]
fn find_in_few(bytes: &[u8], from: usize, wanted: impl Fn(Wide) -> u32) -> Option<usize> {
    let mut padded = [0; WIDTH];
    padded[..bytes.len()].copy_from_slice(bytes);
    let mask = wanted(Wide::load(&padded)) & ((1 << bytes.len()) - 1);
    let mask = mask.checked_shr(from as u32).unwrap_or_default();
    (mask != 0).then(|| from + mask.trailing_zeros() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_wanted_byte_is_found(bytes in prop::collection::vec(prop::sample::select(&b"ab\"{[\x00\xff"[..]), 0..70), from in 0_usize..80) {
            let expected = |wanted: fn(u8) -> bool| (from..bytes.len()).find(|&at| wanted(bytes[at]));
            prop_assert_eq!(find(&bytes, from, |wide| wide.is(b'"')), expected(|byte| byte == b'"'));
            prop_assert_eq!(find(&bytes, from, |wide| wide.is(0)), expected(|byte| byte == 0));
            prop_assert_eq!(find(&bytes, from, |wide| wide.at_most(b'`')), expected(|byte| byte <= b'`'));
            prop_assert_eq!(find(&bytes, from, |wide| wide.is(b'"') | wide.is(0xff)), expected(|byte| byte == b'"' || byte == 0xff));
        }
    }
}
