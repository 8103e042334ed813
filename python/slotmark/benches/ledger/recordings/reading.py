"""Reading one file, whatever tool and age it is from."""

import hashlib
from pathlib import Path

import msgspec

from slotmark.benches.ledger.recordings.json_records import is_json, read_json
from slotmark.benches.ledger.recordings.recorded import Recorded, checked_order, refuse
from slotmark.benches.ledger.recordings.replay_lines import is_replay, read_replay
from slotmark.benches.ledger.recordings.tab_separated import is_tab_separated, read_tab_separated
from slotmark.run import SourceFile
from slotmark.texts import content_of

MOST_BYTES = 4 << 30
"""The largest recording: it is read whole."""


class Source(msgspec.Struct, frozen=True):
    """A file that was read: its process, and the file itself for the manifest."""

    recorded: Recorded
    file: SourceFile


def read_file(path: Path) -> Source:
    """The process that a file of db-analyser, of beacon, or of JSON lines by docs/replay.md records. The content decides what it is, not the extension.

    Raises:
        ImportFileError: The file can't be read, is empty, cut or damaged, or no such record.
    """
    name = str(path)
    try:
        data = content_of(path, MOST_BYTES)
    except OSError as error:
        refuse(name, f"can't be read ({error.strerror})", "Name a file of db-analyser or beacon.")
    if not data.strip():
        refuse(name, "an empty file", "Nothing was recorded: record it again.")
    try:
        recorded = _recorded(name, data)
    except RecursionError:
        refuse(
            name, "values inside of values, hundreds deep", "The file is damaged: copy it again, or record it again."
        )
    return Source(checked_order(recorded), SourceFile(name, len(data), hashlib.sha256(data).hexdigest()))


def _recorded(name: str, data: bytes) -> Recorded:
    if is_replay(data):
        return read_replay(name, data)
    if is_json(data):
        return read_json(name, data)
    if is_tab_separated(data):
        return read_tab_separated(name, data)
    start = data[:40].decode("utf-8", "replace").splitlines()[0]
    return refuse(
        f"{name}, line 1",
        f"neither JSON nor a table with 'slot' on top, but '{start}'",
        "Import what db-analyser --benchmark-ledger-ops, beacon, or an engine by docs/replay.md wrote.",
    )
