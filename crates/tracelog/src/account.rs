//! The account of every line, and its tables: `hosts`, `trace_frequencies`, `rejected`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use parquet::errors::ParquetError;
use serde::{Deserialize, Serialize};

use crate::dialects::{CARDANO_NODE, Dialect, Entry};
use crate::found::{DamagedFile, HostFacts, Ingested, Rejection, SourceFacts};
use crate::messages::{Body, Form, Made, Message, NAMESPACES, Thread, read};
use crate::reason::Reason;
use crate::scan::are_same;
use crate::strings::{EndMap, Map};
use crate::table_file::Column;
use crate::tables::Rows;
use crate::written::write_table;

/// Rejected lines that are kept of each part; all are counted.
const KEPT_REJECTIONS: usize = 20_000;
/// Names of messages that are counted by themselves in each part: ten times those of a node, so that no log fills the memory.
const MOST_NAMES: usize = 5_000;
/// Bytes that are kept of a message's name.
const MOST_OF_A_NAME: usize = 200;
/// The name under which the messages of all further names are counted.
const OTHER_NAMES: &[u8] = b"(others)";
/// A line may be this much older than one before it without being remarked on: threads write side by side.
const BACKWARDS_NS: i64 = 1_000_000_000;

/// Takes lines in their order, writes their content as one part of every table, and keeps account of them.
///
/// Makes rows of lines, whether they come from files or straight from a simulation.
pub struct LineTables {
    rows: Rows,
    hosts: Hosts,
    /// Lines of no interest whose host isn't known, by their messages.
    unnamed: EndMap<Vec<u8>, u64>,
    /// Number of names of messages that are counted by themselves.
    named: usize,
    /// Lines that were never text, by their messages.
    forms: [u64; Message::COUNT],
    reasons: BTreeMap<Reason, u64>,
    account: Account,
}

/// Results of reading the lines of a part, besides rows. It can be written down, and be added to others elsewhere.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Account {
    pub(crate) part: usize,
    pub(crate) hosts: Vec<HostFacts>,
    /// Lines of each message, by host.
    names: BTreeMap<String, BTreeMap<String, u64>>,
    /// Lines that can't be read, by reason.
    reasons: BTreeMap<String, u64>,
    pub(crate) rejections: Vec<Rejection>,
    /// Rows of each table.
    tables: BTreeMap<String, u64>,
    pub(crate) lines: u64,
    pub(crate) all_lines: u64,
    pub(crate) bytes: u64,
    pub(crate) digest: Option<String>,
    pub(crate) damage: Option<DamagedFile>,
    /// Other files, by their places among all, whose first line is in this one: of the same owner.
    pub(crate) overlaps: BTreeSet<usize>,
}

impl LineTables {
    /// Writes `NAME/part-PART.parquet` below a folder of tables. Part 0 makes every table, if only its columns.
    pub fn new(tables: &Path, part: usize) -> Self {
        Self {
            rows: Rows::new(tables, part),
            hosts: Hosts::of(CARDANO_NODE.node()),
            unnamed: EndMap::default(),
            named: 0,
            forms: [0; Message::COUNT],
            reasons: BTreeMap::new(),
            account: Account { part, ..Account::default() },
        }
    }

    /// Sets the dialect of the lines that follow; without one, they are cardano-node's.
    pub(crate) fn written_by(&mut self, dialect: Option<&dyn Dialect>) {
        self.hosts.node = dialect.map_or("", |dialect| dialect.node());
    }

    /// Adds a host, whether or not it has lines; returns its place.
    pub fn host(&mut self, name: &[u8]) -> usize {
        self.hosts.place(name)
    }

    /// Takes a line of a host: the name of its message, and its content, if that is of interest.
    ///
    /// `place` orders lines of the host that have one time.
    ///
    /// # Errors
    /// A table can't be written.
    #[inline]
    pub fn line(&mut self, host: &[u8], name: &[u8], entry: Option<&Entry<'_>>, place: i64) -> Result<(), ParquetError> {
        let whose = self.count(host, name);
        entry.map_or(Ok(()), |entry| self.entry(whose, entry, place))
    }

    /// Takes a line of a host that is a part of rows, which come by themselves.
    pub(crate) fn part(&mut self, host: &[u8], name: &[u8], ts_ns: i64) {
        let whose = self.count(host, name);
        self.time(whose, ts_ns);
    }

    /// Takes a row of a host whose line was taken as a part.
    pub(crate) fn row(&mut self, host: &[u8], entry: &Entry<'_>, place: i64) -> Result<(), ParquetError> {
        let whose = self.hosts.place(host);
        self.add(whose, entry, place)
    }

    /// Takes the content of a line that is counted.
    #[inline(always)]
    fn entry(&mut self, whose: usize, entry: &Entry<'_>, place: i64) -> Result<(), ParquetError> {
        self.time(whose, entry.ts_ns);
        self.add(whose, entry, place)
    }

    /// Counts a line; returns the place of its host.
    #[inline(always)]
    fn count(&mut self, host: &[u8], name: &[u8]) -> usize {
        self.account.lines += 1;
        let whose = self.hosts.place(host);
        let of = &mut self.hosts.of[whose];
        of.facts.lines += 1;
        count_name(&mut of.names, name, &mut self.named);
        whose
    }

    /// Counts a line of no interest whose host isn't known.
    pub(crate) fn unnamed(&mut self, name: &[u8]) {
        self.account.lines += 1;
        count_name(&mut self.unnamed, name, &mut self.named);
    }

    /// Notes the time of a line of interest.
    #[inline(always)]
    fn time(&mut self, whose: usize, ts_ns: i64) {
        let HostLines { facts, newest, .. } = &mut self.hosts.of[whose];
        facts.backwards += u64::from(ts_ns < newest.saturating_sub(BACKWARDS_NS));
        *newest = (*newest).max(ts_ns);
        facts.first_ts_ns = Some(facts.first_ts_ns.map_or(ts_ns, |first| first.min(ts_ns)));
        facts.last_ts_ns = Some(facts.last_ts_ns.map_or(ts_ns, |last| last.max(ts_ns)));
    }

    /// Adds a row.
    #[inline(always)]
    fn add(&mut self, whose: usize, entry: &Entry<'_>, place: i64) -> Result<(), ParquetError> {
        let facts = &mut self.hosts.of[whose].facts;
        facts.kept += 1;
        if let Body::Version(version) = entry.body
            && facts.version_ts_ns <= Some(entry.ts_ns)
        {
            facts.version_ts_ns = Some(entry.ts_ns);
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            (facts.version, facts.revision, facts.compiler) = (text(version.version), text(version.revision), text(version.compiler));
        }
        let before = self.rows.short_hashes;
        self.rows.push((whose, facts.host.as_bytes()), entry, place)?;
        facts.short_hashes += self.rows.short_hashes - before;
        Ok(())
    }

    /// Counts a line of a host that was there before.
    pub(crate) fn repeat(&mut self, host: &[u8]) {
        self.account.lines += 1;
        let whose = self.hosts.place(host);
        let facts = &mut self.hosts.of[whose].facts;
        facts.lines += 1;
        facts.repeated += 1;
    }

    /// Takes a message that was never text of a host by its place: what [`LineTables::line`] takes of its line. Where it is about a
    /// peer, its line would have `connection` for that.
    ///
    /// # Errors
    /// A table can't be written.
    #[inline]
    pub fn form<'a, F: Form<'a>>(&mut self, whose: usize, ts_ns: i64, form: F, connection: &[u8], place: i64) -> Result<(), ParquetError> {
        let body = match read(F::MESSAGE, &mut Made::new(form, connection)) {
            Ok(body) => body,
            Err(reason) => {
                let host = self.hosts.of[whose].facts.host.clone();
                let text = F::NAME.to_owned();
                let line = place as u64 + 1;
                self.reject(Some(host.clone().as_bytes()), reason, || Rejection {
                    host,
                    file: String::new(),
                    line,
                    offset: 0,
                    reason: reason.to_string(),
                    text,
                });
                return Ok(());
            }
        };
        self.account.lines += 1;
        self.forms[F::MESSAGE as usize] += 1;
        self.hosts.of[whose].facts.lines += 1;
        let Some(body) = body else { return Ok(()) };
        let mut digits = itoa::Buffer::new();
        let thread = match form.thread() {
            _ if !matches!(body, Body::Transactions(_)) => None, // the other tables don't have it
            Thread::Named(name) => Some(name.as_bytes()),
            Thread::Numbered(number) => Some(digits.format(number).as_bytes()),
        };
        self.entry(whose, &Entry { ts_ns, host: None, thread, message: F::MESSAGE, body }, place)
    }

    /// Counts a line that couldn't be read, also of its host, where that is known; `rejection` is called for the rest only while there is room
    /// for more.
    pub(crate) fn reject(&mut self, host: Option<&[u8]>, reason: Reason, rejection: impl FnOnce() -> Rejection) {
        self.account.lines += 1;
        if let Some(host) = host {
            let whose = self.hosts.place(host);
            let facts = &mut self.hosts.of[whose].facts;
            facts.lines += 1;
            facts.rejected += 1;
        }
        *self.reasons.entry(reason).or_default() += 1;
        if self.account.rejections.len() < KEPT_REJECTIONS {
            self.account.rejections.push(rejection());
        }
    }

    /// Notes the hosts that lines of a host name, and whether these take turns.
    pub(crate) fn names(&mut self, host: &[u8], names: BTreeSet<String>, take_turns: bool) {
        if let Some(facts) = self.hosts.known(host) {
            (facts.names, facts.takes_turns) = (names, take_turns);
        }
    }

    /// Writes what is left. Takes the host whose log this is, which lines without another count under, and its number of log files.
    ///
    /// # Errors
    /// A table can't be written.
    pub fn finish(mut self, whose: &[u8], files: u64) -> Result<Account, ParquetError> {
        let written = self.rows.finish()?;
        if let Some(facts) = self.hosts.known(whose) {
            facts.files += files;
            facts.late += written.iter().map(|written| written.late).sum::<u64>();
        }
        let mut account = self.account;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut count = |host: &str, name: String, lines: u64| {
            *account.names.entry(host.to_owned()).or_default().entry(name).or_default() += lines;
        };
        for of in &mut self.hosts.of {
            for (name, lines) in std::mem::take(&mut of.names) {
                count(&of.facts.host, text(&name), lines);
            }
        }
        let whose = text(whose);
        for (name, lines) in self.unnamed {
            count(&whose, text(&name), lines);
        }
        for (message, names) in NAMESPACES {
            let lines = self.forms[*message as usize];
            // All forms of a message are written by its first name.
            if let Some(name) = names.first().filter(|_| lines > 0) {
                count(&whose, (*name).to_owned(), lines);
            }
        }
        account.reasons = self.reasons.into_iter().map(|(reason, count)| (reason.to_string(), count)).collect();
        account.tables = written.iter().map(|written| (written.table.to_owned(), written.rows)).collect();
        account.hosts = self.hosts.of.into_iter().map(|of| of.facts).collect();
        Ok(account)
    }
}

/// Counts a line of a message by its name; `named` is the number of names that are counted by themselves.
#[inline(always)]
fn count_name(names: &mut EndMap<Vec<u8>, u64>, name: &[u8], named: &mut usize) {
    let name = &name[..name.len().min(MOST_OF_A_NAME)];
    match names.get_mut(name) {
        Some(count) => *count += 1,
        None => {
            let name = if *named < MOST_NAMES { name } else { OTHER_NAMES };
            *named += usize::from(*named < MOST_NAMES);
            *names.entry(name.to_vec()).or_default() += 1;
        }
    }
}

/// A host's lines in a segment.
struct HostLines {
    facts: HostFacts,
    /// Lines of each message.
    names: EndMap<Vec<u8>, u64>,
    /// Time of the newest line of interest.
    newest: i64,
}

/// The hosts of a segment. Most have one, and lines of one host mostly follow each other.
struct Hosts {
    places: Map<Vec<u8>, usize>,
    of: Vec<HostLines>,
    last: usize,
    node: &'static str,
}

impl Hosts {
    fn of(node: &'static str) -> Self {
        Self { places: Map::default(), of: Vec::new(), last: 0, node }
    }

    /// The place of a host, which gets one if it is new.
    #[inline]
    fn place(&mut self, name: &[u8]) -> usize {
        if self.of.get(self.last).is_none_or(|of| !are_same(of.facts.host.as_bytes(), name)) {
            self.last = match self.places.get(name) {
                Some(&place) => place,
                None => {
                    let (host, node) = (String::from_utf8_lossy(name).into(), self.node.to_owned());
                    let facts = HostFacts { host, node, ..HostFacts::default() };
                    self.of.push(HostLines { facts, names: EndMap::default(), newest: i64::MIN });
                    self.places.insert(name.to_vec(), self.of.len() - 1);
                    self.of.len() - 1
                }
            };
        }
        self.last
    }

    fn known(&mut self, name: &[u8]) -> Option<&mut HostFacts> {
        self.places.get(name).map(|&place| &mut self.of[place].facts)
    }
}

/// Adds up accounts, in the order of their parts, and writes the tables with the result of all lines.
///
/// # Errors
/// A table can't be written.
pub fn settle(tables: &Path, sources: Vec<SourceFacts>, accounts: Vec<Account>) -> Result<Ingested, ParquetError> {
    let mut hosts: BTreeMap<String, HostFacts> = BTreeMap::new();
    let (mut names, mut reasons, mut counts) =
        (BTreeMap::<(String, String), u64>::new(), BTreeMap::<String, u64>::new(), BTreeMap::<String, u64>::new());
    let (mut rejections, mut damaged, mut total_lines, mut bytes) = (Vec::new(), Vec::new(), 0, 0);
    for account in accounts {
        for (host, of_host) in account.names {
            for (name, count) in of_host {
                *names.entry((host.clone(), name)).or_default() += count;
            }
        }
        for facts in account.hosts {
            merge(hosts.entry(facts.host.clone()).or_insert_with(|| HostFacts { host: facts.host.clone(), ..HostFacts::default() }), facts);
        }
        for (reason, count) in account.reasons {
            *reasons.entry(reason).or_default() += count;
        }
        for (table, rows) in account.tables {
            *counts.entry(table).or_default() += rows;
        }
        rejections.extend(account.rejections);
        damaged.extend(account.damage);
        total_lines += account.lines;
        bytes += account.bytes;
    }
    let hosts: Vec<HostFacts> = hosts.into_values().collect();
    let mut write = |name: &str, columns: Vec<Column>| {
        counts.insert(name.to_owned(), write_table(tables, name, columns)?);
        Ok::<_, ParquetError>(())
    };
    let text = |name, get: fn(&HostFacts) -> &str| Column::text(name, hosts.iter().map(get));
    let count = |name, get: fn(&HostFacts) -> u64| Column::whole(name, hosts.iter().map(|facts| get(facts) as i64));
    let time = |name, get: fn(&HostFacts) -> Option<i64>| Column::optional(name, hosts.iter().map(get));
    write(
        "hosts",
        vec![
            text("host", |facts| facts.host.as_str()),
            count("files", |facts| facts.files),
            count("lines", |facts| facts.lines),
            count("kept", |facts| facts.kept),
            count("rejected", |facts| facts.rejected),
            count("repeated", |facts| facts.repeated),
            count("backwards", |facts| facts.backwards),
            count("short_hashes", |facts| facts.short_hashes),
            time("first_ts_ns", |facts| facts.first_ts_ns),
            time("last_ts_ns", |facts| facts.last_ts_ns),
            text("node", |facts| facts.node.as_str()),
            text("version", |facts| facts.version.as_str()),
            text("revision", |facts| facts.revision.as_str()),
            text("compiler", |facts| facts.compiler.as_str()),
        ],
    )?;
    write(
        "trace_frequencies",
        vec![
            Column::text("host", names.keys().map(|(host, _)| host.as_str())),
            Column::text("message", names.keys().map(|(_, name)| name.as_str())),
            Column::whole("lines", names.values().map(|&lines| lines as i64)),
        ],
    )?;
    write(
        "rejected",
        vec![
            Column::text("host", rejections.iter().map(|one: &Rejection| one.host.as_str())),
            Column::text("file", rejections.iter().map(|one| one.file.as_str())),
            Column::whole("line", rejections.iter().map(|one| one.line as i64)),
            Column::whole("offset", rejections.iter().map(|one| one.offset as i64)),
            Column::text("reason", rejections.iter().map(|one| one.reason.as_str())),
            Column::text("text", rejections.iter().map(|one| one.text.as_str())),
        ],
    )?;
    let mut reasons: Vec<(String, u64)> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    Ok(Ingested {
        sources,
        lines: total_lines,
        rejected: reasons.iter().map(|(_, count)| count).sum(),
        reasons,
        first_rejections: rejections.into_iter().take(10).collect(),
        damaged,
        bytes,
        hosts,
        tables: counts,
    })
}

fn merge(into: &mut HostFacts, facts: HostFacts) {
    into.files += facts.files;
    into.lines += facts.lines;
    into.kept += facts.kept;
    into.rejected += facts.rejected;
    into.repeated += facts.repeated;
    into.backwards += facts.backwards;
    into.short_hashes += facts.short_hashes;
    into.late += facts.late;
    into.first_ts_ns = [into.first_ts_ns, facts.first_ts_ns].into_iter().flatten().min();
    into.last_ts_ns = [into.last_ts_ns, facts.last_ts_ns].into_iter().flatten().max();
    if !facts.node.is_empty() {
        into.node = facts.node;
    }
    into.names.extend(facts.names);
    into.takes_turns |= facts.takes_turns;
    if !facts.version.is_empty() && facts.version_ts_ns >= into.version_ts_ns {
        into.version_ts_ns = facts.version_ts_ns;
        (into.version, into.revision, into.compiler) = (facts.version, facts.revision, facts.compiler);
    }
}
