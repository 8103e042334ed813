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

    /// Returns the bytes that equal others in their places, as a mask.
    #[inline(always)]
    fn same(self, other: Self) -> u32 {
        imp::same(self.0, other.0)
    }

    /// Returns the bytes that are no ASCII, as a mask.
    #[inline(always)]
    pub(crate) fn is_not_ascii(self) -> u32 {
        imp::high(self.0)
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

    #[inline(always)]
    pub(super) fn same(one: Bytes, other: Bytes) -> u32 {
        // SAFETY: as above.
        unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(one, other)) as u32 }
    }

    #[inline(always)]
    pub(super) fn high(bytes: Bytes) -> u32 {
        // SAFETY: as above.
        unsafe { _mm_movemask_epi8(bytes) as u32 }
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

    #[inline(always)]
    pub(super) fn same(one: Bytes, other: Bytes) -> u32 {
        one.iter().zip(other).enumerate().fold(0, |mask, (place, (&one, other))| mask | u32::from(one == other) << place)
    }

    #[inline(always)]
    pub(super) fn high(bytes: Bytes) -> u32 {
        bytes.iter().enumerate().fold(0, |mask, (place, &one)| mask | u32::from(!one.is_ascii()) << place)
    }
}

/// Returns whether bytes begin with others: without a call, which takes longer than comparing a few.
#[inline(always)]
pub(crate) fn begins(bytes: &[u8], with: &[u8]) -> bool {
    let Some(bytes) = bytes.get(..with.len()) else { return false };
    let (Some(last), Some(with_last)) = (bytes.last_chunk(), with.last_chunk()) else { return are_few_same(bytes, with) };
    // The last sixteen are looked at in whole, though some of them were seen before.
    let mut same = Wide::load(last).same(Wide::load(with_last));
    let mut at = 0;
    while let (Some(one), Some(other)) = (chunk(bytes, at), chunk(with, at)) {
        same &= Wide::load(one).same(Wide::load(other));
        at += WIDTH;
    }
    same == (1 << WIDTH) - 1
}

#[inline(always)]
fn chunk(bytes: &[u8], at: usize) -> Option<&[u8; WIDTH]> {
    bytes.get(at..at + WIDTH)?.first_chunk()
}

/// Returns whether fewer than sixteen bytes are the same as others, of which there are as many.
#[inline(always)]
fn are_few_same(bytes: &[u8], with: &[u8]) -> bool {
    fn ends<const MANY: usize>(bytes: &[u8]) -> Option<([u8; MANY], [u8; MANY])> {
        Some((*bytes.first_chunk()?, *bytes.last_chunk()?))
    }
    match bytes.len() {
        8.. => ends::<8>(bytes) == ends::<8>(with),
        4.. => ends::<4>(bytes) == ends::<4>(with),
        _ => bytes.iter().zip(with).all(|(one, other)| one == other),
    }
}

/// Returns whether bytes are the same as others.
#[inline(always)]
pub(crate) fn are_same(bytes: &[u8], others: &[u8]) -> bool {
    bytes.len() == others.len() && begins(bytes, others)
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
        fn bytes_begin_with_others(bytes in prop::collection::vec(0_u8..3, 0..70), length in 0_usize..80, change in prop::option::of(0_usize..70)) {
            let mut with = bytes[..length.min(bytes.len())].to_vec();
            if let Some(byte) = change.and_then(|place| with.get_mut(place)) {
                *byte ^= 1;
            }
            if length > bytes.len() {
                with.push(0);
            }
            prop_assert_eq!(begins(&bytes, &with), bytes.starts_with(&with));
        }

        #[test]
        fn the_first_wanted_byte_is_found(bytes in prop::collection::vec(prop::sample::select(&b"ab\"{[\x00\xff"[..]), 0..70), from in 0_usize..80) {
            let expected = |wanted: fn(u8) -> bool| (from..bytes.len()).find(|&at| wanted(bytes[at]));
            prop_assert_eq!(find(&bytes, from, |wide| wide.is(b'"')), expected(|byte| byte == b'"'));
            prop_assert_eq!(find(&bytes, from, |wide| wide.is(0)), expected(|byte| byte == 0));
            prop_assert_eq!(find(&bytes, from, |wide| wide.at_most(b'`')), expected(|byte| byte <= b'`'));
            prop_assert_eq!(find(&bytes, from, Wide::is_not_ascii), expected(|byte| byte == 0xff));
            prop_assert_eq!(find(&bytes, from, |wide| wide.is(b'"') | wide.is(0xff)), expected(|byte| byte == b'"' || byte == 0xff));
        }
    }
}
