"""Steps, timelines and stages by place, as a catalogue describes them, and the SQL that reads them."""

import msgspec


class Split(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The steps of which each sample of a metric is made.

    Attributes:
        metric: The metric's id; its grain is one column.
        relation: Has one row per sample and step, or several: the grain's column, ``step`` (whole numbers, the order of steps), and ``stage``, the
            step's name.
        value: How long a step took, as SQL that adds up its rows, in the metric's unit; of whole numbers, so that their order makes no difference.
            The steps of a sample add up to it.
        where: Which rows are of the metric's samples, as SQL.
        how: What the steps are, as a sentence for readers.
    """

    metric: str
    relation: str
    value: str
    where: str
    how: str

    def sql(self, key: str) -> str:
        """Returns SQL of the steps of samples: ``key``, ``step``, ``stage``, ``value``, sorted by key and step.

        Args:
            key: The grain column of the metric.
        """
        return (
            f'SELECT "{key}" AS key, step, stage, {self.value} AS value FROM "{self.relation}" WHERE {self.where} '
            "GROUP BY ALL ORDER BY key, step"
        )


class Changed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names of the parts that make up the cost of the bench's first metric: they explain how repeated costs of the same keys change.

    Attributes:
        parts: Metrics, each a part of the first one's cost. One that doesn't fit into what those before it leave isn't inside of it.
        rest: The name of what no part holds.
        how: What the parts are, as a sentence for readers.
    """

    parts: list[str]
    rest: str
    how: str


class Timelines(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Timelines of a metric's worst samples, place by place.

    Attributes:
        metric: The metric's id; its grain is one column.
        sample: What a sample is of, as ``block``.
        relation: Has one row per sample, place, hop by which the sample came there, and step, as :class:`Split` has it.
        place: The column with the place.
        at: The column with the place where the step took place; drawn are those of the place itself.
        hop: The column with the hop, rising; drawn is the last one.
        value: How long a step took, as SQL, in the metric's unit.
    """

    metric: str
    sample: str
    relation: str
    place: str
    at: str
    hop: str
    value: str

    def sql(self, key: str, value: int) -> str:
        """Returns SQL of the last steps of one sample at each place: ``place``, ``stage``, ``begin`` and ``end`` since the sample began, sorted by place and step.

        Args:
            key: The grain column of the metric.
            value: Its value for the sample.
        """
        return (
            f'SELECT CAST("{self.place}" AS VARCHAR) AS place, stage, so_far - took AS begin, so_far AS end FROM ('
            f'SELECT *, {self.value} AS took, SUM({self.value}) OVER (PARTITION BY "{self.place}" ORDER BY "{self.hop}", step) AS so_far, '
            f'MAX("{self.hop}") OVER (PARTITION BY "{self.place}") AS last FROM "{self.relation}" WHERE "{key}" = {value:d}) '
            f'WHERE "{self.hop}" = last AND "{self.at}" = CAST("{self.place}" AS VARCHAR) ORDER BY place, step'
        )


class StageCells(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Stages by place, and the senders that each stage waited for.

    Attributes:
        relation: Has one row per key, stage, place and sender, with ``step`` and ``stage`` as :class:`Split` has them, and ``waited``: for how many
            samples it had to end.
        key: The column with what a stage belongs to, as a block.
        place: The column with where it took place.
        sender: The column with the place from which came what it waited for; null of steps without one.
        kind: What a place is, as ``host``.
        groups: The relation that has the group of each place, in columns named as ``kind`` and ``group``.
        group: What a group of places is, as ``region``.
        value: How long it took, as SQL.
        unit: Unit of the value.
        least: The smallest difference that matters, in that unit.
    """

    relation: str
    key: str
    place: str
    sender: str
    kind: str
    groups: str
    group: str
    value: str
    unit: str
    least: float

    def sql(self) -> str:
        """Returns SQL of all stages: ``step``, ``stage``, ``sender``, ``place``, ``key``, ``value``, ``waited``, sorted by step, stage, sender (null first), place and key."""
        return (
            f'SELECT step, stage, "{self.sender}" AS sender, "{self.place}" AS place, "{self.key}" AS key, {self.value} AS value, '
            f'waited FROM "{self.relation}" ORDER BY step, stage, sender NULLS FIRST, place, key'
        )

    def groups_sql(self) -> str:
        """Returns SQL of the group of each place for which it is known: ``place``, ``group``."""
        return f'SELECT CAST("{self.kind}" AS VARCHAR) AS place, "{self.group}" AS "group" FROM "{self.groups}" WHERE "{self.kind}" IS NOT NULL AND "{self.group}" IS NOT NULL ORDER BY ALL'
