//! Tables whose columns are there as a whole: how they are packed and written, at once or as one part of many.

use std::fs;
use std::path::Path;

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::schema::types::ColumnPath;

use crate::table_file::{Column, TableFile};
use crate::tables::part_file;

/// Writes a whole table as one part, below a folder of tables; gives its rows. Columns may have nulls where they have one.
///
/// # Errors
/// The columns don't fit together, or the file can't be written.
pub fn write_table(tables: &Path, name: &str, columns: Vec<Column>) -> Result<u64, ParquetError> {
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
    write_columns(tables, name, 0, columns.into_iter().map(Column::with_gaps_if_any).collect(), properties)
}

/// Writes one part of a table of many, below a folder of tables; gives its rows. Every column may have nulls, here or in another part,
/// and whole numbers are expected to change little from row to row.
///
/// # Errors
/// The columns don't fit together, or the file can't be written.
pub fn write_part(tables: &Path, name: &str, part: usize, columns: Vec<Column>) -> Result<u64, ParquetError> {
    let mut properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_statistics_enabled(EnabledStatistics::Chunk);
    for column in columns.iter().filter(|column| column.is_whole()) {
        properties = properties
            .set_column_dictionary_enabled(ColumnPath::from(column.name), false)
            .set_column_encoding(ColumnPath::from(column.name), Encoding::DELTA_BINARY_PACKED);
    }
    write_columns(tables, name, part, columns.into_iter().map(Column::with_gaps).collect(), properties.build())
}

fn write_columns(tables: &Path, name: &str, part: usize, columns: Vec<Column>, properties: WriterProperties) -> Result<u64, ParquetError> {
    let folder = tables.join(name);
    fs::create_dir_all(&folder)?;
    let mut file = TableFile::create(&part_file(&folder, part), &columns, properties)?;
    file.write(&columns)?;
    file.close()?;
    Ok(columns.first().map_or(0, |column| column.rows() as u64))
}
