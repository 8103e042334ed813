"""db-analyser's JSON, which is objects one after the other without anything between them, and beacon's run files."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from slotmark.benches.ledger.recordings.recorded import (
    DIGITS,
    FIELDS,
    LARGEST,
    NEEDED,
    STATISTICS,
    Facts,
    Recorded,
    refuse,
    statistics_columns,
)
from slotmark.cleaning import one_line

_SPACE = re.compile(r"\s*")
_CUT = "The file was cut in the middle: copy it again, or record it again."
_DAMAGED = "The file is damaged: copy it again, or record it again."
_AS_WRITTEN = "Use the file as db-analyser or beacon wrote it."
_HASHES = ("blockHash", "hash")
_MODES = {"Apply": "full-application", "Reapply": "reapplication"}


def is_json(data: bytes) -> bool:
    """True for a file that looks like JSON."""
    return data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")


def read_json(path: str, data: bytes) -> Recorded:
    """The process that a file of db-analyser or beacon in JSON records.

    Args:
        path: Its name, for errors.
        data: All of it.

    Raises:
        ImportFileError: It isn't whole, or a block lacks a figure that others have, or has one that is no whole number.
    """
    try:
        text = data.removeprefix(b"\xef\xbb\xbf").decode()
    except UnicodeDecodeError as error:
        refuse(f"{path}, byte {error.start}", "not UTF-8", _DAMAGED)
    values = list(_values(path, text))
    first = values[0]
    if isinstance(first, dict) and "data" in first:
        if len(values) > 1:
            refuse(path, f"{len(values)} runs in one file", "One file is one process: split it.")
        return _beacon(path, first)
    if isinstance(first, list):
        if len(values) > 1:
            refuse(path, f"{len(values)} lists in one file", "One file is one process: split it.")
        return _recorded(path, "beacon, data points", first, Facts())
    about = [index for index, value in enumerate(values) if isinstance(value, dict) and "slot" not in value]
    if about not in ([], [0]):
        refuse(
            f"{path}, JSON value {about[-1] + 1}",
            "a second object about the process, or a block without 'slot'",
            "One file is one process: split it.",
        )
    facts = _of_analyser(first) if about else Facts()
    return _recorded(path, "db-analyser, JSON", values[len(about) :], facts)


def _values(path: str, text: str) -> Iterator[Any]:
    """The values in a text, one after the other."""
    decoder, place, count = json.JSONDecoder(), 0, 0
    while (place := _end_of_space(text, place)) < len(text):
        try:
            value, place = decoder.raw_decode(text, place)
        except json.JSONDecodeError as error:
            # What is left out at the end shows as an error there, or as a string without an end.
            cut = error.pos >= len(text.rstrip()) - 1 or error.msg.startswith("Unterminated")
            refuse(
                f"{path}, JSON value {count + 1}", f"not JSON at character {error.pos + 1}", _CUT if cut else _DAMAGED
            )
        except ValueError:
            refuse(f"{path}, JSON value {count + 1}", "a figure of thousands of digits", _DAMAGED)
        count += 1
        yield value


def _end_of_space(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place


def _beacon(path: str, run: Mapping[str, Any]) -> Recorded:
    points, meta, stats = run["data"], run.get("meta"), run.get("processStats")
    if not isinstance(points, list):
        refuse(path, "'data' is no list of blocks", _AS_WRITTEN)
    meta = meta if isinstance(meta, dict) else {}
    stats = stats if isinstance(stats, dict) else {}
    version, commit = _within(meta, "version"), _within(meta, "commit")
    peak = stats.get("statsMaxResidentSetSize")
    if type(peak) is int and not 0 <= peak <= LARGEST:
        refuse(path, f"{str(peak)[:40]} as 'statsMaxResidentSetSize' is no number of bytes", _DAMAGED)
    limits = ", ".join(f"{name} {value}" for name, value in _within(meta, "memLimit").items() if value)
    facts = Facts(
        compiler=_text(version.get("verCompiler")),
        commit=_text(commit.get("ciCommitSHA1")) or _text(version.get("verGitRef")),
        mode=_MODES.get(_tag(meta.get("apply")), _tag(meta.get("apply"))),
        backend=_tag(meta.get("backend")),
        chain=_text(meta.get("chain")),
        host=_text(meta.get("host")),
        runtime=one_line(limits),
        started=_text(meta.get("date")),
        peak_bytes=peak if type(peak) is int else None,
    )
    return _recorded(path, "beacon run", points, facts)


def _of_analyser(about: Mapping[str, Any]) -> Facts:
    runtime = ", ".join(f"{name} {about[name]}" for name in about if name.startswith("rts"))
    return Facts(
        compiler="-".join(filter(None, (_text(about.get("compilerName")), _text(about.get("compilerVersion"))))),
        commit=_text(about.get("gitRevison")) or _text(about.get("gitRevision")),  # db-analyser misspells it
        mode=_text(about.get("ledgerApplicationMode")),
        system=" ".join(filter(None, (_text(about.get("operatingSystem")), _text(about.get("machineArchitecture"))))),
        runtime=one_line(runtime),
    )


def _recorded(path: str, form: str, points: Sequence[Any], facts: Facts) -> Recorded:
    if not points:
        refuse(path, "it holds no blocks", "Nothing was recorded, or the file was cut: record it again.")
    first = points[0]
    if not isinstance(first, dict):
        refuse(f"{path}, block 1", "not an object", _AS_WRITTEN)
    for name in NEEDED:
        if name not in first:
            refuse(f"{path}, block 1", f"there is no '{name}'", "Import what db-analyser --benchmark-ledger-ops wrote.")
    names = first.keys()
    for index, point in enumerate(points):
        if not isinstance(point, dict) or point.keys() != names:
            _refuse_block(f"{path}, block {index + 1}", point, names)
    columns = {
        FIELDS[name]: _numbers(path, name, [point[name] for point in points]) for name in names if name in FIELDS
    }
    if "blockStats" in names:
        columns |= statistics_columns(
            [_statistics(path, index, point["blockStats"]) for index, point in enumerate(points)]
        )
    hashed = next((name for name in _HASHES if name in names), None)
    return Recorded(
        path=path,
        format=form,
        place="block",
        first=1,
        columns=columns,
        hashes=[one_line(str(point[hashed])) for point in points] if hashed else None,
        unknown=tuple(name for name in names if name not in FIELDS and name not in ("blockStats", *_HASHES)),
        facts=facts,
    )


def _numbers(path: str, name: str, figures: list[Any]) -> np.ndarray:
    if not {*map(type, figures)} <= {int} or min(figures) < 0 or max(figures) > LARGEST:
        for index, figure in enumerate(figures):
            if type(figure) is not int or not 0 <= figure <= LARGEST:
                refuse(
                    f"{path}, block {index + 1}",
                    f"'{str(figure)[:40]}' as '{name}' is no whole number from 0 on",
                    f"Times are whole microseconds. {_AS_WRITTEN}",
                )
    return np.array(figures, dtype=np.int64)


def _statistics(path: str, index: int, figures: Any) -> list[int]:
    """The era's own figures, which JSON holds as strings."""
    if isinstance(figures, list) and len(figures) <= len(STATISTICS):
        texts = [str(figure) for figure in figures]
        if all(text.isascii() and text.isdigit() and len(text) <= DIGITS and int(text) <= LARGEST for text in texts):
            return [int(text) for text in texts]
    return refuse(
        f"{path}, block {index + 1}",
        f"'{str(figures)[:60]}' as 'blockStats' is no list of at most {len(STATISTICS)} whole numbers",
        _AS_WRITTEN,
    )


def _refuse_block(where: str, point: Any, names: Any) -> None:
    if not isinstance(point, dict):
        refuse(where, "not an object", _AS_WRITTEN)
    missing, more = sorted(names - point.keys()), sorted(point.keys() - names)
    what = f"it lacks '{missing[0]}'" if missing else f"it has '{more[0]}'"
    refuse(where, f"{what}, unlike block 1", "One file is one process of one db-analyser: split it.")


def _within(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def _tag(value: Any) -> str:
    """A name, or what stands for it in an object with a single field."""
    return _text(next(iter(value), "") if isinstance(value, dict) else value)


def _text(value: Any) -> str:
    """A text of the file; JSON has escapes of halves of characters, which no table and no digest takes."""
    return one_line(value) if isinstance(value, str) else ""
