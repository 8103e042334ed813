"""A study: a folder of recorded files with a ``study.toml`` that has the target of each.

name = "ghc-and-branch"
interleaved = false          # true where processes of the targets took turns
[machine]                    # optional; where all files were recorded
cpu = "AMD Ryzen 7 2700X"
cores = 16
[[target]]
name = "9.6-baseline"
files = ["base-9.6-*.csv"]   # each one process; patterns are sorted by name
factors = { ghc = "9.6", branch = "baseline" }
"""

import tomllib
from pathlib import Path

import msgspec

from slotmark.benches.ledger.importing import Recording
from slotmark.benches.ledger.request import ImportRequest
from slotmark.benches.ledger.runs import UNKNOWN
from slotmark.errors import ArgumentError, ImportFileError
from slotmark.run import MachineFacts
from slotmark.texts import read_toml

NAME = "study.toml"


class _Machine(msgspec.Struct, forbid_unknown_fields=True):
    cpu: str
    cores: int = 0
    governor: str = "unknown"
    memory_bytes: int = 0
    kernel: str = "unknown"
    system: str = "unknown"
    virtualisation: str = "unknown"


class _Target(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    files: list[str]
    factors: dict[str, str | int | float] = {}
    commit: str = ""


class _Study(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    target: list[_Target]
    interleaved: bool = False
    machine: _Machine | None = None


class Study(msgspec.Struct, frozen=True):
    """A study, its files found.

    Attributes:
        name: What it calls itself; empty for files that are named one by one.
        recordings: One per target, in its order.
        machine: Where all was recorded.
        session: Its name where targets took turns; empty where they didn't.
    """

    name: str
    recordings: list[Recording]
    machine: MachineFacts
    session: str


def study_of(request: ImportRequest) -> Study:
    """The study in the folder that is asked for, or the one target whose files are.

    Raises:
        ArgumentError: A folder stands beside files, or beside options that its study has.
        ImportFileError: As of :func:`read_study`.
    """
    folders = [path for path in request.files if path.is_dir()]
    if not folders:
        name = request.target or request.out.name
        recording = Recording(target=name, files=request.files, factors=request.factors, out=request.out)
        return Study("", [recording], UNKNOWN, request.session)
    if len(request.files) > 1 or request.target or request.factors or request.session:
        raise ArgumentError(
            f"{folders[0]} is a folder: a study stands alone, and its study.toml names targets, factors and whether they took turns."
        )
    return read_study(folders[0], request.out)


def read_study(folder: Path, out: Path) -> Study:
    """The study in a folder.

    Args:
        folder: With ``study.toml`` and the files it names.
        out: Where to put one run folder per target.

    Raises:
        ImportFileError: There is no study, it has an unknown field, or a file it names isn't there.
    """
    file = folder / NAME
    try:
        study = msgspec.convert(read_toml(file), _Study)
    except OSError as error:
        raise ImportFileError(f"{file}: can't be read ({error.strerror}). A study's folder has a {NAME}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ImportFileError(f"{file}: not TOML ({error}). Correct it.") from error
    except msgspec.ValidationError as error:
        raise ImportFileError(f"{file}: {error}. docs/ledger.md shows what a study holds.") from error
    names = [target.name for target in study.target]
    for name in names:
        if names.count(name) > 1:
            raise ImportFileError(f"{file}: two targets are called '{name}'. Put their files into one.")
        if not name or "/" in name or name.startswith("."):
            raise ImportFileError(f"{file}: '{name}' can't be the name of a run's folder. Choose another.")
    recordings = [
        Recording(
            target=target.name,
            files=[found for pattern in target.files for found in _found(file, pattern)],
            factors={factor: str(level) for factor, level in target.factors.items()},
            out=out / target.name,
            commit=target.commit,
        )
        for target in study.target
    ]
    if not recordings:
        raise ImportFileError(f"{file}: it has no [[target]]. docs/ledger.md shows what a study holds.")
    machine = UNKNOWN
    if study.machine:
        machine = msgspec.structs.replace(UNKNOWN, **msgspec.structs.asdict(study.machine), hostname_hash=study.name)
    return Study(study.name, recordings, machine, study.name if study.interleaved else "")


def _found(study: Path, pattern: str) -> list[Path]:
    found = sorted(study.parent.glob(pattern))
    if not found:
        raise ImportFileError(f"{study}: '{pattern}' names no file in its folder. Correct the name or add the file.")
    return found
