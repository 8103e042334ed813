//! Finding bytes, sixteen at a time.

/// How many bytes are looked at together.
const WIDTH: usize = 16;

/// Sixteen bytes. A comparison gives one bit a byte, the lowest for the first.
#[derive(Clone, Copy)]
pub(crate) struct Wide(imp::Bytes);

impl Wide {
    #[inline(always)]
    fn load(bytes: &[u8; WIDTH]) -> Self {
        Self(imp::load(bytes))
    }

    /// Which bytes are this one.
    #[inline(always)]
    pub(crate) fn is(self, byte: u8) -> u32 {
        imp::equal(self.0, byte)
    }

    /// All bytes with these bits set.
    #[inline(always)]
    pub(crate) fn with(self, bits: u8) -> Self {
        Self(imp::or(self.0, bits))
    }
}

#[cfg(target_arch = "x86_64")]
mod imp {
    use std::arch::x86_64::{__m128i, _mm_cmpeq_epi8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8};

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
    pub(super) fn or(bytes: Bytes, bits: u8) -> Bytes {
        // SAFETY: as above.
        unsafe { _mm_or_si128(bytes, _mm_set1_epi8(bits as i8)) }
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
    pub(super) fn or(bytes: Bytes, bits: u8) -> Bytes {
        bytes.map(|byte| byte | bits)
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

/// Where in 64 bytes brackets are, one bit a byte.
pub(crate) struct Brackets {
    /// All brackets outside of strings.
    pub(crate) all: u64,
    /// Those that open.
    pub(crate) open: u64,
    /// Whether the bytes end inside of a string.
    pub(crate) cut_string: bool,
}

/// The brackets of 64 bytes that begin outside of strings; None where a backslash is among them.
#[inline]
pub(crate) fn brackets(bytes: &[u8; 4 * WIDTH]) -> Option<Brackets> {
    let (mut quotes, mut backslashes, mut open, mut close) = (0_u64, 0, 0_u64, 0_u64);
    for (turn, chunk) in bytes.as_chunks().0.iter().enumerate() {
        let wide = Wide::load(chunk);
        let shift = turn * WIDTH;
        quotes |= u64::from(wide.is(b'"')) << shift;
        backslashes |= wide.is(b'\\');
        // '{' is '[' with one more bit, and '}' is ']' with the same.
        let curly = wide.with(b'{' ^ b'[');
        open |= u64::from(curly.is(b'{')) << shift;
        close |= u64::from(curly.is(b'}')) << shift;
    }
    if backslashes != 0 {
        return None;
    }
    // Each bit becomes the number of quotes up to it, odd or even: odd from a string's first quote to before its last.
    let inside = [1, 2, 4, 8, 16, 32].into_iter().fold(quotes, |inside, by| inside ^ inside << by);
    Some(Brackets { all: (open | close) & !inside, open, cut_string: inside >> 63 == 1 })
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

    /// Bytes as objects and arrays are made of.
    fn text() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(prop::sample::select(&b"{}[]\"ab:,"[..]), 64)
    }

    proptest! {
        #[test]
        fn brackets_in_strings_do_not_count(bytes in text(), backslash in prop::option::weighted(0.1, 0_usize..64)) {
            let mut bytes: [u8; 64] = bytes.try_into().unwrap();
            if let Some(place) = backslash {
                bytes[place] = b'\\';
            }
            let found = brackets(&bytes);
            prop_assert_eq!(found.is_none(), backslash.is_some());
            if let Some(found) = found {
                let mut inside = false;
                for (place, byte) in bytes.into_iter().enumerate() {
                    inside ^= byte == b'"';
                    prop_assert_eq!(found.all >> place & 1 == 1, !inside && b"{}[]".contains(&byte));
                    if found.all >> place & 1 == 1 {
                        prop_assert_eq!(found.open >> place & 1 == 1, b"{[".contains(&byte));
                    }
                }
                prop_assert_eq!(found.cut_string, inside);
            }
        }

        #[test]
        fn the_first_wanted_byte_is_found(bytes in prop::collection::vec(prop::sample::select(&b"ab\"{[\x00\xff"[..]), 0..70), from in 0_usize..80) {
            let expected = |wanted: fn(u8) -> bool| (from..bytes.len()).find(|&at| wanted(bytes[at]));
            prop_assert_eq!(find(&bytes, from, |wide| wide.is(b'"')), expected(|byte| byte == b'"'));
            prop_assert_eq!(find(&bytes, from, |wide| wide.is(0)), expected(|byte| byte == 0));
            prop_assert_eq!(find(&bytes, from, |wide| wide.with(0x20).is(b'{')), expected(|byte| byte == b'{' || byte == b'['));
            prop_assert_eq!(find(&bytes, from, |wide| wide.is(b'"') | wide.is(0xff)), expected(|byte| byte == b'"' || byte == 0xff));
        }
    }
}
