//! The real preview chain, from genesis: every rule holds of every block that it concerns.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use slotmark_praos::check::check_chain;

use crate::shared::{genesis, preview};

#[test]
#[ignore = "needs the shared data: the real chain and its genesis"]
fn every_rule_holds_of_preview() {
    let start = std::time::Instant::now();
    let report = check_chain(&preview(), Some(&Arc::new(genesis())), &mut |_, _| ControlFlow::Continue(())).expect("a sound chain");
    println!("{:.1} s for {} blocks", start.elapsed().as_secs_f64(), report.blocks);
    for epoch in &report.epochs {
        println!("{epoch:?}");
    }
    for rule in &report.rules {
        println!(
            "{:22} held {:6} approximate {:6} unknown {:6} broken {:6}",
            rule.rule, rule.held, rule.approximate, rule.unknown, rule.broken
        );
    }
    assert_eq!(report.failures, []);
    assert_eq!((report.blocks, report.byron_blocks, report.failed_blocks, report.transactions), (59_315, 0, 0, 21_299));

    let counts: BTreeMap<_, _> = report.rules.iter().map(|rule| (rule.rule, (rule.held, rule.approximate, rule.unknown))).collect();
    for rule in [
        "block-number",
        "slot-order",
        "previous-hash",
        "header-limit",
        "body-limit",
        "body-size",
        "body-hash",
        "certificate-signature",
        "counter-lower-bound",
        "counter-upper-bound",
        "kes-period-start",
        "kes-period-end",
        "kes-signature",
    ] {
        assert_eq!(counts[rule], (59_315, 0, 0), "{rule}");
    }
    assert_eq!(
        (counts["vrf-nonce-proof"], counts["vrf-leader-proof"], counts["vrf-proof"]),
        ((13_012, 0, 0), (13_012, 0, 0), (46_303, 0, 0))
    );
    for rule in ["overlay-slot", "overlay-delegate", "overlay-vrf-key"] {
        assert_eq!(counts[rule], (8_640, 0, 0), "{rule}");
    }
    assert_eq!(counts["vrf-key"], (50_675, 0, 0));
    // Rewards count from epoch 5 on: 37,699 of these blocks.
    assert_eq!(counts["leader-threshold"], (50_675, 0, 0));
    assert_eq!(counts["pool-registered"], (50_675, 0, 0));
    assert_eq!(counts["inputs-found"].1, 0);
    assert_eq!(report.rules.iter().map(|rule| rule.broken).sum::<u64>(), 0);
    for (rule, expected) in [
        ("block-units", (1_968, 0, 0)),
        ("inputs-given", (21_299, 0, 0)),
        ("validity-interval", (21_299, 0, 0)),
        ("fee", (21_299, 0, 0)),
        ("transaction-limit", (21_299, 0, 0)),
        ("value-conserved", (21_299, 0, 0)),
        ("output-lovelace", (21_295, 0, 4)), // four before Babbage
        ("value-limit", (21_299, 0, 0)),
        ("network-id", (21_299, 0, 0)),
        ("auxiliary-data-hash", (8_225, 0, 0)),
        ("witness-signatures", (21_299, 0, 0)),
        ("witness-keys", (21_129, 0, 170)), // Byron addresses and proposals of genesis keys
        ("scripts", (9_424, 0, 0)),
        ("native-scripts", (7_286, 0, 0)),
        ("datums", (1_970, 0, 0)),
        ("redeemers", (2_138, 0, 0)),
        ("script-data-hash", (2_395, 0, 0)),
        ("collateral", (2_138, 0, 0)),
        ("transaction-units", (2_138, 0, 0)),
        ("ledger-state", (1_038, 0, 5)),    // five with proposals of genesis keys
        ("script-budget", (1_956, 0, 182)), // 169 of Plutus V1 beside reference inputs, 13 that need more here than on the chain
        ("script-result", (1_965, 0, 173)), // the same 169, and 4 that fail here
    ] {
        assert_eq!(counts[rule], expected, "{rule}");
    }
    assert_eq!(counts.len(), 45);

    let nonces: BTreeMap<_, _> = report.epochs.iter().map(|epoch| (epoch.epoch, epoch.nonce.clone().expect("a nonce"))).collect();
    assert_eq!(nonces.keys().copied().collect::<Vec<_>>(), (0..15).collect::<Vec<_>>());
    assert_eq!(nonces[&1], "28935f0078dcf3a51a55e9e6b0e93c67ddd3d6edad9d66f4b50bd38b56d08a0b");
    assert_eq!(nonces[&3], "21676ea41e877705d7ae925cdada5b668072ec986bf77e0188427b39d05a4ff7");
    assert_eq!(nonces[&14], "06f65b8ce1c72ed7cffc8332c291398a39414a8483756737f1570a39d531f171");
    let pools: Vec<_> = report.epochs.iter().map(|epoch| epoch.pools.expect("stake")).collect();
    assert_eq!(pools[2..9], [3; 7]);
    let exact: Vec<_> = report.epochs.iter().filter(|epoch| epoch.exact).map(|epoch| epoch.epoch).collect();
    assert_eq!(exact, (0..15).collect::<Vec<_>>());
}

#[test]
#[ignore = "needs the shared data: the real chain and its genesis"]
fn without_a_genesis_what_depends_on_it_is_not_known() {
    let report = check_chain(&preview(), None, &mut |_, _| ControlFlow::Continue(())).expect("a sound chain");
    let unknown: BTreeMap<_, _> = report.rules.iter().filter(|rule| rule.unknown > 0).map(|rule| (rule.rule, rule.unknown)).collect();
    assert_eq!(unknown["kes-signature"], 59_315);
    assert_eq!((unknown["vrf-proof"], unknown["vrf-nonce-proof"], unknown["leader-threshold"]), (46_303, 13_012, 59_315));
    let of_headers = report.rules.iter().filter(|rule| rule.counted == "blocks" && unknown.contains_key(rule.rule));
    assert!(of_headers.into_iter().all(|rule| rule.held == 0 && rule.approximate == 0));
    assert_eq!((unknown["fee"], unknown["value-conserved"], unknown["script-result"]), (21_299, 21_299, 2_138));
    let held: BTreeMap<_, _> = report.rules.iter().map(|rule| (rule.rule, rule.held)).collect();
    assert_eq!((held["certificate-signature"], held["body-hash"], held["counter-upper-bound"]), (59_315, 59_315, 59_315));
    assert_eq!((held["witness-signatures"], held["validity-interval"]), (21_299, 21_299));
    assert_eq!(report.failed_blocks, 0);
}

#[test]
#[ignore = "needs the shared data: the real chain and its genesis"]
fn the_work_can_be_stopped() {
    let error = check_chain(&preview(), Some(&Arc::new(genesis())), &mut |done, _| {
        if done > 300 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(matches!(error, Err(slotmark_chain::ChainError::Interrupted)));
}
