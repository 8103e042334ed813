//! Columns of words by their numbers, so that no word is hashed, compared or counted for a row.
//!
//! Parquet's own writers look each value up in the dictionary that they make. The number of a word is the place of its key instead.
//! `slot_rows` reads words in the same way, by their keys.

use std::cell::RefCell;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, EncodingMask, PageType, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, OffsetIndexBuilder, PageEncodingStats};
use parquet::file::properties::{EnabledStatistics, WriterPropertiesPtr, WriterVersion};
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use zstd::bulk::Compressor;

use crate::strings::Id;

/// Rows of a page: as many as Parquet's own writers put into one.
const PAGE_ROWS: usize = 20 << 10;
/// Numbers that are packed together.
const GROUP: usize = 8;
/// Groups behind one another that fit into a header of one byte.
const MOST_GROUPS: usize = 63;
/// The key of a word that isn't in a dictionary.
const NO_KEY: u32 = u32::MAX;

thread_local! {
    /// Made once: memory for it costs more than a page does.
    static PACKER: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
}

/// Bytes packed by zstd, at Parquet's level.
fn packed(bytes: &[u8]) -> io::Result<Vec<u8>> {
    PACKER.with_borrow_mut(|packer| {
        let packer = match packer {
            Some(packer) => packer,
            none => none.insert(Compressor::new(ZstdLevel::default().compression_level())?),
        };
        packer.compress(bytes)
    })
}

/// Words by their numbers, which count from 0; shared by all who write them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words(Arc<Mutex<Vec<ByteArray>>>);

impl Words {
    /// Adds a word, whose number is that of the words before it.
    pub(crate) fn push(&self, word: Vec<u8>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(word.into());
    }

    /// Returns whether both are one.
    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The words of numbers.
    fn of(&self, numbers: &[Id]) -> Vec<ByteArray> {
        let words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        numbers.iter().map(|&number| words[number as usize].clone()).collect()
    }
}

/// A column of words of a row group that grows.
pub(crate) struct WordWriter {
    column: ColumnDescPtr,
    properties: WriterPropertiesPtr,
    words: Words,
    /// Keys by the numbers of words.
    keys: Vec<u32>,
    /// Numbers by the keys of words.
    dictionary: Vec<Id>,
    /// The page that grows: the keys of its rows that have a word;
    page: Vec<u32>,
    /// and of each of its rows 1 where it has one, else 0, if some may have none.
    levels: Vec<u32>,
    /// The pages that are full.
    pages: Vec<CompressedPage>,
    /// Rows without a word.
    gaps: usize,
}

impl WordWriter {
    pub(crate) fn new(column: &ColumnDescPtr, properties: &WriterPropertiesPtr, words: &Words) -> Self {
        Self {
            column: column.clone(),
            properties: properties.clone(),
            words: words.clone(),
            keys: Vec::new(),
            dictionary: Vec::new(),
            page: Vec::with_capacity(PAGE_ROWS),
            levels: Vec::new(),
            pages: Vec::new(),
            gaps: 0,
        }
    }

    /// Returns whether these are the words that it writes.
    pub(crate) fn writes(&self, words: &Words) -> bool {
        self.words.is(words)
    }

    /// Adds rows: the numbers of their words, and which rows have one, where not all must.
    pub(crate) fn write(&mut self, mut numbers: &[Id], there: Option<&[i16]>) -> Result<(), ParquetError> {
        let rows = there.map_or(numbers.len(), <[i16]>::len);
        let mut from = 0;
        while from < rows {
            let to = rows.min(from + PAGE_ROWS - self.rows());
            let mut count = to - from;
            if let Some(there) = there {
                self.levels.extend(there[from..to].iter().map(|&level| level as u32));
                count = there[from..to].iter().filter(|&&level| level > 0).count();
                self.gaps += to - from - count;
            }
            let (these, rest) = numbers.split_at(count);
            for &number in these {
                let key = self.key(number);
                self.page.push(key);
            }
            (numbers, from) = (rest, to);
            if self.rows() == PAGE_ROWS {
                self.end_page()?;
            }
        }
        Ok(())
    }

    /// Rows of the page that grows.
    fn rows(&self) -> usize {
        self.page.len().max(self.levels.len())
    }

    /// The key of a word, which gets one if it is new.
    #[inline]
    fn key(&mut self, number: Id) -> u32 {
        match self.keys.get(number as usize) {
            Some(&key) if key != NO_KEY => key,
            _ => {
                let key = self.dictionary.len() as u32;
                self.dictionary.push(number);
                self.keys.resize(self.keys.len().max(number as usize + 1), NO_KEY);
                self.keys[number as usize] = key;
                key
            }
        }
    }

    /// Packs the page that grows, and begins another.
    fn end_page(&mut self) -> Result<(), ParquetError> {
        let rows = self.rows();
        let bits = self.dictionary.len().saturating_sub(1).checked_ilog2().map_or(0, |highest| highest + 1);
        let (mut levels, mut keys) = (Vec::new(), vec![bits as u8]);
        hybrid(&self.levels, 1, &mut levels);
        hybrid(&self.page, bits, &mut keys);
        let num_values = rows as u32;
        let encoding = Encoding::RLE_DICTIONARY;
        let (page, bytes) = if self.properties.writer_version() == WriterVersion::PARQUET_1_0 {
            if !levels.is_empty() {
                levels.splice(..0, (levels.len() as u32).to_le_bytes());
            }
            levels.append(&mut keys);
            let (buf, rle) = (packed(&levels)?.into(), Encoding::RLE);
            let page = Page::DataPage { buf, num_values, encoding, def_level_encoding: rle, rep_level_encoding: rle, statistics: None };
            (page, levels.len())
        } else {
            let (of_levels, bytes) = (levels.len(), levels.len() + keys.len());
            let packed = packed(&keys)?;
            let is_compressed = packed.len() < bytes;
            levels.append(&mut if is_compressed { packed } else { keys });
            let page = Page::DataPageV2 {
                buf: levels.into(),
                num_values,
                encoding,
                num_nulls: (rows - self.page.len()) as u32,
                num_rows: num_values,
                def_levels_byte_len: of_levels as u32,
                rep_levels_byte_len: 0,
                is_compressed,
                statistics: None,
            };
            (page, bytes)
        };
        self.pages.push(CompressedPage::new(page, bytes));
        self.page.clear();
        self.levels.clear();
        Ok(())
    }

    /// All pages, the dictionary's first, and what is known of them; with the least and the greatest word where those count.
    pub(crate) fn close(mut self) -> Result<(Bytes, ColumnCloseResult), ParquetError> {
        if self.rows() > 0 {
            self.end_page()?;
        }
        let words = self.words.of(&self.dictionary);
        let plain = plain(&words)?;
        let dictionary = Page::DictionaryPage {
            buf: packed(&plain)?.into(),
            num_values: words.len() as u32,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        let mut sink = TrackedWrite::new(Vec::new());
        let mut pages = SerializedPageWriter::new(&mut sink);
        let first = pages.write_page(CompressedPage::new(dictionary, plain.len()))?;
        let (mut offsets, mut rows, mut uncompressed) = (OffsetIndexBuilder::new(), 0, first.uncompressed_size);
        let (kind, count) = (self.pages.first().map_or(PageType::DATA_PAGE, CompressedPage::page_type), self.pages.len() as i32);
        for page in self.pages {
            let written = pages.write_page(page)?;
            offsets.append_row_count(i64::from(written.num_values));
            offsets.append_offset_and_size(written.offset as i64, written.compressed_size as i32);
            rows += u64::from(written.num_values);
            uncompressed += written.uncompressed_size;
        }
        let bytes = sink.into_inner()?;
        let stats = |page_type, encoding, count| PageEncodingStats { page_type, encoding, count };
        let mut metadata = ColumnChunkMetaData::builder(self.column.clone())
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_encodings_mask(EncodingMask::new_from_encodings([Encoding::RLE, Encoding::RLE_DICTIONARY, Encoding::PLAIN].iter()))
            .set_page_encoding_stats(vec![
                stats(PageType::DICTIONARY_PAGE, Encoding::PLAIN, 1),
                stats(kind, Encoding::RLE_DICTIONARY, count),
            ])
            .set_total_compressed_size(bytes.len() as i64)
            .set_total_uncompressed_size(uncompressed as i64)
            .set_num_values(rows as i64)
            .set_dictionary_page_offset(Some(0))
            .set_data_page_offset(first.compressed_size as i64);
        if self.properties.statistics_enabled(self.column.path()) != EnabledStatistics::None {
            let by = |one: &&ByteArray, other: &&ByteArray| one.data().cmp(other.data());
            let (least, greatest) = (words.iter().min_by(by).cloned(), words.iter().max_by(by).cloned());
            metadata = metadata.set_statistics(Statistics::byte_array(least, greatest, None, Some(self.gaps as u64), false));
        }
        let closed = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: rows,
            metadata: metadata.build()?,
            bloom_filter: None,
            column_index: None,
            offset_index: Some(offsets.build()),
        };
        Ok((bytes.into(), closed))
    }
}

/// Words, each behind its length.
fn plain(words: &[ByteArray]) -> Result<Vec<u8>, ParquetError> {
    let mut plain = Vec::with_capacity(words.iter().map(|word| 4 + word.len()).sum());
    for word in words {
        let length = u32::try_from(word.len()).map_err(|_| ParquetError::General("a word of more than 4 GiB".to_owned()))?;
        plain.extend_from_slice(&length.to_le_bytes());
        plain.extend_from_slice(word.data());
    }
    Ok(plain)
}

/// Appends numbers of so many bits in Parquet's hybrid encoding: a run of eight and more as one, others in groups.
fn hybrid(mut numbers: &[u32], bits: u32, out: &mut Vec<u8>) {
    let is_mixed = |group: &[u32]| group.iter().any(|number| *number != group[0]);
    while let Some(&first) = numbers.first() {
        let mut groups = numbers.chunks_exact(GROUP).take(MOST_GROUPS).take_while(|group| is_mixed(group)).count();
        let left = numbers.len() - groups * GROUP;
        if (1..GROUP).contains(&left) && groups < MOST_GROUPS && is_mixed(numbers) {
            groups += 1; // the last one, which isn't full
        }
        if groups > 0 {
            let (these, rest) = numbers.split_at(numbers.len().min(groups * GROUP));
            out.push((groups << 1 | 1) as u8);
            these.chunks(GROUP).for_each(|group| pack(group, bits, out));
            numbers = rest;
        } else {
            let run = numbers.iter().take_while(|&&number| number == first).count();
            let mut header = run << 1;
            while header > 0x7f {
                out.push(header as u8 | 0x80);
                header >>= 7;
            }
            out.push(header as u8);
            out.extend_from_slice(&first.to_le_bytes()[..bits.div_ceil(8) as usize]);
            numbers = &numbers[run..];
        }
    }
}

/// Appends a group of numbers, filled up with 0, from the lowest bit of the first on.
fn pack(group: &[u32], bits: u32, out: &mut Vec<u8>) {
    let (mut held, mut filled) = (0_u64, 0);
    for place in 0..GROUP {
        held |= u64::from(group.get(place).copied().unwrap_or_default()) << filled;
        filled += bits;
        if filled >= u32::BITS {
            out.extend_from_slice(&(held as u32).to_le_bytes());
            held >>= u32::BITS;
            filled -= u32::BITS;
        }
    }
    out.extend_from_slice(&held.to_le_bytes()[..filled as usize / 8]);
}
