"""The catalogue: every metric of a bench, as data.

A bench has a folder: ``catalogue.toml`` with an entry per metric, and ``relations/NAME.sql`` with the SQL that makes what metrics
are columns of. ``filters.toml`` and ``facts.sql`` are there where the bench has filters or facts. Tables, charts, the data
dictionary and JSON all come from the catalogue, in its order. A catalogue may be like another bench's (``like = "cluster"``): metrics of the
same id then have name, unit, direction, section and definition from there, and are the columns of their relation with these names.
With ``[each]`` it has besides all metrics of that catalogue that the established tool has too, with the fields of that table in place of theirs.
"""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any, Literal

import msgspec

from slotmark.errors import RunError, did_you_mean
from slotmark.metrics.entries import (
    CONDITIONS,
    Clocks,
    Ends,
    Grows,
    KeyColumn,
    MachineNoise,
    Members,
    Native,
    Part,
    Predicted,
    Ranks,
    SetUp,
    Shifts,
    Turns,
    WarningKind,
    Words,
)
from slotmark.metrics.steps import Changed, Split, StageCells, Timelines
from slotmark.warnings import KINDS, STOPPING, Warning

Better = Literal["higher", "lower"]
Rank = Literal["decisive", "important", "informative"]

_folders = {file.parent.name: file.parent for file in sorted(Path(__file__).parent.glob("*/catalogue.toml"))}
"""Folders of the catalogues by bench; at first those beside this file."""


class Metric(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry of the catalogue.

    Attributes:
        id: Its name for machines.
        name: Its name for people.
        unit: The unit of a sample, as printed behind it; empty for a plain ratio.
        better: Which direction is an improvement.
        rank: What it matters to a release: decisive ones decide, important ones are shown beside them.
        grain: The key columns of a sample besides ``part``, as ``["round"]``. The first is what was repeated: samples within one
            of it aren't independent of each other.
        course: Whether to draw it over the run too, by its first grain column.
        section: The part of the report that it belongs to; empty where the bench has only one.
        estimator: How it is compared, the name of a file of ``slotmark.compare.estimators``; the catalogue's, where the entry has none of its own.
        relation: The relation or the table whose column it is.
        value: The column, or an expression of columns; rows where it is NULL have no sample.
        where: Which rows of the relation count, as SQL; all where it's empty.
        inside: The metric whose values hold this one's, though it is no part of that one's work; empty for most.
        repeated: The grain column whose values are what was repeated, where that isn't the first: a level that stays from slot to slot is
            one per host.
        zero_unrecorded: Whether 0 in every sample of a run means that its nodes don't record it.
        least: The smallest difference that matters, in the metric's unit, whatever its share of the baseline.
        scale: Scale of the chart's axis of values.
        run_scale: On which means of runs are compared: ``log`` where runs of one build differ by a share of their level, ``identity`` of shares
            and counts, which can be 0.
        locli: What the Cardano performance team's tool calls it, where it has it.
        width: Width of its field in that tool's tables, in characters.
        tested: Whether compare tests it. False where it measures the same as another metric, or is only drawn.
        margin: The equivalence margin, as a fraction of the baseline: differences within it don't matter.
        short: The head of its column where a session is shown in short; empty where it isn't shown there.
        chart: How to draw it: every sample as a dot, as a line over the last key column, or as a cumulative distribution.
        definition: What it is, in one or two sentences.
        published: How an established tool computes it, where that differs.
    """

    id: str
    name: str
    unit: str
    better: Better
    rank: Rank = "informative"
    grain: tuple[str, ...]
    relation: str = ""
    value: str = ""
    where: str = ""
    estimator: str = ""
    inside: str = ""
    repeated: str = ""
    zero_unrecorded: bool = False
    tested: bool = True
    margin: float = 0.02
    short: str = ""
    chart: Literal["dots", "timeline", "cdf", "none"] = "none"
    course: bool = False
    section: str = ""
    least: float = 0.0
    scale: Literal["linear", "log"] = "linear"
    run_scale: Literal["log", "identity"] = "log"
    locli: str = ""
    width: int = 5
    definition: str
    published: str = ""

    @property
    def unit_of_chance(self) -> str:
        """The grain column whose values an interval within one run is over."""
        return self.repeated or self.grain[0]


class PassedOn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The way by which places had from each other what one of them made.

    Attributes:
        metric: The metric of places whose value runs on from that of the place that sent.
        relation: A row per key and place that had it from another.
        sender: The column with that other.
    """

    metric: str
    relation: str
    sender: str


class Mixed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The columns by which two targets that shared the places of one run are compared.

    Attributes:
        place: The key column with the place, as ``host``.
        ran: The table that has what each place ran, in columns named as ``place`` and ``name``, and in ``stays`` whether a place isn't swapped.
        key: The key column of what a place makes, as a block.
        forger: The name of the column beside that key with the place that made it.
        forged: The relation whose metrics by that key are of the place that made it.
        metric: Metrics of such comparisons alone, by place: they stand for those that only a whole run has.
        made_by: The command that makes such runs.
        method: How such runs are compared, in a sentence; empty for none.
        passed_on: How a place's value contains another's; None where none does.
    """

    place: str
    ran: str
    key: str
    forger: str
    forged: str
    metric: list[Metric]
    made_by: str
    method: str = ""
    passed_on: PassedOn | None = None


class Catalogue(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that is computed from the runs of one bench.

    Attributes:
        bench: Its name.
        folder: Where its catalogue and SQL are.
        like: The bench whose metrics it has, with one value per run; empty for none.
        metrics: In the order of reports.
        about: The facts of a run's workload that a report begins with.
        estimator: How its metrics are compared, but for those that say otherwise.
        relations: What metrics read besides tables.
        members: What rows are of, each by itself.
        native: Those that aren't SQL, by name; each member's rows follow from that member's rows of tables.
        part: The column, or an expression of columns, by which samples fall into parts that are compared one by one, as the
            setting of a client; empty where there is one part.
        parts: What of the keys is compared by itself too.
        words: By the name that SQL has for their type.
        shifts: Numbers that are taken from the members' values when tables are read.
        optional: Tables that not every run has, with the types of their columns: a run without one has none of its rows.
        made_by: The command that makes a run of the bench, with ``{run}`` for its folder; or runs of both sides, in ``RUNS``.
        in_turns_by: The command that makes runs of two targets that take turns; empty where none does.
        published: The method of :mod:`slotmark.published` that computes as an established tool or report does; empty for none.
        styled: Whether its tables can be printed in the established tool's styles.
        filterable: Whether one can choose what of a run is analysed.
        method: What a reader of a comparison's method should know about its samples, in sentences; empty for nothing.
        analysed: The sentence about filters of which one is in force, with ``{filters}``; without that where there are none, ``all_analysed``.
        all_analysed: The sentence where everything is analysed.
        unexplained: What is missing, and what to do, where the steps of a difference aren't known; in sentences.
        facts: SQL of what a manifest shows besides what it records; empty for nothing.
        warnings: What a reader should know about what was analysed.
        splits: Metrics whose samples can be split into steps.
        stage_cells: Which stages took place where; None where the bench has one place.
        timelines: What is shown of the worst samples of a metric.
        changed: How a change of repeated costs is explained; None where there are none.
        keys: Key columns of which more is known than their names, by name.
        grows: Along what metrics may grow; None for nothing.
        named_by_build: Whether targets are named by their builds, so that runs of all of them are of one history, by the program that they are of.
        files_of_several: Whether a file that a run was made from may have figures of several runs, as histories that other tools keep.
        clocks: What depends on how far clocks were apart; None where nothing does.
        free: Parameters of runs that may differ, as their seeds: they are no reason for a difference.
        alike: Metrics, by their ids, in which sides that did the same work are alike, with the share of the baseline by which they may differ.
        noise: How a machine's noise is known; None where it isn't.
        setup: How runs are set up; None where their workload says all of it.
        turns: Where the order of processes is kept; None where it isn't.
        ends: What processes have in the end, which is the same where they did their work rightly; None where nothing is.
        mixed: How targets that shared one run are distinguished; None where none do.
        predicted: Where a run of simulations records what its figures rest on; None where runs are measured.
        ranking: How different targets are ranked; None where a comparison of any targets is about a release.
    """

    bench: str
    folder: Path
    like: str = ""
    metrics: tuple[Metric, ...] = msgspec.field(name="metric")
    about: tuple[str, ...] = ()
    estimator: str
    relations: tuple[str, ...] = ()
    members: Members = Members()
    native: dict[str, Native] = {}
    part: str = ""
    parts: tuple[Part, ...] = ()
    words: dict[str, Words] = {}
    shifts: Shifts = Shifts()
    optional: dict[str, dict[str, str]] = {}
    made_by: str = ""
    in_turns_by: str = ""
    published: str = ""
    styled: bool = False
    filterable: bool = False
    method: str = ""
    analysed: str = "Analysed is what passes: {filters}."
    all_analysed: str = ""
    unexplained: str = ""
    facts: str = ""
    warnings: tuple[WarningKind, ...] = msgspec.field(name="warning", default=())
    splits: tuple[Split, ...] = msgspec.field(name="split", default=())
    stage_cells: StageCells | None = None
    timelines: Timelines | None = None
    changed: Changed | None = None
    keys: dict[str, KeyColumn] = msgspec.field(name="key", default_factory=dict)
    grows: Grows | None = None
    ranking: Ranks | None = None
    turns: Turns | None = None
    ends: Ends | None = None
    mixed: Mixed | None = None
    predicted: Predicted | None = None
    named_by_build: bool = False
    files_of_several: bool = False
    clocks: Clocks | None = None
    free: tuple[str, ...] = ()
    alike: dict[str, float] = {}
    noise: MachineNoise | None = None
    setup: SetUp | None = None

    def conditions(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Returns those facts of a run that should be the same for another one: not those in ``free``, and none of its target, which is what is compared."""
        return {
            name: value for name, value in facts.items() if name not in self.free and not name.startswith("target ")
        }

    def key(self, column: str) -> KeyColumn:
        """Returns what a key column's values are."""
        known = self.keys.get(column, KeyColumn())
        word = known.word or column
        return msgspec.structs.replace(known, word=word, item=known.item or word, axis=known.axis or column)

    @property
    def kinds(self) -> list[str]:
        """The kinds of warnings that its runs and comparisons of them can have, sorted."""
        return sorted({*KINDS, *(one.kind for one in self.warnings)})

    @property
    def stopping(self) -> list[str]:
        """Returns the kinds of warnings after which figures may be of something else than the target: nothing ships on them by default."""
        return sorted({*STOPPING, *(one.kind for one in self.warnings if one.stops)})

    @property
    def spoiling(self) -> list[str]:
        """Returns the kinds of warnings by which a run isn't what the others of its session are."""
        return [one.kind for one in self.warnings if one.spoils]

    def warning(self, kind: str, subject: str = "", /, **values: object) -> Warning:
        """Returns a warning of a kind that only the bench's own code sees; of its arguments see :meth:`WarningKind.seen`."""
        (found,) = (one for one in self.warnings if one.kind == kind and not one.condition)
        return found.seen(values, subject)

    def warnings_on(self, condition: str, subject: str = "", /, **values: object) -> list[Warning]:
        """Returns the warning of a condition, in the bench's words; empty where it has none, nor have estimators in general."""
        return [one.seen(values, subject) for one in self.warnings if one.condition == condition]

    def kinds_on(self, condition: str) -> list[str]:
        """Returns the names of the kinds of warnings of a condition."""
        return [one.kind for one in self.warnings if one.condition == condition]

    def analysed_in_words(self, filters: Sequence[str]) -> str:
        """Returns the sentence about filters in force, or about none; empty where the bench has no such sentence."""
        return self.analysed.replace("{filters}", ", ".join(filters)) if filters else self.all_analysed

    @property
    def explained(self) -> bool:
        """Returns whether a difference can be split into its causes."""
        return bool(self.splits or self.changed)

    def __getitem__(self, metric_id: str) -> Metric:
        """The metric of this id; RunError, with those that there are, where it has none."""
        for metric in [*self.metrics, *(self.mixed.metric if self.mixed else [])]:
            if metric.id == metric_id:
                return metric
        raise RunError(
            f"{self.bench} has no metric '{metric_id}'.{did_you_mean(metric_id, [m.id for m in self.metrics] + list(self.relations))} It has: {', '.join(m.id for m in self.metrics)}."
        )

    def keys_sql(self, metric_id: str) -> str:
        """The text of SQL that gives ``part`` and the metric's grain columns for each row of its relation, in the relation's order."""
        metric = self[metric_id]
        return f'SELECT {self._keys_of(metric)} FROM "{metric.relation}"'

    def values_sql(self, metric_id: str) -> str:
        """The text of SQL that gives ``value`` for each row of the metric's relation, in the relation's order; null where the row is no sample."""
        metric = self[metric_id]
        return f'SELECT {_value_of(metric)} AS "value" FROM "{metric.relation}"'

    def together_sql(self, metric_id: str, beside: Sequence[str]) -> str:
        """The text of SQL that gives what :meth:`keys_sql` does of a metric, and the values of some metrics of its relation, each in a column ``value of ID``."""
        metric = self[metric_id]
        values = "".join(f', {_value_of(self[one])} AS "value of {one}"' for one in beside)
        return f'SELECT {self._keys_of(metric)}{values} FROM "{metric.relation}"'

    def _keys_of(self, metric: Metric) -> str:
        part = f"CAST({self.part} AS VARCHAR)" if self.part else "CAST('' AS ENUM (''))"
        keys = "".join(f', "{column}"' for column in metric.grain)
        return f'{part} AS "part"{keys}'

    def samples_sql(self, metric_id: str) -> str:
        """The text of SQL that gives the metric's grain columns and ``value``, as :meth:`values_sql` does."""
        metric = self[metric_id]
        keys = "".join(f'"{column}", ' for column in metric.grain)
        return self.values_sql(metric_id).replace("SELECT ", f"SELECT {keys}", 1)

    def relation_sql(self, name: str) -> str:
        """The text of a relation's SQL; where rows come in the order of its metrics' keys, samples needn't be sorted."""
        return (self.folder / "relations" / f"{name}.sql").read_text(encoding="utf-8")


def _value_of(metric: Metric) -> str:
    """The text of an SQL expression over the metric's relation: the value of a row, null where it is no sample."""
    value = f"CAST({metric.value} AS DOUBLE)"
    return f"CASE WHEN {metric.where} THEN {value} END" if metric.where else value


_INHERITED = ("name", "unit", "better", "section", "definition")
"""Fields that a metric takes from the metric of the same id in the catalogue that its own extends."""


def register(bench: str, folder: Path) -> None:
    """Makes a bench known whose catalogue is in a folder of its own.

    Args:
        bench: The name that its runs' manifests have.
        folder: With ``catalogue.toml``, ``relations/*.sql``, and, where the bench has them, ``warnings.toml``, ``filters.toml`` and ``facts.sql``.

    Raises:
        RunError: There is another bench of this name, or no catalogue in the folder.
    """
    folder = folder.resolve()
    if _folders.get(bench, folder) != folder:
        raise RunError(f"{folder}: there is a bench '{bench}' already, in {_folders[bench]}. Name this one otherwise.")
    if not (folder / "catalogue.toml").is_file():
        raise RunError(f"{folder}: there is no catalogue.toml in it. Name the folder of a bench.")
    _folders[bench] = folder


def benches() -> list[str]:
    """Returns the names of all benches that there are."""
    return sorted(_folders)


@cache
def catalogue(bench: str) -> Catalogue:
    """The catalogue of a bench; RunError where there is no such bench."""
    if bench not in _folders:
        raise RunError(f"This slotmark has no bench '{bench}'. Use the slotmark that wrote the run.")
    folder = _folders[bench]
    content = tomllib.loads((folder / "catalogue.toml").read_text(encoding="utf-8"))
    known = {metric.id: metric for metric in catalogue(like).metrics} if (like := content.get("like", "")) else {}
    each = content.pop("each", {})
    facts, of_warnings = folder / "facts.sql", folder / "warnings.toml"
    relations = [*(file.stem for file in (folder / "relations").glob("*.sql")), *content.get("native", {})]
    found = {
        "bench": bench,
        "folder": folder,
        "relations": sorted(relations),
        "filterable": (folder / "filters.toml").is_file(),
        "facts": facts.read_text(encoding="utf-8") if facts.is_file() else "",
        "warning": [*(own := _warnings(of_warnings)), *_of_conditions(own)],
        "metric": [
            *(_with_inherited(metric, known) | metric for metric in content.pop("metric", [])),
            *(_with(metric, each) for metric in known.values() if each and metric.locli),
        ],
    }
    for metric in found["metric"]:
        metric.setdefault("estimator", content["estimator"])
    return msgspec.convert(content | found, Catalogue)


def _warnings(file: Path) -> list[dict[str, Any]]:
    """The kinds of warnings in a file; one with ``of`` has the words of the bench that is named there.

    Raises:
        RunError: A kind is about a condition that there isn't, or names a value that nobody gives with it.
    """
    listed = tomllib.loads(file.read_text(encoding="utf-8"))["warning"] if file.is_file() else []
    for one in listed:
        if condition := one.get("condition"):
            if condition not in CONDITIONS:
                raise RunError(
                    f"{file}: '{one['kind']}' has the condition '{condition}', which there isn't.{did_you_mean(condition, [*CONDITIONS])} "
                    f"There are: {', '.join(CONDITIONS)}."
                )
            named = {name for _, name, _, _ in Formatter().parse(f"{one['text']} {one.get('remedy', '')}") if name}
            if unknown := sorted(named - CONDITIONS[condition]):
                given = ", ".join(sorted(CONDITIONS[condition])) or "none"
                raise RunError(
                    f"{file}: '{one['kind']}' names {', '.join(unknown)}, not given with the condition '{condition}'. Given are: {given}."
                )
    return [
        one
        if "of" not in one
        else next(msgspec.to_builtins(kind) for kind in catalogue(one["of"]).warnings if kind.kind == one["kind"])
        for one in listed
    ]


def _of_conditions(own: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The kinds that estimators have words for, without those of conditions that a bench has words of its own for."""
    has = {one.get("condition") for one in own}
    return [one for one in _warnings(Path(__file__).with_name("warnings.toml")) if one["condition"] not in has]


def _with_inherited(metric: dict[str, Any], known: Mapping[str, Metric]) -> dict[str, Any]:
    """Returns what an entry has from the metric of the same id in the catalogue that its own is like; nothing where there is none."""
    like = known.get(metric.get("id", ""))
    return {} if like is None else {"value": f'"{like.name}"', **{field: getattr(like, field) for field in _INHERITED}}


def _with(metric: Metric, fields: dict[str, Any]) -> dict[str, Any]:
    """Returns the entry of a metric with other fields; ``{id}`` in them stands for its id."""
    own = {name: one.replace("{id}", metric.id) if isinstance(one, str) else one for name, one in fields.items()}
    return {**msgspec.to_builtins(metric), **own}
