//! Addresses of a test network, in the layout of CIP-19.

use std::fmt;

use bech32::{Bech32, Hrp};

/// Hash of a key or a script.
pub(crate) type Hash28 = [u8; 28];

/// The kinds of header byte, with network id 0.
const BASE: u8 = 0x00;
const KEY_ENTERPRISE: u8 = 0x60;
const SCRIPT_ENTERPRISE: u8 = 0x70;

/// A payment address on a test network (network id 0).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    bytes: [u8; 57],
    length: u8,
}

impl Address {
    /// Spent with one key, staked with another.
    pub(crate) fn base(payment: &Hash28, stake: &Hash28) -> Self {
        let mut bytes = [BASE; 57];
        bytes[1..29].copy_from_slice(payment);
        bytes[29..].copy_from_slice(stake);
        Self { bytes, length: 57 }
    }

    /// Spent with a key, not staked.
    pub(crate) fn key(payment: &Hash28) -> Self {
        Self::enterprise(KEY_ENTERPRISE, payment)
    }

    /// Spent with a script, not staked.
    pub(crate) fn script(script: &Hash28) -> Self {
        Self::enterprise(SCRIPT_ENTERPRISE, script)
    }

    fn enterprise(kind: u8, hash: &Hash28) -> Self {
        let mut bytes = [0; 57];
        bytes[0] = kind;
        bytes[1..29].copy_from_slice(hash);
        Self { bytes, length: 29 }
    }

    /// The address as it stands in a transaction.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl fmt::Display for Address {
    /// As people write it: `addr_test1…`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = bech32::encode::<Bech32>(Hrp::parse_unchecked("addr_test"), self.bytes()).map_err(|_| fmt::Error)?;
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hashes of CIP-19's test vectors, by way of their bech32 form.
    fn hash(text: &str) -> Hash28 {
        bech32::decode(text).expect("bech32").1[1..29].try_into().expect("28 bytes")
    }

    #[test]
    fn addresses_have_the_form_of_cip_19() {
        let base = "addr_test1qz2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzer3n0d3vllmyqwsx5wktcd8cc3sq835lu7drv2xwl2wywfgs68faae";
        let payment = hash(base);
        let stake: Hash28 = bech32::decode(base).expect("bech32").1[29..].try_into().expect("28 bytes");
        assert_eq!(Address::base(&payment, &stake).to_string(), base);
        let script = "addr_test1wrphkx6acpnf78fuvxn0mkew3l0fd058hzquvz7w36x4gtcl6szpr";
        assert_eq!(Address::script(&hash(script)).to_string(), script);
        assert_eq!(Address::script(&hash(script)).bytes().len(), 29);
    }
}
