//! Words of a column by the keys of its dictionary, so that no word is copied for a row.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::Int32Type;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::RowGroupReader;
use parquet::schema::types::ColumnDescPtr;

/// Words of a dictionary by their keys; None for what is no text.
pub(super) type Dictionary = Arc<Vec<Option<String>>>;

/// A reader of keys, and of the words that they stand for.
pub(super) struct KeyReader {
    keys: ColumnReaderImpl<Int32Type>,
    words: Arc<Mutex<Dictionary>>,
}

impl KeyReader {
    /// Returns a reader of a column of words; None where not all of its pages have keys, or the file doesn't say so.
    pub(super) fn new(group: &dyn RowGroupReader, place: usize, column: ColumnDescPtr) -> Result<Option<Self>, ParquetError> {
        if !has_keys_alone(group.metadata().column(place)) {
            return Ok(None);
        }
        let words = Arc::new(Mutex::new(Dictionary::default()));
        let pages = Keyed { pages: group.get_column_page_reader(place)?, words: words.clone() };
        Ok(Some(Self { keys: ColumnReaderImpl::new(column, Box::new(pages)), words }))
    }

    /// Reads the keys of the next rows that have one, and which rows do where some may not; gives their words.
    pub(super) fn read(&mut self, rows: usize, there: &mut Vec<i16>, keys: &mut Vec<i32>) -> Result<Dictionary, ParquetError> {
        self.keys.read_records(rows, Some(there), None, keys)?;
        Ok(self.words.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

fn has_keys_alone(chunk: &ColumnChunkMetaData) -> bool {
    if let Some(mask) = chunk.page_encoding_stats_mask() {
        return mask.is_only(Encoding::RLE_DICTIONARY) || mask.is_only(Encoding::PLAIN_DICTIONARY);
    }
    false
}

/// Pages of words as pages of keys: the dictionary's words are kept, and numbers from 0 on stand in their places.
struct Keyed {
    pages: Box<dyn PageReader>,
    words: Arc<Mutex<Dictionary>>,
}

impl PageReader for Keyed {
    fn get_next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        Ok(match self.pages.get_next_page()? {
            Some(Page::DictionaryPage { buf, encoding, is_sorted, .. }) => {
                let words = words_of(&buf)?;
                let count = u32::try_from(words.len()).map_err(|_| odd())?;
                *self.words.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(words);
                let numbers: Vec<u8> = (0..count).flat_map(u32::to_le_bytes).collect();
                Some(Page::DictionaryPage { buf: Bytes::from(numbers), num_values: count, encoding, is_sorted })
            }
            Some(page) if !matches!(page.encoding(), Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY) => return Err(odd()),
            page => page,
        })
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>, ParquetError> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<(), ParquetError> {
        self.pages.skip_next_page()
    }
}

impl Iterator for Keyed {
    type Item = Result<Page, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

fn odd() -> ParquetError {
    ParquetError::General("a dictionary of words isn't as the file says".to_owned())
}

/// The words of a dictionary's page, each behind its length: Parquet's plain encoding.
fn words_of(mut page: &[u8]) -> Result<Vec<Option<String>>, ParquetError> {
    let mut words = Vec::new();
    while !page.is_empty() {
        let (length, rest) = page.split_first_chunk().ok_or_else(odd)?;
        let (word, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(odd)?;
        words.push(str::from_utf8(word).ok().map(str::to_owned));
        page = rest;
    }
    Ok(words)
}
