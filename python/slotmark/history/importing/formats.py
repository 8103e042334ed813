"""Formats of other tools: a reader for each."""

import csv
import datetime
import io
import json
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from slotmark.cleaning import one_name
from slotmark.errors import ImportFileError
from slotmark.history.importing.figures import Asked, Better, Gathering, Record
from slotmark.texts import content_of
from slotmark.words import counted, listed

MOST_BYTES = 64 << 20
"""A larger file is refused."""

MOST_RECORDS = 10_000
"""Commits of one file at most."""

_BENCHERS: dict[str, tuple[str, Better]] = {"latency": ("ns", "lower"), "throughput": ("ops/s", "higher")}
"""Measures that Bencher has by itself, with their units and directions."""


def _of_bencher(file: Path, asked: Asked) -> Iterator[Record]:
    """Bencher Metric Format: ``{benchmark: {measure: {value}}}``."""
    content = _json(file, dict[str, dict[str, dict[str, Any]]])
    gathering = Gathering(str(file), asked)
    for benchmark, measures in content.items():
        for measure, metric in measures.items():
            unit, better = _BENCHERS.get(measure, ("", ""))
            name = benchmark if len(measures) == 1 else f"{benchmark}, {measure}"
            gathering.add(name, [metric.get("value")], unit, better)
    yield Record(figures=gathering.figures, left_out=gathering.left_out)


class _PytestStats(msgspec.Struct):
    mean: float | None = None
    data: list[float] | None = None


class _PytestBenchmark(msgspec.Struct):
    fullname: str
    stats: _PytestStats


class _Commit(msgspec.Struct):
    id: str | None = None
    branch: str | None = None


class _PytestFile(msgspec.Struct):
    benchmarks: list[_PytestBenchmark]
    datetime: str = ""
    commit_info: _Commit | None = None
    machine_info: dict[str, Any] = {}


def _of_pytest(file: Path, asked: Asked) -> Iterator[Record]:
    """The JSON of pytest-benchmark: seconds; all samples where they were saved (``--benchmark-save-data``), else the mean."""
    content = _json(file, _PytestFile)
    gathering = Gathering(str(file), asked)
    for one in content.benchmarks:
        gathering.add(one.fullname, one.stats.data or [one.stats.mean], "s", "lower")
    commit = content.commit_info or _Commit()
    cpu = content.machine_info.get("cpu")
    brand = cpu.get("brand_raw", "") if isinstance(cpu, dict) else ""
    yield Record(
        ref=one_name(commit.id or ""),
        branch=one_name(commit.branch or ""),
        at=content.datetime,
        machine=one_name(str(brand or content.machine_info.get("machine", ""))),
        figures=gathering.figures,
        left_out=gathering.left_out,
    )


class _Sample(msgspec.Struct):
    iters: list[float]
    times: list[float]


def _of_criterion(folder: Path, asked: Asked) -> Iterator[Record]:
    """The folder of Criterion, ``target/criterion``: of each benchmark the samples of its last measurement, ``NAME/new/sample.json``, in ns per iteration."""
    if not folder.is_dir():
        _refuse(folder, "not a folder: Criterion's results are in target/criterion")
    gathering = Gathering(str(folder), asked)
    for file in sorted(folder.rglob("new/sample.json")):
        sample = _json(file, _Sample)
        if len(sample.iters) != len(sample.times) or any(one <= 0 for one in sample.iters):
            _refuse(file, "iters and times aren't numbers of the same samples")
        each = [time / count for time, count in zip(sample.times, sample.iters, strict=True)]
        gathering.add(file.parent.parent.relative_to(folder).as_posix(), each, "ns", "lower")
    if not gathering.figures:
        _refuse(folder, "no NAME/new/sample.json is in it")
    yield Record(figures=gathering.figures, left_out=gathering.left_out)


def _of_otava(file: Path, asked: Asked) -> Iterator[Record]:
    """A CSV file as Otava reads it: a row per commit, its time in ``time``, the commit in ``commit`` where there is such a column, and a column per metric."""
    try:
        rows = list(csv.reader(io.StringIO(_text(file), newline="")))
    except csv.Error as error:
        _refuse(file, f"not as expected ({error})")
    if len(rows) < 2 or "time" not in rows[0]:
        _refuse(file, "expected a first row with the names of columns, one of them time, and a row per commit")
    head = rows[0]
    if len(set(head)) < len(head):
        _refuse(file, "two columns have one name")
    records = rows[1:]
    for number, row in enumerate(records, 2):
        if len(row) != len(head):
            _refuse(file, f"line {number} has {counted(len(row), 'value')}, {len(head)} expected")
    numbers = [
        name
        for place, name in enumerate(head)
        if name not in ("time", "commit", "branch") and all(_is_number(row[place]) for row in records)
    ]
    if not numbers:
        _refuse(file, "no column has numbers in all rows")
    for row in records:
        values = dict(zip(head, row, strict=True))
        gathering = Gathering(str(file), asked)
        for name in numbers:
            gathering.add(name, [float(values[name]) if values[name] else None])
        yield Record(
            ref=one_name(values.get("commit", "")),
            branch=one_name(values.get("branch", "")),
            at=_time(file, values["time"]),
            figures=gathering.figures,
            left_out=gathering.left_out,
        )


class _Asv(msgspec.Struct):
    commit_hash: str
    results: dict[str, Any]
    result_columns: list[str] = []
    params: dict[str, Any] = {}
    date: float = 0.0


def _of_asv(file: Path, asked: Asked) -> Iterator[Record]:
    """A file of results of asv, ``results/MACHINE/COMMIT-ENV.json``; units are those of ``results/benchmarks.json``, if it is there."""
    content = _json_with_nan(file, _Asv)
    known = file.parent.parent / "benchmarks.json"
    units = _json_with_nan(known, dict[str, Any]) if known.is_file() else {}
    if "result" not in content.result_columns:
        _refuse(file, "its result_columns have no column result: expected the format of asv 0.5 or newer")
    place, params = content.result_columns.index("result"), "params"
    gathering = Gathering(str(file), asked)
    for name, row in content.results.items():
        about = units.get(name)
        unit = str(about.get("unit") or "") if isinstance(about, dict) else ""
        cells = row if isinstance(row, list) else []
        values = cells[place] if len(cells) > place else None
        if not isinstance(values, list):
            gathering.left_out += 1
            continue
        at = content.result_columns.index(params) if params in content.result_columns else len(cells)
        axes = cells[at] if len(cells) > at and isinstance(cells[at], list) else []
        if not all(isinstance(one, list) for one in axes):
            _refuse(file, f"params of '{one_name(name)}' aren't lists of values")
        # One label after the other, as many as there are values: a file can name more combinations than memory holds.
        labels = (", ".join(map(str, one)) for one in product(*axes))
        better: Better | str = (
            "lower" if name.split(".")[-1].startswith(("time_", "mem_", "peakmem_", "timeraw_")) else ""
        )
        for label, value in zip(labels, values, strict=False):
            gathering.add(f"{name}({label})" if label else name, [value], unit, better)  # pyright: ignore[reportArgumentType] - one of three words
    machine = content.params
    words = [str(machine[one]) for one in ("cpu", "num_cpu", "ram") if machine.get(one)]
    yield Record(
        ref=one_name(content.commit_hash),
        at=_time(file, str(content.date / 1000)) if content.date else "",
        machine=one_name(", ".join(words) or str(machine.get("machine", ""))),
        figures=gathering.figures,
        left_out=gathering.left_out,
    )


FORMATS: Mapping[str, Callable[[Path, Asked], Iterator[Record]]] = {
    "asv": _of_asv,
    "bmf": _of_bencher,
    "criterion": _of_criterion,
    "otava": _of_otava,
    "pytest-benchmark": _of_pytest,
}
"""Readers by the name of the format."""


def read_records(file: Path, form: str, asked: Asked) -> list[Record]:
    """The records of a file, in its order; those without any figure are among them, for what they leave out.

    Args:
        file: The file, or Criterion's folder.
        form: A name of :data:`FORMATS`.
        asked: What a person says where the file doesn't.

    Raises:
        ImportFileError: It isn't of that format, has no figure at all, too many, or one whose unit or direction nobody said.
    """
    found = []
    for one in FORMATS[form](file, asked):
        found.append(one)
        if len(found) > MOST_RECORDS:
            _refuse(file, f"more than {MOST_RECORDS:,} commits")
    if not any(one.figures for one in found):
        _refuse(file, "no figure with a number")
    return found


def _text(file: Path) -> str:
    try:
        return content_of(file, MOST_BYTES).decode("utf-8-sig")  # spreadsheets begin a file with a mark
    except OSError as error:
        raise ImportFileError(f"{file}: can't be read ({error.strerror}). Name the tool's file.") from error
    except UnicodeDecodeError as error:
        raise ImportFileError(f"{file}: not a text in UTF-8. Name the tool's file.") from error


def _json(file: Path, kind: Any) -> Any:
    try:
        return msgspec.json.decode(_text(file), type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        _refuse(file, f"not as expected ({one_name(str(error))})")


def _json_with_nan(file: Path, kind: Any) -> Any:
    """As :func:`_json`, of a file that may have NaN and Infinity where there is no number: Python's json writes them, JSON has none."""
    try:
        return msgspec.convert(json.loads(_text(file), parse_constant=lambda _: None), kind)
    except (ValueError, msgspec.ValidationError, RecursionError) as error:
        _refuse(file, f"not as expected ({one_name(str(error))})")


def _is_number(text: str) -> bool:
    try:
        float(text or "nan")
    except ValueError:
        return False
    return True


def _time(file: Path, text: str) -> str:
    """A time as seconds since 1970 or ISO 8601, as ISO 8601."""
    try:
        return _iso(float(text))
    except (ValueError, OverflowError, OSError):
        pass
    try:
        return datetime.datetime.fromisoformat(text).isoformat()
    except ValueError:
        _refuse(file, f"'{one_name(text)}' is no time: expected seconds since 1970, or as 2026-01-31T12:00:00")


def _iso(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat()


def _refuse(file: Path, what: str) -> NoReturn:
    raise ImportFileError(f"{file}: {what}. Name a file of another format with --format: {listed(list(FORMATS))}.")
