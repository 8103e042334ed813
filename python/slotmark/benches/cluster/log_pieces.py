"""Logs in pieces, which can be read wherever the logs lie: a look at each file, the reading of a piece, and the merge of all.

What travels is what a look found, the parts of tables that a piece made, and the account of their lines. Tables are the same bytes for any
number of pieces, read in any order.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from slotmark import _core
from slotmark.benches.cluster import tracing
from slotmark.benches.cluster.ingested import Ingested
from slotmark.benches.cluster.logs import HostLog
from slotmark.engine import Piece, Progress, local


class Surveyed(msgspec.Struct, frozen=True):
    """What is known of a log file before it is read.

    Attributes:
        file: What decides how logs are cut: its host, path, size, dialect and first line; ``slotmark_tracelog::Surveyed`` as JSON.
        limits: Counted messages that the node logs only so many times per second, by its configuration or the beginning of the file.
    """

    file: str
    limits: dict[str, float]


def surveyed(host: str, path: str) -> Surveyed:
    """Looks at the ends of a host's log file. LogError or OSError where it can't be read."""
    limits = tracing.limits([HostLog(host, Path(path))])
    return Surveyed(_core.survey_log(host, path), limits)


def survey(logs: Sequence[HostLog]) -> list[Surveyed]:
    """Looks at log files of this machine. LogError or OSError where one can't be read."""
    return local([Piece(work=surveyed, inputs=(log.host, str(log.path)), label="") for log in logs], list, workers=1)


def limits_of(found: Sequence[Surveyed]) -> dict[str, float]:
    """Counted messages that nodes log only a limited number of times per second, each with the least limit of a node."""
    least: dict[str, float] = {}
    for one in found:
        for message, most in one.limits.items():
            least[message] = min(least.get(message, most), most)
    return least


def pieces_of(
    found: Sequence[Surveyed], pieces: int, host_from: str, tables: Path, threads: int
) -> list[Piece[list[str]]]:
    """Returns the pieces that logs are read in; those of few files may be empty.

    Args:
        found: What is known of all files.
        pieces: The number of pieces, of about as many bytes each. A host's files are in one piece where it has several, since they may overlap;
            a large one may be in several pieces.
        host_from: Whether the host of a line is its file's, or what its field ``host`` says.
        tables: Where the parts of tables are wanted.
        threads: How many segments of files a piece reads at once.
    """
    files = [one.file for one in found]
    return [
        Piece(
            work=accounts,
            inputs=(files, number, pieces, host_from),
            how={"threads": threads},
            folder=tables,
            label=f"piece {number + 1} of {pieces} of the logs" if pieces > 1 else "",
        )
        for number in range(pieces)
    ]


def accounts(
    survey: list[str], number: int, of: int, host_from: str, *, folder: Path, threads: int, progress: Progress
) -> list[str]:
    """Reads a piece of surveyed logs, and writes its parts of tables into a folder.

    Returns:
        The account of each part: ``slotmark_tracelog::Account`` as JSON.

    Raises:
        LogError: A file can't be read, or isn't the one that was surveyed.
    """
    return _core.read_logs(survey, number, of, host_from == "field", str(folder), threads, progress)


def merged_accounts(found: Sequence[Surveyed], pieces: Iterable[list[str]], tables: Path) -> Ingested:
    """Adds up what pieces gave, and writes the tables of all lines beside the parts.

    Raises:
        LogError: A file is there twice, or the accounts aren't those of all parts.
    """
    text = _core.merge_logs([one.file for one in found], [one for piece in pieces for one in piece], str(tables))
    return msgspec.json.decode(text, type=Ingested)
