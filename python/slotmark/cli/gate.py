"""The metrics that a gate looks at, with their margins."""

import tomllib
from pathlib import Path

from slotmark.cli.quantities import fraction
from slotmark.errors import ArgumentError


def read_gate(path: Path) -> dict[str, float]:
    """The margins of a gate's metrics, by metric id: a TOML file with lines as ``forge_ticked = "3%"``.

    Raises:
        ArgumentError: There is no such file, or it is no such TOML.
    """
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ArgumentError(f"--gate {path}: can't be read ({error.strerror}). Give a TOML file.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ArgumentError(f'--gate {path}: not TOML ({error}). Expected lines as forge_ticked = "3%".') from error
    if not entries:
        raise ArgumentError(f'--gate {path}: names no metric. Expected lines as forge_ticked = "3%".')
    return {metric: fraction(f"--gate {path}: {metric}", str(share)) for metric, share in entries.items()}
