//! `fuzz_lines [--inputs N] [--seed N] [--unharmed 1] [--plant FAULT]`: damaged lines to the line parser, which must read or refuse each. Prints in one line how many were
//! tried and how many failed: read as a message of interest although they are no JSON, or read without an end. Fails if any did.
//!
//! Lines begin as real ones (`../shared/data/logs`, where it is) or as one of each sort that is built in, and are then changed a
//! few times: bytes, digits and signs are replaced, pieces are left out, doubled or taken from another line, the end is cut off.
//!
//! Controls: `--unharmed 1` tries the built-in lines as they are, each of which must be read, and with `--plant` the parser has a fault that
//! must be found.

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use slotmark_tracelog::{LineReader, Reason, Seen};

const BUILT_IN: [&str; 8] = [
    r#"{"at":"2025-12-01T07:06:57.978986Z","ns":"Resources","data":{"Alloc":10350456392,"CentiBlkIO":0,"CentiCpu":8,"CentiGC":51,"CentiMut":292,"FsRd":0,"FsWr":0,"GcsMajor":7,"GcsMinor":387,"Heap":1040187392,"Live":376858328,"NetRd":0,"NetWr":0,"RSS":1138507776,"Threads":0,"kind":"ResourceStats"},"sev":"Info","thread":"13","host":"a"}"#,
    r#"{"at":"2025-12-01T07:06:58.001939Z","ns":"Forge.Loop.BlockContext","data":{"current slot":13,"kind":"TraceBlockContext","tip":"genesis (origin)","tipBlockNo":0},"sev":"Debug","thread":"50","host":"a"}"#,
    r#"{"at":"2025-12-01T07:06:58Z","ns":"ChainSync.ServerHeader.Update","data":{"addBlock":"30536f56af017d743bac1167522fae6a1ba9ccda5ba29eda3cd573cca916cf98@13","blockingRead":true,"kind":"ChainSyncServer.Update","peer":{"connectionId":"127.0.0.1:30000 127.0.0.1:30001"},"tip":{"block":"genesis","blockNo":-1,"slot":0}},"sev":"Debug","thread":"80","host":"a"}"#,
    r#"{"at":"2025-12-01T07:06:58.002Z","ns":"Mempool.AddedTx","data":{"kind":"TraceMempoolAddedTx","mempoolSize":{"bytes":556,"numTxs":1},"tx":{"txid":"a7a9c3a0"}},"sev":"Info","thread":"66","host":"a"}"#,
    r#"{"at":"2025-12-01T07:06:57.7Z","ns":"LedgerMetrics","data":{"chainDensity":0.05,"delegMapSize":100000,"kind":"LedgerMetrics","slot":12,"utxoSize":600003},"sev":"Info","thread":"17","host":"a"}"#,
    r#"{"host":"a","at":"2023-05-17 16:00:08.33Z","ns":["cardano","node","Forge"],"data":{"credentials":"Cardano","val":{"kind":"TraceForgedBlock","slot":7,"blockNo":1,"block":"ab","blockPrev":"cd"}},"sev":"Info"}"#,
    r#"{"at":"2025-12-01T07:06:58.003Z","ns":"ChainDB.AddBlockEvent.AddedToCurrentChain","data":{"kind":"AddedToCurrentChain","newTipSelectView":{"a":[[1,{"b":"\"}"}],{}]},"newtip":"30536f56@13"},"sev":"Notice","thread":"31","host":"a"}"#,
    r#"{"at":"2025-12-01T07:06:43.96Z","ns":"Net.PeerSelection.Counters","data":{"kind":"PeerSelectionCounters","known":0},"sev":"Info","thread":"5","host":"a"}"#,
];
/// Bytes that others are changed into: mostly those with a meaning in JSON.
const SIGNS: &[u8] = b"\"\"\"\\\\{}[]:,,0123456789-+.eE \t\ntfnulras@Z\x00\x7f\xc3\xff";

/// Numbers that follow from a seed (SplitMix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % limit.max(1) as u64) as usize
    }
}

/// Changes a line once.
fn damage(line: &mut Vec<u8>, other: &[u8], chance: &mut Chance) {
    let place = chance.below(line.len() + 1);
    let end = (place + chance.below(24)).min(line.len());
    match chance.below(8) {
        0..3 if place < line.len() => line[place] = SIGNS[chance.below(SIGNS.len())],
        3 => line.insert(place, SIGNS[chance.below(SIGNS.len())]),
        4 => drop(line.drain(place..end)),
        5 => {
            let piece = line[place..end].to_vec();
            let at = chance.below(line.len() + 1);
            line.splice(at..at, piece);
        }
        6 => {
            let from = chance.below(other.len());
            line.splice(place..end, other[from..].iter().copied().take(24));
        }
        _ => line.truncate(place),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let option = |name: &str, unless: u64| {
        let mut arguments = std::env::args().skip_while(|argument| argument != name).skip(1);
        arguments.next().map_or(Ok(unless), |text| text.parse::<u64>())
    };
    let planted = std::env::args().skip_while(|argument| argument != "--plant").nth(1).unwrap_or_default();
    let failed = match option("--unharmed", 0)? {
        0 => fuzz(option("--inputs", 1_000_000)?, option("--seed", 1)?, &planted),
        _ => unharmed(&planted),
    };
    match failed {
        0 => Ok(()),
        _ => Err("lines were read that must be refused".into()),
    }
}

/// The parser, which read other lines before, or with a fault planted in it.
fn parsed<'line>(lines: &mut LineReader, line: &'line [u8], planted: &str) -> Result<Seen<'line>, Reason> {
    let seen = lines.read(line);
    let ends = line.trim_ascii().ends_with(b"}");
    match (planted, &seen) {
        ("panics", Err(_)) => panic!("planted"),
        ("reads-cut-lines", Err(_)) if !ends => lines.read(BUILT_IN[1].as_bytes()),
        ("reads-no-json", Err(_)) if ends => lines.read(BUILT_IN[1].as_bytes()),
        ("remembers", Ok(_)) if line.len().is_multiple_of(50) => lines.read(BUILT_IN[1].as_bytes()),
        ("refuses", _) => Err(Reason::Cut),
        _ => seen,
    }
}

/// Tries the built-in lines as they are; how many are not read, or not seen for what they are.
pub fn unharmed(planted: &str) -> u64 {
    let (mut failed, mut lines) = (0, LineReader::default());
    // Twice: those before a line must change nothing.
    for line in BUILT_IN.iter().chain(&BUILT_IN) {
        let of_interest = !line.contains("PeerSelectionCounters");
        if !parsed(&mut lines, line.as_bytes(), planted).is_ok_and(|seen| seen.entry.is_some() == of_interest) {
            failed += 1;
            eprintln!("refused: {line}");
        }
    }
    println!("log lines: {} tried, {failed} failed (unharmed)", 2 * BUILT_IN.len());
    failed
}

/// Tries this many lines; returns how many failed.
pub fn fuzz(inputs: u64, seed: u64, planted: &str) -> u64 {
    let mut lines: Vec<Vec<u8>> = BUILT_IN.iter().map(|line| line.as_bytes().to_vec()).collect();
    let shared = std::env::var_os("SLOTMARK_SHARED")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    for name in ["real-log-lines.jsonl", "two-node-devnet-10.6.log"] {
        match fs::read(shared.join("data/logs").join(name)) {
            Ok(text) => lines.extend(text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec)),
            Err(_) => println!("{name} is not here: without its lines"),
        }
    }
    let mut chance = Chance(seed);
    let (mut read, mut of_interest, mut cut, mut failed, mut bytes) = (0_u64, 0_u64, 0_u64, 0_u64, 0_u64);
    let began = Instant::now();
    let (mut line, mut reader) = (Vec::new(), LineReader::default());
    for _ in 0..inputs {
        line.clone_from(&lines[chance.below(lines.len())]);
        for _ in 0..1 + chance.below(4) {
            let other = chance.below(lines.len());
            damage(&mut line, &lines[other], &mut chance);
        }
        bytes += line.len() as u64;
        let parsed = parsed(&mut reader, &line, planted);
        if parsed != LineReader::default().read(&line) {
            failed += 1;
            eprintln!("read otherwise after others: {:?}", String::from_utf8_lossy(&line));
        }
        match parsed {
            Ok(seen) => {
                read += 1;
                of_interest += u64::from(seen.entry.is_some());
                let is_json = || serde_json::from_slice::<serde::de::IgnoredAny>(&line).is_ok();
                if !line.trim_ascii().ends_with(b"}") || (seen.entry.is_some() && !is_json()) {
                    failed += 1;
                    eprintln!("read: {:?}", String::from_utf8_lossy(&line));
                }
            }
            Err(Reason::Cut) => cut += 1,
            Err(_) => {}
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    let of_all = |part: u64| 100.0 * part as f64 / inputs as f64;
    println!(
        "log lines: {inputs} tried, {failed} failed (seed {seed}; of {} lines; {:.1} % read, {:.1} % of interest, {:.1} % cut; {seconds:.1} s, {:.0} MB/s)",
        lines.len(),
        of_all(read),
        of_all(of_interest),
        of_all(cut),
        bytes as f64 / 1e6 / seconds
    );
    failed
}
