"""The catalogue: every metric of a bench, as data.

A bench has a folder: ``catalogue.toml`` with an entry per metric, and ``relations/NAME.sql`` with the SQL that makes what metrics
are columns of. ``filters.toml`` and ``facts.sql`` are there where the bench has filters or facts. Tables, charts, the data
dictionary and JSON all come from the catalogue, in its order. A catalogue may be like another bench's (``like = "cluster"``): metrics of the
same id then have name, unit, direction, section and definition from there, and are the columns of their relation with these names.
With ``[each]`` it has besides all metrics of that catalogue that the established tool has too, with the fields of that table in place of theirs.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from slotmark.errors import RunError, did_you_mean
from slotmark.metrics.steps import Changed, Split, StageCells, Timelines
from slotmark.warnings import KINDS, STOPPING, Warning, shown

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


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Some of the keys that runs are compared on, as the blocks with a major GC.

    Attributes:
        name: In words.
        where: A condition on the rows of the relation of the bench's first metric, as SQL.
        of: ``any``: keys of which any row, in any replicate of any run, meets it; ``none``: those of which no row does.
    """

    name: str
    where: str
    of: Literal["any", "none"] = "any"


class KeyColumn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A key column: what its values are, and what is known of them.

    Attributes:
        word: What a value is, in a sentence; of a catalogue empty where that is the column's name.
        axis: What a chart along it is drawn over; empty for the column's name.
        ordered: Whether values follow one another, so that neighbours may have something in common, as blocks do and machines don't.
        relation: Has one row per value, whole numbers, in a column of the same name, with what stands beside the value for those who read
            samples; empty where nothing does.
        columns: Columns of that relation by the names to give them, as a block's slot and hash beside its number.
        work: Which of these names, the first of them a number that rises with the key, show that keys of two runs are the same work, as
            a block's slot and forger do.
        machines: Where values are machines, SQL that gives each value and, in further columns, what the run records by which machines can be
            told apart; null where it records nothing.
    """

    word: str = ""
    axis: str = ""
    ordered: bool = True
    relation: str = ""
    columns: dict[str, str] = {}
    work: list[str] = []
    machines: str = ""


class WarningKind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A kind of warning that runs of a bench can have.

    Attributes:
        kind: A stable name for machines.
        text: What was seen; ``{name}`` stands for a value.
        remedy: What to do, likewise; empty where there is nothing to do.
        sql: Gives one row of these values where there is something to warn of, and none where there isn't; empty where the bench's code
            sees it and gives the values.
        stops: Whether figures may then be of something else than the target, so that nothing ships on them by default.
        spoils: Whether the run then isn't what the others of its session are, so that its round isn't compared.
    """

    kind: str
    text: str
    remedy: str = ""
    sql: str = ""
    stops: bool = False
    spoils: bool = False

    def seen(self, values: Mapping[str, object], subject: str = "") -> Warning:
        """Returns a warning of this kind.

        Args:
            values: Of the names in its text: numbers, texts, or lists of names, of which the first few are shown.
            subject: What it is about; empty for the whole run.
        """
        text = " ".join(filter(None, (self.text, self.remedy)))
        return Warning(self.kind, text.format_map({name: shown(value) for name, value in values.items()}), subject)


class Members(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The members of a run that have rows of their own, as the hosts of a cluster.

    Attributes:
        column: The column with their names, in tables and relations; those names are words of a type that is named as the column.
        relations: Those of which each member's rows follow from that member's rows of tables and of relations of this kind, and from other
            relations that are the same for all. They are made some members at a time, so that a grouping or a window holds few members' rows.
    """

    column: str = ""
    relations: tuple[str, ...] = ()


class Native(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A relation that compiled code makes member by member, because SQL takes several times as long.

    Attributes:
        function: Its name in ``slotmark._core``. It takes files by table, members (each with the number that stands for it, and the shift of its
            times), whether all rows are of one member, and then what ``arguments`` gives; it gives rows and columns, of which one has
            those numbers.
        tables: The columns that it reads, by table.
        arguments: SQL of one row.
        shift: The column that the catalogue shifts, which the function gets.
    """

    function: str
    tables: dict[str, list[str]]
    arguments: str
    shift: str


class Grows(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The size of what a run worked on, along which its metrics may grow.

    Attributes:
        name: What it counts, in words.
        relation: Has it, the same in every row.
        value: SQL of it, a whole number.
        same: Facts of the workload that runs of other sizes must have in common.
        remedy: What to do with a run that doesn't have it.
        more: How runs of another size are made.
    """

    name: str
    relation: str
    value: str
    same: list[str]
    remedy: str
    more: str


class Turns(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table and column that record in which order a run's processes ran.

    Attributes:
        relation: Has a row per process; runs may lack it.
        place: SQL of the place in the session's order over all targets, a whole number, or null.
        started: SQL of the start as text in the form of ISO 8601, or null: it counts where there is no place.
    """

    relation: str
    place: str
    started: str


class MachineNoise(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The source of a machine's noise that is known before a comparison: how much processes of one target differ there.

    Attributes:
        measure: The command that measures it.
        processes: The table with a row per process.
        amount: The fact of the workload that has how much a process does, named as what is counted.
    """

    measure: str
    processes: str
    amount: str


class Ranks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The ranking of different targets that did the same work: none of them is a release of another.

    Attributes:
        metric: The id of the metric by which; it is tested.
        beside: Metrics that stand beside it.
    """

    metric: str
    beside: list[str] = []


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
        ran: The table that has what each place ran, in columns named as ``place`` and ``name``.
        key: The key column of what a place makes, as a block.
        forger: The name of the column beside that key with the place that made it.
        forged: The relation whose metrics by that key are of the place that made it.
        metric: Metrics of such comparisons alone, by place: they stand for those that only a whole cluster has.
        made_by: The command that makes such runs.
        passed_on: How a place's value contains another's; None where none does.
    """

    place: str
    ran: str
    key: str
    forger: str
    forged: str
    metric: list[Metric]
    made_by: str
    passed_on: PassedOn | None = None


class Words(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Text of which few values occur: it is read as numbers, in the order of the text.

    Attributes:
        values: SQL that gives all values.
        columns: The columns of tables that hold them.
    """

    values: str
    columns: list[str]


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
        shifts: Columns of integers in tables with the members' column, each with SQL that gives that column and ``shift``: tables are read with
            the member's shift taken from the column. For runs that have the tables which the SQL reads.
        optional: Tables that not every run has, with the types of their columns: a run without one has none of its rows.
        made_by: The command that makes a run of the bench, with ``{run}`` for its folder.
        in_turns_by: The command that makes runs of two targets that take turns; empty where none does.
        published: The method of :mod:`slotmark.published` that computes as an established tool or report does; empty for none.
        styled: Whether its tables can be printed in the established tool's styles.
        filterable: Whether one can choose what of a run is analysed.
        facts: SQL of what a manifest shows besides what it records; empty for nothing.
        warnings: What a reader should know about what was analysed.
        splits: Metrics whose samples can be split into steps.
        stage_cells: Which stages took place where; None where the bench has one place.
        timelines: What is shown of the worst samples of a metric.
        changed: How a change of repeated costs is explained; None where there are none.
        keys: Key columns of which more is known than their names, by name.
        grows: Along what metrics may grow; None for nothing.
        free: Parameters of runs that may differ between sides, as their seeds: they are no reason for a difference.
        noise: How a machine's noise is known; None where it isn't.
        turns: Where the order of processes is kept; None where it isn't.
        mixed: How targets are told apart that shared one run; None where none do.
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
    shifts: dict[str, str] = {}
    optional: dict[str, dict[str, str]] = {}
    made_by: str = ""
    in_turns_by: str = ""
    published: str = ""
    styled: bool = False
    filterable: bool = False
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
    mixed: Mixed | None = None
    free: tuple[str, ...] = ()
    noise: MachineNoise | None = None

    def key(self, column: str) -> KeyColumn:
        """Returns what a key column's values are."""
        known = self.keys.get(column, KeyColumn())
        return msgspec.structs.replace(known, word=known.word or column, axis=known.axis or column)

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
        """Returns a warning of a kind that the bench's own code sees; of its arguments see :meth:`WarningKind.seen`."""
        (found,) = self.warnings_if_known(kind, subject, **values)
        return found

    def warnings_if_known(self, kind: str, subject: str = "", /, **values: object) -> list[Warning]:
        """Returns a warning of a kind that comparisons see; empty where the bench has no such kind, and so no words for it."""
        return [one.seen(values, subject) for one in self.warnings if one.kind == kind]

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
        part = f"CAST({self.part} AS VARCHAR)" if self.part else "CAST('' AS ENUM (''))"
        keys = "".join(f', "{column}"' for column in metric.grain)
        return f'SELECT {part} AS "part"{keys} FROM "{metric.relation}"'

    def values_sql(self, metric_id: str) -> str:
        """The text of SQL that gives ``value`` for each row of the metric's relation, in the relation's order; null where the row is no sample."""
        metric = self[metric_id]
        value = f"CAST({metric.value} AS DOUBLE)"
        only = f"CASE WHEN {metric.where} THEN {value} END" if metric.where else value
        return f'SELECT {only} AS "value" FROM "{metric.relation}"'

    def relation_sql(self, name: str) -> str:
        """The text of a relation's SQL; where rows come in the order of its metrics' keys, samples needn't be sorted."""
        return (self.folder / "relations" / f"{name}.sql").read_text(encoding="utf-8")


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
        **(tomllib.loads(of_warnings.read_text(encoding="utf-8")) if of_warnings.is_file() else {}),
        "metric": [
            *(_with_inherited(metric, known) | metric for metric in content.pop("metric", [])),
            *(_with(metric, each) for metric in known.values() if each and metric.locli),
        ],
    }
    for metric in found["metric"]:
        metric.setdefault("estimator", content["estimator"])
    return msgspec.convert(content | found, Catalogue)


def _with_inherited(metric: dict[str, Any], known: Mapping[str, Metric]) -> dict[str, Any]:
    """Returns what an entry has from the metric of the same id in the catalogue that its own is like; nothing where there is none."""
    like = known.get(metric.get("id", ""))
    return {} if like is None else {"value": f'"{like.name}"', **{field: getattr(like, field) for field in _INHERITED}}


def _with(metric: Metric, fields: dict[str, Any]) -> dict[str, Any]:
    """Returns the entry of a metric with other fields; ``{id}`` in them stands for its id."""
    own = {name: one.replace("{id}", metric.id) if isinstance(one, str) else one for name, one in fields.items()}
    return {**msgspec.to_builtins(metric), **own}
