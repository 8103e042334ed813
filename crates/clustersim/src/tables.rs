//! A run's tables without the text of logs in between: what `slotmark_tracelog` makes of the lines that `logs` would write.

use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;
use slotmark_tracelog::{Account, Form, LineTables};

use crate::error::SimulationError;
use crate::event::{Context, Event, Teller};
use crate::line::{Addresses, addresses, write_connection};
use crate::sink::{HostSink, Sink};
use crate::topology::Topology;
use crate::truth::SlotTruth;
use crate::truth_tables::write_slots;

/// Writes each host's part of the tables below a folder.
#[derive(Debug)]
pub struct TableFiles {
    tables: PathBuf,
    start_ns: i64,
    addresses: Addresses,
}

impl TableFiles {
    /// Tables below a folder that exists and is empty; slot 0 is `start_s` seconds after 1970.
    pub fn below(tables: &Path, start_s: u64) -> Self {
        Self { tables: tables.to_path_buf(), start_ns: start_s as i64 * 1_000_000_000, addresses: Addresses::default() }
    }
}

impl Sink for TableFiles {
    type Host = TableWriter;

    fn host(&mut self, topology: &Topology, host: u32) -> Result<TableWriter, SimulationError> {
        if self.addresses.is_empty() {
            self.addresses = addresses(topology.hosts.len());
        }
        let name = &topology.hosts[host as usize].name;
        // Logs are read in the order of their hosts' names.
        let part = topology.hosts.iter().filter(|other| other.name < *name).count();
        let mut lines = LineTables::new(&self.tables, part);
        let whose = lines.host(name.as_bytes());
        Ok(TableWriter {
            lines: Some(lines),
            whose,
            account: None,
            slots: 0,
            name: name.clone(),
            part,
            tables: self.tables.clone(),
            start_ns: self.start_ns,
            host,
            addresses: Addresses::clone(&self.addresses),
            connection: Vec::new(),
            place: 0,
            truth: Vec::new(),
            failed: None,
        })
    }
}

/// One host's part of the tables.
pub struct TableWriter {
    lines: Option<LineTables>,
    /// The host's place in them.
    whose: usize,
    account: Option<Account>,
    /// Rows of its part of `truth_slots`, once it is finished.
    pub(crate) slots: u64,
    name: String,
    part: usize,
    tables: PathBuf,
    start_ns: i64,
    host: u32,
    addresses: Addresses,
    /// Buffer in which the two ends of a connection are put together.
    connection: Vec<u8>,
    /// Lines so far: what orders those of one time.
    place: i64,
    /// The true events of each slot.
    truth: Vec<SlotTruth>,
    failed: Option<SimulationError>,
}

impl TableWriter {
    /// The number of its part, and once it is finished the account of its lines.
    pub fn into_account(self) -> (usize, Option<Account>) {
        (self.part, self.account)
    }
}

impl HostSink for TableWriter {
    fn event(&mut self, at_ns: i64, event: Event, context: &Context<'_>) {
        let Some(lines) = &mut self.lines else { return };
        let mut row = RowOut {
            lines,
            whose: self.whose,
            ts_ns: self.start_ns + at_ns,
            own_address: &self.addresses[self.host as usize],
            addresses: &self.addresses,
            connection: &mut self.connection,
            place: self.place,
            written: Ok(()),
        };
        event.tell(at_ns, context, &mut row);
        if let Err(source) = row.written {
            self.failed.get_or_insert(SimulationError::Table { path: self.tables.clone(), source });
        }
        self.place += 1;
    }

    fn slot(&mut self, truth: &SlotTruth) {
        self.truth.push(*truth);
    }

    fn end_of_stretch(&mut self) -> Result<(), SimulationError> {
        self.failed.take().map_or(Ok(()), Err)
    }

    fn finish(&mut self) -> Result<(), SimulationError> {
        self.end_of_stretch()?;
        if let Some(lines) = self.lines.take() {
            let account = lines.finish(self.name.as_bytes(), 1);
            self.account = Some(account.map_err(|source| SimulationError::Table { path: self.tables.clone(), source })?);
            self.slots = write_slots(&self.tables, self.part, &self.name, &std::mem::take(&mut self.truth))?;
        }
        Ok(())
    }
}

/// The place where one message becomes a row.
struct RowOut<'t> {
    lines: &'t mut LineTables,
    whose: usize,
    ts_ns: i64,
    own_address: &'t [u8],
    addresses: &'t [Vec<u8>],
    connection: &'t mut Vec<u8>,
    place: i64,
    written: Result<(), ParquetError>,
}

impl Teller for RowOut<'_> {
    #[inline]
    fn form<'a, F: Form<'a>>(&mut self, form: F) {
        if let Some(peer) = form.peer() {
            self.connection.clear();
            write_connection(self.connection, self.own_address, &self.addresses[peer.0 as usize]);
        }
        self.written = self.lines.form(self.whose, self.ts_ns, form, self.connection, self.place);
    }
}
