//! Entries of genesis files by hexadecimal digits. They are decoded as they are read: there may be millions.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes of a fixed number, as hexadecimal digits in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hex<const N: usize>(pub [u8; N]);

impl<'de, const N: usize> Deserialize<'de> for Hex<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut bytes = [0; N];
        let decoded = hex::decode_to_slice(&*Cow::<'de, str>::deserialize(deserializer)?, &mut bytes);
        decoded.map(|()| Self(bytes)).map_err(|_| D::Error::custom(format_args!("expected {N} bytes in hex")))
    }
}

impl<const N: usize> Serialize for Hex<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex::encode(self.0))
    }
}

/// Bytes of any number, as hexadecimal digits in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HexText(pub Vec<u8>);

impl Serialize for HexText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex::encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for HexText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        hex::decode(&*text).map(Self).map_err(|_| D::Error::custom("expected an address in hex"))
    }
}

/// An object's entries in ascending order of their keys; of one that is there twice the last counts, as it does in an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entries<K, V>(pub Vec<(K, V)>);

impl<K, V> Default for Entries<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K, V> Deref for Entries<K, V> {
    type Target = [(K, V)];

    fn deref(&self) -> &[(K, V)] {
        &self.0
    }
}

impl<K: Ord, V> Entries<K, V> {
    /// The value of a key.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.0.binary_search_by(|(other, _)| other.cmp(key)).ok().map(|place| &self.0[place].1)
    }
}

impl<K: Serialize, V: Serialize> Serialize for Entries<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

impl<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>> Deserialize<'de> for Entries<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object<K, V>(PhantomData<(K, V)>);

        impl<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>> Visitor<'de> for Object<K, V> {
            type Value = Entries<K, V>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry::<K, V>()? {
                    entries.push(entry);
                }
                entries.sort_by(|(one, _), (other, _)| one.cmp(other));
                entries.dedup_by(|later, kept| {
                    let twice = later.0 == kept.0;
                    if twice {
                        std::mem::swap(later, kept);
                    }
                    twice
                });
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(Object(PhantomData))
    }
}
