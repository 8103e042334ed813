//! The hash that ties a transaction to its redeemers, its datums and the cost models of its scripts.

use std::collections::BTreeSet;

use slotmark_chain::block::{Block, Era, Transaction};
use slotmark_chain::hash::blake2b_256;
use slotmark_chain::{CborBuffer, Hash32};
use slotmark_network::CostModels;

use crate::bytes::Language;

/// The hash that a transaction must name, or None where it must name none. Outside: None where a cost model is missing.
///
/// After `hashScriptIntegrity` of cardano-ledger. Datums count as encoded, and not at all where there are none.
pub(crate) fn script_data_hash(
    block: &Block<'_, '_>,
    transaction: &Transaction,
    languages: &BTreeSet<Language>,
    cost_models: &CostModels,
) -> Option<Option<Hash32>> {
    let set = &transaction.witnesses;
    if languages.is_empty() && set.redeemers.is_empty() && set.datums.count == 0 {
        return Some(None);
    }
    let redeemers = match set.redeemers_encoded.of(block.bytes) {
        [] if block.header.era >= Era::Conway => &[0xa0][..],
        [] => &[0x80],
        encoded => encoded,
    };
    let datums: &[u8] = if set.datums.count == 0 { &[] } else { set.datums.span.of(block.bytes) };
    Some(Some(blake2b_256(&[redeemers, datums, &language_views(languages, cost_models)?])))
}

/// Cost models by language, as the ledger encodes them for this: the first version of Plutus in an older way than the others.
fn language_views(languages: &BTreeSet<Language>, cost_models: &CostModels) -> Option<Vec<u8>> {
    let mut views = Vec::new();
    views.map(languages.len());
    // Shorter keys come first: 1 and 2 before the byte string of a 0.
    for language in languages.iter().filter(|language| **language != 1).chain(languages.get(&1)) {
        let model = cost_models.get(usize::from(*language).checked_sub(1)?)?.as_ref()?;
        if *language == 1 {
            let mut list = Vec::new();
            list.begin_array();
            model.iter().for_each(|parameter| list.int(*parameter));
            list.end();
            views.bytes(&[0]);
            views.bytes(&list);
        } else {
            views.uint(u64::from(*language) - 1);
            views.array(model.len());
            model.iter().for_each(|parameter| views.int(*parameter));
        }
    }
    Some(views)
}
