//! Writing CBOR (RFC 8949), always in the shortest form.

/// A buffer that CBOR is appended to.
pub trait CborBuffer {
    /// The head of an item.
    fn head(&mut self, major: u8, argument: u64);
    /// An unsigned integer.
    fn uint(&mut self, value: u64);
    /// An integer.
    fn int(&mut self, value: i64);
    /// A byte string.
    fn bytes(&mut self, value: &[u8]);
    /// Text.
    fn text(&mut self, value: &str);
    /// True or false.
    fn bool(&mut self, value: bool);
    /// CBOR inside CBOR: a byte string of encoded items, tag 24.
    fn encoded(&mut self, value: &[u8]);
    /// The head of an array of this many items.
    fn array(&mut self, items: usize);
    /// A whole array of unsigned integers.
    fn numbers(&mut self, values: &[u64]);
    /// The head of an array of indefinite length, which [`CborBuffer::end`] ends.
    fn begin_array(&mut self);
    /// The end of what has indefinite length.
    fn end(&mut self);
    /// The head of a map of this many entries.
    fn map(&mut self, entries: usize);
    /// A tag.
    fn tag(&mut self, tag: u64);
    /// Null.
    fn null(&mut self);
    /// The head of a set, tag 258, of this many items.
    fn set(&mut self, items: usize);
    /// A whole array of encoded items as cardano-node writes a block's: of indefinite length from 24 items on.
    fn listing(&mut self, items: usize, encoded: &[u8]);
    /// The same for a map.
    fn mapping(&mut self, entries: usize, encoded: &[u8]);
}

impl CborBuffer for Vec<u8> {
    fn head(&mut self, major: u8, argument: u64) {
        let major = major << 5;
        match argument {
            0..24 => self.push(major | argument as u8),
            24..0x100 => self.extend([major | 24, argument as u8]),
            0x100..0x1_0000 => {
                self.push(major | 25);
                self.extend((argument as u16).to_be_bytes());
            }
            0x1_0000..0x1_0000_0000 => {
                self.push(major | 26);
                self.extend((argument as u32).to_be_bytes());
            }
            _ => {
                self.push(major | 27);
                self.extend(argument.to_be_bytes());
            }
        }
    }

    fn uint(&mut self, value: u64) {
        self.head(0, value);
    }

    fn int(&mut self, value: i64) {
        if value < 0 { self.head(1, !value as u64) } else { self.head(0, value as u64) }
    }

    fn bytes(&mut self, value: &[u8]) {
        self.head(2, value.len() as u64);
        self.extend_from_slice(value);
    }

    fn text(&mut self, value: &str) {
        self.head(3, value.len() as u64);
        self.extend_from_slice(value.as_bytes());
    }

    fn bool(&mut self, value: bool) {
        self.push(if value { 0xf5 } else { 0xf4 });
    }

    fn encoded(&mut self, value: &[u8]) {
        self.tag(24);
        self.bytes(value);
    }

    fn array(&mut self, items: usize) {
        self.head(4, items as u64);
    }

    fn numbers(&mut self, values: &[u64]) {
        self.array(values.len());
        values.iter().for_each(|value| self.uint(*value));
    }

    fn begin_array(&mut self) {
        self.push(4 << 5 | 31);
    }

    fn end(&mut self) {
        self.push(0xff);
    }

    fn map(&mut self, entries: usize) {
        self.head(5, entries as u64);
    }

    fn tag(&mut self, tag: u64) {
        self.head(6, tag);
    }

    fn null(&mut self) {
        self.push(0xf6);
    }

    fn set(&mut self, items: usize) {
        self.tag(258);
        self.array(items);
    }

    fn listing(&mut self, items: usize, encoded: &[u8]) {
        whole(self, 4, items, encoded);
    }

    fn mapping(&mut self, entries: usize, encoded: &[u8]) {
        whole(self, 5, entries, encoded);
    }
}

fn whole(buffer: &mut Vec<u8>, major: u8, count: usize, encoded: &[u8]) {
    let indefinite = count > 23;
    if indefinite {
        buffer.push(major << 5 | 31);
    } else {
        buffer.head(major, count as u64);
    }
    buffer.extend_from_slice(encoded);
    if indefinite {
        buffer.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut buffer = Vec::new();
        write(&mut buffer);
        buffer
    }

    #[test]
    fn heads_take_the_shortest_form() {
        // RFC 8949, appendix A
        for (value, expected) in [
            (0, &[0x00][..]),
            (23, &[0x17]),
            (24, &[0x18, 24]),
            (255, &[0x18, 255]),
            (256, &[0x19, 1, 0]),
            (65_535, &[0x19, 0xff, 0xff]),
            (65_536, &[0x1a, 0, 1, 0, 0]),
            (u64::from(u32::MAX), &[0x1a, 0xff, 0xff, 0xff, 0xff]),
            (1 << 32, &[0x1b, 0, 0, 0, 1, 0, 0, 0, 0]),
            (u64::MAX, &[0x1b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
        ] {
            assert_eq!(written(|buffer| buffer.uint(value)), expected, "{value}");
        }
        assert_eq!(written(|buffer| buffer.int(-1)), [0x20]);
        assert_eq!(written(|buffer| buffer.int(-900)), [0x39, 0x03, 0x83]);
        assert_eq!(written(|buffer| buffer.int(i64::MIN)), [0x3b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(written(|buffer| buffer.set(1)), [0xd9, 0x01, 0x02, 0x81]);
        assert_eq!(written(|buffer| buffer.text("é")), [0x62, 0xc3, 0xa9]);
        assert_eq!(written(|buffer| [true, false].into_iter().for_each(|value| buffer.bool(value))), [0xf5, 0xf4]);
        assert_eq!(written(|buffer| buffer.encoded(&[0x80])), [0xd8, 0x18, 0x41, 0x80]);
        assert_eq!(written(|buffer| buffer.numbers(&[1, 24])), [0x82, 0x01, 0x18, 24]);
        let of_any_length = written(|buffer| {
            buffer.begin_array();
            buffer.end();
        });
        assert_eq!(of_any_length, [0x9f, 0xff]);
        assert_eq!(written(|buffer| buffer.bytes(b"ab")), [0x42, b'a', b'b']);
    }

    #[test]
    fn long_listings_are_indefinite() {
        assert_eq!(written(|buffer| buffer.listing(23, &[1; 23]))[0], 0x97);
        let long = written(|buffer| buffer.listing(24, &[1; 24]));
        assert_eq!((long[0], long[25], long.len()), (0x9f, 0xff, 26));
        assert_eq!(written(|buffer| buffer.mapping(0, &[])), [0xa0]);
        assert_eq!(written(|buffer| buffer.mapping(24, &[1; 48]))[0], 0xbf);
    }
}
