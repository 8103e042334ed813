//! Untyped Plutus Core terms and their flat encoding, as far as forged scripts need them.
//!
//! After the Plutus Core specification, appendix on flat serialisation: variables are de Bruijn indices that count from 1,
//! bits are filled from the highest down.

/// A builtin function, by its number in the encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Builtin {
    SubtractInteger = 1,
    EqualsInteger = 7,
    IfThenElse = 26,
    SndPair = 30,
    MkCons = 32,
    HeadList = 33,
    TailList = 34,
    UnConstrData = 42,
    UnIData = 45,
    UnBData = 46,
    VerifyEcdsaSecp256k1Signature = 52,
    VerifySchnorrSecp256k1Signature = 53,
    Bls12_381G1Add = 54,
    Bls12_381G1HashToGroup = 60,
    Bls12_381G2Add = 61,
    Bls12_381G2HashToGroup = 67,
    Ripemd160 = 86,
    ExpModInteger = 87,
    Bls12_381G1MultiScalarMul = 92,
}

/// The type of a list's items, by its number in the encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemType {
    Integer = 0,
    Bls12_381G1Element = 9,
}

/// A term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Term {
    Variable(u64),
    Delay(Box<Term>),
    Lambda(Box<Term>),
    Apply(Box<Term>, Box<Term>),
    Integer(i64),
    Unit,
    /// The empty list of a type.
    Empty(ItemType),
    Force(Box<Term>),
    Error,
    Builtin(Builtin),
}

impl Term {
    pub(super) fn apply(self, argument: Term) -> Term {
        Term::Apply(Box::new(self), Box::new(argument))
    }

    pub(super) fn force(self) -> Term {
        Term::Force(Box::new(self))
    }

    pub(super) fn delay(self) -> Term {
        Term::Delay(Box::new(self))
    }

    pub(super) fn lambda(self) -> Term {
        Term::Lambda(Box::new(self))
    }
}

/// A program of this version, encoded.
pub(super) fn program(version: [u64; 3], term: &Term) -> Vec<u8> {
    let mut bits = Bits::default();
    version.into_iter().for_each(|part| bits.natural(part));
    bits.term(term);
    bits.finish()
}

/// The parts of the type of lists, behind which is that of their items.
const APPLIED: u8 = 7;
const LIST: u8 = 5;

#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    /// Bits used of the last byte; 0 for all.
    used: u32,
}

impl Bits {
    /// The lowest `width` bits of a value.
    fn push(&mut self, value: u8, width: u32) {
        for place in (0..width).rev() {
            if self.used == 0 {
                self.bytes.push(0);
            }
            let last = self.bytes.len() - 1;
            self.bytes[last] |= (value >> place & 1) << (7 - self.used);
            self.used = (self.used + 1) % 8;
        }
    }

    /// Groups of seven bits, the lowest first, each after a bit that is set where another follows.
    fn natural(&mut self, mut value: u64) {
        while value > 0x7f {
            self.push(0x80 | (value & 0x7f) as u8, 8);
            value >>= 7;
        }
        self.push(value as u8, 8);
    }

    fn term(&mut self, term: &Term) {
        match term {
            Term::Variable(index) => {
                self.push(0, 4);
                self.natural(*index);
            }
            Term::Delay(body) => {
                self.push(1, 4);
                self.term(body);
            }
            Term::Lambda(body) => {
                self.push(2, 4);
                self.term(body);
            }
            Term::Apply(function, argument) => {
                self.push(3, 4);
                self.term(function);
                self.term(argument);
            }
            Term::Integer(value) => {
                self.push(4, 4);
                self.kind(&[0]);
                self.natural((value << 1 ^ value >> 63) as u64);
            }
            Term::Unit => {
                self.push(4, 4);
                self.kind(&[3]);
            }
            Term::Empty(of) => {
                self.push(4, 4);
                self.kind(&[APPLIED, LIST, *of as u8]);
                self.push(0, 1);
            }
            Term::Force(body) => {
                self.push(5, 4);
                self.term(body);
            }
            Term::Error => self.push(6, 4),
            Term::Builtin(function) => {
                self.push(7, 4);
                self.push(*function as u8, 7);
            }
        }
    }

    /// A constant's type: a list of its parts.
    fn kind(&mut self, parts: &[u8]) {
        for part in parts {
            self.push(1, 1);
            self.push(*part, 4);
        }
        self.push(0, 1);
    }

    /// Padding to a whole byte: zeros and then a one.
    fn finish(mut self) -> Vec<u8> {
        self.push(1, 8 - self.used);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_encoded_as_plutus_does() {
        // (program 1.0.0 (lam x x)) and (program 1.1.0 (con integer 11)), well known from the specification's examples
        assert_eq!(program([1, 0, 0], &Term::Variable(1).lambda()), [0x01, 0x00, 0x00, 0x20, 0x01, 0x01]);
        assert_eq!(program([11, 22, 33], &Term::Integer(11)), [0x0b, 0x16, 0x21, 0x48, 0x05, 0x81]);
    }
}
