"""From a comparison of block costs to a document."""

from slotmark.compare.block_comparison import ALL, BlockComparison, BlockDifference, BlockRow
from slotmark.numbers import number, percent, ratio_interval
from slotmark.report import block_charts
from slotmark.report.document import SYMBOLS, Block, Cell, Column, Document, Doubts, Figure, Paragraph, Section, Table
from slotmark.report.provenance import dictionary, manifests, work_done

_LEAST = 1e-15


def block_document(comparison: BlockComparison) -> Document:
    """The report of a comparison of block costs; its first section is the verdicts in words."""
    sections = [
        Section("Verdicts", _verdicts(comparison), brief=True),
        Section("Warnings", [Doubts(comparison.warnings)] if comparison.warnings else [], brief=True),
        Section("Comparison", _tables(comparison, ALL), brief=True),
        Section("Parts", _part_tables(comparison)),
        Section("Factors", _factors(comparison), brief=True),
        Section("Charts", _figures(comparison)),
        Section("Quantiles", _quantiles(comparison)),
        Section("Ranks", _ranks(comparison)),
        Section("Design", _design(comparison), brief=True),
        Section("Method", _method(comparison)),
        Section("Data dictionary", [dictionary(row.metric for row in comparison.rows)]),
        Section("Manifest", manifests(comparison.sides)),
    ]
    names = [side.name for side in comparison.candidates]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return Document(
        f"{listed} against {comparison.baseline.name}",
        work_done(comparison.baseline),
        [section for section in sections if section.blocks],
    )


def _verdicts(comparison: BlockComparison) -> list[Block]:
    blocks: list[Block] = []
    main = comparison.rows[0].metric
    for place, side in enumerate(comparison.candidates):
        for row in comparison.rows:
            difference = row.differences[place]
            if row.metric == main and row.part == ALL and difference is not None:
                what = "typical block" if row.estimator == "typical block" else "all blocks together"
                shown = f"{ratio_interval(difference.ratio)}" if difference.ratio else "no ratio"
                said = f"{side.name}, {main.name.lower()}, {what}: {shown}, {difference.verdict}: {difference.reason}."
                blocks.append(Paragraph(said, difference.verdict))
    counts = dict.fromkeys(SYMBOLS, 0)
    for row in comparison.rows:
        for difference in row.differences:
            if difference is not None and difference.verdict is not None:
                counts[difference.verdict] += 1
    said = ", ".join(f"{SYMBOLS[verdict]} {count} {verdict}" for verdict, count in counts.items())
    return [*blocks, Paragraph(f"Over all that is tested: {said}.")]


def _tables(comparison: BlockComparison, part: str) -> list[Block]:
    """A table a candidate: every metric over some of the blocks."""
    notes = ["Costs are of the median block, or the mean over all blocks.", _margins(comparison)]
    made: list[Block] = []
    for place, side in enumerate(comparison.candidates):
        columns = [
            Column("", "left"),
            Column("of", "left"),
            Column(comparison.baseline.name),
            Column(side.name),
            Column("ratio [interval]"),
            Column("adj. p", detail=True),
            Column("faster blocks", detail=True),
            Column("verdict", "left"),
        ]
        rows = [
            _row(row, place, difference)
            for row in comparison.rows
            if row.part == part
            and (difference := row.differences[place]) is not None
            and difference.verdict is not None
        ]
        if rows:
            made.append(Table(side.name, columns, rows, notes))
    return made


def _margins(comparison: BlockComparison) -> str:
    """The margin of every metric, those with the same together."""
    metrics: dict[float, list[str]] = {}
    for metric in dict.fromkeys(row.metric for row in comparison.rows):
        metrics.setdefault(metric.margin, []).append(metric.name.lower())
    said = [f"{percent(margin)} of {', '.join(names)}" for margin, names in metrics.items()]
    return f"Margins: {'; '.join(said)}."


def _row(row: BlockRow, place: int, difference: BlockDifference) -> list[Cell]:
    costs = [row.costs[0], row.costs[place + 1]]
    unit = row.metric.unit
    return [
        Cell(f"{row.metric.name}{', ' + unit if unit else ''}", remark=row.metric.definition),
        Cell(row.part if row.part != ALL else row.estimator, remark=f"{difference.blocks:,} blocks"),
        *(Cell("-" if cost is None else number(cost)) for cost in costs),
        Cell(ratio_interval(difference.ratio) if difference.ratio else "-"),
        Cell("" if difference.p_adjusted is None else _p(difference.p_adjusted)),
        Cell(
            "-" if difference.faster is None else percent(difference.faster),
            remark=""
            if difference.rank_biserial is None
            else f"rank-biserial correlation {difference.rank_biserial:.3f}",
        ),
        Cell("", remark=difference.reason)
        if difference.verdict is None
        else Cell(f"{SYMBOLS[difference.verdict]} {difference.verdict}", difference.verdict, difference.reason),
    ]


def _part_tables(comparison: BlockComparison) -> list[Block]:
    columns = [
        Column("blocks", "left"),
        *map(Column, ("n", comparison.baseline.name, "candidate", "ratio [interval]", "faster blocks")),
    ]
    main = comparison.rows[0].metric
    made: list[Block] = []
    for place, side in enumerate(comparison.candidates):
        rows = []
        for row in comparison.rows:
            difference = row.differences[place]
            if row.metric == main and row.part != ALL and difference is not None:
                cells = _row(row, place, difference)
                rows.append([Cell(row.part), Cell(f"{difference.blocks:,}"), cells[2], cells[3], cells[4], cells[6]])
        if rows:
            note = f"{main.name} of a typical block; costs are medians. Shown, not tested: they say where the difference lies."
            made.append(Table(f"{side.name} by kind of block", columns, rows, [note]))
    return made


def _factors(comparison: BlockComparison) -> list[Block]:
    if not comparison.factors:
        return []
    columns = [Column("", "left"), Column("ratio [interval]"), Column("p"), Column("", "left")]
    rows = [
        [
            Cell(effect.name),
            Cell(ratio_interval(effect.ratio)),
            Cell("-" if effect.within_runs_only else _p(effect.p)),
            Cell("interaction: ratio of two ratios" if effect.interaction else "over all levels of the other"),
        ]
        for effect in comparison.factors
    ]
    note = f"{comparison.rows[0].metric.name} of a typical block. p-values are of each by itself and in no verdict."
    return [Table("", columns, rows, [note])]


def _figures(comparison: BlockComparison) -> list[Block]:
    metric = comparison.rows[0].metric
    if not comparison.densities:
        return []
    name = metric.name.lower()
    made: list[Block] = [
        Figure(
            "Distribution of costs",
            f"{metric.name} of blocks on a log axis, every side as high as its largest hump. Blocks differ far more than builds do.",
            block_charts.ridgeline(comparison),
        )
    ]
    for title, places in _facets(comparison).items():
        if any(comparison.shifts[place] for place in places):
            made.append(
                Figure(
                    f"Speedup by percentile{': ' + title if title else ''}",
                    f"Of {name}, in percent of {comparison.baseline.name}'s quantile; above 0 is faster. Quantiles are Harrell-Davis's; bars are intervals of each by itself.",
                    block_charts.percentiles(comparison, places),
                )
            )
    for place, side in enumerate(comparison.candidates):
        drawn, blocks = len(comparison.dots[place]), comparison.blocks
        made.append(
            Figure(
                f"Ratio by block: {side.name}",
                f"{'Every block' if drawn == blocks else f'{drawn:,} of {blocks:,} blocks, evenly by cost'}: its ratio against {comparison.baseline.name}'s cost. Bands: the typical ratio of blocks of about one cost, with its interval.",
                block_charts.ratios(comparison, place),
            )
        )
    if any(comparison.shifts):
        made.append(
            Figure(
                "Shift function",
                f"Ratio of quantiles at the baseline's deciles of {name}, with intervals of each by itself.",
                block_charts.shift(comparison),
            )
        )
    return made


def _facets(comparison: BlockComparison) -> dict[str, list[int]]:
    """Candidates by the level of the first factor; all in one where there are no factors."""
    facets: dict[str, list[int]] = {}
    for place, side in enumerate(comparison.candidates):
        levels = side.manifest.parameters.get("target factors", {})
        title = next((f"{name} {level}" for name, level in levels.items()), "")
        facets.setdefault(title, []).append(place)
    return facets


def _quantiles(comparison: BlockComparison) -> list[Block]:
    columns = [
        Column("quantile"),
        *map(Column, (comparison.baseline.name, "candidate", "ratio [interval]", "blocks beyond")),
    ]
    unit = comparison.rows[0].metric.unit
    return [
        Table(
            f"{side.name}, {unit}",
            columns,
            [
                [
                    Cell(f"{one.quantile:.0%}"),
                    Cell(number(one.baseline)),
                    Cell(number(one.candidate)),
                    Cell(ratio_interval(one.ratio)),
                    Cell(f"{one.beyond:,}"),
                ]
                for one in shifts
            ],
            wide=True,
        )
        for side, shifts in zip(comparison.candidates, comparison.shifts, strict=True)
        if shifts
    ]


def _ranks(comparison: BlockComparison) -> list[Block]:
    ranking = comparison.ranking
    if ranking is None:
        return []
    names = [side.name for side in comparison.sides]
    first = Table(
        "Mean ranks",
        [Column("", "left"), Column("mean rank, 1 is cheapest")],
        [[Cell(name), Cell(f"{rank:.3f}")] for name, rank in zip(names, ranking.mean_ranks, strict=True)],
        [
            f"Friedman's chi-squared {number(ranking.chi_squared)}, p {_p(ranking.p)}. Blocks are what is ranked: these p-values say "
            "nothing about other processes of the same builds, and no verdict uses them."
        ],
    )
    columns = [Column("", "left"), *map(Column, ("Nemenyi", "Conover", "signed rank"))]
    rows = [
        [
            Cell(f"{names[pair.first]} and {names[pair.second]}"),
            *(Cell(_p(p)) for p in (pair.nemenyi, pair.conover, pair.signed_rank)),
        ]
        for pair in ranking.pairs
    ]
    return [first, Table("p-values of pairs, adjusted over all pairs", columns, rows, wide=True)]


def _design(comparison: BlockComparison) -> list[Block]:
    """What these processes can find, and how many more would be needed."""
    columns = [
        Column("", "left"),
        Column("of", "left"),
        Column("processes"),
        Column("s.e. from processes", detail=True),
        Column("s.e. from blocks", detail=True),
        Column("can find"),
        Column("margin"),
        Column("equivalence p", detail=True),
        Column("needed a side"),
    ]
    rows = []
    main = comparison.rows[0].metric
    for place, side in enumerate(comparison.candidates):
        for row in comparison.rows:
            difference = row.differences[place]
            if row.metric != main or row.part != ALL or difference is None or difference.ratio is None:
                continue
            unknown = difference.error_of_runs is None
            rows.append(
                [
                    Cell(side.name),
                    Cell(row.estimator),
                    Cell(f"{comparison.processes[0]} and {comparison.processes[place + 1]}"),
                    Cell("unknown" if unknown else percent(difference.error_of_runs or 0.0)),
                    Cell("-" if difference.error_of_blocks is None else percent(difference.error_of_blocks)),
                    Cell("-" if difference.detectable is None else percent(difference.detectable)),
                    Cell(percent(difference.margin)),
                    Cell("-" if unknown or difference.p_equivalent is None else _p(difference.p_equivalent)),
                    Cell("unknown" if unknown else str(difference.runs_needed or "more than 1,000")),
                ]
            )
    note = (
        "Can find: the smallest change that such a design finds four times in five, in one test. Needed: processes a side for a change "
        "as large as the margin to be found as often. Where the blocks' part alone is too large, more processes don't help."
    )
    return [Table("What this design can tell", columns, rows, [note])] if rows else []


def _method(comparison: BlockComparison) -> list[Block]:
    share = percent(comparison.confidence)
    text = (
        "Blocks are paired by slot; of several processes of a target, the mean of log costs counts. Typical block: the Hodges-Lehmann "
        "estimate of the blocks' log ratios, as a ratio. All blocks together: the ratio of sums. "
        f"{share} intervals come from two levels of chance, processes and blocks: their linearised effects are drawn in {comparison.repetitions:,} "
        f"hierarchical bootstrap repetitions (seed {comparison.seed}), runs, then blocks, and widths follow Student's t. "
        "With one process on a side, intervals cover blocks within the processes only, and there is no verdict. "
        f"p-values are Holm-adjusted over the {comparison.tests} tests of this report. Better or worse: the interval excludes 1, the adjusted "
        f"p-value is below {1 - comparison.confidence:.2g}, and the ratio lies beyond the margin. Equivalent: the whole interval lies within it. "
        "Quantiles are Harrell-Davis's. docs/ledger.md says why, and how often it is right."
    )
    return [Paragraph(text)]


def _p(p: float) -> str:
    """A p-value as computed; what floating-point numbers can't tell from 0 is bounded."""
    return f"< {_LEAST:.0g}" if p < _LEAST else "1" if p >= 1 else f"{p:.2g}"
