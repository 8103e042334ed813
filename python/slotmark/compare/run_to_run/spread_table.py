"""Tables of how much runs of one build differ, metric by metric: made by ``slotmark spread``, or shipped. docs/how-many-runs.md explains them."""

import math
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from slotmark.errors import ArgumentError, ComparisonError, unwritten
from slotmark.metrics import Metric, catalogue
from slotmark.run import Manifest
from slotmark.statistics.between_runs import Scale, Spread
from slotmark.texts import read_toml, toml_value
from slotmark.whole_files import written_whole

SCHEMA = 1

MAKE_TABLE = "Make one with `slotmark spread`."
_Share = Annotated[float, msgspec.Meta(gt=0)]


class MetricSpread(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The spread of runs of one build in one metric; on the scale of logarithms as a share of the level, else in the metric's unit.

    Attributes:
        id: Id of the metric.
        part: As of a row.
        unit: Unit of the metric.
        scale: On which means of runs are compared.
        sd: Standard deviation of the mean of one run.
        within: The part of it that varies within a run; 0 where that isn't known.
        degrees: Degrees of freedom of the standard deviation.
        low: Lower end of its 95 % interval.
        high: Upper end of the same.
    """

    id: str
    part: str = ""
    unit: str
    scale: Scale
    sd: _Share
    within: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    degrees: Annotated[float, msgspec.Meta(ge=1)]
    low: Annotated[float, msgspec.Meta(ge=0)]
    high: _Share

    @property
    def spread(self) -> Spread:
        """The same as a variance."""
        return Spread(self.sd**2, self.degrees, self.within**2)


class TableRun(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run that a table is made from.

    Attributes:
        id: Its own.
        build: Which runs are of one build, in words.
        digest: Digest of its tables; empty where it is unknown.
    """

    id: str
    build: str
    digest: str = ""


class SpreadTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The spread of runs of one build on one cluster or machine.

    Attributes:
        schema: Always :data:`SCHEMA`.
        name: What to call it.
        bench: Bench of the runs.
        known_from: From how many runs, in words.
        about: Where it comes from.
        slotmark: The version that made it.
        machine: The digest of the name of the machine on which slotmark ran them; empty of clusters elsewhere.
        profile_ends: What the names of the set-ups of its runs end with; empty where any will do.
        workload: Facts of the runs' work; runs that it is used for have the same.
        same: Metrics that were the same in all of its runs.
        run: What it is made from.
        metric: One per metric and part.
    """

    schema: int = SCHEMA
    name: str
    bench: str
    known_from: str
    about: str = ""
    slotmark: str = ""
    machine: str = ""
    profile_ends: str = ""
    workload: dict[str, str] = {}
    same: list[str] = []
    run: list[TableRun] = []
    metric: Annotated[list[MetricSpread], msgspec.Meta(min_length=1)]

    @property
    def words(self) -> str:
        """Its name, and from what it is known."""
        return ", ".join(filter(None, (self.name, self.known_from)))

    def of(self, metric: Metric, part: str) -> Spread | None:
        """The spread of a metric in a part; None where the table doesn't have it."""
        found = next((one for one in self.metric if (one.id, one.part) == (metric.id, part)), None)
        if found is not None:
            return found.spread
        return Spread(0.0, max(one.degrees for one in self.metric)) if metric.id in self.same else None


def read_spread_table(file: Path) -> SpreadTable:
    """The table in a file.

    Raises:
        ComparisonError: There is no such file, it is no such table, or one of its metrics isn't as the catalogue has it.
    """
    try:
        found = msgspec.convert(read_toml(file), SpreadTable)
    except OSError as error:
        raise ComparisonError(f"{file}: can't be read ({error.strerror}). {MAKE_TABLE}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise ComparisonError(f"{file}: no table of how much runs differ ({error}). {MAKE_TABLE}") from error
    if found.schema != SCHEMA:
        raise ComparisonError(f"{file}: schema {found.schema}, this slotmark reads {SCHEMA}. {MAKE_TABLE}")
    known = {metric.id: metric for metric in catalogue(found.bench).metrics}
    seen: set[tuple[str, str]] = set()
    for one in found.metric:
        metric = known.get(one.id)
        if metric is None:
            raise ComparisonError(f"{file}: '{one.id}' is no metric of bench '{found.bench}'. Take its lines out.")
        for what, theirs, ours in (("unit", one.unit, metric.unit), ("scale", one.scale, metric.run_scale)):
            if theirs != ours:
                raise ComparisonError(
                    f"{file}: the {what} of '{one.id}' is '{theirs}', but here it is '{ours}'. {MAKE_TABLE}"
                )
        if not all(map(math.isfinite, (one.sd, one.within, one.degrees, one.low, one.high))):
            raise ComparisonError(f"{file}: a figure of '{one.id}' is no number. {MAKE_TABLE}")
        if (one.id, one.part) in seen:
            raise ComparisonError(f"{file}: '{one.id}' is there twice. Leave one out.")
        seen.add((one.id, one.part))
    return found


def refuse_simulated(given: object, manifests: Iterable[Manifest], remedy: str = "Simulate more seeds.") -> None:
    """Raises ComparisonError where one of these runs is simulated: what differs between its seeds is in no table and in no earlier run.

    Args:
        given: What was given, as the error names it.
        manifests: Of the runs.
        remedy: What to do instead.
    """
    for manifest in manifests:
        if manifest.origin == "simulated":
            raise ComparisonError(
                f"{given}: {manifest.id} is simulated, and its seeds are its runs: no table has how much those differ. {remedy}"
            )


def refuse_other_runs(table: SpreadTable, file: Path, manifests: Iterable[Manifest]) -> None:
    """Raises ComparisonError where runs aren't of the bench, the work and the cluster or machine that a table is of."""
    for manifest in manifests:
        if (why := unlike(table, manifest)) is not None:
            raise ComparisonError(f"{file}: {why}. {MAKE_TABLE}")


def shipped_table(manifests: Sequence[Manifest]) -> SpreadTable | None:
    """The table that comes with slotmark for the cluster of all these runs; None where there is none.

    Every fact of the table's work must be recorded by each run: the name of a cluster isn't enough. A published table has few of them: it must
    have those that the catalogue names (``[setup]``).
    """
    entries = catalogue(manifests[0].bench)
    of_bench = catalogue(entries.like) if entries.like else entries
    folder, published = of_bench.folder / "run_to_run", set(of_bench.setup.published if of_bench.setup else ())
    for file in sorted(folder.glob("*.toml")):
        table = read_spread_table(file)
        if all(
            one.origin in ("measured", "imported", "published")
            and one.machine is None
            and unlike(table, one) is None
            and (table.workload.keys() if one.origin != "published" else published) <= one.workload.keys()
            for one in manifests
        ):
            return table
    return None


def unlike(table: SpreadTable, manifest: Manifest) -> str | None:
    """Returns why a table isn't of the cluster and work of a run; None where nothing shows that."""
    setup = catalogue(table.bench).setup
    if table.bench not in (manifest.bench, catalogue(manifest.bench).like):
        return f"a table of bench '{table.bench}', but {manifest.id} is of '{manifest.bench}'"
    for fact, ours in table.workload.items():
        if (theirs := manifest.workload.get(fact)) is not None and theirs != ours:
            return f"{fact} is {ours} there, and {theirs} in {manifest.id}"
    if table.workload and not table.workload.keys() & manifest.workload.keys():
        return f"{manifest.id} records no fact of its work that the table has"
    machine = manifest.machine.hostname_hash if manifest.machine else ""
    if table.machine != machine:
        where = f"the machine {machine}" if machine else "no machine of its own"
        place = f"the machine {table.machine}" if table.machine else f"a {setup.place}" if setup else "no one machine"
        return f"a table of {place}, but {manifest.id} is of {where}"
    if setup is not None and manifest.origin != "published":
        name = str(manifest.parameters.get(setup.parameter, ""))
        if not name.endswith(table.profile_ends):
            return f"its {setup.parameter}s end with '{table.profile_ends}', but {manifest.id} has '{name}'"
    return None


def write_spread_table(table: SpreadTable, file: Path) -> None:
    """Writes the table whole; one that is there is replaced. ArgumentError where it can't be written."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(file) as [partial]:
            partial.write_text(spread_table_text(table), encoding="utf-8")
    except OSError as error:
        raise ArgumentError(unwritten(file, error)) from error


def spread_table_text(table: SpreadTable) -> str:
    """The table as TOML."""
    first = ("schema", "name", "bench", "known_from", "about", "slotmark", "machine", "profile_ends", "same")
    lines = [
        "# How much the means of runs of one build differ: sd is that of one run, of scale log as a share of the level, else in the unit.",
        *(f"{name} = {toml_value(getattr(table, name))}" for name in first),
        "",
        "[workload]",
        *(f"{toml_value(name)} = {toml_value(value)}" for name, value in table.workload.items()),
    ]
    for one in table.run:
        lines += ["", "[[run]]", *_fields(one)]
    for one in table.metric:
        lines += ["", "[[metric]]", *_fields(one)]
    return "\n".join(lines) + "\n"


def _fields(one: MetricSpread | TableRun) -> Iterator[str]:
    for name in one.__struct_fields__:
        yield f"{name} = {toml_value(getattr(one, name))}"
