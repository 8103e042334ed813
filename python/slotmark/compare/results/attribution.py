"""Origins of a difference between two sides, as plain data. docs/explain.md explains it.

:mod:`slotmark.compare.attribution.attributing` makes it from runs; report shows it.
"""

import msgspec

from slotmark.metrics import Metric
from slotmark.statistics.interval import Interval

_ALIKE = 0.5
"""The share of blocks from which on a kind has much in common with a group: of those in it, or of those in the group, that are in both."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One step, on all hops together.

    Attributes:
        name: In words.
        baseline: Its mean, in the metric's unit.
        candidate: Likewise.
        delta: The difference of the means.
        p_adjusted: That of no difference, adjusted over the steps of the metric.
    """

    name: str
    baseline: float
    candidate: float
    delta: Interval
    p_adjusted: float


class Explained(msgspec.Struct, frozen=True, kw_only=True):
    """A metric's difference, split into steps whose differences add up to it.

    Attributes:
        metric: Which.
        counts: How many samples are split, of the baseline and of the candidate.
        of: How many samples there are, likewise; those that aren't complete in the logs aren't split, and of very many only some are.
        baseline: The mean of the split samples, in the metric's unit.
        candidate: Likewise.
        delta: The difference of the means.
        how: What the steps are, as a sentence for readers.
        steps: In the order in which they follow each other, or in the catalogue's.
        first: The name of the largest step that differs beyond chance in the direction of the whole difference; empty where none does.
        shown: The names of all steps that differ beyond chance.
    """

    metric: Metric
    counts: tuple[int, int]
    of: tuple[int, int]
    baseline: float
    candidate: float
    delta: Interval
    how: str
    steps: list[Step]
    first: str
    shown: list[str]


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A stage that takes otherwise long on the candidate, and where that is so.

    Attributes:
        stage: Which.
        kind: What the place is: empty for all there are, ``host``, ``region``, ``hosts`` (what one sends to the other, either way),
            ``regions``, or ``sender`` (what a host sends).
        places: Its name; both names of ``hosts`` and ``regions``; none for all.
        delta: How much longer the stage takes there.
        p_adjusted: That of no difference, adjusted over all stages and places.
    """

    stage: str
    kind: str
    places: list[str]
    delta: Interval
    p_adjusted: float


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """The changes that were found.

    Attributes:
        kind: What a place is, as ``host``.
        group: What a group of places is, as ``region``.
        unit: Unit of all differences.
        found: What accounts for most of the change first; each with those before it taken off.
    """

    kind: str
    group: str
    unit: str
    found: list[Change]


class Apart(msgspec.Struct, frozen=True, kw_only=True):
    """A stage at one place, whose difference between the sides isn't that of the other places.

    Attributes:
        place: Where.
        stage: Which.
        baseline: Its mean there.
        candidate: Likewise.
        beyond: By how much more the means differ there than in the middle of all places.
        p_adjusted: That of a place like the others, adjusted over all places and stages.
    """

    place: str
    stage: str
    baseline: float
    candidate: float
    beyond: float
    p_adjusted: float


class OutlierPlaces(msgspec.Struct, frozen=True, kw_only=True):
    """The places that were compared, and those that differ.

    Attributes:
        kind: What a place is, as ``host``.
        unit: Unit of all values.
        least: The smallest difference that matters, in that unit.
        count: How many places there are.
        apart: Those that differ, the largest first.
        names: Names of the places, those of one group together.
        groups: The group that each is in; empty where that isn't known.
        stages: In the order in which they follow each other.
        differences: A list per place, an entry per stage: the difference of the means, with each sender by itself; None where a side has too few.
    """

    kind: str
    unit: str
    least: float
    count: int
    apart: list[Apart]
    names: list[str]
    groups: list[str]
    stages: list[str]
    differences: list[list[float | None]]


class Span(msgspec.Struct, frozen=True):
    """A stage at one place.

    Attributes:
        place: Where.
        stage: Which.
        begin: In the metric's unit, since the sample began.
        end: Likewise.
    """

    place: str
    stage: str
    begin: float
    end: float


class WorstSample(msgspec.Struct, frozen=True, kw_only=True):
    """One of the worst samples.

    Attributes:
        metric: The catalogue's entry.
        sample: What it is of, as ``block``.
        place: What a place is, as ``host``.
        run: The run that it is of.
        key: Key of the sample.
        about: What stands beside the key: names and values.
        value: Value of the sample, in the metric's unit.
        spans: Place by place, in the order in which places were done, and there in the order of time.
    """

    metric: Metric
    sample: str
    place: str
    run: str
    key: int
    about: list[tuple[str, str]]
    value: float
    spans: list[Span]


class PartOfDelta(msgspec.Struct, frozen=True):
    """The share of one part of the cost in a difference, in the metric's unit, over all blocks of a group."""

    name: str
    delta: float


class InClass(msgspec.Struct, frozen=True):
    """The number of blocks of a kind in a group, and in all."""

    name: str
    blocks: int
    of: int

    @property
    def share(self) -> float:
        """The share of the kind that is in the group, as a fraction."""
        return self.blocks / self.of


class ChangedBlock(msgspec.Struct, frozen=True, kw_only=True):
    """A block that changed.

    Attributes:
        key: Its slot.
        about: What else is known of it: names and values.
        baseline: Mean cost over processes, in the metric's unit.
        candidate: Likewise.
        ratio: Candidate over baseline, of geometric means over processes.
        largest: The part of the cost with the largest difference; empty where no parts are recorded.
    """

    key: int
    about: list[tuple[str, str]]
    baseline: float
    candidate: float
    ratio: float
    largest: str

    @property
    def delta(self) -> float:
        """Candidate less baseline, in the metric's unit."""
        return self.candidate - self.baseline


class ChangedGroup(msgspec.Struct, frozen=True, kw_only=True):
    """The blocks that changed in one direction, otherwise than the median block.

    Attributes:
        higher: Whether they cost more.
        ratio: Their median ratio. They were chosen by their ratios, so that it is too far from 1 where noise is large.
        low: The ratio that a tenth of them don't exceed.
        high: The ratio that nine tenths don't exceed.
        delta: What they add to the sum over all blocks, candidate less baseline, in the metric's unit.
        parts: Its split by part of the cost, the largest first; empty where none are recorded.
        classes: How many blocks of each kind are among them.
        keys: Their slots, rising.
        worst: Those that add most to ``delta``, the largest first.
    """

    higher: bool
    ratio: float
    low: float
    high: float
    delta: float
    parts: list[PartOfDelta]
    classes: list[InClass]
    keys: list[int]
    worst: list[ChangedBlock]

    @property
    def share_of_first(self) -> float | None:
        """The share of the first part in the sum of all; None where none are recorded or they add up to nothing."""
        whole = sum(part.delta for part in self.parts)
        return self.parts[0].delta / whole if self.parts and whole else None

    @property
    def most_alike(self) -> InClass | None:
        """The kind of blocks that has most in common with the group; None where no kind has much."""
        shares = [(one.blocks / (one.of + len(self.keys) - one.blocks), one) for one in self.classes]
        share, best = max(shares, key=lambda pair: pair[0], default=(0.0, None))
        return best if share >= _ALIKE else None


class BlockChanges(msgspec.Struct, frozen=True, kw_only=True):
    """Blocks that changed differently from the median block.

    Attributes:
        metric: Metric of the cost.
        blocks: How many were tested.
        median: The median ratio of all of them, with which they are compared.
        margin: A ratio nearer to the median one than this is no change.
        groups: Those that cost more, and those that cost less; a group without blocks is absent.
    """

    metric: Metric
    blocks: int
    median: float
    margin: float
    groups: list[ChangedGroup]


class Attribution(msgspec.Struct, frozen=True, kw_only=True, tag="attribution"):
    """The causes of the differences between a baseline and a candidate.

    Attributes:
        of: The candidate's name.
        explained: One per metric that can be split and that both sides have.
        unknown: The names of metrics that can't be split in these runs.
        changes: Which stages changed, and where; None where that isn't known.
        places: Where stages changed otherwise than elsewhere; None where that isn't known.
        worst: The candidate's worst samples of a metric, the worst first.
        blocks: Which blocks changed otherwise than the median one, of repeated costs of the same blocks; None where that isn't known.
    """

    of: str
    explained: list[Explained]
    unknown: list[str]
    changes: Changes | None
    places: OutlierPlaces | None
    worst: list[WorstSample]
    blocks: BlockChanges | None = None

    @property
    def stages_of_worst(self) -> list[str]:
        """The stages of the worst samples, that which takes longest in all of them together first."""
        totals: dict[str, float] = {}
        for span in (span for one in self.worst for span in one.spans):
            totals[span.stage] = totals.get(span.stage, 0.0) + span.end - span.begin
        return sorted(totals, key=lambda stage: -totals[stage])
