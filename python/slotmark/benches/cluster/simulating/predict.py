"""Predictions of a changed profile beside the unchanged one, and the effect of a parameter over a range.

Each variant becomes a run folder of the bench ``prediction``, one row per seed; comparing and reporting is as for any runs.
"""

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from slotmark.benches.cluster.simulating.model import (
    PREDICTED,
    Reach,
    differing,
    outside_of,
    outside_of_extended,
    reach,
    refuse_outside,
    refuse_settings,
)
from slotmark.benches.cluster.simulating.settings import moved_with, set_by
from slotmark.benches.cluster.simulating.simulate import OFFERED, Tables, load_profile, parameters, tables, workers_for
from slotmark.benches.cluster.sweep import Sweep, amount
from slotmark.engine import Engine, Piece, Progress, local
from slotmark.errors import SimulationError
from slotmark.metrics.catalogue import catalogue
from slotmark.metrics.predicted import CONFIDENCE, Replayed, names_of
from slotmark.numbers import plain
from slotmark.places import Place
from slotmark.run import Manifest, Run, RunWriter, Target
from slotmark.versions import slotmark_version, versions
from slotmark.warnings import Warning

BENCH = "prediction"

TOGETHER = "sweep"
"""The bench of a run that has the simulations of all variants."""

UNCHANGED = "unchanged"
"""The target of the profile as it is."""

_SHOWN = 5

_FILTERS = "published."
"""The table of a profile that states which blocks are analysed."""

_OTHER_BLOCKS = 0.1
"""The relative difference between shares of analysed blocks from which on a warning says that two variants are of other blocks."""


class Source(msgspec.Struct, frozen=True):
    """The source of a profile.

    Attributes:
        profile: A file, or the name of a shipped profile.
        base: What a file that extends nothing is laid over; None for nothing.
    """

    profile: str | Path
    base: str | Path | None = None

    def text(self, settings: Sequence[str] = ()) -> str:
        """The profile with settings, as one TOML text."""
        return load_profile(self.profile, settings, self.base)

    def values(self, settings: Sequence[str] = ()) -> dict[str, Any]:
        """All values of the profile with settings, by their full names."""
        return parameters(tomllib.loads(self.text(settings)))


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """A profile with settings, to be simulated once per seed.

    Attributes:
        source: The profile.
        name: What to call it.
        settings: ``key=value`` each.
        sweep: The step of a sweep that it is: parameter, unit, value, geometric; empty for none.
        warnings: What of it the model doesn't have, and what else a reader should know.
        replayed: Measured costs that its settings come from; None for none.
        ends: Its settings at the low and at the high ends of the intervals of what was measured.
    """

    source: Source
    name: str
    settings: tuple[str, ...]
    sweep: Mapping[str, Any] = {}
    warnings: tuple[Warning, ...] = ()
    replayed: Replayed | None = None
    ends: tuple[tuple[str, ...], ...] = ()


def predict_change(
    profile: str | Path,
    settings: Sequence[str],
    seeds: Sequence[int],
    folder: Path,
    progress: Progress,
    against: str | Path | None = None,
    engine: Engine = local,
    noted: Sequence[Warning] = (),
) -> list[Run]:
    """Predicts what a profile with settings does, and beside it the profile as it is, with the same seeds on both sides.

    Args:
        profile: A file, or the name of a shipped profile.
        settings: ``key=value`` each; where they change nothing but how long to run, there is nothing to compare with.
        seeds: One simulation each and side; the same seed draws the same leaders and stages on both sides.
        folder: Where the run folders are written.
        progress: Called with slots done and in all; may raise to stop.
        against: The profile beside it, in the place of the same one unchanged; a file that extends nothing is laid over it.
        engine: Does the simulations.
        noted: Warnings about the engine, for the manifest of each run.

    Returns:
        The run of the unchanged profile, or of ``against``, then that of the changed one; a single run where there is nothing to compare.

    Raises:
        SimulationError: A profile or setting that makes no sense, or isn't in the model; no seed, or no block to analyse.
    """
    source = Source(profile, against)
    beside = source if against is None else Source(against)
    refuse_settings(profile, settings, PREDICTED, against)
    was, now = beside.values(), source.values(settings)
    changed = differing(beside.text(), source.text(settings))
    # How long to run and which blocks to analyse are no change of what is predicted: both sides have them.
    set_here = {one: set_by(one, now) for one in settings}
    filters = {name for of_one in set_here.values() for name in of_one if name.startswith(_FILTERS)}
    common = [one for one in changed if one.startswith("run.") or one in filters]
    run = tuple(f"{name}={now[name]}" for name in common)
    moving = [name for name in changed if reach(name) is Reach.blocks and name not in common]
    of_extended = tuple(outside_of_extended(profile, PREDICTED))
    if not moving:
        if against is not None:
            outside = outside_of(str(against), changed, PREDICTED)
            texts = "".join(f" {one.text}" for one in outside)
            raise SimulationError(
                f"--against {against}: {profile} changes nothing of it that moves a block; name another profile.{texts}"
            )
        alone = Variant(source=source, name=str(was["name"]), settings=tuple(settings), warnings=of_extended)
        return simulated([alone], "", seeds, _numbered(folder), progress, engine=engine, noted=noted)
    asked = tuple(settings)
    named = ", ".join(
        one
        for one in asked
        if not set_here[one] or any(not name.startswith(("run.", _FILTERS)) for name in set_here[one])
    )
    if against is not None:
        named = ", ".join(filter(None, (Path(profile).name.removesuffix(".toml"), named)))
    warnings = of_extended if against is None else tuple(outside_of(str(was["name"]), changed, PREDICTED))
    variants = [
        Variant(source=beside, name=UNCHANGED if against is None else str(was["name"]), settings=run),
        Variant(source=source, name=named, settings=asked, warnings=warnings),
    ]
    if against is not None:
        moved = [f"{name}={now[name]}" for name in moving if name in now]
        named = ", ".join(moved[:_SHOWN]) + (f" and {len(moved) - _SHOWN} more" if len(moved) > _SHOWN else "")
    return simulated(variants, named, seeds, _numbered(folder), progress, engine=engine, noted=noted)


def predict_sweep(
    profile: str | Path,
    sweep: Sweep,
    steps: int,
    settings: Sequence[str],
    seeds: Sequence[int],
    folder: Path,
    progress: Progress,
    engine: Engine = local,
    noted: Sequence[Warning] = (),
) -> list[Run]:
    """Predicts what a profile does for values of one parameter, with the same seeds for each.

    Args:
        profile: A file, or the name of a shipped profile.
        sweep: The parameter and its range.
        steps: How many values; fewer where the parameter takes whole numbers and the range has fewer.
        settings: ``key=value`` each, for all steps.
        seeds: One simulation each and step.
        folder: Where the run folders are written.
        progress: Called with slots done and in all; may raise to stop.
        engine: Does the simulations.
        noted: Warnings about the engine, for the manifest of each run.

    Returns:
        One run per value, rising.

    Raises:
        SimulationError: A profile, parameter or range that makes no sense, no seed, or no block to analyse.
    """
    source = Source(profile)
    low, high = (source.values([*settings, sweep.setting(value)]) for value in (sweep.low, sweep.high))
    swept = [name for name in high if high[name] != low.get(name)]
    if not swept:
        raise SimulationError(
            f"--sweep {sweep.setting(sweep.low)}..{sweep.written(sweep.high)}: the two ends are one value; write them further apart."
        )
    was, own = source.values(), source.values(settings)
    for name in swept:
        if own[name] != was[name]:
            raise SimulationError(f"--set and --sweep both change {name}: leave one out.")
    refuse_outside([*swept, *differing(source.text(), source.text(settings))], source.text(), PREDICTED)
    warnings = tuple(outside_of_extended(profile, PREDICTED))
    sweep = msgspec.structs.replace(sweep, whole=isinstance(high[swept[0]], int))
    if sweep.parameter in OFFERED:
        parameter = OFFERED[-1]
        profile_has = f"{plain(was['workload.tps'] * amount(str(was['workload.tx_size'])) / 1e3)}kB/s"
    else:
        # What names several entries of a list, as rtt[us-east-1].mean, sweeps all of them.
        parameter = swept[0] if len(swept) == 1 else sweep.parameter
        profile_has = ", ".join(dict.fromkeys(str(was[name]) for name in swept))
    variants = [
        Variant(
            source=source,
            name=sweep.setting(value),
            settings=(*settings, sweep.setting(value)),
            sweep={
                "parameter": parameter,
                "unit": sweep.unit,
                "value": value,
                "geometric": sweep.geometric,
                "own": profile_has,
            },
            warnings=warnings,
        )
        for value in sweep.values(steps)
    ]
    ends = f"{parameter} from {sweep.written(sweep.low)} to {sweep.written(sweep.high)}"
    unchanged = Variant(
        source=source, name=UNCHANGED, settings=tuple(one for one in settings if one.startswith("run."))
    )
    return simulated(
        variants, ", ".join([*settings, ends]), seeds, _numbered(folder), progress, unchanged, engine, noted
    )


def simulated(
    variants: Sequence[Variant],
    changed: str,
    seeds: Sequence[int],
    folders: Iterable[Path],
    progress: Progress,
    published: Variant | None = None,
    engine: Engine = local,
    noted: Sequence[Warning] = (),
) -> list[Run]:
    """A run folder per variant, simulated once per seed, some at a time.

    Args:
        variants: What is simulated.
        changed: What differs from the profile, in words.
        seeds: One simulation each and variant.
        folders: The run folder of each variant.
        progress: Called with slots done and in all.
        published: The profile as it was published, where no variant is: the model's error is that of its simulations.
        engine: Does the simulations.
        noted: Warnings about the engine, for the manifest of each run.

    Raises:
        SimulationError: A profile or setting that makes no sense, no seed, or no block to analyse.
    """
    if not seeds:
        raise SimulationError("no seed: expected at least one.")
    if published is not None and not _is_published(published):
        published = None
    moves = [moved_with(one.source.values(), one.source.values(one.settings), one.settings) for one in variants]
    texts = [one.source.text([*one.settings, *moved]) for one, moved in zip(variants, moves, strict=True)]
    name, description = (str(variants[0].source.values()[what]) for what in ("name", "description"))
    about = {"profile": name, "description": description, **({"changed": changed} if changed else {})}
    texts += [
        one.source.text([*settings, *moved])
        for one, moved in zip(variants, moves, strict=True)
        for settings in one.ends
    ]
    if published is not None:
        texts.append(published.source.text(published.settings))
    pieces = [Piece(work=tables, inputs=(text, seed), label=f"seed {seed}") for text in texts for seed in seeds]
    outputs = engine(pieces, list, progress, workers_for(len(pieces)))
    by_text = [outputs[place * len(seeds) : (place + 1) * len(seeds)] for place in range(len(texts))]
    at_ends = iter(by_text[len(variants) :])
    of_all = None if published is None else _model_error(published, by_text[-1])
    runs = []
    for variant, moved, found, folder in zip(variants, moves, by_text, folders, strict=False):
        error = _model_error(variant, found) if of_all is None and _is_published(variant) else of_all
        scaled = variant.replayed and _with_errors(variant.replayed, [next(at_ends) for _ in variant.ends])
        said = [*noted, *_of_other_blocks(found, by_text[0], variants[0].name)]
        runs.append(_written(variant, about, moved, seeds, found, error, scaled, folder, said))
    return runs


def _of_other_blocks(found: Sequence[Tables], baseline: Sequence[Tables], beside: str) -> list[Warning]:
    """A warning where another share of the chain's blocks was analysed than of the first variant, since filters let other blocks pass."""
    ours, theirs = (
        (sum(one.blocks for one in tables), sum(one.blocks + one.rejected for one in tables))
        for tables in (found, baseline)
    )
    if not (ours[0] and theirs[0]) or abs(ours[0] / ours[1] * theirs[1] / theirs[0] - 1) <= _OTHER_BLOCKS:
        return []
    return [
        catalogue(BENCH).warning(
            "other_blocks", blocks=ours[0], chained=ours[1], beside=beside, of_its=theirs[0], its_chained=theirs[1]
        )
    ]


def _numbered(folder: Path) -> Iterator[Path]:
    return (folder / f"{place:03d}" for place in count())


def _with_errors(scaled: Replayed, at_ends: Sequence[Sequence[Tables]]) -> Replayed:
    """With the error that the factors' errors give each metric: half of what it differs by between the ends of their intervals.

    Args:
        scaled: The factors.
        at_ends: The simulations at the low and at the high ends.
    """
    low, high = at_ends
    errors = {}
    for row in low[0].rows:
        values = [[one.row(row.metric).predicted for one in end] for end in (low, high)]
        known = [[value for value in end if value is not None] for end in values]
        if all(known):
            below, above = (sum(end) / len(end) for end in known)
            errors[row.metric] = abs(above - below) / 2 / scaled.reach(CONFIDENCE)
    return msgspec.structs.replace(scaled, errors=errors)


def _written(
    variant: Variant,
    about: Mapping[str, str],
    moved: Sequence[str],
    seeds: Sequence[int],
    found: Sequence[Tables],
    error: Mapping[str, Any] | None,
    scaled: Replayed | None,
    out: Path,
    noted: Sequence[Warning],
) -> Run:
    """The run folder of one variant: the table ``seeds`` has one row per seed, and its times in s.

    Raises:
        SimulationError: A seed has no block to analyse.
    """
    if not all(one.blocks for one in found):
        at = f" with {', '.join(variant.settings)}" if variant.settings else ""
        raise SimulationError(
            f"profile {variant.source.profile}{at}: no block to analyse; set more run.slots, or less of what keeps blocks from being "
            "adopted by all, or full."
        )
    names = names_of(BENCH)
    columns: dict[str, pa.Array] = {
        "seed": pa.array(seeds, pa.int64()),
        "blocks": pa.array([one.blocks for one in found], pa.int64()),
    }
    for row in found[0].rows:
        columns[row.metric] = pa.array([one.row(row.metric).predicted for one in found], pa.float64())
    manifest = Manifest(
        id=f"{about['profile']}, {variant.name}, seeds {_listed(seeds)}",
        bench=BENCH,
        origin="simulated",
        target=Target(variant.name, ""),
        workload={**about, names.seeds: _listed(seeds)},
        parameters={
            "settings": list(variant.settings),
            names.moved: list(moved),
            names.analysed: sum(one.blocks for one in found),
            **({names.error: error} if error else {}),
            **({names.sweep: dict(variant.sweep)} if variant.sweep else {}),
            **({names.replayed: msgspec.to_builtins(scaled)} if scaled else {}),
        },
        session=f"seeds {_listed(seeds)}",
        machine=None,
        started="",
        ended="",
        versions={**versions(), "simulator": f"slotmark {slotmark_version()}"},
        sources=[],
        tables={},
        warnings=[*variant.warnings, *noted],
    )
    with RunWriter(out) as writer:
        writer.table("seeds", pa.table(columns))
        return writer.finish(manifest)


def written_together(runs: Sequence[Run], out: Place) -> Run:
    """One run of all simulations of a prediction: the table ``simulations`` has a row per variant and seed.

    Args:
        runs: What :func:`predict_change` or :func:`predict_sweep` returned, at least one.
        out: The new run.

    Raises:
        RunError: A run is damaged, or the new one is there already or can't be written.
    """
    first, names = runs[0].manifest, names_of(BENCH)
    tables = []
    for run in runs:
        table = run.table("seeds")
        variant = pa.array([run.manifest.target.name] * table.num_rows)
        tables.append(table.add_column(0, "variant", variant))
    records = [run.manifest.parameters for run in runs]
    profile = first.workload["profile"]
    manifest = msgspec.structs.replace(
        first,
        id=f"{profile}, {len(runs)} variants, {first.session}",
        bench=TOGETHER,
        target=Target(profile, ""),
        parameters={
            "variants": len(runs),
            "simulations": sum(table.num_rows for table in tables),
            names.analysed: sum(int(one[names.analysed]) for one in records),
            **({names.error: records[0][names.error]} if names.error in records[0] else {}),
        },
        warnings=list(dict.fromkeys(warning for run in runs for warning in run.manifest.warnings)),
    )
    with RunWriter(out) as writer:
        writer.table("simulations", pa.concat_tables(tables))
        return writer.finish(manifest)


def _is_published(variant: Variant) -> bool:
    """Returns whether it is a shipped profile in which nothing was changed but its duration."""
    return not (
        Path(variant.source.profile).is_file()
        or variant.sweep
        or any(not setting.startswith("run.") for setting in variant.settings)
    )


def _model_error(variant: Variant, found: Sequence[Tables]) -> dict[str, Any] | None:
    """Returns the distance of simulations of a shipped profile from its published figures; None where there are none.

    Returns:
        ``of``: the profile; ``rows``: by metric, as a fraction; ``equal_to``: of metrics that weren't published and have the predicted
        values of one that was, its name. Of 52 hosts 0.95 adoption is the 50th host's, as 0.96 adoption is.
    """
    values = {row.metric: [one.row(row.metric).predicted for one in found] for row in found[0].rows}
    rows = {}
    for row in found[0].rows:
        known = [value for value in values[row.metric] if value is not None]
        if row.published and known:
            rows[row.metric] = round(sum(known) / len(known) / row.published - 1, 5)
    equal = {
        metric: twin
        for metric in values
        if metric not in rows
        and any(values[metric])
        and (twin := next((one for one in rows if values[one] == values[metric]), None))
    }
    if not rows:
        return None
    return {
        "of": Path(variant.source.profile).name,
        "rows": {**rows, **{metric: rows[twin] for metric, twin in equal.items()}},
        "equal_to": equal,
    }


def _listed(seeds: Sequence[int]) -> str:
    return str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
