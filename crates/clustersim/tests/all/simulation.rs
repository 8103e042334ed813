//! Properties of any simulation.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::PathBuf;

use proptest::prelude::*;
use slotmark_clustersim::{
    AdoptedBy, Context, Event, HostSink, METRICS, NEVER, Outcome, Profile, SimulationError, Sink, Topology, Truth, propagation, simulate,
    simulate_truth, write_run,
};

const PROFILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/slotmark/benches/cluster/profiles");

/// A shipped value-only profile with settings laid over it.
fn value_only(settings: &[&str]) -> Profile {
    shipped(&["cluster-52", "value-only", "value-only-10.5"], settings)
}

fn shipped(names: &[&str], settings: &[&str]) -> Profile {
    let read = |name: &&str| std::fs::read_to_string(format!("{PROFILES}/{name}.toml")).unwrap();
    let texts: Vec<String> = names.iter().map(read).collect();
    let layers: Vec<&str> = texts.iter().map(String::as_str).collect();
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    Profile::from_layers(&layers, &settings).unwrap()
}

fn truth_of(profile: &Profile, seed: u64) -> Truth {
    simulate_truth(profile, seed, &mut |_, _| ControlFlow::Continue(())).unwrap()
}

/// Keeps what hosts log.
struct Kept;

impl Sink for Kept {
    type Host = Events;

    fn host(&mut self, _: &Topology, _: u32) -> Result<Events, SimulationError> {
        Ok(Events::default())
    }
}

/// The events of a host, by its clock.
#[derive(Default)]
struct Events(Vec<(i64, Event)>);

impl HostSink for Events {
    fn event(&mut self, at_ns: i64, event: Event, _: &Context<'_>) {
        self.0.push((at_ns, event));
    }
}

fn simulated(profile: &Profile, seed: u64) -> Outcome<Events> {
    simulate(profile, seed, &mut Kept, &mut |_, _| ControlFlow::Continue(())).unwrap()
}

/// Settings after which nothing takes time.
const FREE: &[&str] = &[
    "forging.started=0ms",
    "forging.block_context=0ms",
    "forging.ledger_state=0ms",
    "forging.ledger_view=0ms",
    "forging.leadership=0ms",
    "forging.ledger_tick=0ms",
    "forging.mempool_snapshot=0ms",
    "forging.forge=0ms",
    "forging.forged_to_announced=0ms",
    "forging.self_adopt=0ms",
    "forging.epoch_boundary=0ms",
    "peer.header_notice=0ms",
    "peer.notice_to_fetch=0ms",
    "peer.serve=0ms",
    "peer.receive=0ms",
    "peer.receive_per_kb=0ms",
    "peer.fetched_to_announced=0ms",
    "peer.adopt=0ms",
    "peer.decision_interval=0ms",
    "network.jitter=0ms",
    "tcp.round_pause=0ms",
    "network.bandwidth=1000000Gbit/s",
    "peer.host_spread=0.0",
];

/// Settings after which all links have a round trip.
fn round_trips(rtt: &str) -> Vec<String> {
    vec![r#"network.regions=["here"]"#.into(), format!(r#"network.rtt=[{{between=["here","here"], mean="{rtt}", spread="0ms"}}]"#)]
}

fn with<'a>(groups: &[&[&'a str]]) -> Vec<&'a str> {
    groups.iter().flat_map(|group| group.iter().copied()).collect()
}

/// Checks that a chain is valid: parents before children, heights without gaps, slots rising, forgers elected.
fn check_chains(truth: &Truth) {
    for block in truth.blocks.iter().skip(1) {
        let parent = &truth.blocks[block.parent as usize];
        assert_eq!(block.height, parent.height + 1);
        assert!(parent.height == 0 || parent.slot < block.slot, "slot {} after {}", block.slot, parent.slot);
        assert!(block.parent < block.index, "forged before its parent");
    }
    let hashes: HashSet<_> = truth.blocks.iter().map(|block| block.hash).collect();
    assert_eq!(hashes.len(), truth.blocks.len());
    let leaders: HashSet<_> = truth.blocks.iter().skip(1).map(|block| (block.slot, block.forger)).collect();
    assert_eq!(leaders.len(), truth.blocks.len() - 1, "a pool forged twice in one slot");
    for tip in &truth.tips {
        assert_eq!(truth.chain_to(*tip).len() as u64, truth.blocks[*tip as usize].height);
    }
}

/// Checks the order of moments; `restarted` is a host that lost what it had not adopted, and may request a block again.
fn check_moments(truth: &Truth, restarted: Option<u32>) {
    for (host, observations) in truth.observations.iter().enumerate() {
        for (index, seen) in observations.iter().enumerate().skip(1) {
            let block = &truth.blocks[index];
            if block.forger as usize != host {
                if seen.fetched_ns != NEVER {
                    assert!(seen.noticed_ns <= seen.fetched_ns, "a body before its header");
                    assert!(seen.requested_ns == NEVER || seen.requested_ns <= seen.fetched_ns || restarted == Some(host as u32));
                }
                if seen.adopted_ns != NEVER {
                    assert!(seen.fetched_ns <= seen.adopted_ns, "adopted before fetched");
                }
            }
            if seen.adopted_ns != NEVER {
                assert!(seen.adopted_by != AdoptedBy::Nothing && block.forged_ns <= seen.adopted_ns);
                let parent = truth.observation(host, block.parent);
                assert!(block.parent == 0 || parent.adopted_ns <= seen.adopted_ns, "adopted before its parent");
            }
        }
    }
}

#[test]
fn the_same_seed_writes_the_same_bytes_on_one_thread_and_on_many_and_another_seed_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let profile = value_only(&["hosts=9", "pools=9", "run.slots=450", "genesis.epoch_slots=200"]);
    let write = |name: &str, seed: u64, threads: usize| -> Vec<(PathBuf, Vec<u8>)> {
        let out = folder.path().join(name).join("run");
        std::fs::create_dir_all(out.parent().unwrap()).unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| write_run(&profile, seed, &out, &mut |_, _| ControlFlow::Continue(()))).unwrap();
        let mut files = Vec::new();
        let mut open = vec![out.clone()];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    files.push((path.strip_prefix(&out).unwrap().to_path_buf(), std::fs::read(&path).unwrap()));
                }
            }
        }
        files.sort();
        files
    };
    let first = write("a", 1, 1);
    assert!(first.len() > 12);
    assert!(first == write("b", 1, 4), "threads changed the bytes");
    assert!(first != write("c", 2, 4));
}

#[test]
fn the_truth_is_the_same_with_and_without_logs_and_whatever_the_stretches() {
    let profile = value_only(&["hosts=12", "pools=12", "run.slots=650"]);
    let outcome = simulated(&profile, 3);
    assert_eq!(outcome.truth, truth_of(&profile, 3));
}

#[test]
fn every_moment_of_the_truth_is_a_line_of_the_log_and_the_other_way_round() {
    let skewed = r#"fault=[{kind="clock-skew", host=2, ahead_ms=-40.5}, {kind="clock-skew", host=3, ahead_ms=12.25}, {kind="host-down", host=4, from=200, until=260}]"#;
    let profile = value_only(&["hosts=9", "pools=9", "run.slots=600", skewed]);
    let outcome = simulated(&profile, 5);
    for (host, Events(events)) in outcome.sinks.iter().enumerate() {
        let ahead = outcome.truth.clock_ahead_ns[host];
        let first = |is_it: &dyn Fn(Event) -> bool| {
            events.iter().find(|(_, event)| is_it(*event)).map_or(NEVER, |(at_ns, _)| (at_ns - ahead) as u64)
        };
        assert!(events.windows(2).all(|pair| pair[0].0 <= pair[1].0), "host {host} logs out of order");
        for block in outcome.truth.blocks.iter().skip(1) {
            let (seen, index) = (outcome.truth.observation(host, block.index), block.index);
            let noticed = first(&|event| matches!(event, Event::DownloadedHeader { block, .. } if block == index));
            assert_eq!(noticed, seen.noticed_ns, "host {host} block {index}");
            assert_eq!(first(&|event| matches!(event, Event::SendFetchRequest { head, .. } if head == index)), seen.requested_ns);
            assert_eq!(first(&|event| matches!(event, Event::CompletedBlockFetch { block, .. } if block == index)), seen.fetched_ns);
            assert_eq!(first(&|event| matches!(event, Event::SendingHeader { block, .. } if block == index)), seen.announced_ns);
            assert_eq!(first(&|event| matches!(event, Event::SendBlock { block, .. } if block == index)), seen.sending_ns);
            let adopted = match seen.adopted_by {
                AdoptedBy::Extension => first(&|event| event == Event::AddedToCurrentChain { block: index }),
                AdoptedBy::Fork => first(&|event| event == Event::SwitchedToAFork { block: index }),
                _ => seen.adopted_ns,
            };
            assert_eq!(adopted, seen.adopted_ns);
            if block.forger as usize == host {
                assert_eq!(first(&|event| event == Event::ForgedBlock { block: index }), block.forged_ns);
            }
        }
    }
}

#[test]
fn a_host_that_is_down_logs_nothing_and_catches_up_in_ranges() {
    let down = r#"fault=[{kind="host-down", host=4, from=100, until=400}]"#;
    let profile = value_only(&["hosts=9", "pools=8", "run.slots=800", down]);
    let outcome = simulated(&profile, 5);
    check_chains(&outcome.truth);
    let silent = outcome.sinks[4].0.iter().filter(|(at_ns, _)| (100_000_000_000..400_000_000_000).contains(at_ns));
    assert_eq!(silent.count(), 0);
    assert!(outcome.truth.observations[4].iter().any(|seen| seen.range > 1), "no range was asked for");
    assert!(outcome.truth.tips.iter().all(|tip| *tip == outcome.truth.tips[0]));
    let missed = outcome.truth.blocks.iter().filter(|block| block.forger == 4 && (100..400).contains(&block.slot));
    assert_eq!(missed.count(), 0);
}

#[test]
fn a_partition_makes_two_chains_and_its_end_makes_one() {
    let split = r#"fault=[{kind="partition", hosts=[0, 3, 6, 9, 12, 15], from=100, until=500}]"#;
    let during = value_only(&["hosts=15", "pools=15", "run.slots=499", split.replace("12, 15", "12").as_str()]);
    let mut tips: Vec<u32> = truth_of(&during, 9).tips;
    tips.sort_unstable();
    tips.dedup();
    assert!(tips.len() > 1, "both sides have the same tip");
    let split = split.replace("12, 15", "12");
    let healed = truth_of(&value_only(&["hosts=15", "pools=15", "run.slots=700", &split]), 9);
    check_chains(&healed);
    check_moments(&healed, None);
    let tip = |host: usize| &healed.blocks[healed.tips[host] as usize];
    let heights: Vec<u64> = (0..15).map(|host| tip(host).height).collect();
    let settled: HashSet<_> = (0..15)
        .map(|host| *healed.chain_to(healed.tips[host]).iter().rfind(|block| healed.blocks[**block as usize].slot < 680).unwrap())
        .collect();
    assert_eq!(settled.len(), 1, "{heights:?}");
    assert!(healed.observations.iter().flatten().any(|seen| seen.adopted_by == AdoptedBy::Fork), "no host switched");
}

#[test]
fn a_forger_that_switches_to_its_own_block_announces_it() {
    let truth = truth_of(&value_only(&["run.slots=20000"]), 1);
    let end_ns = 20_000_000_000_000;
    let switched = truth.blocks.iter().skip(1).map(|block| truth.observation(block.forger as usize, block.index));
    let switched: Vec<_> = switched.filter(|own| own.adopted_by == AdoptedBy::Fork && own.adopted_ns < end_ns - 1_000_000_000).collect();
    assert!(switched.len() > 1, "{}", switched.len());
    assert!(switched.iter().all(|own| own.announced_ns != NEVER), "{switched:?}");
}

#[test]
fn a_cut_link_delays_and_a_slow_host_is_late() {
    let line = &["hosts=6", "pools=1", "run.slots=300", r#"network.topology={kind="line"}"#];
    let plain = truth_of(&value_only(line), 2);
    let cut = r#"fault=[{kind="link-cut", between=[2, 3], from=50, until=250}]"#;
    let delayed = truth_of(&value_only(&with(&[line, &[cut]])), 2);
    let during =
        |truth: &Truth| truth.blocks.iter().filter(|block| (50..240).contains(&block.slot)).map(|block| block.index).collect::<Vec<_>>();
    assert!(!during(&plain).is_empty());
    for block in during(&plain) {
        assert!(plain.observation(5, block).adopted_ns < 250_000_000_000 && delayed.observation(5, block).adopted_ns > 250_000_000_000);
        assert_eq!(plain.observation(1, block).adopted_ns, delayed.observation(1, block).adopted_ns);
    }
    let slow = truth_of(&value_only(&with(&[line, &[r#"fault=[{kind="host-slow", host=5, from=0, until=300, factor=3.0}]"#]])), 2);
    for block in slow.blocks.iter().skip(1) {
        let (was, is) = (plain.observation(5, block.index), slow.observation(5, block.index));
        if is.adopted_ns != NEVER {
            assert!(is.adopted_ns - is.fetched_ns > 2 * (was.adopted_ns - was.fetched_ns));
        }
    }
}

/// The settings that make a stage a constant.
fn constant(stage: &str, ms: u64) -> String {
    format!(r#"{stage}={{mean="{ms}ms", sigma=0.0}}"#)
}

/// Three hosts in a line, links of 50 ms one way and 8 Mbit/s, full blocks of 10 kB, stages of one length each: moments are worked out by hand.
fn of_constants(more: &[&str]) -> Profile {
    let stages = [
        ("forging.started", 1),
        ("forging.block_context", 2),
        ("forging.ledger_state", 3),
        ("forging.ledger_view", 4),
        ("forging.leadership", 5),
        ("forging.ledger_tick", 6),
        ("forging.mempool_snapshot", 7),
        ("forging.forge", 8),
        ("forging.forged_to_announced", 9),
        ("forging.self_adopt", 70),
        ("peer.header_notice", 10),
        ("peer.notice_to_fetch", 11),
        ("peer.serve", 12),
        ("peer.receive", 13),
        ("peer.fetched_to_announced", 14),
        ("peer.adopt", 60),
    ];
    let stages: Vec<String> = stages.iter().map(|(stage, ms)| constant(stage, *ms)).chain(round_trips("100ms")).collect();
    let others = [
        r#"network.topology={kind="line"}"#,
        "hosts=3",
        "pools=1",
        "run.slots=400",
        "network.bandwidth=8Mbit/s",
        "network.jitter=0ms",
        "tcp.initial_window=100",
        "tcp.round_pause=0ms",
        "peer.receive_per_kb=0.5ms",
        "peer.decision_interval=0ms",
        "peer.host_spread=0.0",
        "forging.epoch_boundary=0ms",
        "forging.missed_slots=0.0",
        "workload.tx_size=100B",
        "workload.block_size=10000B",
        "genesis.max_block_body_size=10000B",
        "workload.tps=10000.0",
        "workload.refill_tps=10000.0",
        "published.first_epoch=0",
        "published.min_fullness=0.0",
    ];
    value_only(&with(&[&stages.iter().map(String::as_str).collect::<Vec<_>>(), &others, more]))
}

#[test]
fn the_moments_of_a_block_are_the_sums_of_its_stages() {
    let profile = of_constants(&[]);
    let truth = truth_of(&profile, 1);
    // Announced, noticed, requested, fetched, sent on, adopted: a body takes 10 ms to leave, 50 ms to arrive and 13 + 10 * 0.5 ms to be
    // complete. The forger notices its own block as its follower announces it.
    let by_host = [
        [45, 270 + 50 + 10, NEVER, NEVER, 116 + 50 + 12, 36 + 70],
        [256 + 14, 45 + 50 + 10, 105 + 11, 178 + 10 + 50 + 18, 341 + 50 + 12, 256 + 60],
        [481 + 14, 270 + 50 + 10, 330 + 11, 403 + 10 + 50 + 18, NEVER, 481 + 60],
    ];
    let blocks: Vec<_> = truth.blocks.iter().skip(1).filter(|block| block.slot < 399).collect();
    assert!(blocks.len() > 10, "{}", blocks.len());
    for block in &blocks {
        let starts_ns = block.slot * 1_000_000_000;
        let near = |moment: u64, ms: u64| if ms == NEVER { moment == NEVER } else { moment.abs_diff(starts_ns + ms * 1_000_000) < 100 };
        let times = &truth.forging[block.index as usize];
        let made = [
            times.started_ns,
            times.block_context_ns,
            times.ledger_state_ns,
            times.ledger_view_ns,
            times.leadership_ns,
            times.ledger_tick_ns,
            times.mempool_snapshot_ns,
            block.forged_ns,
        ];
        assert_eq!(block.size_bytes, 10_000);
        assert!(made.iter().zip([1, 3, 6, 10, 15, 21, 28, 36]).all(|(moment, ms)| near(*moment, ms)), "{made:?}");
        for (host, expected) in by_host.iter().enumerate() {
            let seen = truth.observation(host, block.index);
            let moments = [seen.announced_ns, seen.noticed_ns, seen.requested_ns, seen.fetched_ns, seen.sending_ns, seen.adopted_ns];
            assert!(moments.iter().zip(expected).all(|(moment, ms)| near(*moment, *ms)), "slot {}, host {host}: {seen:?}", block.slot);
        }
    }
    let rows = propagation(&profile, &truth).rows;
    for (metric, ms) in [
        ("Started forge loop iteration", 1.0),
        ("Leadership check duration", 5.0),
        ("Ledger ticking", 6.0),
        ("Mempool snapshotting", 7.0),
        ("Leadership to forged", 8.0),
        ("Forged to announced", 9.0),
        ("Forged to sending", 142.0),
        ("Forged to self-adopted", 70.0),
        ("Slot start to announced", 45.0),
        ("First peer notice", 105.0),
        ("First peer fetch", 256.0),
        ("Notice to fetch request", 11.0),
        ("Fetch duration", 140.0),
        ("Fetched to announced", 14.0),
        ("Fetched to sending", 147.0),
        ("Fetched to adopted", 60.0),
        ("0.50 adoption", 316.0),
        ("0.80 adoption", 541.0),
        ("1.00 adoption", 541.0),
    ] {
        let found = rows.iter().find(|row| row.metric == metric).unwrap().predicted;
        assert!((found * 1e3 - ms).abs() < 1e-3, "{metric}: {found} s, {ms} ms by hand");
    }
}

/// The first block of an epoch but the chain's first is 200 ms later at its forger, and again at each host that adopts it; others are as usual.
#[test]
fn an_epoch_s_first_block_waits_for_its_boundary() {
    let truth = truth_of(&of_constants(&["forging.epoch_boundary=200ms", "genesis.epoch_slots=5"]), 1);
    let mut firsts = 0;
    for block in truth.blocks.iter().skip(1).filter(|block| block.slot < 398) {
        let first = block.parent != 0 && truth.blocks[block.parent as usize].slot / 5 < block.slot / 5;
        firsts += usize::from(first);
        let adopted = |host: usize| (truth.observation(host, block.index).adopted_ns - block.slot * 1_000_000_000 + 50) / 1_000_000;
        let ticked = (truth.forging[block.index as usize].ledger_tick_ns - block.slot * 1_000_000_000 + 50) / 1_000_000;
        let found = [ticked, adopted(0), adopted(1), adopted(2)];
        assert_eq!(found, if first { [221, 306, 716, 941] } else { [21, 106, 316, 541] }, "slot {}", block.slot);
    }
    assert!(firsts >= 4 && truth.blocks[1].slot >= 5, "{firsts}");
}

/// Both blocks of a slot are everywhere within 0.6 s, so that the next slot's block follows the one with the lesser VRF output.
#[test]
fn of_two_blocks_of_a_slot_the_lesser_vrf_wins() {
    let truth = truth_of(&of_constants(&["pools=2", "genesis.active_slot_coefficient=0.6"]), 1);
    let mut battles = 0;
    for next in truth.blocks.iter().skip(1).filter(|block| block.parent != 0) {
        let parent = &truth.blocks[next.parent as usize];
        for rival in truth.blocks.iter().filter(|rival| rival.slot == parent.slot && rival.index != parent.index && rival.index != 0) {
            assert!(parent.vrf < rival.vrf, "slot {}", parent.slot);
            battles += 1;
        }
    }
    assert!(battles > 10, "{battles}");
}

/// Two pools that lead often and far from each other: forks, blocks of many sizes, and epochs and sizes that the analysis leaves out.
#[test]
fn blocks_are_counted_as_analysed_left_out_and_orphaned() {
    let settings = [
        "hosts=3",
        "pools=2",
        "run.slots=900",
        "genesis.epoch_slots=200",
        "genesis.active_slot_coefficient=0.4",
        "published.first_epoch=1",
        "published.min_fullness=0.1",
        "published.max_fullness=0.25",
    ];
    let profile = value_only(&settings);
    let (truth, full) = (truth_of(&profile, 4), 90_112.0);
    let chain: Vec<_> = truth.chain().into_iter().map(|index| &truth.blocks[index as usize]).collect();
    let forged = truth.blocks.len() - 1;
    let got_by_all = |index: u32, forger: u32| {
        (0..3).filter(|host| *host != forger).all(|host| truth.observation(host as usize, index).adopted_by == AdoptedBy::Extension)
    };
    let (last, others) = chain.split_last().unwrap();
    let later: Vec<_> = others.iter().filter(|block| block.slot >= 200 && got_by_all(block.index, block.forger)).collect();
    let analysed: Vec<_> = later.iter().filter(|block| (0.1 * full..0.25 * full).contains(&(block.size_bytes as f64))).collect();
    let found = propagation(&profile, &truth);
    assert_eq!(found.blocks as usize, analysed.len());
    assert_eq!(found.rejected as usize, others.len() - analysed.len());
    assert_eq!(found.orphaned as usize, forged - chain.len());
    let smallest = later.iter().filter(|block| block.size_bytes as f64 <= 0.1 * full).count();
    let largest = later.iter().filter(|block| block.size_bytes as f64 >= 0.25 * full).count();
    let left_out = [smallest, largest, others.iter().filter(|block| block.slot < 200).count(), found.orphaned as usize, analysed.len()];
    assert!(left_out.iter().all(|count| *count >= 5) && last.slot > 850, "{left_out:?}");
    let rivals = |height: u64| truth.blocks.iter().skip(1).filter(|block| block.height == height).count() - 1;
    let mean = |total: f64| total / analysed.len() as f64;
    for (metric, expected) in [
        ("Blocks per host", forged as f64 / 3.0),
        ("Filtered to chained block ratio", analysed.len() as f64 / chain.len() as f64),
        ("Chained to forged block ratio", chain.len() as f64 / forged as f64),
        ("Height & slot battles", mean(analysed.iter().map(|block| rivals(block.height) as f64).sum())),
        ("Block size", mean(analysed.iter().map(|block| block.size_bytes as f64).sum())),
    ] {
        let row = found.rows.iter().find(|row| row.metric == metric).unwrap();
        assert!((row.predicted - expected).abs() < 1e-9 * expected.max(1.0), "{metric}: {} and {expected}", row.predicted);
    }
}

#[test]
fn the_share_of_slots_that_a_pool_leads_is_that_of_praos() {
    let profile = value_only(&["hosts=4", "pools=3", "stake=[1.0, 2.0, 5.0]", "run.slots=60000", "forging.missed_slots=0.0"]);
    let truth = truth_of(&profile, 1);
    for (pool, stake) in [1.0, 2.0, 5.0].into_iter().enumerate() {
        let expected = (1.0 - 0.95_f64.powf(stake / 8.0)) * 60_000.0;
        let led = truth.blocks.iter().skip(1).filter(|block| block.forger as usize == pool).count() as f64;
        assert!((led - expected).abs() < 5.0 * expected.sqrt(), "pool {pool}: {led} of {expected}");
    }
    assert!(truth.blocks.iter().all(|block| block.forger != 3), "a host without stake forged");
}

#[test]
fn losses_and_small_windows_make_a_block_later() {
    let plain = propagation(&value_only(&["run.slots=20000"]), &truth_of(&value_only(&["run.slots=20000"]), 1));
    let row = |settings: &[&str], metric: &str| {
        let profile = value_only(&with(&[&["run.slots=20000"], settings]));
        propagation(&profile, &truth_of(&profile, 1)).rows.iter().find(|row| row.metric == metric).unwrap().predicted
    };
    let fetch = plain.rows.iter().find(|row| row.metric == "Fetch duration").unwrap().predicted;
    assert!(row(&["network.loss=0.02"], "Fetch duration") > fetch * 1.1);
    assert!(row(&["tcp.initial_window=4"], "Fetch duration") > fetch * 1.1);
    assert!(row(&["tcp.initial_window=100"], "Fetch duration") < fetch * 0.6);
    assert!(row(&["ledger_tick=33ms"], "0.96 adoption") > row(&[], "0.96 adoption") + 0.009);
}

#[test]
fn a_profile_that_makes_no_sense_is_refused_with_what_to_do() {
    let texts: Vec<String> = ["cluster-52", "value-only", "value-only-10.5"]
        .iter()
        .map(|name| std::fs::read_to_string(format!("{PROFILES}/{name}.toml")).unwrap())
        .collect();
    let layers: Vec<&str> = texts.iter().map(String::as_str).collect();
    for (setting, named) in [
        ("ledger_tick.mean=33", "ms"),
        ("mean=33ms", "write more"),
        ("no_such=1", "no_such"),
        ("pools=53", "no more pools"),
        ("edge_hosts=1", "hosts without a pool, 0"),
        ("network.loss=1.5", "network.loss"),
        ("nonsense", "key=value"),
        (r#"fault=[{kind="host-down", host=52, from=1, until=2}]"#, "host 52"),
        (r#"fault=[{kind="host-slow", host=1, from=1, until=2, factor=-3.0}]"#, "factor above 0"),
        (r#"fault=[{kind="partition", hosts=[], from=1, until=2}]"#, "some of the hosts"),
        (r#"fault=[{kind="clock-skew", host=1, ahead_ms=1e12}]"#, "the run lasts"),
        (r#"network.topology={kind="torus"}"#, "torus"),
        ("system_start=yesterday", "2025-08-01T16:54:49Z"),
        ("tps*=two", "factor"),
        ("rtt[6].mean=1ms", "6 entries"),
        ("rtt[mars].mean=1ms", "[eu-central-1,us-east-1]"),
        ("rtt[0].maen=1ms", "has no `maen`"),
        ("rtt[0.mean=1ms", "without `]`"),
        ("loss[0]=1", "no list"),
        ("regions[0]*=2", "multiplied"),
    ] {
        let error = Profile::from_layers(&layers, &[setting.to_string()]).unwrap_err().to_string();
        assert!(error.contains(named) && !error.contains('\n'), "{setting}: {error}");
    }
    let error = Profile::from_layers(&["name = \"x\"", "a = = 1"], &[]).unwrap_err().to_string();
    assert!(error.contains("line 1"), "{error}");
}

#[test]
fn lists_are_set_by_place_and_by_region_and_numbers_by_a_factor() {
    let rtt = |settings: &[&str]| -> Vec<u64> { value_only(settings).network.rtt.iter().map(|one| one.mean.0 / 1_000).collect() };
    let own = [200, 250, 150, 90_200, 200_000, 250_000];
    assert_eq!(rtt(&[]), own);
    assert_eq!(rtt(&["network.rtt[0].mean=400us"]), [400, 250, 150, 90_200, 200_000, 250_000]);
    assert_eq!(rtt(&["rtt[us-east-1].mean=1ms"]), [200, 1_000, 150, 1_000, 1_000, 250_000]);
    assert_eq!(rtt(&["rtt[us-east-1, us-east-1].mean *= 2"]), [200, 500, 150, 90_200, 200_000, 250_000]);
    assert_eq!(rtt(&["rtt[us-east-1,eu-central-1].mean*=0.5"]), [200, 250, 150, 45_100, 200_000, 250_000]);
    let changed = value_only(&["ledger_tick*=2", "tps*=1.5", "slots*=0.5", "regions[2]=ap-southeast-9"]);
    let was = value_only(&[]);
    assert_eq!(changed.forging.ledger_tick.mean.0, 2 * was.forging.ledger_tick.mean.0);
    assert!((changed.workload.tps - 1.5 * was.workload.tps).abs() < 1e-9);
    assert_eq!(changed.run.slots, was.run.slots / 2);
    assert_eq!(changed.network.regions[2], "ap-southeast-9");
}

#[test]
fn texts_are_as_they_are_written_whatever_toml_would_read() {
    let changed =
        value_only(&["cardano-node.version=11.10", "cardano-node.commit=1234567", "ident=10", "system_start=2026-01-02T00:00:00Z"]);
    let node = &changed.target.components["cardano-node"];
    assert_eq!((&*node.version, &*node.commit, &*changed.target.ident), ("11.10", "1234567", "10"));
    assert_eq!(changed.run.system_start, "2026-01-02T00:00:00Z");
}

#[test]
fn a_cut_of_no_link_and_a_topology_that_cannot_be_read_are_refused() {
    let refused =
        |settings: &[&str]| simulate_truth(&value_only(settings), 1, &mut |_, _| ControlFlow::Continue(())).unwrap_err().to_string();
    let cut = refused(&[
        "hosts=6",
        "pools=6",
        r#"network.topology={kind="line"}"#,
        r#"fault=[{kind="link-cut", between=[0, 2], from=1, until=2}]"#,
    ]);
    assert!(cut.contains("between hosts 0 and 2"), "{cut}");
    let setting = r#"network.topology={kind="file", path="no-such.json"}"#.to_string();
    let missing = Profile::from_layers(&[&value_only(&[]).to_toml()], &[setting]).unwrap_err().to_string();
    assert!(missing.contains("no-such.json") && missing.contains("nodeId"), "{missing}");
}

#[test]
fn no_host_follows_an_edge_host_and_it_has_every_block() {
    let of = |settings: &[&str]| value_only(&with(&[&["hosts=9", "pools=5", "run.slots=1500"], settings]));
    let pairs = |profile: &Profile| -> HashSet<(u32, u32)> {
        let links = Topology::of(profile, 1).unwrap().links;
        links.iter().map(|link| (link.follower, link.producer)).collect()
    };
    let profile = of(&["edge_hosts=2"]);
    let all = pairs(&of(&[]));
    assert!(all.iter().any(|(_, producer)| *producer > 6), "the rule alone has links to the last two");
    assert_eq!(pairs(&profile), all.into_iter().filter(|(_, producer)| *producer < 7).collect());
    let Outcome { truth, sinks, .. } = simulated(&profile, 1);
    assert!(truth.chain().len() > 30);
    for block in truth.chain().into_iter().filter(|block| truth.blocks[*block as usize].slot < 1490) {
        assert!(truth.observation(8, block).adopted_ns != NEVER && truth.observation(7, block).adopted_ns != NEVER, "block {block}");
    }
    let sends = |host: usize| sinks[host].0.iter().any(|(_, event)| matches!(event, Event::SendingHeader { .. } | Event::SendBlock { .. }));
    assert_eq!((0..9).filter(|host| sends(*host)).collect::<Vec<_>>(), (0..7).collect::<Vec<_>>());
}

#[test]
fn edge_hosts_that_a_profile_contradicts_or_that_nothing_reaches_are_refused() {
    let refused = |settings: &[&str]| {
        let profile = value_only(&with(&[&["hosts=6", "pools=3"], settings]));
        Topology::of(&profile, 1).unwrap_err().to_string()
    };
    let line = refused(&["edge_hosts=2", r#"network.topology={kind="line"}"#]);
    assert!(line.contains("node-5 would follow nobody"), "{line}");
    let pairs = "[[0,1],[1,0],[1,3],[3,1],[2,4],[4,2],[3,0],[4,3],[5,0]]";
    let apart = refused(&["edge_hosts=3", r#"network.topology={kind="edges", edges=[[0,1],[1,0],[3,1],[4,2],[5,0]]}"#]);
    assert!(apart.contains("the other hosts would fall apart"), "{apart}");
    let followed = refused(&["edge_hosts=2", &format!(r#"network.topology={{kind="edges", edges={pairs}}}"#)]);
    assert!(followed.contains("node-2 follows node-4") && followed.contains("network.edge_hosts"), "{followed}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("topology.json");
    let node = |number: u32, producer: u32| format!(r#"{{"nodeId":{number},"name":"n{number}","producers":{{"n{producer}":1.5}}}}"#);
    let nodes: Vec<String> = (0..6).map(|number| node(number, (number + 1) % 6)).collect();
    std::fs::write(&file, format!(r#"{{"nodes":[{}]}}"#, nodes.join(","))).unwrap();
    let named = refused(&["edge_hosts=1", &format!(r#"network.topology={{kind="file", path="{}"}}"#, file.display())]);
    assert!(named.contains("node-4 follows node-5") && named.contains("topology.json"), "{named}");
}

#[test]
fn a_profile_written_out_reads_the_same() {
    for names in [["cluster-52", "value-only", "value-only-10.2"], ["cluster-52", "plutus-loop", "plutus-loop-10.5.4"]] {
        let profile = shipped(&names, &[]);
        let again = Profile::from_layers(&[&profile.to_toml()], &[]).unwrap();
        assert_eq!(profile.to_toml(), again.to_toml());
    }
}

#[test]
fn a_run_that_is_stopped_leaves_nothing_and_one_that_is_there_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let profile = value_only(&["hosts=4", "pools=4", "run.slots=900"]);
    let out = folder.path().join("run");
    let stopped = write_run(&profile, 1, &out, &mut |done, _| if done > 300 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) });
    assert!(matches!(stopped, Err(SimulationError::Stopped)));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    std::fs::create_dir(&out).unwrap();
    assert!(matches!(write_run(&profile, 1, &out, &mut |_, _| ControlFlow::Continue(())), Err(SimulationError::Exists(_))));
}

#[test]
#[ignore = "needs the shared data: a topology file"]
fn the_benchmarks_own_topology_file_has_the_links_that_the_rule_gives() {
    let shared = std::env::var("SLOTMARK_SHARED").unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared").into());
    let from_file = value_only(&[&format!(r#"network.topology={{kind="file", path="{shared}/data/cluster/topology-dense-52.json"}}"#)]);
    let (file, rule) = (simulated(&value_only(&["run.slots=1"]), 1).topology, simulated(&with_slots(from_file, 1), 1).topology);
    let pairs = |topology: &Topology| topology.links.iter().map(|link| (link.follower, link.producer)).collect::<HashSet<_>>();
    assert_eq!(pairs(&file), pairs(&rule));
}

fn with_slots(mut profile: Profile, slots: u64) -> Profile {
    profile.run.slots = slots;
    profile
}

fn topology() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just(r#"network.topology={kind="line"}"#),
        Just(r#"network.topology={kind="ring"}"#),
        Just(r#"network.topology={kind="torus-dense"}"#),
        Just(r#"network.topology={kind="complete"}"#),
        Just(r#"network.topology={kind="random-regular", degree=4}"#),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_chain_is_valid(seed in 0_u64..1_000_000, topology in topology(), hosts in 5_u32..20, f in 0.02_f64..0.5, down in 0_u32..5, from in 0_u64..200) {
        let settings = [
            format!("hosts={hosts}"), format!("pools={hosts}"), format!("genesis.active_slot_coefficient={f:.3}"), "run.slots=300".into(),
            "genesis.epoch_slots=100".into(), topology.into(),
            format!(r#"fault=[{{kind="host-down", host={down}, from={from}, until={}}}, {{kind="partition", hosts=[0, 1], from=50, until=120}}]"#, from + 60),
        ];
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let truth = truth_of(&value_only(&settings), seed);
        check_chains(&truth);
        check_moments(&truth, Some(down));
    }

    #[test]
    fn where_nothing_takes_time_every_block_is_adopted_by_all_at_its_slot(seed in 0_u64..1_000_000, topology in topology(), f in 0.02_f64..0.3) {
        let f = format!("genesis.active_slot_coefficient={f:.3}");
        let settings = round_trips("0ms");
        let settings = with(&[FREE, &settings.iter().map(String::as_str).collect::<Vec<_>>(), &["hosts=10", "pools=1", "run.slots=200", topology, &f]]);
        let truth = truth_of(&value_only(&settings), seed);
        prop_assume!(truth.blocks.len() > 1);
        for block in truth.blocks.iter().skip(1) {
            for host in 0..10 {
                prop_assert_eq!(truth.observation(host, block.index).adopted_ns, block.slot * 1_000_000_000, "block {} host {}", block.index, host);
            }
        }
    }

    /// With as many fetches as there are peers and connections that always start afresh, a block takes the fastest way; then latency only delays.
    #[test]
    fn latency_never_makes_a_block_earlier(seed in 0_u64..1_000_000, topology in topology(), rtt_ms in 0_u64..200, more_ms in 1_u64..200) {
        let adopted = |rtt_ms: u64| {
            let rtt = round_trips(&format!("{rtt_ms}ms"));
            let settings = with(&[
                &rtt.iter().map(String::as_str).collect::<Vec<_>>(),
                &["hosts=10", "pools=1", "run.slots=300", "peer.concurrency=100", "tcp.idle_half_life_rtos=0.0", "peer.decision_interval=0ms",
                  "notice_to_fetch=0ms", "genesis.active_slot_coefficient=0.02", topology],
            ]);
            let profile = value_only(&settings);
            let truth = truth_of(&profile, seed);
            let mut times = Vec::new();
            for block in truth.blocks.iter().skip(1).filter(|block| block.slot < 280) {
                let mut of_block: Vec<u64> = (0..10).map(|host| truth.observation(host, block.index).adopted_ns).collect();
                of_block.sort_unstable();
                times.push((block.slot, of_block));
            }
            times
        };
        let (near, far) = (adopted(rtt_ms), adopted(rtt_ms + more_ms));
        prop_assert_eq!(near.len(), far.len());
        for ((slot, near), (_, far)) in near.iter().zip(&far) {
            prop_assert!(near.iter().zip(far).all(|(near, far)| near <= far), "slot {}: {:?} {:?}", slot, near, far);
        }
    }
}

#[test]
fn predicted_metrics_are_those_of_the_catalogue() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/slotmark/metrics/cluster/catalogue.toml");
    let catalogue = std::fs::read_to_string(path).unwrap();
    for (_, name) in METRICS {
        assert!(catalogue.contains(&format!("name = \"{name}\"")), "{name}");
    }
}
