//! Nodes with a set of unspent outputs (`--ledger`) on a disk of its own that is full at some moment: they end with a line, and lose nothing.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::bed::sets::{ON_DISK, folder, of_chain, of_set, refusal};
use crate::bed::wallet::{Wallet, submit};
use crate::bed::{Bed, DEADLINE, Node, Shape, wait_for, wait_for_agreement, wait_for_sockets};

const SHAPE: Shape = Shape { pools: 2, security_parameter: 5, active_slots: 0.5, epoch_slots: 50, slot_ms: 100 };

/// Bytes of a disk, which an LSM tree's journals have to fit on.
const SIZE: &str = "size=100m";

/// Times that a disk is filled so that a snapshot meets its end, which one in some three does.
const MOST_FILLED: usize = 40;

/// Snapshots that a node which goes on takes on a full disk.
const ON_FULL_DISK: usize = 12;

/// A file system for the sets of node 1, in memory. It goes with this.
struct Disk(PathBuf);

impl Disk {
    /// Mounts one; None where that can't be done.
    fn mounted(bed: &Bed, options: &str) -> Option<Self> {
        let place = bed.folder.path().join("node-1/db/ledger");
        fs::create_dir_all(&place).unwrap();
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", options, "none"]).arg(&place).status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(Self(place));
        }
        eprintln!("skipped: no file system can be mounted here");
        None
    }

    /// Takes up all of its room.
    fn fill(&self) {
        let mut filler = fs::File::create(self.0.join("filler")).unwrap();
        assert!(std::io::copy(&mut std::io::repeat(7), &mut filler).is_err());
    }

    fn make_room(&self) {
        fs::remove_file(self.0.join("filler")).unwrap();
    }

    fn remount(&self, options: &str) {
        let remounted = Command::new("mount").args(["-o", &format!("remount,{options}")]).arg(&self.0).status();
        assert!(remounted.unwrap().success());
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Snapshots in a node's log: those that began, and those that were taken.
fn snapshots(node: &Node) -> (usize, usize) {
    let log = node.log();
    let of = |time: &str| {
        let begin = format!(r#""ns":"ChainDB.LedgerEvent.Snapshot.TookSnapshot","data":{{"enclosedTime":{{{time}"#);
        log.lines().filter(|line| line.contains(&begin)).count()
    };
    (of(r#""tag":"RisingEdge""#), of(r#""contents""#))
}

/// The end of a node on a full disk; None for one that goes on, as is seen by what it has done.
fn end(node: &mut Node, goes_on: impl Fn(&Node) -> bool) -> Option<ExitStatus> {
    let began = Instant::now();
    loop {
        assert!(began.elapsed() < DEADLINE, "node-{} goes on: {}", node.number, node.errors());
        match node.child.try_wait().unwrap() {
            Some(status) => return Some(status),
            None if goes_on(node) => return None,
            None => thread::sleep(Duration::from_millis(50)),
        }
    }
}

/// Checks that a node ended as its set couldn't be written, with one line.
fn expect_full(node: &Node, status: ExitStatus, store: &str, lines: usize) {
    let errors = node.errors();
    assert_eq!(status.code(), Some(2), "{store}: {status}: {errors}");
    let of_node: Vec<&str> = errors.lines().filter(|line| !line.contains("127.")).collect(); // but for what it has to tell of its peer
    let line = of_node.last().copied().unwrap_or_default();
    assert!(line.starts_with(&format!("slotmark-node: db/ledger/{store}: the set of unspent outputs can't be")), "{errors}");
    assert!(line.contains("No space left") && line.contains("Check that the disk isn't full"), "{errors}");
    assert_eq!(of_node.len(), lines, "{errors}");
}

#[test]
fn a_full_disk_ends_a_node_with_a_line_and_loses_nothing() {
    for store in ON_DISK {
        let bed = Bed::new(SHAPE);
        let Some(disk) = Disk::mounted(&bed, SIZE) else { return };
        // Full from the beginning on.
        disk.fill();
        let line = refusal(&bed, store);
        assert!(line.starts_with(&format!("slotmark-node: db/ledger/{store}")) && line.contains("No space left"), "{line}");
        disk.make_room();
        let mut nodes = vec![bed.start(1, &[], &["--ledger", store])];
        wait_for("a settled block", &mut nodes, |nodes| nodes[0].tip().filter(|tip| tip.0 > 8));
        let mut node = nodes.remove(0);
        disk.fill();
        // An LSM tree grows with each block. LMDB takes up the pages again that it has, and may go on.
        let from = node.tip().map_or(0, |tip| tip.0);
        let ended = end(&mut node, |node| store != "lsm" && node.tip().is_some_and(|tip| tip.0 > from + 12));
        if let Some(status) = ended {
            expect_full(&node, status, store, 2);
            let again = refusal(&bed, store);
            assert!(again.starts_with(&format!("slotmark-node: db/ledger/{store}: ")) && again.contains("the disk isn't full"), "{again}");
            disk.make_room();
            let mut nodes = vec![bed.start(1, &[], &["--ledger", store])];
            wait_for_sockets(&mut nodes);
            node = nodes.remove(0);
        }
        node.stop();
        let (tip, digest) = of_set(&folder(&bed, 1, store), store);
        assert_eq!(digest, of_chain(&bed, 1, tip).0, "{store}");
    }
}

#[test]
fn a_disk_that_is_full_in_a_snapshot_ends_the_node_with_a_line_and_loses_nothing() {
    for store in ON_DISK {
        let mut bed = Bed::new(SHAPE);
        // Each settled block is written, and then a snapshot: where the disk's last page ends is by chance in one or in the other.
        bed.settings.insert("SnapshotInterval".to_owned(), json!(1));
        let Some(disk) = Disk::mounted(&bed, SIZE) else { return };
        let start = || bed.start(1, &[0], &["--ledger", store]);
        // The other node is never stopped.
        let mut nodes = vec![bed.start(0, &[1], &["--ledger", "memory"]), start()];
        wait_for_sockets(&mut nodes);
        let mut accepted = vec![Wallet::new(&bed, 1)];
        let (mut ends, mut is_over) = (0, false);
        while !is_over {
            assert!(ends < MOST_FILLED, "{store}: no snapshot failed");
            submit(&nodes[0], &mut accepted);
            let (_, before) = snapshots(&nodes[1]);
            wait_for("snapshots", &mut nodes, |nodes| (snapshots(&nodes[1]).1 > before + 5).then_some(()));
            disk.fill();
            let mut node = nodes.remove(1);
            let (_, before) = snapshots(&node);
            match end(&mut node, |node| store != "lsm" && snapshots(node).1 > before + ON_FULL_DISK) {
                Some(status) => {
                    ends += 1;
                    expect_full(&node, status, store, ends);
                    let (begun, taken) = snapshots(&node);
                    is_over = begun > taken;
                }
                None => {
                    is_over = true;
                    node.stop(); // with one more
                }
            }
            disk.make_room();
            nodes.push(start());
            wait_for_sockets(&mut nodes);
        }
        let number = nodes[0].tip().unwrap().0;
        let number = wait_for_agreement(number + 3, &mut nodes);
        nodes.remove(1).stop();
        wait_for("the same block to be settled", &mut nodes, |nodes| nodes[0].tip().filter(|tip| tip.0 > number + 3));
        nodes.remove(0).stop();
        let (tip, digest) = of_set(&folder(&bed, 1, store), store);
        let (expected, added) = of_chain(&bed, 0, tip);
        assert_eq!(digest, expected, "{store}");
        assert!(added > 0, "{store}: no transaction was settled");
    }
}

#[test]
fn a_set_that_a_full_disk_cut_short_when_it_was_made_is_made_anew() {
    for store in ON_DISK {
        let bed = Bed::new(SHAPE);
        let mut refusals = Vec::new();
        // Room for one file more each time, until it is enough.
        for files in 2.. {
            let Some(disk) = Disk::mounted(&bed, &format!("{SIZE},nr_inodes={files}")) else { return };
            let mut node = bed.start(1, &[], &["--ledger", store]);
            let Some(status) = end(&mut node, |node| UnixStream::connect(node.folder.join("node.socket")).is_ok()) else {
                node.stop();
                break;
            };
            let errors = node.errors();
            assert_eq!((status.code(), errors.lines().count()), (Some(2), refusals.len() + 1), "{store} {files}: {errors}");
            let line = errors.lines().last().unwrap_or_default().to_owned();
            assert!(line.starts_with(&format!("slotmark-node: db/ledger/{store}")) && line.contains("No space left"), "{line}");
            assert!(line.contains("the disk isn't full"), "{line}");
            refusals.push(line);
            disk.remount("nr_inodes=1000");
            let mut nodes = vec![bed.start(1, &[], &["--ledger", store])];
            wait_for_sockets(&mut nodes);
            nodes.remove(0).stop();
            let (tip, digest) = of_set(&folder(&bed, 1, store), store);
            if tip.hash != [0; 32] {
                assert_eq!(digest, of_chain(&bed, 1, tip).0, "{store} {files}");
            }
        }
        // An LSM tree has more files for a moment, when it is made.
        assert!(store == "lsm" || refusals.iter().any(|line| line.contains("made-of.json")), "{refusals:#?}");
    }
}
