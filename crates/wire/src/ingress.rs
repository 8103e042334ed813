//! A protocol's stream as it comes in: held until a message is whole, at a cost that grows with its bytes and not with their square.

use minicbor::Decoder;
use minicbor::data::Token;

/// The beginning of a message whose end isn't here yet.
#[derive(Default)]
pub struct Ingress {
    bytes: Vec<u8>,
    walk: Walk,
    tried: usize,
}

impl Ingress {
    /// Holds bytes that were tried and aren't a whole message.
    pub fn holding(bytes: &[u8]) -> Self {
        Self { bytes: bytes.to_vec(), walk: Walk::default(), tried: bytes.len() }
    }

    /// Adds bytes that came behind those.
    pub fn push(&mut self, payload: &[u8]) {
        self.bytes.extend_from_slice(payload);
    }

    /// Returns the bytes that are held.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns whether to parse the held bytes again: the message is complete, or there is twice as much as at the last try. Invalid input is found
    /// long before its end.
    pub fn ripe(&mut self) -> bool {
        let ripe = self.walk.reaches_end(&self.bytes) || self.bytes.len() >= 2 * self.tried;
        if ripe {
            self.tried = self.bytes.len();
        }
        ripe
    }
}

/// A walk over the first data item of some bytes, which goes on where it stopped when there are more of them.
#[derive(Default)]
struct Walk {
    at: usize,
    /// Items to come in each array and map around the place; None where a break ends it.
    open: Vec<Option<u64>>,
}

impl Walk {
    /// Returns whether the item ends within these bytes, or isn't CBOR.
    fn reaches_end(&mut self, bytes: &[u8]) -> bool {
        let mut decoder = Decoder::new(bytes);
        decoder.set_position(self.at);
        loop {
            let token = match decoder.tokens().token() {
                Ok(token) => token,
                Err(error) => return !error.is_end_of_input(),
            };
            self.at = decoder.position();
            match token {
                Token::Tag(_) => continue, // what it stands before is the item
                Token::Array(items @ 1..) => self.open.push(Some(items)),
                Token::Map(pairs @ 1..) => self.open.push(Some(pairs.saturating_mul(2))),
                Token::BeginArray | Token::BeginMap | Token::BeginBytes | Token::BeginString => self.open.push(None),
                Token::Break if self.open.pop() != Some(None) => return true,
                _ if self.item_ends() => return true,
                _ => {}
            }
        }
    }

    /// Counts an item that ended, and those that end with it; whether it was the outermost.
    fn item_ends(&mut self) -> bool {
        loop {
            match self.open.last_mut() {
                None => return true,
                Some(None) => return false,
                Some(Some(left)) => {
                    *left -= 1;
                    if *left > 0 {
                        return false;
                    }
                    self.open.pop();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn items() -> impl Strategy<Value = Vec<u8>> {
        let leaf = prop_oneof![
            any::<u64>().prop_map(|number| minicbor::to_vec(number).unwrap()),
            any::<String>().prop_map(|text| minicbor::to_vec(text).unwrap()),
            Just(vec![0x5f, 0x41, 7, 0x40, 0xff]), // bytes in pieces
            Just(vec![0x80]),
            Just(vec![0xf9, 0x3c, 0x00]),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            (0u8..5, proptest::collection::vec(inner, 0..5)).prop_map(|(kind, inner)| {
                let even = inner.len() & !1;
                match kind {
                    0 => [vec![0x80 + inner.len() as u8], inner.concat()].concat(),
                    1 => [vec![0x9f], inner.concat(), vec![0xff]].concat(),
                    2 => [vec![0xa0 + even as u8 / 2], inner[..even].concat()].concat(),
                    3 => [vec![0xbf], inner[..even].concat(), vec![0xff]].concat(),
                    _ => [vec![0xd8, 0x18], inner.first().cloned().unwrap_or_else(|| vec![0x40])].concat(),
                }
            })
        })
    }

    proptest! {
        #[test]
        fn an_item_is_whole_with_its_last_byte_and_not_before(item in items(), behind in any::<u8>()) {
            let mut walk = Walk::default();
            for end in 0..item.len() {
                prop_assert!(!walk.reaches_end(&item[..end]), "at {end} of {item:02x?}");
            }
            prop_assert!(walk.reaches_end(&[item.as_slice(), &[behind]].concat()));
            prop_assert_eq!(walk.at, item.len());
        }

        #[test]
        fn no_bytes_make_a_walk_panic_or_hang(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut walk = Walk::default();
            let whole = (0..=bytes.len()).any(|end| walk.reaches_end(&bytes[..end]));
            let mut decoder = Decoder::new(&bytes);
            prop_assert!(whole || decoder.skip().is_err());
        }
    }

    /// One byte after the other, each token is read a few times at most.
    #[test]
    fn a_stream_of_single_bytes_is_tried_a_few_times_only() {
        let mut ingress = Ingress::holding(&[0x82]);
        let message = [vec![0x04, 0x9f], vec![0x80; 60_000]].concat();
        let tries = message.iter().filter(|byte| {
            ingress.push(&[**byte]);
            ingress.ripe()
        });
        assert!(tries.count() < 20);
        ingress.push(&[0xff]);
        assert!(ingress.ripe());
    }
}
