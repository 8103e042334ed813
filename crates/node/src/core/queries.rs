//! The ledger's answers to local clients. Queries are numbered as in ouroboros-consensus, `Ledger/Query.hs` and
//! `Shelley/Ledger/Query.hs`.

use std::collections::{BTreeMap, HashSet};

use minicbor::Decoder;
use minicbor::data::{Tag, Type};
use slotmark_chain::block::Hash28;
use slotmark_chain::{CborBuffer, Hash32, Point, Tip};
use slotmark_ledger::EncodedOutput;
use slotmark_network::{Ratio, put_ratio};
use slotmark_praos::stake::{Distribution, Stake};
use slotmark_tracelog::date_of;
use slotmark_wire::message::{MessageError, hash, list, put_point};

use super::Core;
use crate::chaindb::slot_of;

/// The era of all queries: Conway.
const ERA: u64 = 6;
/// Picoseconds a millisecond.
const PICOS: u64 = 1_000_000_000;
const DAY_MS: u64 = 86_400_000;
/// Outputs that an answer has at most: encoded, some 20 MB.
const MAX_OUTPUTS: usize = 100_000;
/// Addresses, inputs or pools that a query names at most.
const MAX_NAMED: usize = 10_000;

impl Core {
    /// The result of a query, as encoded, for one who acquired the state at a tip. That tip is what point, block number, epoch and the end
    /// of the history of eras are of; stake and unspent outputs are those at the tip as it is now.
    ///
    /// # Errors
    /// It can't be read, isn't answered here, or is too large.
    pub(super) fn answer(&self, query: &[u8], acquired: Option<Tip>) -> Result<Vec<u8>, MessageError> {
        let mut decoder = Decoder::new(query);
        let mut out = Vec::new();
        match number(&mut decoder)? {
            0 => match number(&mut decoder)? {
                0 => self.put_of_an_era(&mut out, &mut decoder, acquired)?,
                2 => match number(&mut decoder)? {
                    0 => self.settings.eras.encode(&mut out, acquired.map_or(0, |tip| slot_of(&tip.point) + 1)),
                    1 => out.uint(ERA),
                    other => return unknown("about eras", other),
                },
                other => return unknown("of the ledger", other),
            },
            1 => self.put_system_start(&mut out),
            2 => match acquired {
                Some(tip) => out.numbers(&[1, tip.block_no]),
                None => out.numbers(&[0]),
            },
            3 => put_point(&mut out, &acquired.map_or(Point::Origin, |tip| tip.point)),
            other => return unknown("at all", other),
        }
        Ok(out)
    }

    /// Appends the result of a query of an era, or that it is of another one than the tip.
    fn put_of_an_era(&self, out: &mut Vec<u8>, decoder: &mut Decoder<'_>, acquired: Option<Tip>) -> Result<(), MessageError> {
        let era = number(decoder)?;
        if era != ERA {
            out.array(2);
            for (era, name) in [(era, era_name(era)), (ERA, "Conway")] {
                out.array(2);
                out.uint(era);
                out.text(name);
            }
            return Ok(());
        }
        out.array(1);
        match number(decoder)? {
            // The result of another query as bytes.
            9 => {
                let (mut inner, query) = (Vec::new(), number(decoder)?);
                self.put_of_conway(&mut inner, query, decoder, acquired)?;
                out.encoded(&inner);
                Ok(())
            }
            query => self.put_of_conway(out, query, decoder, acquired),
        }
    }

    fn put_of_conway(&self, out: &mut Vec<u8>, query: u64, decoder: &mut Decoder<'_>, acquired: Option<Tip>) -> Result<(), MessageError> {
        let genesis = self.db.genesis();
        match query {
            // The tip.
            0 => put_point(out, &acquired.map_or(Point::Origin, |tip| tip.point)),
            // The epoch of the tip.
            1 => {
                let epoch = acquired.map_or(0, |tip| slot_of(&tip.point)) / genesis.shelley.epoch_slots;
                out.uint(epoch);
            }
            // Protocol parameters.
            3 => out.extend_from_slice(&self.settings.parameters),
            // Stake as it is now, as shares of all lovelace.
            5 | 37 => {
                let now = self.db.ledger().stake().map(Stake::distribution).unwrap_or_default();
                put_stake(out, &now, genesis.lovelace(), query == 37, |_| true);
            }
            // Unspent outputs by address, all of them, or by place.
            6 => {
                let addresses: HashSet<Vec<u8>> = set(decoder, |decoder| Ok(decoder.bytes()?.to_vec()))?.into_iter().collect();
                put_unspent(out, self.db.ledger().stake().into_iter().flat_map(|stake| stake.unspent_at(&addresses)))?;
            }
            7 => {
                let stake = self.db.ledger().stake();
                // Known before all of them are read.
                if stake.is_some_and(|stake| stake.unspent_outputs() > MAX_OUTPUTS) {
                    return Err(too_many_outputs());
                }
                put_unspent(out, stake.into_iter().flat_map(Stake::all_unspent))?;
            }
            15 => {
                let places = set(decoder, |decoder| {
                    decoder.array()?;
                    Ok((hash(decoder)?, decoder.u64()?))
                })?;
                let find = |(id, index)| Some((id, index, self.db.ledger().stake()?.unspent(&id, index)?));
                put_unspent(out, places.into_iter().filter_map(find))?;
            }
            // Stake that the epoch's lottery uses, as shares of its sum, of all pools or of some.
            36 => {
                let pools = list(decoder, |decoder| set(decoder, pool_id))?.pop();
                let stake = self.db.ledger().stake().map(|stake| stake.current().clone()).unwrap_or_default();
                put_stake(out, &stake, stake.total_lovelace(), true, |id| pools.as_ref().is_none_or(|pools| pools.contains(id)));
            }
            other => return unknown("of Conway", other),
        }
        Ok(())
    }

    /// Appends the year, the day of the year and the picoseconds of the day at which slot 0 begins.
    fn put_system_start(&self, out: &mut Vec<u8>) {
        let start_ms = self.settings.network.start_ms;
        let days = start_ms / DAY_MS;
        let (year, ..) = date_of(days);
        // The days from 1 January to this one.
        let day = (0..=days).rev().take_while(|day| date_of(*day).0 == year).count() as u64;
        out.numbers(&[year, day, start_ms % DAY_MS * PICOS]);
    }
}

/// Appends a map of unspent outputs, each once.
///
/// # Errors
/// There are more than [`MAX_OUTPUTS`].
fn put_unspent(out: &mut Vec<u8>, found: impl Iterator<Item = (Hash32, u64, EncodedOutput)>) -> Result<(), MessageError> {
    let found = found.take(MAX_OUTPUTS + 1).map(|(id, index, output)| ((id, index), output));
    let found: BTreeMap<(Hash32, u64), EncodedOutput> = found.collect();
    if found.len() > MAX_OUTPUTS {
        return Err(too_many_outputs());
    }
    out.map(found.len());
    for ((id, index), output) in found {
        out.array(2);
        out.bytes(&id);
        out.uint(index);
        out.extend_from_slice(&output);
    }
    Ok(())
}

fn too_many_outputs() -> MessageError {
    MessageError::Malformed(format!("its answer would have more than {MAX_OUTPUTS} outputs"))
}

/// Appends the pools that have stake, as shares of what there is: with their lovelace and its sum, or without as up to version 20.
fn put_stake(out: &mut Vec<u8>, stake: &Distribution, all: u64, is_whole: bool, wanted: impl Fn(&Hash28) -> bool) {
    let mut pools = stake.pools();
    pools.retain(|(id, lovelace, _)| *lovelace > 0 && wanted(id));
    if is_whole {
        out.array(2);
    }
    out.map(pools.len());
    for (id, lovelace, vrf_key_hash) in pools {
        out.bytes(id);
        out.array(if is_whole { 3 } else { 2 });
        put_ratio(out, Ratio::new(lovelace, all).unwrap_or(Ratio::ZERO));
        if is_whole {
            out.uint(lovelace);
        }
        out.bytes(vrf_key_hash);
    }
    if is_whole {
        out.uint(stake.total_lovelace());
    }
}

/// Reads the beginning of a query: the array that it is, and its number.
fn number(decoder: &mut Decoder<'_>) -> Result<u64, MessageError> {
    decoder.array()?;
    Ok(decoder.u64()?)
}

fn unknown<T>(which: &str, number: u64) -> Result<T, MessageError> {
    Err(MessageError::Malformed(format!("{number} is no query {which}")))
}

/// Reads a set of [`MAX_NAMED`] items at most, with its tag or without.
fn set<T>(decoder: &mut Decoder<'_>, item: impl FnMut(&mut Decoder<'_>) -> Result<T, MessageError>) -> Result<Vec<T>, MessageError> {
    if decoder.datatype()? == Type::Tag && decoder.tag()? != Tag::new(258) {
        return Err(MessageError::Malformed("a tag other than 258".into()));
    }
    let items = list(decoder, item)?;
    if items.len() > MAX_NAMED {
        return Err(MessageError::Malformed(format!("{} items, where {MAX_NAMED} are allowed", items.len())));
    }
    Ok(items)
}

fn pool_id(decoder: &mut Decoder<'_>) -> Result<Hash28, MessageError> {
    decoder.bytes()?.try_into().map_err(|_| MessageError::Malformed("a pool's id that has not 28 bytes".into()))
}

fn era_name(era: u64) -> &'static str {
    ["Byron", "Shelley", "Allegra", "Mary", "Alonzo", "Babbage"].get(era as usize).copied().unwrap_or("Dijkstra")
}
