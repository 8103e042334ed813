"""Files that people write and get from others, read within a bound and without waiting for what never comes."""

import os
import subprocess
import threading
import tomllib
from pathlib import Path

import pytest

from slotmark.texts import content_of, read_toml


def test_a_file_and_a_pipe_that_somebody_writes_are_read(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_bytes(b'a = "1"\r\nb = [2]\r\n')
    assert read_toml(file) == {"a": "1", "b": [2]}
    assert content_of(file, 20) == file.read_bytes()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["sh", "-c", f"sleep 0.2; echo x = 3 > {pipe}"]) as writer:
        held = os.open(pipe, os.O_RDWR)  # so that it has a writer from the first moment on
        threading.Timer(0.5, os.close, [held]).start()
        assert read_toml(pipe) == {"x": 3}
        writer.wait()


@pytest.mark.parametrize("what", ["nobody writes it", "a device", "the kernel's", "a folder", "too long"])
def test_what_is_no_file_or_never_ends_is_refused(what: str, tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    match what:
        case "nobody writes it":
            os.mkfifo(file)
            assert content_of(file, 10) == b""
            return
        case "a device":
            file.symlink_to("/dev/zero")
        case "the kernel's":
            file.symlink_to("/proc/kmsg" if os.access("/proc/kmsg", os.R_OK) else "/proc/self/status")
        case "a folder":
            file.mkdir()
        case _:
            file.write_bytes(b"x" * 11)
    with pytest.raises(OSError, match=r"a folder|not a file|more than"):
        content_of(file, 10)


@pytest.mark.parametrize("text", ["a = " + "[" * 100_000, "a = " + "1" * 5_000, "a = {" * 50_000, "a"])
def test_toml_that_no_reader_takes_is_no_toml(text: str, tmp_path: Path) -> None:
    """Deep nesting was a RecursionError, and a long number a ValueError: tracebacks."""
    file = tmp_path / "a.toml"
    file.write_text(text)
    with pytest.raises(tomllib.TOMLDecodeError):
        read_toml(file)
