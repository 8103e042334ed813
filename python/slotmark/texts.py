"""Files that people write and get from others: read whole and within a bound, without waiting for what never comes."""

import datetime
import errno
import json
import os
import stat
import tomllib
from pathlib import Path
from typing import Any

from slotmark.numbers import mebibytes

MOST_TOML_BYTES = 16 << 20
"""Far more than any TOML file that slotmark reads."""

_OF_THE_KERNEL = tuple(map(Path, ("/proc", "/sys", "/dev")))
_IN_MEMORY = Path("/dev/shm")
"""There files are plain ones."""


def is_of_the_kernel(path: Path) -> bool:
    """Returns whether a path leads to files of the kernel, as in /proc: reading there may wait forever."""
    real = path.resolve()
    return any(real.is_relative_to(place) for place in _OF_THE_KERNEL) and not real.is_relative_to(_IN_MEMORY)


def content_of(file: Path, most_bytes: int) -> bytes:
    """Returns the content of a file, or of a pipe that somebody writes.

    Raises:
        OSError: It can't be read, is a device or a file of the kernel, or has more bytes.
    """
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        mode = os.fstat(descriptor).st_mode
        if not (stat.S_ISFIFO(mode) or (stat.S_ISREG(mode) and not is_of_the_kernel(file))):
            raise OSError(errno.EINVAL, "a folder" if stat.S_ISDIR(mode) else "not a file", str(file))
        # A pipe is waited for where it has a writer; where it has none, it is at its end.
        os.set_blocking(descriptor, True)
        content = bytearray()
        while part := os.read(descriptor, 1 << 20):
            content += part
            if len(content) > most_bytes:
                raise OSError(errno.EFBIG, f"more than {mebibytes(most_bytes)}", str(file))
    finally:
        os.close(descriptor)
    return bytes(content)


def read_toml(file: Path) -> dict[str, Any]:
    """Returns what a TOML file holds.

    Raises:
        OSError: As :func:`content_of`.
        tomllib.TOMLDecodeError: As :func:`parsed_toml`; UnicodeDecodeError where it is no UTF-8.
    """
    return parsed_toml(toml_text(file))


def toml_text(file: Path) -> str:
    """Returns the text of a TOML file.

    Raises:
        OSError: As :func:`content_of`.
        UnicodeDecodeError: It is no UTF-8.
    """
    return content_of(file, MOST_TOML_BYTES).decode("utf-8").replace("\r\n", "\n")


def parsed_toml(text: str) -> dict[str, Any]:
    """Returns what a text of TOML holds.

    Raises:
        tomllib.TOMLDecodeError: It is no TOML, or nested deeper than any reader goes.
    """
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError("nested too deep") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as error:  # as of a number with thousands of digits
        raise tomllib.TOMLDecodeError(str(error)) from None


def dates_as_text(value: Any) -> Any:
    """Returns the content of TOML, with dates as ``2026-12-31``."""
    match value:
        case dict():
            return {name: dates_as_text(one) for name, one in value.items()}
        case list():
            return [dates_as_text(one) for one in value]
        case datetime.date():
            return value.isoformat()[:10]
        case _:
            return value


def toml_value(value: object) -> str:
    """A value as TOML has it: a text, a number with five digits, a list of texts."""
    if isinstance(value, float):
        return repr(float(f"{value:.5g}"))
    # TOML's basic strings have JSON's escapes, and forbid the control characters that JSON leaves as they are.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
