"""The code that draws charts in reports: Vega and its embedding, from the library that ships them. Nothing is fetched."""

import hashlib
import os
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

import vl_convert


@cache
def vega() -> str:
    """Vega and its embedding as one script, which makes ``window.vegaEmbed``.

    Bundling takes 3 s of CPU time and gives the same for one version of the library, so that it is kept below ``$XDG_CACHE_HOME`` or
    ``~/.cache``, behind its digest. Where nothing can be kept, it is bundled each time.
    """
    file = _kept_file()
    if file and (kept := _read(file)):
        return kept
    script = vl_convert.javascript_bundle()  # pyright: ignore[reportCallIssue] - its stub wants what it does not need
    if file:
        _write(file, script)
    return script


def _kept_file() -> Path | None:
    named = os.environ.get("XDG_CACHE_HOME", "")
    try:
        # A relative path is to be ignored, by the XDG Base Directory Specification.
        folder = Path(named) if named.startswith("/") else Path.home() / ".cache"
    except RuntimeError:  # no home folder is known
        return None
    return folder / "slotmark" / f"vega-embed-{version('vl-convert-python')}.js"


def _read(file: Path) -> str | None:
    """Returns the kept picture; None where there is none, or the file is damaged."""
    try:
        digest, _, script = file.read_bytes().partition(b"\n")
    except OSError:
        return None
    return script.decode() if digest == _digest(script) else None


def _write(file: Path, script: str) -> None:
    partial = file.with_name(f".{file.name}.{os.getpid()}.partial")
    content = script.encode()
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            partial.write_bytes(_digest(content) + b"\n" + content)
            partial.rename(file)
        finally:
            partial.unlink(missing_ok=True)


def _digest(script: bytes) -> bytes:
    return f"// SHA-256 of what follows: {hashlib.sha256(script).hexdigest()}".encode()
