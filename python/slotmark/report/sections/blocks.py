"""Tables of repeated costs of the same blocks: rows by candidate, kinds of blocks, design, and what their detail holds."""

from slotmark.compare.result import Comparison
from slotmark.compare.results.details import Blocks
from slotmark.compare.results.rows import ALL, OF_BLOCKS, BlockDesign, Difference, Row
from slotmark.numbers import independent, number, p_value, percent, ratio_interval
from slotmark.report.document import Cell, Table, details, left, right
from slotmark.report.sections.cells import (
    OF_TYPICAL_BLOCK,
    headed,
    link_of,
    margin_cell,
    metric_cell,
    optional,
    p_cell,
    verdict_cell,
)

COSTS = f"Costs are of the median block, or the mean over all blocks. {OF_TYPICAL_BLOCK}"
"""Sentences on how costs and ratios of a row belong together."""


def block_tables(comparison: Comparison) -> list[Table]:
    """A table per candidate: every tested metric over all blocks."""
    rows = [row for row in _rows(comparison) if row.part == ALL]
    notes = [COSTS]
    made = []
    for place, side in enumerate(comparison.candidates):
        columns = [
            *left("", "of"),
            *right(comparison.baseline.name, side.name, "ratio [interval]", "margin"),
            *details("adj. p", "faster blocks"),
            *left("verdict"),
        ]
        lines = [
            [
                metric_cell(row.metric, link=link_of(comparison, row, place)),
                Cell(row.quantity, remark=_blocks(difference.detail)),
                *_levels(row, place),
                _ratio(difference),
                margin_cell(row.metric, difference),
                p_cell(difference),
                _faster(difference.detail),
                verdict_cell(difference),
            ]
            for row in rows
            if (difference := row.differences[place]) is not None and difference.verdict is not None
        ]
        if lines:
            made.append(Table(side.name, columns, lines, notes))
    return made


def _blocks(detail: BlockDesign | None) -> str:
    """Returns how many blocks count, and how many independent ones would carry as much information."""
    if detail is None:
        return ""
    effective = "" if detail.effective_blocks is None else f", {independent(detail.effective_blocks)}"
    return f"{detail.blocks:,} blocks{effective}"


def part_tables(comparison: Comparison) -> list[Table]:
    """A table per candidate: the kinds of blocks, each by itself."""
    rows = [row for row in _rows(comparison) if row.part != ALL]
    columns = [
        *left("metric", "blocks"),
        *right("n", comparison.baseline.name, "candidate", "ratio [interval]", "faster blocks"),
    ]
    note = f"{COSTS} Shown, not tested: they help to locate the difference."
    made = []
    for place, side in enumerate(comparison.candidates):
        lines = [
            [
                Cell(headed(row.metric)),
                Cell(row.part),
                Cell("-" if (detail := difference.detail) is None else f"{detail.blocks:,}"),
                *_levels(row, place),
                _ratio(difference),
                _faster(detail),
            ]
            for row in rows
            if (difference := row.differences[place]) is not None
        ]
        if lines:
            made.append(Table(f"{side.name} by kind of block", columns, lines, [note]))
    return made


def design_tables(comparison: Comparison, blocks: Blocks) -> list[Table]:
    """Tables of the changes that these processes can find, and of how many more would be needed."""
    columns = [
        *left("", "of"),
        *right("processes"),
        *details("s.e. from processes", "s.e. from blocks"),
        *right("can find", "margin"),
        *details("equivalence p"),
        *right("needed per side"),
    ]
    rows = _rows(comparison)
    lines = [
        [
            Cell(side.name),
            Cell(row.quantity),
            Cell(f"{blocks.processes[0]} and {blocks.processes[place + 1]}"),
            *_design(difference, difference.detail),
        ]
        for place, side in enumerate(comparison.candidates)
        for row in rows
        if row.metric == rows[0].metric
        and row.part == ALL
        and (difference := row.differences[place])
        and difference.ratio
        and difference.detail
    ]
    note = (
        "Can find: the smallest change that a design like this finds four times in five, in one test. Needed: processes per side that find a change "
        "as large as the margin four times in five. Where the error from blocks alone is too large, more processes don't help."
    )
    return [Table("What this design can find", columns, lines, [note])] if lines else []


def factor_tables(comparison: Comparison, blocks: Blocks) -> list[Table]:
    """Tables of the effect of each level of a factor, and of two factors together."""
    columns = [*left(""), *right("ratio [interval]", "p"), *left("")]
    lines = [
        [
            Cell(effect.name),
            Cell(ratio_interval(effect.ratio)),
            Cell("-" if effect.within_runs_only else p_value(effect.p)),
            Cell("interaction: ratio of two ratios" if effect.interaction else "over all levels of the other"),
        ]
        for effect in blocks.factors
    ]
    note = f"{comparison.costs.name} of a typical block. p-values are not adjusted, and no verdict uses them."
    return [Table("", columns, lines, [note])] if lines else []


def quantile_tables(comparison: Comparison, blocks: Blocks) -> list[Table]:
    """A table per candidate: the deciles of the first metric."""
    columns = right("quantile", comparison.baseline.name, "candidate", "ratio [interval]", "blocks beyond")
    unit = comparison.costs.unit
    return [
        Table(
            f"{side.name}, {unit}",
            columns,
            [
                [
                    Cell(percent(one.quantile)),
                    Cell(number(one.baseline)),
                    Cell(number(one.candidate)),
                    Cell(ratio_interval(one.ratio)),
                    Cell(f"{one.beyond:,}"),
                ]
                for one in shifts
            ],
            wide=True,
        )
        for side, shifts in zip(comparison.candidates, blocks.shifts, strict=True)
        if shifts
    ]


def rank_tables(comparison: Comparison, blocks: Blocks) -> list[Table]:
    """The mean ranks of three sides or more, and the p-values of every pair."""
    ranking = blocks.ranking
    if ranking is None:
        return []
    names = [side.name for side in comparison.sides]
    first = Table(
        "Mean ranks",
        [*left(""), *right("mean rank, 1 is cheapest")],
        [[Cell(name), Cell(number(rank))] for name, rank in zip(names, ranking.mean_ranks, strict=True)],
        [
            f"Friedman's chi-squared {number(ranking.chi_squared)}, p {p_value(ranking.p)}. Blocks are what is ranked: these p-values "
            "hold for these processes only, and no verdict uses them."
        ],
    )
    columns = [*left(""), *right("Nemenyi", "Conover", "signed rank")]
    lines = [
        [
            Cell(f"{names[pair.first]} and {names[pair.second]}"),
            *(Cell(p_value(p)) for p in (pair.nemenyi, pair.conover, pair.signed_rank)),
        ]
        for pair in ranking.pairs
    ]
    return [first, Table("p-values of pairs, adjusted over all pairs", columns, lines, wide=True)]


def _rows(comparison: Comparison) -> list[Row]:
    return [row for row in comparison.rows if row.quantity in OF_BLOCKS]


def _levels(row: Row, place: int) -> list[Cell]:
    return [optional(row.levels[0]), optional(row.levels[place + 1])]


def _ratio(difference: Difference) -> Cell:
    return Cell(ratio_interval(difference.ratio) if difference.ratio else "-")


def _faster(detail: BlockDesign | None) -> Cell:
    if detail is None or detail.faster is None:
        return Cell("-")
    biserial = detail.rank_biserial
    remark = "" if biserial is None else f"rank-biserial correlation {number(biserial, 3)}"
    return Cell(percent(detail.faster), remark=remark)


def _design(difference: Difference, detail: BlockDesign) -> list[Cell]:
    unknown = detail.error_of_runs is None
    return [
        _share(detail.error_of_runs, "unknown"),
        _share(detail.error_of_blocks),
        _share(detail.detectable),
        Cell(percent(difference.margin)),
        Cell("-" if unknown or detail.p_equivalent is None else p_value(detail.p_equivalent)),
        Cell("unknown" if unknown else str(detail.runs_needed or "more than 1,000")),
    ]


def _share(fraction: float | None, otherwise: str = "-") -> Cell:
    return Cell(otherwise if fraction is None else percent(fraction))
