"""Lines of errors that several commands have."""

import errno
import os
from pathlib import Path

import pytest

from slotmark.errors import unwritten
from tests.conftest import slotmark
from tests.made_up_runs import write_run


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "Make room, and run the same command again."),
        (errno.EFBIG, "Make room, and run the same command again."),
        (errno.ENOTDIR, "Choose another -o."),
        (errno.EACCES, "Make the folder writable, or choose another -o."),
    ],
)
def test_the_remedy_helps_against_what_keeps_a_place_from_being_written(number: int, words: str) -> None:
    error = OSError(number, os.strerror(number))
    assert unwritten("out", error) == f"out: can't be written ({os.strerror(number)}). {words}"
    if number == errno.ENOTDIR:
        words = "Make the folder writable, and continue with --resume."
    at = words.replace("run the same command again", "continue with --resume").replace(
        "or choose another -o", "and continue with --resume"
    )
    assert unwritten("out", error, "", "continue with --resume").endswith(f". {at}")


def test_a_file_in_the_place_of_a_folder_is_no_matter_of_room(tmp_path: Path) -> None:
    """It was "Choose another -o, or make room"."""
    write_run(tmp_path / "run", "client", {"decode, sequential": [1_000.0, 1_010.0]})
    (tmp_path / "file").touch()
    done = slotmark("samples", "run", "blocks_per_s", "-o", "file/x.csv", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "slotmark: file/x.csv: can't be written (File exists). Choose another -o.\n"
