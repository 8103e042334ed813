//! Words of a column by their numbers, so that no word is hashed, compared or counted for a row.
//!
//! A column of words is written by Parquet's writer of whole numbers, which makes a dictionary of the numbers that occur. Only the page of that
//! dictionary is another: it has the words. `slot_rows` reads them in the same way.

use std::cell::RefCell;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::basic::{Encoding, Type as Physical};
use parquet::column::page::{CompressedPage, Page, PageWriteSpec, PageWriter};
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::statistics::Statistics;
use parquet::schema::types::{ColumnDescPtr, ColumnDescriptor, Type};
use zstd::bulk::{Compressor, Decompressor};

use crate::strings::Id;

/// zstd's level for the words of a dictionary: Parquet's default.
const LEVEL: i32 = 1;

thread_local! {
    /// Made once: memory for each costs more than a dictionary does.
    static PACKING: RefCell<Option<(Compressor<'static>, Decompressor<'static>)>> = const { RefCell::new(None) };
}

/// Calls `work` with this thread's packer and unpacker.
fn with_packing<R>(work: impl FnOnce(&mut Compressor<'static>, &mut Decompressor<'static>) -> io::Result<R>) -> io::Result<R> {
    PACKING.with_borrow_mut(|packing| {
        let (packer, unpacker) = match packing {
            Some(both) => both,
            none => none.insert((Compressor::new(LEVEL)?, Decompressor::new()?)),
        };
        work(packer, unpacker)
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
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The words of numbers.
    fn of(&self, numbers: &[Id]) -> Vec<ByteArray> {
        let words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        numbers.iter().map(|&number| words[number as usize].clone()).collect()
    }
}

/// The description of the numbers of a column of words.
pub(crate) fn numbers_of(column: &ColumnDescPtr) -> Result<ColumnDescPtr, ParquetError> {
    let repetition = column.self_type().get_basic_info().repetition();
    let kind = Type::primitive_type_builder(column.name(), Physical::INT32).with_repetition(repetition).build()?;
    let descriptor = ColumnDescriptor::new(Arc::new(kind), column.max_def_level(), column.max_rep_level(), column.path().clone());
    Ok(Arc::new(descriptor))
}

/// The properties by which numbers of words are written: always by a dictionary, of whatever size, and without statistics of what are only numbers.
pub(crate) fn properties_of_numbers(properties: &WriterProperties) -> WriterPropertiesPtr {
    let of_numbers = properties.clone().into_builder().set_dictionary_page_size_limit(usize::MAX);
    Arc::new(of_numbers.set_statistics_enabled(EnabledStatistics::None).build())
}

/// The least and the greatest word of a dictionary.
pub(crate) type Extremes = Option<(ByteArray, ByteArray)>;

/// Pages of numbers as pages of words.
pub(crate) struct Worded<P> {
    pub(crate) pages: P,
    pub(crate) words: Words,
    /// The least and the greatest word of the dictionary, once it is written.
    pub(crate) extremes: Arc<Mutex<Extremes>>,
}

impl<P: PageWriter> PageWriter for Worded<P> {
    fn write_page(&mut self, page: CompressedPage) -> Result<PageWriteSpec, ParquetError> {
        let page = match page.compressed_page() {
            Page::DictionaryPage { buf, num_values, encoding, is_sorted } => {
                let numbers = with_packing(|_, unpacker| unpacker.decompress(buf, page.uncompressed_size()))?;
                let numbers: Vec<Id> = numbers.as_chunks().0.iter().map(|number| Id::from_le_bytes(*number)).collect();
                let words = self.words.of(&numbers);
                let by = |one: &&ByteArray, other: &&ByteArray| one.data().cmp(other.data());
                let least_and_greatest = words.iter().min_by(by).zip(words.iter().max_by(by));
                *self.extremes.lock().unwrap_or_else(PoisonError::into_inner) =
                    least_and_greatest.map(|(least, greatest)| (least.clone(), greatest.clone()));
                let plain = plain(&words)?;
                let buf = Bytes::from(with_packing(|packer, _| packer.compress(&plain))?);
                let page = Page::DictionaryPage { buf, num_values: *num_values, encoding: *encoding, is_sorted: *is_sorted };
                CompressedPage::new(page, plain.len())
            }
            other if !matches!(other.encoding(), Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY) => {
                return Err(ParquetError::General(format!("a page of words has the encoding {}", other.encoding())));
            }
            _ => page,
        };
        self.pages.write_page(page)
    }

    fn close(&mut self) -> Result<(), ParquetError> {
        self.pages.close()
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

/// The metadata of a column's numbers, as that of its words; with the least and the greatest word where those count, of rows without any `gaps`.
pub(crate) fn described(
    column: ColumnDescPtr,
    of_numbers: &ColumnChunkMetaData,
    statistics: EnabledStatistics,
    extremes: Extremes,
    gaps: u64,
) -> Result<ColumnChunkMetaData, ParquetError> {
    let mut described = ColumnChunkMetaData::builder(column)
        .set_compression_codec(of_numbers.compression_codec())
        .set_encodings_mask(*of_numbers.encodings_mask())
        .set_total_compressed_size(of_numbers.compressed_size())
        .set_total_uncompressed_size(of_numbers.uncompressed_size())
        .set_num_values(of_numbers.num_values())
        .set_data_page_offset(of_numbers.data_page_offset())
        .set_dictionary_page_offset(of_numbers.dictionary_page_offset());
    if let Some(stats) = of_numbers.page_encoding_stats() {
        described = described.set_page_encoding_stats(stats.clone());
    }
    if statistics != EnabledStatistics::None {
        let (least, greatest) = extremes.unzip();
        described = described.set_statistics(Statistics::byte_array(least, greatest, None, Some(gaps), false));
    }
    described.build()
}
