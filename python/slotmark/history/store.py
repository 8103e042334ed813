"""A store: a folder, or a place in an object store, that has runs by the digests of their tables, how they were named, and their estimates.

    store.json                      schema, and the version of slotmark that computed the estimates
    runs/DIGEST/                    run folders
    entries/DIGEST.json             names and times of a run; written last: without it the run isn't in the store
    estimates/VERSION/DIGEST.json   estimates of a run
    index/VERSION.parquet           all estimates in one file; made from the others at any time, with the same bytes
    decisions.toml                  what readers decided

Writers share no file but `store.json`, which one of them creates, and the index, which is only used for runs that it has.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec
import pyarrow as pa

from slotmark.cleaning import one_line, one_name
from slotmark.compare.matching.paired_runs import spoilt
from slotmark.engine import Piece, local
from slotmark.errors import RunError, StoreError
from slotmark.history import index
from slotmark.history.entries import (
    SCHEMA,
    Entry,
    Estimated,
    Labels,
    decoded,
    measured_ns,
    refuse_newer,
)
from slotmark.history.estimates import ends_of, estimates_of
from slotmark.history.files import Files, files_at
from slotmark.history.series import Group, circumstances, machine_of, target_of, workload_of
from slotmark.places import Place, Url, place
from slotmark.run import Run, check_run, copy_run, open_run
from slotmark.run.storage import is_run
from slotmark.versions import slotmark_version

STORE_FILE = "store.json"

_AGAIN = (
    'It has one line, as {"schema":1,"slotmark":"0.1.0"}, with the name of the folder below estimates/: write it again.'
)

DIGITS = 32
"""Digits of a digest that name a run in a store."""

RUNS_OF_A_PROCESS = 4
"""The least runs for which a process is started beside this one: a start takes as long as some runs."""

BEHIND = 0.05
"""The share of runs that the index may lack before it is written again."""

_ENTRY = re.compile(f"([0-9a-f]{{{DIGITS}}})\\.json")
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+_-]{0,63}")

Progress = Callable[[int, int, str], None]


class _About(msgspec.Struct, frozen=True):
    """The content of ``store.json``."""

    schema: int
    slotmark: str


class Added(msgspec.Struct, frozen=True):
    """A run after it was added.

    Attributes:
        run: Its digest.
        place: The run that was named: its path or URL.
        new: Whether it wasn't there.
        late: Whether its clock is far ahead, or its start isn't recorded, so that it is ordered by when it was added.
        added_ns: When the command that added it began, in ns since 1970.
        spoilt: Why it has no estimates, so that no history counts it, in words; empty where it has.
    """

    run: str
    place: str
    new: bool
    late: bool
    added_ns: int
    spoilt: str


class Old(msgspec.Struct, frozen=True):
    """A run whose tables a rule would remove: its digest, id and version, when it was measured, and the size of its tables."""

    run: str
    name: str
    version: str
    at_ns: int
    size_bytes: int


class Store:
    """A store that exists.

    Attributes:
        place: Its place.
        slotmark: The version that computed its estimates.
    """

    def __init__(self, place: Place, slotmark: str, files: Files) -> None:
        self.place = place
        self.slotmark = slotmark
        self.files = files

    def runs(self) -> list[str]:
        """The digests of its runs, sorted."""
        return [found[1] for name in self.files.names("entries") if (found := _ENTRY.fullmatch(name))]

    def add(
        self, runs: Sequence[Run], labels: Labels, progress: Progress | None = None, most_processes: int = 1
    ) -> list[Added]:
        """Adds runs; one that is there already, with these labels, stays as it is.

        Args:
            runs: One or more.
            labels: Their names.
            progress: Called with how many are done, of how many, and which is next; may raise to stop.
            most_processes: How many may add them beside each other. More than one begins as :func:`slotmark.engine.local` says.

        Raises:
            RunError: A run is damaged.
            StoreError: The estimates of the store are of another version, a run is there under other names, or the store can't be written.
        """
        if self.slotmark != slotmark_version():
            raise StoreError(
                f"{self.place}: its estimates were computed by slotmark {self.slotmark}, this is {slotmark_version()}. Run `slotmark store recompute --store {self.place}` first."
            )
        added_ns = time.time_ns()
        pieces = [
            Piece(work=_add_one, inputs=(str(self.place), str(run.place), labels, added_ns, number), label="")
            for number, run in enumerate(runs)
        ]

        def shown(done: int) -> None:
            if progress and done < len(runs):
                progress(done, len(runs), one_name(str(runs[done].place)))

        def merged(outputs: Iterator[Added]) -> list[Added]:
            found = []
            for one in outputs:
                found.append(one)
                shown(len(found))
            return found

        shown(0)
        workers = min(most_processes, len(runs) // RUNS_OF_A_PROCESS)
        if workers > 1:
            found = local(pieces, merged, workers=workers)
        else:  # without opening store and runs again
            found = merged(self.add_one(run, labels, added_ns, number) for number, run in enumerate(runs))
        if self._index_is_older(found):
            self.write_index(from_files=True)
        return found

    def _index_is_older(self, found: Sequence[Added]) -> bool:
        """Returns whether the index has runs as they were before they were taken out and added again, by this command or by one that was killed."""
        known = self._indexed(["run", "added_ns"])
        if known is None:
            return False
        indexed = dict(zip(known["run"].to_pylist(), known["added_ns"].to_pylist(), strict=True))
        return any(indexed.get(one.run, one.added_ns) != one.added_ns for one in found)

    def add_one(self, run: Run, labels: Labels, added_ns: int, place: int) -> Added:
        """Adds a run, whatever other processes add meanwhile. Raises as :meth:`add`.

        Args:
            run: The run.
            labels: Its names.
            added_ns: When the command that adds it began, in ns since 1970.
            place: Its place among the runs of that command.
        """
        digest = digest_of(run)
        measured = measured_ns(run.manifest.started, added_ns)
        there = self.files.read(f"entries/{digest}.json")
        if there is None:
            self._copy(run, digest)
            self._estimate(digest)
            entry = Entry(
                run=digest,
                labels=labels,
                at_ns=added_ns if measured is None else measured,
                added_ns=added_ns,
                place=place,
            )
            there = self.files.create(f"entries/{digest}.json", msgspec.json.encode(entry) + b"\n")
        if there is None:
            return Added(digest, str(run.place), new=True, late=measured is None, added_ns=added_ns, spoilt=spoilt(run))
        before = decoded(self._file(f"entries/{digest}.json"), there, Entry)
        for name in labels.__struct_fields__:
            ours, theirs = getattr(labels, name), getattr(before.labels, name)
            if ours and ours != theirs:
                told = f"with --{name} {theirs!r}" if theirs else f"without --{name}"
                raise StoreError(
                    f"{run.place}: already in {self.place} {told}, and a run counts once. Leave --{name} out, or remove entries/{digest}.json there to add it anew."
                )
        return Added(digest, str(run.place), new=False, late=False, added_ns=before.added_ns, spoilt=spoilt(run))

    def _copy(self, run: Run, digest: str) -> None:
        """Has the run in the store, whole: also where another writer, or one that was killed, has put it there."""
        there = self.place / "runs" / digest
        try:
            copy_run(run.place, there)
        except RunError:
            if not is_run(there):
                raise
            check_run(there)
            if digest_of(open_run(there)) != digest:
                raise StoreError(
                    f"{there}: another run than its name says. Remove it, and add the run again."
                ) from None

    def _estimate(self, digest: str, *, anew: bool = False) -> None:
        """Computes the estimates of a run, by the run in the store alone: whoever does it writes the same."""
        run = open_run(self.place / "runs" / digest)
        manifest, why = run.manifest, spoilt(run)
        found = Estimated(
            slotmark=slotmark_version(),
            run=digest,
            name=manifest.id,
            group=Group(
                bench=manifest.bench,
                target=target_of(manifest),
                workload=workload_of(manifest),
                machine=machine_of(manifest),
            ),
            version=manifest.target.version,
            build=manifest.target.name,
            commit=manifest.target.commit,
            origin=manifest.origin or "",
            facts=circumstances(manifest) | ends_of(run) | ({"not counted": one_line(why)} if why else {}),
            estimates=estimates_of(run),
        )
        name, content = _estimates_file(slotmark_version(), digest), msgspec.json.encode(found) + b"\n"
        if anew:
            self.files.put(name, content)
        else:
            self.files.create(name, content)

    def recompute(self, progress: Progress | None = None) -> int:
        """Computes the estimates of all runs anew by this slotmark, which the store then names; returns how many there are.

        Raises:
            RunError: A run of the store is damaged.
            StoreError: The store can't be written.
        """
        done = set[str]()
        while left := [digest for digest in self.runs() if digest not in done]:  # others may add meanwhile
            for digest in left:
                if progress:
                    progress(len(done), len(done) + len(left), digest)
                if is_run(self.place / "runs" / digest):
                    self._estimate(digest, anew=True)
                else:  # its tables were removed: its estimates are what is known
                    self.files.put(
                        _estimates_file(slotmark_version(), digest),
                        self._content(_estimates_file(self.slotmark, digest)),
                    )
                done.add(digest)
        self.slotmark = slotmark_version()
        self.files.put(STORE_FILE, msgspec.json.encode(_About(SCHEMA, self.slotmark)) + b"\n")
        self.write_index(from_files=True)
        return len(done)

    def old_runs(self, before_ns: int) -> list[Old]:
        """The runs that were measured before a time and whose tables are there, but for the newest of each group, oldest first."""
        rows = self.table().drop_columns(["estimates", "facts"]).to_pylist()
        groups = [Group(*(row[name] for name in Group.__struct_fields__)) for row in rows]
        newest: dict[Group, int] = {}
        for group, row in zip(groups, rows, strict=True):
            newest[group] = max(newest.get(group, 0), row["at_ns"])
        old = [row for group, row in zip(groups, rows, strict=True) if row["at_ns"] < min(before_ns, newest[group])]
        found = []
        for row in sorted(old, key=lambda row: (row["at_ns"], row["run"])):
            place = self.place / "runs" / row["run"]
            if is_run(place):
                size = sum(part.bytes for part in open_run(place).manifest.parts)
                found.append(Old(row["run"], row["name"], row["version"], row["at_ns"], size))
        return found

    def with_tables(self) -> set[str]:
        """The digests of the runs whose tables weren't removed."""
        return {name.partition("/")[0] for name in self.files.names("runs")}

    def remove_tables(self, digest: str) -> None:
        """Removes the run folder of a run. Its names and estimates stay, and so do all histories."""
        self.files.remove_run(f"runs/{digest}")

    def write_index(self, *, from_files: bool = False) -> None:
        """Writes the index; made from the files of single runs alone where that is asked for."""
        self.files.put(self._index_file, index.encoded(self.table(from_files=from_files)))

    def keep_index(self) -> None:
        """Writes the index where it lacks more than a few runs."""
        runs = self.runs()
        known = self._indexed(["run"])
        there = set() if known is None else {*known["run"].to_pylist()}
        if len({*runs} - there) > BEHIND * len(runs):
            self.write_index()

    def table(self, *, from_files: bool = False) -> pa.Table:
        """The estimates of all runs, as :data:`slotmark.history.index.SCHEMA` has them, in the order of digests.

        Raises:
            StoreError: A run has no estimates, or a file is damaged.
        """
        runs = self.runs()
        known = None if from_files else self._indexed()
        tables = []
        if known is not None:
            ours = {*runs}
            there = known["run"].to_pylist()
            tables = [known if ours >= {*there} else known.filter(pa.array([one in ours for one in there]))]
            runs = sorted(ours - {*there})
        if runs:
            tables.append(index.rows([(self._entry(digest), self._estimates(digest)) for digest in runs]))
        return index.together(tables)

    def only_bench(self) -> str:
        """The bench of its runs. StoreError where they have several, or there are none."""
        benches = sorted({*self.table()["bench"].to_pylist()})
        if len(benches) != 1:
            raise StoreError(
                f"{self.place}: has runs of {len(benches)} benches ({', '.join(benches) or 'none'}). Choose one with --bench."
            )
        return benches[0]

    def opened(self, digests: Iterable[str]) -> Iterator[Run]:
        """Gives runs of the store."""
        for digest in digests:
            yield open_run(self.place / "runs" / digest)

    def _indexed(self, columns: Sequence[str] | None = None) -> pa.Table | None:
        content = self.files.read(self._index_file)
        return None if content is None else index.decoded(content, columns)

    @property
    def _index_file(self) -> str:
        return f"index/{self.slotmark}.parquet"

    def _entry(self, digest: str) -> Entry:
        name = f"entries/{digest}.json"
        return decoded(self._file(name), self._content(name), Entry)

    def _estimates(self, digest: str) -> Estimated:
        name = _estimates_file(self.slotmark, digest)
        return decoded(self._file(name), self._content(name), Estimated)

    def _content(self, name: str) -> bytes:
        content = self.files.read(name)
        if content is None:
            raise StoreError(
                f"{self._file(name)}: gone. Run `slotmark store recompute --store {self.place}`, which makes it from the run."
            )
        return content

    def _file(self, name: str) -> str:
        return f"{self.place}/{name}"


def _add_one(store: str, run: str, labels: Labels, added_ns: int, number: int) -> Added:
    """Adds a run in a process of its own."""
    return open_store(place(store)).add_one(open_run(place(run)), labels, added_ns, number)


def digest_of(run: Run) -> str:
    """The name of a run in a store: a digest of its tables."""
    return run.manifest.content.partition(":")[2][:DIGITS]


def open_store(place: Place) -> Store:
    """Opens the store at a place.

    Raises:
        StoreError: There is none, it is damaged, or a newer slotmark's.
    """
    files = files_at(place)
    content = files.read(STORE_FILE)
    if content is None:
        if _is_something_else(place):
            raise StoreError(
                f"{place}: {'a run and ' if is_run(place) else ''}no store, it has no {STORE_FILE}. Name a store; slotmark store add RUN --to STORE makes one."
            )
        raise StoreError(f"{place}: no store, it has no {STORE_FILE}. Make one: slotmark store add RUN --to {place}")
    return _opened(place, files, content)


def make_store(place: Place) -> Store:
    """Opens the store at a place, which is made where there is nothing.

    Raises:
        StoreError: Something else is there, or the store can't be written.
    """
    files = files_at(place)
    content = files.read(STORE_FILE)
    if content is None:
        if _is_something_else(place):
            raise StoreError(f"{place}: no store, and not empty. Name a store, or a new folder.")
        ours = msgspec.json.encode(_About(SCHEMA, slotmark_version())) + b"\n"
        content = files.create(STORE_FILE, ours) or ours
    return _opened(place, files, content)


def _is_something_else(place: Place) -> bool:
    """Returns whether no store can be made at a place that has none: it is a file, a folder with files, or a run."""
    if isinstance(place, Url):
        return is_run(place)
    return place.exists() and (not place.is_dir() or any(one.name[0] != "." for one in place.iterdir()))


def _opened(place: Place, files: Files, content: bytes) -> Store:
    file = f"{place}/{STORE_FILE}"
    try:
        about = msgspec.json.decode(content, type=_About)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StoreError(f"{file}: damaged ({error}). {_AGAIN}") from error
    refuse_newer(file, about.schema)
    if not _VERSION.fullmatch(about.slotmark):
        raise StoreError(f"{file}: {about.slotmark[:64]!r} is no version. {_AGAIN}")
    return Store(place, about.slotmark, files)


def _estimates_file(version: str, digest: str) -> str:
    return f"estimates/{version}/{digest}.json"
