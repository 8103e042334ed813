"""Logs in pieces, which can be read wherever the logs lie: a look at each file, the reading of a piece, and the merge of all.

What travels is what a look found, the parts of tables that a piece made, and the account of their lines. Tables are the same bytes for any
number of pieces, read in any order.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from slotmark import _core
from slotmark.benches.cluster.ingesting import tracing
from slotmark.benches.cluster.ingesting.ingested import Ingested
from slotmark.benches.cluster.ingesting.logs import HostLog
from slotmark.engine import Piece, Progress
from slotmark.stores import Ranges

PIECE_BYTES = 128 << 20
"""Bytes of logs of a piece, where pieces go to machines: few enough that its tables are held in memory, and that what is lost with one is little."""

_ELSEWHERE = Ranges()


class Surveyed(msgspec.Struct, frozen=True):
    """Facts about a log file before it is read.

    Attributes:
        file: What decides how logs are cut, and by what the file is known again: its host, place, size, dialect, first line and so on;
            ``slotmark_tracelog::Surveyed`` as JSON.
        limits: Counted messages that the node logs only so many times per second, by its configuration or the beginning of the file.
    """

    file: str
    limits: dict[str, float]

    @property
    def anywhere(self) -> str:
        """The file as machines have it in common: copies of it have times of their own."""
        known = msgspec.json.decode(self.file)
        return msgspec.json.encode({name: value for name, value in known.items() if name != "modified_ns"}).decode()

    @property
    def place(self) -> "LogFile":
        """The place of the file."""
        return msgspec.json.decode(self.file, type=LogFile)


class LogFile(msgspec.Struct, frozen=True, order=True):
    """A log file that was looked at.

    Attributes:
        host: Whose it is.
        path: Its path or URL.
        bytes: Its size.
        at: The host that can read it, where only that one can; else empty.
    """

    host: str
    path: str
    bytes: int
    at: str = ""


def surveyed(log: HostLog, url: str = "", at: str = "") -> Surveyed:
    """Looks at the ends of a host's log file. LogError or OSError where it can't be read.

    Args:
        log: The file.
        url: Of the file itself, where ``log`` is only the beginning of one in a store.
        at: The host that can read it, where only that one can.
    """
    limits = tracing.limits([log])
    return Surveyed(_core.survey_log(log.host, url or str(log.path), at, _ELSEWHERE), limits)


def survey(logs: Sequence[HostLog], at: str = "") -> list[Surveyed]:
    """Looks at log files of this machine. LogError or OSError where one can't be read."""
    return [surveyed(log, at=at) for log in logs]


def limits_of(found: Sequence[Surveyed]) -> dict[str, float]:
    """Counted messages that nodes log only a limited number of times per second, each with the least limit of a node."""
    least: dict[str, float] = {}
    for one in found:
        for message, most in one.limits.items():
            least[message] = min(least.get(message, most), most)
    return least


def pieces_of(
    found: Sequence[Surveyed], host_from: str, tables: Path, threads: int, pieces: int | None = None
) -> list[Piece[list[str]]]:
    """Returns the pieces that logs are read in; those of few files may be empty.

    Args:
        found: What is known of all files.
        host_from: Whether the host of a line is its file's, or what its field ``host`` says.
        tables: Where the parts of tables are wanted.
        threads: How many segments of files a piece reads at once.
        pieces: The number of pieces, of about as many bytes each, which calls on any machines with the same logs share; None for some of about `PIECE_BYTES`, where each host has its own. A host's
            files are in one piece where it has several, since they may overlap; a large one may be in several pieces.
    """
    if pieces is None:
        files = [one.file for one in found]
        places = [one.place for one in found]
        sizes = {at: sum(one.bytes for one in places if one.at == at) for at in sorted({one.at for one in places})}
        shares = [(at, -(-size // PIECE_BYTES) or 1) for at, size in sizes.items()]
    else:
        files = [one.anywhere for one in found]
        shares = [("", pieces)]
    return [
        Piece(
            work=accounts,
            inputs=(files, at, number, of, host_from),
            how={"threads": threads},
            folder=tables,
            label=f"piece {number + 1} of {of} of the logs{at and f' of {at}'}" if of > 1 or at else "",
            host=at,
        )
        for at, of in shares
        for number in range(of)
    ]


def accounts(
    survey: list[str], at: str, number: int, of: int, host_from: str, *, folder: Path, threads: int, progress: Progress
) -> list[str]:
    """Reads a piece of the surveyed logs that lie at a host, and writes its parts of tables into a folder.

    Returns:
        The account of each part: ``slotmark_tracelog::Account`` as JSON.

    Raises:
        LogError: A file can't be read, or isn't the one that was surveyed.
    """
    return _core.read_logs(survey, at, number, of, host_from == "field", str(folder), threads, progress, _ELSEWHERE)


def merged_accounts(found: Sequence[Surveyed], pieces: Iterable[list[str]], tables: Path) -> Ingested:
    """Adds up what pieces gave, and writes the tables of all lines beside the parts.

    Raises:
        LogError: A file is there twice, or the accounts aren't those of all parts.
    """
    text = _core.merge_logs([one.file for one in found], [one for piece in pieces for one in piece], str(tables))
    return msgspec.json.decode(text, type=Ingested)
