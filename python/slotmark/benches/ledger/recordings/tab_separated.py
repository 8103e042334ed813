"""db-analyser's tab-separated files, which the beacon of 2023 kept as they were.

The header's last name, literally ``...era-specific stats``, stands for two or three further fields a row: rows are ragged.
"""

import io

import numpy as np

from slotmark.benches.ledger.recordings.recorded import (
    DIGITS,
    FIELDS,
    LARGEST,
    NEEDED,
    STATISTICS,
    Recorded,
    refuse,
    statistics_columns,
)

ERA = "...era-specific stats"
_NUMBERS = b"0123456789\t\n"
_FIRST_ROW = 2
_CUT = "The file was cut in the middle: copy it again, or record it again."


def is_tab_separated(data: bytes) -> bool:
    """True for a file that looks like a table with names on top."""
    return data.lstrip(b"\xef\xbb\xbf").startswith(b"slot")


def read_tab_separated(path: str, data: bytes) -> Recorded:
    """The process that a tab-separated file records.

    Args:
        path: Its name, for errors.
        data: All of it.

    Raises:
        ImportFileError: It isn't whole, a name is missing or there twice, or a row has a wrong number of fields or something
            that is no whole number.
    """
    head, _, body = data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").partition(b"\n")
    names = _names(path, head)
    if not body:
        refuse(path, "it has a header and no rows", "Nothing was recorded, or the file was cut: record it again.")
    if not body.endswith(b"\n"):
        last = _FIRST_ROW + body.count(b"\n")
        refuse(f"{path}, line {last}", "the last row doesn't end with a line end", _CUT)
    named = [name for name in names if name != ERA]
    most = len(named) + (len(STATISTICS) if ERA in names else 0)
    clean = not body.translate(None, _NUMBERS)
    rows, end = [], 0
    for index, line in enumerate(
        io.BytesIO(body)
    ):  # line by line: of a file that is none, no more is kept than up to its first fault
        end += len(line)
        row = line[:-1].split(b"\t")
        if not (clean and len(named) <= len(row) <= most and all(row) and len(max(row, key=len)) <= DIGITS):
            _refuse_row(f"{path}, line {_FIRST_ROW + index}", names, row, len(named), most, end == len(body))
        rows.append(row)
    columns = {}
    for place, name in enumerate(named):
        if name in FIELDS:
            columns[FIELDS[name]] = _numbers(path, name, [row[place] for row in rows])
    statistics = [[int(field) for field in row[len(named) :]] for row in rows]
    for index, row in enumerate(statistics):
        if row and max(row) > LARGEST:
            _too_large(f"{path}, line {_FIRST_ROW + index}", ERA)
    return Recorded(
        path=path,
        format="db-analyser, tab-separated",
        place="line",
        first=_FIRST_ROW,
        columns=columns | statistics_columns(statistics),
        unknown=tuple(name for name in named if name not in FIELDS),
    )


def _names(path: str, head: bytes) -> list[str]:
    names = head.decode("utf-8", "replace").split("\t")
    if len(names) == 1:
        refuse(
            f"{path}, line 1",
            f"no tab in the header '{names[0][:60]}'",
            "db-analyser separates by tabs, whatever the extension: use the file as it wrote it.",
        )
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        refuse(f"{path}, line 1", f"the column '{twice[0]}' is there twice", "Use the file as db-analyser wrote it.")
    for name in NEEDED:
        if name not in names:
            refuse(
                f"{path}, line 1",
                f"there is no column '{name}', only {', '.join(names)}",
                "Import a file that db-analyser --benchmark-ledger-ops wrote.",
            )
    if ERA in names[:-1]:
        refuse(f"{path}, line 1", f"'{ERA}' isn't the last column", "Use the file as db-analyser wrote it.")
    return names


def _numbers(path: str, name: str, fields: list[bytes]) -> np.ndarray:
    numbers = list(map(int, fields))
    if max(numbers) > LARGEST:
        _too_large(f"{path}, line {_FIRST_ROW + int(np.argmax([number > LARGEST for number in numbers]))}", name)
    return np.array(numbers, dtype=np.int64)


def _too_large(where: str, name: str) -> None:
    refuse(where, f"a figure of '{name}' is beyond 64 bits", "The file is damaged: record it again.")


def _refuse_row(where: str, names: list[str], row: list[bytes], fewest: int, most: int, last: bool) -> None:
    """Raises ImportFileError where something is wrong with a row."""
    if len(row) < fewest and last:
        refuse(where, f"{len(row)} fields of at least {fewest}", _CUT)
    if not fewest <= len(row) <= most:
        expected = str(fewest) if fewest == most else f"{fewest} to {most}"
        refuse(
            where,
            f"{len(row)} field{'s' if len(row) != 1 else ''}, expected {expected}",
            "Use the file as db-analyser wrote it.",
        )
    for place, field in enumerate(row):
        if not field.isdigit():
            name = names[min(place, len(names) - 1)]
            refuse(
                where,
                f"'{field.decode('utf-8', 'replace')[:40]}' in column '{name}' is no whole number from 0 on",
                "Times are whole microseconds: use the file as db-analyser wrote it.",
            )
        if len(field) > DIGITS:
            _too_large(where, names[min(place, len(names) - 1)])
