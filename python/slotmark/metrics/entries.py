"""Entries of a catalogue beside its metrics: parts, key columns, kinds of warnings, and where runs keep what comparisons need."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from slotmark.warnings import Warning, shown


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
        item: What is found at a value, in a sentence, as the block of a slot; of a catalogue empty where that is the value itself.
        axis: What a chart along it is drawn over; empty for the column's name.
        ordered: Whether values follow one another, so that neighbours may have something in common, as blocks do and machines don't.
        relation: Has one row per value, whole numbers, in a column of the same name, with what stands beside the value for those who read
            samples; empty where nothing does.
        columns: Columns of that relation by the names to give them, as a block's slot and hash beside its number.
        work: Which of these names, the first of them a number that rises with the key, show that keys of two runs are the same work, as
            a block's slot and forger do.
        machines: Where values are machines, SQL that gives each value and, in further columns, what the run records by which machines can be
            distinguished; null where it records nothing.
    """

    word: str = ""
    item: str = ""
    axis: str = ""
    ordered: bool = True
    relation: str = ""
    columns: dict[str, str] = {}
    work: list[str] = []
    machines: str = ""


CONDITIONS: dict[str, frozenset[str]] = {
    "failed": frozenset({"why"}),
    "too_few": frozenset({"count", "enough"}),
    "outliers": frozenset({"rounds", "lie"}),
    "one_run": frozenset({"enough"}),
    "drifting": frozenset({"correlation", "p"}),
    "apart": frozenset(),
    "unshared": frozenset({"events", "count", "are"}),
    "lacking": frozenset({"metric"}),
    "unlike": frozenset({"metric", "difference", "limit"}),
    "not_in_turns": frozenset({"order"}),
    "one_process": frozenset(),
    "two_processes": frozenset(),
    "thin_quantiles": frozenset({"quantiles", "needed"}),
    "from_few": frozenset({"needed", "blocks", "which", "share"}),
    "coarse": frozenset({"limit"}),
    "grouped": frozenset({"groups", "edges", "unit"}),
    "pauses": frozenset({"share"}),
    "mixed": frozenset({"left"}),
    "senders_unknown": frozenset({"targets"}),
}
"""Names of what sessions, estimators and comparisons of any bench can see, each with the names of the values that they give."""


class WarningKind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A kind of warning that runs of a bench can have.

    Attributes:
        kind: A stable name for machines.
        text: What was seen; ``{name}`` stands for a value.
        remedy: What to do, likewise; empty where there is nothing to do.
        each: An item of a list of rows among the values, likewise; empty where lists are of names.
        sql: Gives one row of these values where there is something to warn of, and none where there isn't; empty where the bench's code
            sees it and gives the values.
        condition: What it is about, of :data:`CONDITIONS`: code that knows no bench then sees it, and finds the bench's words by that; empty where
            only the bench's own code sees it.
        stops: Whether figures may then be of something else than the target, so that nothing ships on them by default.
        spoils: Whether the run then isn't what the others of its session are, so that its round isn't compared.
    """

    kind: str
    text: str
    remedy: str = ""
    each: str = ""
    sql: str = ""
    condition: str = ""
    stops: bool = False
    spoils: bool = False

    def seen(self, values: Mapping[str, object], subject: str = "") -> Warning:
        """Returns a warning of this kind.

        Args:
            values: Of the names in its text: numbers, texts, or lists of names or rows, of which the first few are shown.
            subject: What it is about; empty for the whole run.
        """
        text = " ".join(filter(None, (self.text, self.remedy)))
        return Warning(
            self.kind, text.format_map({name: self._shown(value) for name, value in values.items()}), subject
        )

    def _shown(self, value: object) -> str:
        if self.each and isinstance(value, list):
            value = [
                self.each.format_map({name: shown(of) for name, of in one.items()}) if isinstance(one, dict) else one
                for one in value
            ]
        return shown(value)


class Members(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The members of a run that have rows of their own, as the hosts of a cluster.

    Attributes:
        column: The column with their names, in tables and relations; those names are words of a type that is named as the column.
        relations: Those of which each member's rows follow from that member's rows of tables and of relations of this kind, and from other
            relations that are the same for all. They are made some members at a time, so that a grouping or a window holds few members' rows.
    """

    column: str = ""
    relations: tuple[str, ...] = ()


class Shifts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A number per member that is taken from its values when tables are read, as the error of a host's clock from times.

    Attributes:
        columns: Columns of integers, in every table that has the members' column.
        by: SQL that gives that column and ``shift``, for runs that have the tables which it reads; empty where nothing is shifted.
    """

    columns: tuple[str, ...] = ()
    by: str = ""


class Native(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A relation that compiled code makes member by member, because SQL takes several times as long.

    Attributes:
        function: Its name in ``slotmark._core``. It takes files by table, members (each with the number that stands for it, and the shift of its
            times), whether all rows are of one member, and then what ``arguments`` gives; it gives rows and columns, of which one has
            those numbers.
        tables: The columns that it reads, by table.
        arguments: SQL of one row.
    """

    function: str
    tables: dict[str, list[str]]
    arguments: str


class Grows(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The size of what a run worked on, along which its metrics may grow.

    Attributes:
        name: What it counts, in words.
        relation: Has it, the same in every row.
        value: SQL of it, a whole number.
        process: Column that numbers the processes of a run. A metric whose grain lacks it has samples of one process.
        same: Facts of the workload that runs of other sizes must have in common.
        remedy: What to do with a run that doesn't have it.
        more: How runs of another size are made.
    """

    name: str
    relation: str
    value: str
    process: str
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


class Ends(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The relation with what each process had in the end: processes that did the same work rightly have the same.

    Attributes:
        table: The table that it is of; runs may lack it.
        relation: Has a row per process.
        columns: Its columns, by what they hold in words; null where a process doesn't record it.
        remedy: Measures against processes that differ.
    """

    table: str
    relation: str
    columns: dict[str, str]
    remedy: str


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


class Predicted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The names under which a simulation's run records what its figures rest on.

    Attributes:
        simulated: The fact of the workload with the name of what was simulated.
        seeds: The fact of the workload with the seeds, in words.
        analysed: The parameter with how much was analysed, named as what is counted.
        sweep: That with the step of a sweep, a :class:`slotmark.metrics.predicted.Step`.
        replayed: That with the measured costs behind it, a :class:`slotmark.metrics.predicted.Replayed`.
        error: That with the model's distance from published figures, a :class:`slotmark.metrics.predicted.ModelError`.
        moved: That with the settings that were changed beside those that were asked for.
        moved_note: The sentence about those; ``{moved}`` stands for them.
        method: What else a reader of the method should know.
    """

    simulated: str
    seeds: str
    analysed: str
    sweep: str
    replayed: str
    error: str
    moved: str
    moved_note: str
    method: str


class Clocks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The clocks by which the times of a run were taken, and what depends on several of them.

    Attributes:
        apart: SQL of one row: ``least_ns``, how far some two clocks were apart at least, and ``most_ns``, how far they can have been; no row
            where clocks weren't compared.
        metrics: The ids of metrics whose samples are differences between two clocks, and so wrong by as much as these are apart.
        least: The kind of warning where clocks were so far apart that it matters for a metric; its text has ``apart`` and ``metrics``.
        most: Likewise where they can have been.
    """

    apart: str
    metrics: list[str]
    least: str
    most: str


class SetUp(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The set-up of a bench's runs, which must be the same where earlier runs or a table show how much runs of one build differ.

    Attributes:
        parameter: The parameter with its name.
        place: What runs are of where they are of no one machine, in a sentence.
        published: Facts of the workload that a published run, which has no such parameter, must have.
    """

    parameter: str
    place: str
    published: list[str]


class Words(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Text of which few values occur: it is read as numbers, in the order of the text.

    Attributes:
        values: SQL that gives all values.
        columns: The columns of tables that hold them.
    """

    values: str
    columns: list[str]
