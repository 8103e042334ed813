"""Simulated clusters: profiles by name or file, what they predict, and run directories like those of real nodes."""

import functools
import statistics
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from slotmark import _core
from slotmark.cores import usable_cores
from slotmark.engine import Piece, Progress, local
from slotmark.errors import SimulationError, did_you_mean
from slotmark.texts import parsed_toml, toml_text

PROFILES = Path(__file__).parents[1] / "profiles"
"""The shipped profiles."""

ANSWER = "0.95 adoption"
"""The row that is put into words. No published table has it: it lies between 0.94 and 0.96 adoption."""


def _rows(table: str) -> tuple[str, ...]:
    return tuple(name for of, name in _core.predicted_metrics() if of == table and name != ANSWER)


PEER_ROWS = _rows("Individual peer propagation")
"""The rows of the published table of individual peer propagation."""

END_TO_END_ROWS = _rows("End-to-end propagation")
"""The rows of the published table of end-to-end propagation."""

OFFERED = ("load", "workload.load")
"""Keys of settings that are other words for ``workload.tps``, by the bytes of transactions."""

FITTED = ("value-only-10.5", "value-only-10.6-pre", "value-only-10.2", "value-only-10.2-utxohd")
"""The profiles on whose published columns the free parameters were fitted."""

HELD_OUT = ("plutus-loop-10.5", "plutus-loop-10.5.4")
"""The profiles that take the fitted network unchanged."""

DERIVED = ("value-only-10.5.4", "plutus-loop-10.2", "plutus-loop-10.2-utxohd", "plutus-loop-10.6-pre")
"""The profiles that no report has: stages scaled from the version's other workload (docs/simulator.md); never validated."""

LIVE = (
    "value-only-5",
    "plutus-5",
    "plutus-52",
    "budget-x1.5",
    "budget-x2",
    "secp-5",
    "ripemd-5",
    "bls-5",
    "expmod-5",
    "msm-5",
    "utxohd-5",
    "mixed-5",
    "voting-5",
    "relays-6",
)
"""The profiles made for live clusters: no report has them, and their stages are assumed."""

VALIDATION_SEEDS = 5
"""Simulations that a validation averages: with one, the end-to-end rows vary by up to 1 % from seed to seed."""

MOST_WORKERS = 8
"""Simulations at a time, at the most: each holds a whole run in memory."""


class RunFacts(msgspec.Struct, frozen=True):
    """The facts of a simulated run directory."""

    hosts: int
    slots: int
    blocks_forged: int
    blocks_chained: int
    lines: int
    bytes: int


class Row(msgspec.Struct, frozen=True):
    """A row of the published tables: `predicted` and `published` in s where they are times; `standard_error` over blocks, or over seeds where it is of several."""

    metric: str
    predicted: float | None
    standard_error: float | None
    published: float | None

    @property
    def relative_error(self) -> float | None:
        """Predicted against published, less 1; None where either is missing or the published value is 0."""
        if self.predicted is None or not self.published:
            return None
        return self.predicted / self.published - 1


class Tables(msgspec.Struct, frozen=True):
    """Tables that the established analysis would print for a simulation, from its true events."""

    blocks: int
    rejected: int
    orphaned: int
    rows: tuple[Row, ...]

    def row(self, metric: str) -> Row:
        """The row of a metric, by its published name. Raises KeyError where there is none."""
        for row in self.rows:
            if row.metric == metric:
                return row
        raise KeyError(metric)


@functools.cache
def shipped_profiles() -> tuple[str, ...]:
    """The names of the shipped profiles that can be simulated as they are: what others only share has no name of its own."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in PROFILES.glob("*.toml")}
    return tuple(sorted(stem for stem, text in texts.items() if "name" in tomllib.loads(text)))


def described_profiles() -> dict[str, str]:
    """Returns the description of each shipped profile, in a line, by its name."""
    return {
        name: str(tomllib.loads((PROFILES / f"{name}.toml").read_text(encoding="utf-8"))["description"])
        for name in shipped_profiles()
    }


def load_profile(profile: str | Path, settings: Sequence[str] = (), base: str | Path | None = None) -> str:
    """A profile as one TOML text: all that it extends, and `settings` (`key=value`) laid over it.

    Args:
        profile: a file, or the name of a shipped profile. What a file `extends` is looked for beside it, then among the shipped.
        settings: `ledger_tick.mean=33ms`; tables may be left out where that is unambiguous.
        base: what a file that `extends` nothing is laid over; None for nothing.

    Raises:
        SimulationError: a profile that is missing, extends itself, or makes no sense.
    """
    given, layers = _find(str(profile), None), [text for _, text in profile_layers(profile, base)]
    try:
        return _core.cluster_profile(layers, list(settings))
    except SimulationError as error:
        where = "" if given.parent == PROFILES.resolve() else f"{given}: "
        raise SimulationError(f"{where}{error}{_meant(layers, settings, str(error))}") from error


def profile_layers(profile: str | Path, base: str | Path | None = None) -> list[tuple[Path, str]]:
    """The files of a profile and their texts: what others extend comes first. Arguments and errors are those of ``load_profile``."""
    layers: list[tuple[Path, str]] = []
    seen: list[Path] = []
    given = _find(str(profile), None)
    if given.parent == PROFILES.resolve() and given.stem not in shipped_profiles():
        whole = [name for name in shipped_profiles() if name.startswith(given.stem)] or shipped_profiles()
        raise SimulationError(f"{profile}: only what other profiles share; name one of {', '.join(whole)}.")
    path: Path | None = given
    while path is not None:
        if path in seen:
            raise SimulationError(
                f"{path}: extends itself; remove `extends` from one of {', '.join(p.name for p in seen)}."
            )
        seen.append(path)
        try:
            text = toml_text(path)
            extended = parsed_toml(text).get("extends", base if path == given else None)
        except (OSError, UnicodeDecodeError) as error:
            raise SimulationError(f"{path}: {error}; expected a profile, TOML in UTF-8.") from error
        except tomllib.TOMLDecodeError as error:
            raise SimulationError(f"{path}: {error}; mend the TOML.") from error
        layers.insert(0, (path, text))
        path = _find(str(extended), path) if extended is not None else None
    return layers


def extended_profile(profile: str | Path) -> tuple[str, str]:
    """The name of the profile that a profile's file extends, and that profile as one TOML text.

    Raises:
        SimulationError: There is no such file, it extends nothing, or only what profiles share.
    """
    path = _find(str(profile), None)
    extended = tomllib.loads(path.read_text(encoding="utf-8")).get("extends")
    if extended is None:
        raise SimulationError(f"{profile}: extends nothing.")
    return str(extended), load_profile(_find(str(extended), path))


def _meant(layers: Sequence[str], settings: Sequence[str], said: str) -> str:
    """Returns the parameter that the setting probably means that an error says is unknown; empty where it says something else, or the profile is wrong by itself."""
    try:
        known = parameters(tomllib.loads(_core.cluster_profile(list(layers), [])))
    except SimulationError:
        return (
            " A file that leaves things out needs a base: `extends`, or --against PROFILE." if len(layers) == 1 else ""
        )
    names = {
        name
        for path in (*known, OFFERED[-1])
        for name in (path, *(path.split(".", place)[-1] for place in range(1, path.count(".") + 1)))
    }
    keys = (setting.partition("=")[0].rstrip("* ").strip() for setting in settings)
    return next((did_you_mean(key, names) for key in keys if f"`{key}`" in said and key not in names), "")


def parameters(table: dict[str, Any], before: str = "") -> dict[str, Any]:
    """All values of a profile by their full names, those of lists of tables too: ``network.rtt[0].mean``."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        path = f"{before}{key}"
        if isinstance(value, dict):
            found |= parameters(value, f"{path}.")
        elif isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
            for place, one in enumerate(value):
                found |= parameters(one, f"{path}[{place}].")
        else:
            found[path] = value
    return found


def _find(name: str, extended_by: Path | None) -> Path:
    candidates = [Path(name), PROFILES / f"{name}.toml"]
    if extended_by is not None:
        candidates[:0] = [extended_by.parent / name, extended_by.parent / f"{name}.toml"]
    for candidate in candidates:
        if candidate.is_file():
            return candidate.resolve()
    where = f"{extended_by}: extends " if extended_by is not None else ""
    raise SimulationError(
        f"{where}{name}: no such profile.{did_you_mean(name, shipped_profiles())} Write a file, or one of {', '.join(shipped_profiles())}."
    )


def simulate(profile_toml: str, seed: int, out: Path, progress: Progress) -> RunFacts:
    """Simulates a profile into a new run directory: logs, metadata, and `truth.jsonl` (docs/simulator.md).

    Raises:
        SimulationError: a profile that makes no sense, or a directory that exists.
    """
    return msgspec.json.decode(_core.simulate(profile_toml, seed, str(out), progress), type=RunFacts)


def tables(profile_toml: str, seed: int, progress: Progress) -> Tables:
    """Returns the published tables for a profile, simulated once and without logs. SimulationError where the profile makes no sense."""
    return msgspec.json.decode(_core.simulate_tables(profile_toml, seed, progress), type=Tables)


def predict(profile_toml: str, seeds: Sequence[int], progress: Progress) -> Tables:
    """Returns the published tables for a profile: simulated without logs, once a seed, the rows averaged.

    Returns:
        Counts are sums over the seeds; a row's standard error is that of the average, over seeds: each draws hosts' speeds and links
        anew, which blocks of one seed share. Of one seed it is over its blocks.

    Raises:
        SimulationError: a profile that makes no sense, or no seed.
    """
    if not seeds:
        raise SimulationError("no seed: expected at least one.")
    pieces = [Piece(work=tables, inputs=(profile_toml, seed), label=f"seed {seed}") for seed in seeds]
    return local(pieces, _averaged, progress, workers_for(len(pieces)))


def workers_for(simulations: int) -> int:
    """Returns how many of these simulations run at a time on this machine."""
    return max(1, min(simulations, MOST_WORKERS, usable_cores()))


def _averaged(runs: Iterable[Tables]) -> Tables:
    runs = list(runs)
    return Tables(
        blocks=sum(run.blocks for run in runs),
        rejected=sum(run.rejected for run in runs),
        orphaned=sum(run.orphaned for run in runs),
        rows=tuple(_average(rows) for rows in zip(*(run.rows for run in runs), strict=True)),
    )


def _average(rows: Sequence[Row]) -> Row:
    values = [row.predicted for row in rows if row.predicted is not None]
    if len(values) < 2:
        return next((row for row in rows if row.predicted is not None), rows[0])
    return Row(
        metric=rows[0].metric,
        predicted=sum(values) / len(values),
        standard_error=statistics.stdev(values) / len(values) ** 0.5,
        published=rows[0].published,
    )
