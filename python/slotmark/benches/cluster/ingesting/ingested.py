"""Results of the lines of logs, as compiled code counts them."""

import msgspec

from slotmark.run import SourceFile


class Host(msgspec.Struct):
    """Results of a host's logs; as ``slotmark_tracelog::HostFacts``."""

    host: str
    lines: int
    kept: int
    rejected: int
    repeated: int
    backwards: int
    short_hashes: int
    late: int
    node: str
    version: str
    revision: str
    compiler: str
    first_ts_ns: int | None = None
    last_ts_ns: int | None = None
    names: list[str] = []
    takes_turns: bool = False


class Rejection(msgspec.Struct):
    """A line that couldn't be read."""

    file: str
    line: int
    offset: int
    reason: str
    text: str


class DamagedFile(msgspec.Struct):
    """A packed file that can't be read to its end: from byte `at` on, `unread_bytes` packed bytes."""

    host: str
    file: str
    at: int
    unread_bytes: int
    what: str


class Ingested(msgspec.Struct):
    """Results of the lines; as ``slotmark_tracelog::Ingested``."""

    tables: dict[str, int]
    hosts: list[Host]
    sources: list[SourceFile]
    lines: int
    rejected: int
    reasons: list[tuple[str, int]]
    first_rejections: list[Rejection]
    bytes: int
    damaged: list[DamagedFile] = []
