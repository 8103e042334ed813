//! A chain folder with damage of every kind: each is refused, by file and offset. And chains that are written are read back.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use slotmark_chain::block::{Era, header_hash};
use slotmark_chain::{Chain, ChainError, ChainWriter, Decoder, NewBlock, Point};
use tempfile::TempDir;

/// No transactions, no witnesses, no auxiliary data, none that failed.
const BODY: [u8; 4] = [0x80, 0x80, 0xa0, 0x80];

/// The hash of a body whose four parts are a byte each.
fn body_hash(body: &[u8; 4]) -> [u8; 32] {
    let hash = |bytes: &[u8]| blake2b_simd::Params::new().hash_length(32).hash(bytes);
    let parts: Vec<u8> = body.iter().flat_map(|part| hash(&[*part]).as_bytes().to_vec()).collect();
    hash(&parts).as_bytes().try_into().unwrap()
}

/// A small Babbage-shaped block without transactions: enough for the reader, and valid for the decoder.
fn block(number: u64, slot: u64, previous: Option<[u8; 32]>) -> (Vec<u8>, [u8; 32], u16) {
    let mut header = vec![0x82, 0x8a];
    let uint = |out: &mut Vec<u8>, value: u64| {
        out.push(0x1b);
        out.extend(value.to_be_bytes());
    };
    let bytes = |out: &mut Vec<u8>, length: u8| {
        out.extend([0x58, length]);
        out.extend(vec![length; usize::from(length)]);
    };
    uint(&mut header, number);
    uint(&mut header, slot);
    match previous {
        Some(hash) => {
            header.extend([0x58, 0x20]);
            header.extend(hash);
        }
        None => header.push(0xf6),
    }
    bytes(&mut header, 32);
    bytes(&mut header, 32);
    header.push(0x82);
    bytes(&mut header, 64);
    bytes(&mut header, 80);
    uint(&mut header, BODY.len() as u64);
    header.extend([0x58, 0x20]);
    header.extend(body_hash(&BODY));
    header.push(0x84);
    bytes(&mut header, 32);
    uint(&mut header, 0);
    uint(&mut header, 0);
    bytes(&mut header, 64);
    header.extend([0x82, 8, 0]);
    bytes(&mut header, 255);
    let hash = header_hash(Era::Babbage, &header);
    let mut block = vec![0x82, 0x06, 0x85];
    block.extend(&header);
    block.extend(BODY);
    (block, hash, header.len() as u16)
}

fn write(folder: &Path, slots: &[u64], chunk_slots: u64) -> Vec<Vec<u8>> {
    let mut writer = ChainWriter::create(folder, chunk_slots).unwrap();
    let (mut previous, mut blocks) = (None, Vec::new());
    for (number, &slot) in slots.iter().enumerate() {
        let (bytes, hash, header_size) = block(number as u64, slot, previous);
        writer.append(&NewBlock { bytes: &bytes, header_offset: 3, header_size, slot, hash }).unwrap();
        previous = Some(hash);
        blocks.push(bytes);
    }
    writer.finish().unwrap();
    blocks
}

fn check(folder: &Path) -> Result<(), ChainError> {
    let chain = Chain::open(folder)?;
    (0..chain.chunk_count()).try_for_each(|position| chain.check_chunk(position))
}

const SLOTS: [u64; 7] = [0, 1, 19, 20, 45, 61, 79];

struct Damaged(TempDir);

impl Damaged {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        write(&folder.path().join("chain"), &SLOTS, 20);
        assert!(check(&folder.path().join("chain")).is_ok());
        Self(folder)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join("chain").join(name)
    }

    fn change(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = fs::read(self.file(name)).unwrap();
        change(&mut bytes);
        fs::write(self.file(name), bytes).unwrap();
    }

    fn says(&self, name: &str, what: &str) {
        let Err(error) = check(&self.0.path().join("chain")) else { panic!("{name}, {what}: not noticed") };
        let message = error.to_string();
        assert!(message.starts_with(&self.file(name).display().to_string()), "{message}");
        assert!(message.contains(what), "{what}: {message}");
        assert!(!message.contains('\n'));
    }
}

/// The file that is changed, the file that the error names, the change, and words of the error.
type Case = (&'static str, &'static str, fn(&mut Vec<u8>), &'static str);

#[test]
fn every_damage_is_named_by_file_and_place() {
    let cases: [Case; 11] = [
        ("00001.chunk", "00001.chunk", |bytes| bytes[200] ^= 1, "CRC-32"),
        ("00001.chunk", "00001.secondary", |bytes| bytes.truncate(9), "lies outside its block of 9 bytes"),
        ("00000.secondary", "00000.secondary", |bytes| bytes.truncate(57), "the file was cut at offset 56"),
        ("00001.secondary", "00001.primary", |bytes| bytes.clear(), "0 entries"),
        ("00002.primary", "00002.primary", |bytes| bytes.clear(), "cut at offset 0"),
        ("00002.primary", "00002.primary", |bytes| bytes[0] = 9, "version byte 9 at offset 0"),
        ("00002.primary", "00002.primary", |bytes| bytes.truncate(30), "not a whole number"),
        ("00002.primary", "00002.primary", |bytes| bytes.truncate(9), "ends after 0"),
        ("00000.secondary", "00000.secondary", |bytes| bytes[56 + 7] ^= 1, "CRC"),
        ("00000.secondary", "00000.secondary", |bytes| bytes[56 + 55] = 2, "slot 2 is not the one"),
        ("00003.secondary", "00003.chunk", |bytes| bytes[20] ^= 1, "doesn't have the hash"),
    ];
    for (changed, named, change, what) in cases {
        let damaged = Damaged::new();
        damaged.change(changed, change);
        if what == "CRC" {
            // A block boundary moved by one byte shows as a wrong CRC of the block before it.
            let message = check(&damaged.0.path().join("chain")).unwrap_err().to_string();
            assert!(message.contains("damaged at offset") && message.contains("00000."), "{message}");
            continue;
        }
        damaged.says(named, what);
    }
}

#[test]
fn missing_files_and_folders_are_named() {
    let damaged = Damaged::new();
    fs::remove_file(damaged.file("00001.primary")).unwrap();
    damaged.says("00001.primary", "missing");
    // At the ends of the chain no gap shows in the numbers.
    for end in ["00000.chunk", "00003.chunk"] {
        let damaged = Damaged::new();
        fs::remove_file(damaged.file(end)).unwrap();
        damaged.says(end, "missing, though its siblings are there");
    }
    let damaged = Damaged::new();
    for kind in ["chunk", "primary", "secondary"] {
        fs::remove_file(damaged.file(&format!("00001.{kind}"))).unwrap();
    }
    damaged.says("00002.chunk", "chunk 00001 is missing");
    let folder = TempDir::new().unwrap();
    for place in [folder.path().to_path_buf(), folder.path().join("nowhere")] {
        assert!(check(&place).unwrap_err().to_string().contains("not a chain"));
    }
}

#[test]
fn a_block_that_does_not_follow_is_told() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("chain");
    let mut writer = ChainWriter::create(&path, 20).unwrap();
    for (number, slot) in [(0, 3), (1, 5)] {
        let (bytes, hash, header_size) = block(number, slot, Some([9; 32]));
        writer.append(&NewBlock { bytes: &bytes, header_offset: 3, header_size, slot, hash }).unwrap();
    }
    writer.finish().unwrap();
    assert!(check(&path).unwrap_err().to_string().contains("doesn't follow the block before it"));
}

#[test]
fn a_body_that_is_another_than_its_headers_is_told_though_its_checksum_is_right() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("chain");
    let mut writer = ChainWriter::create(&path, 20).unwrap();
    let (mut bytes, hash, header_size) = block(0, 3, None);
    *bytes.last_mut().unwrap() = 0xa0;
    writer.append(&NewBlock { bytes: &bytes, header_offset: 3, header_size, slot: 3, hash }).unwrap();
    writer.finish().unwrap();
    let message = check(&path).unwrap_err().to_string();
    assert!(message.contains("00000.chunk: damaged at offset 0: the body of slot 3 doesn't have the hash"), "{message}");
}

#[test]
fn a_writer_leaves_all_or_nothing() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("chain");
    let (bytes, hash, header_size) = block(0, 5, None);
    let new = NewBlock { bytes: &bytes, header_offset: 3, header_size, slot: 5, hash };
    let mut writer = ChainWriter::create(&path, 20).unwrap();
    writer.append(&new).unwrap();
    assert!(matches!(writer.append(&new), Err(ChainError::Order { slot: 5, last: 5 })));
    drop(writer);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    write(&path, &[1], 20);
    assert!(matches!(ChainWriter::create(&path, 20), Err(ChainError::Exists { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn what_is_written_is_read_back(gaps in proptest::collection::vec(1u64..90, 1..40), chunk_slots in 20u64..100) {
        let slots: Vec<u64> = gaps.iter().scan(0, |slot, gap| { *slot += gap; Some(*slot - 1) }).collect();
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("chain");
        let blocks = write(&path, &slots, chunk_slots);
        check(&path).unwrap();
        let chain = Chain::open(&path).unwrap();
        prop_assert_eq!(chain.len(), blocks.len());
        let mut decoder = Decoder::new();
        for (index, bytes) in blocks.iter().enumerate() {
            prop_assert_eq!(chain.bytes(index), bytes.as_slice());
            prop_assert_eq!(chain.entry(index).slot, slots[index]);
            prop_assert_eq!(chain.find(&chain.point(index)), Some(index));
            let facts = decoder.decode(bytes).unwrap().facts();
            prop_assert_eq!((facts.slot, facts.hash), (slots[index], chain.entry(index).hash));
        }
        prop_assert_eq!(chain.tip().unwrap().block_no, blocks.len() as u64 - 1);
        prop_assert!(chain.window(&Point::Origin, Some(blocks.len() as u64 + 1)).is_err());
    }

    #[test]
    fn no_bytes_make_the_decoder_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), at in 0usize..700, value: u8) {
        let mut decoder = Decoder::new();
        let _ = decoder.decode(&bytes).map(|block| block.facts());
        let (mut real, ..) = block(1, 2, None);
        let place = at % real.len();
        real[place] = value;
        let _ = decoder.decode(&real).map(|block| block.facts());
        prop_assert!(decoder.decode(&real[..place]).is_err());
    }
}
