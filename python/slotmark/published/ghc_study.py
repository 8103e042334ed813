"""The tables of the 2023 study of GHC versions and branches (Cardano 92 Perf regression follow-up), from our runs.

Its formulas, as R computes them: quantiles of type 7, Kruskal-Wallis with correction for ties, signed-rank tests with
continuity correction and Holm's adjustment, speedups between marginal quantiles. Two things are not as printed there: the unit
is microseconds, and the pairwise tests compare the rows of one level of the first factor. The study's call gave the rows of
all, so that R recycled the groups and compared compilers under the names of branches.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import combinations, pairwise

import msgspec
import numpy as np
import scipy

from slotmark.errors import ComparisonError
from slotmark.metrics import Analysis, Filter, costs_together
from slotmark.published.report import Printed, PublishedCell, PublishedTable, figure, words
from slotmark.run import Run
from slotmark.statistics.rank_tests import holm, signed_rank_p

QUANTILES = (0.05, 0.1, 0.5, 0.9, 0.95)
DECILES = tuple(tenth / 10 for tenth in range(11))
MOST_SHAPIRO = 5_000
"""The most values for which Royston's approximation is good."""

SMALLEST_PRINTED = float(np.finfo(np.float64).eps)
"""R prints p-values below this as a bound, ``< 2.2e-16``: as a p-value it is none."""

FEW_BLOCKS = 10
"""A quantile that rests on fewer blocks is one of them rather than a quantile."""

UNIT = "Times in microseconds."


class Case(msgspec.Struct, frozen=True):
    """One target of a study.

    Attributes:
        compiler: Its level of the first factor.
        branch: Its level of the second.
        total_us: Total time of each block, in the order of slots.
    """

    compiler: str
    branch: str
    total_us: np.ndarray


class Tested(msgspec.Struct, frozen=True):
    """A test's statistic and p-value."""

    statistic: float
    p: float


def shapiro(values: np.ndarray) -> Tested:
    """Shapiro-Wilk's test of at least three values, not all equal; as R's shapiro.test."""
    statistic, p = scipy.stats.shapiro(values)
    return Tested(float(statistic), float(p))


def kruskal(groups: Sequence[np.ndarray]) -> Tested:
    """Kruskal and Wallis's test of at least two groups, as R's kruskal.test; of groups that are all alike the p-value is 1."""
    if np.unique(np.concatenate(list(groups))).size == 1:
        return Tested(0.0, 1.0)
    statistic, p = scipy.stats.kruskal(*groups)
    return Tested(float(statistic), float(p))


def pairwise_signed_rank(values: Mapping[str, np.ndarray]) -> dict[tuple[str, str], float]:
    """Holm-adjusted p-values of every pair, as R's pairwise.wilcox.test(paired = TRUE).

    Args:
        values: By group, the same blocks in the same order.

    Raises:
        ComparisonError: Groups don't have the same number of blocks: R would recycle the shorter, in silence.
    """
    sizes = {name: one.size for name, one in values.items()}
    if len(set(sizes.values())) > 1:
        shown = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise ComparisonError(
            f"Groups of paired values have other sizes: {shown}. Compare processes over the same blocks."
        )
    pairs = list(combinations(values, 2))
    return dict(zip(pairs, holm([signed_rank_p(values[one] - values[other]) for one, other in pairs]), strict=True))


def median_and_iqr(values: np.ndarray) -> tuple[float, float]:
    """Median and interquartile range, with quantiles of type 7."""
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return float(middle), float(high - low)


def speedup(baseline: float, other: float) -> float:
    """The study's speedup in percent: (baseline - other) / baseline. -100 is twice as slow, 50 is twice as fast."""
    return (baseline - other) / baseline * 100


def exponential_quantile_ratio(numerator: float, denominator: float) -> float:
    """Returns the ratio of two quantiles of an exponential distribution; it is the same for all of them."""
    return float(np.log1p(-numerator) / np.log1p(-denominator))


def blocks_beyond(blocks: int, quantile: float) -> int:
    """On how many blocks a quantile rests: those at or beyond it, on the side with fewer."""
    return int(np.ceil(round(blocks * min(quantile, 1 - quantile), 9)))


def jumps(quantiles: Mapping[float, float], factor: float = 1.5) -> list[tuple[float, float]]:
    """The ratio of neighbouring quantiles from which on a cluster's edge lies between them."""
    return [(one, other) for (one, low), (other, high) in pairwise(sorted(quantiles.items())) if high > factor * low]


def printed_p(p: float) -> PublishedCell:
    """A p-value as computed, bounded where the machine's precision ends."""
    return PublishedCell(f"< {SMALLEST_PRINTED:.1e}" if p < SMALLEST_PRINTED else f"{p:.4g}", p)


def printed(sides: Sequence[Mapping[str, Run]], filters: Sequence[Filter] | None, style: str) -> Printed:
    """The study's tables; the first side is the baseline of both factors, and processes of one side's runs are put together.

    The study has one style, and nothing of it can be filtered.

    Raises:
        ComparisonError: Two sides have the same factors, or more factors than two, or runs hold other blocks.
    """
    groups = [list(side.values()) for side in sides]
    names, cases = cases_of(groups)
    first, second = names
    compilers = list(dict.fromkeys(case.compiler for case in cases))
    branches = list(dict.fromkeys(case.branch for case in cases))
    processes = max(sum(run.manifest.parameters.get("processes", 1) for run in group) for group in groups)
    source = (
        [UNIT] if processes == 1 else [UNIT, f"Of {processes} processes, the median of each block: the study had one."]
    )
    tables = [
        _normality(cases[0], first, second, source),
        _significance(cases, compilers, branches, names),
        *_pairs(cases, compilers, branches, names, processes),
        _medians(cases, names, source),
        _quantiles(cases, names, source),
        *_speedups(cases, compilers, branches, names, source),
    ]
    return Printed(said="The tables and formulas of the 2023 study of GHC versions and branches", tables=tables)


def cases_of(sides: Sequence[Sequence[Run]]) -> tuple[tuple[str, str], list[Case]]:
    """The names of the two factors, and each side's case; the names of targets stand in for factors that aren't there.

    Raises:
        ComparisonError: Two sides have the same levels, runs have other blocks, or a run has more factors than two.
    """
    firsts = [side[0] for side in sides]
    levels = [run.manifest.factors for run in firsts]
    names = list(levels[0])
    if any(list(one) != names and set(one) != set(names) for one in levels) or len(names) > 2:
        raise ComparisonError(
            "--method published: the study's tables have two factors, the same of every run. Import with --factor, at most twice."
        )
    columns = [*names, *["target"] * (2 - len(names))]
    if not names:
        columns = ["", "target"]
    cases, slots = [], None
    for side, run, level in zip(sides, firsts, levels, strict=True):
        values = [level.get(name, run.manifest.target.name) if name else "" for name in columns]
        with ExitStack() as stack:
            costs = costs_together([stack.enter_context(Analysis(one)) for one in side], "total_us")
        if costs is None or (slots is not None and not np.array_equal(slots, costs.keys)):
            raise ComparisonError(f"{run.name}: other blocks than {firsts[0].name}. Record both over the same blocks.")
        slots = costs.keys
        if any((case.compiler, case.branch) == tuple(values) for case in cases):
            raise ComparisonError(
                f"{run.name}: another run is {' '.join(values)} too. Give each run factors of its own."
            )
        cases.append(Case(values[0], values[1], np.median(costs.values, axis=0)))
    return (columns[0], columns[1]), cases


def _normality(case: Case, first: str, second: str, source: list[str]) -> PublishedTable:
    kept = case.total_us[:MOST_SHAPIRO]
    found = shapiro(kept) if kept.size >= 3 and np.unique(kept).size > 1 else None
    values = case.total_us
    low, middle, high = np.quantile(values, [0.1, 0.5, 0.95])
    ratios = f"{low / middle:.3f} and {high / middle:.3g}"
    expected = f"{exponential_quantile_ratio(0.1, 0.5):.3f} and {exponential_quantile_ratio(0.95, 0.5):.3g}"
    return PublishedTable(
        "Shapiro-Wilk test of total time",
        [first or "group", second, "n", "W", "p"],
        [
            [
                *words(case.compiler, case.branch),
                figure(kept.size, "d"),
                *([figure(found.statistic, ".5f"), printed_p(found.p)] if found else words("-", "-")),
            ]
        ],
        labels=2,
        notes=[
            *source,
            f"10 % and 95 % quantile over the median: {ratios}; of an exponential distribution they would be {expected}.",
            "Whether costs of different blocks are normal doesn't matter for comparing builds.",
        ],
    )


def _significance(
    cases: Sequence[Case], compilers: Sequence[str], branches: Sequence[str], names: tuple[str, str]
) -> PublishedTable:
    rows, blocks = [], cases[0].total_us.size
    if len(compilers) > 1:
        groups = [np.concatenate([case.total_us for case in cases if case.compiler == one]) for one in compilers]
        rows.append([*words(f"total time by {names[0]}", "all"), *_tested(groups)])
    for compiler in compilers:
        groups = [case.total_us for case in cases if case.compiler == compiler]
        if len(groups) > 1:
            label = f"{names[0]} {compiler}".strip()
            rows.append([*words(f"total time by {names[1]}", label), *_tested(groups)])
    notes = [
        "Takes the same blocks of several builds as independent: blocks differ so much that a change of a few percent is lost."
    ]
    if len(branches) > 1 and len(compilers) > 1:
        times = round(sum(case.compiler == compilers[0] for case in cases))
        notes.append(
            f"The groups of the first row hold each of the {blocks:,} blocks {times} times: they are no independent observations."
        )
    notes.append(f"{len(rows)} tests, not adjusted, as in the study.")
    return PublishedTable(
        "Kruskal-Wallis rank sum test", ["data", "rows", "chi-squared", "df", "p"], rows, labels=2, notes=notes
    )


def _tested(groups: Sequence[np.ndarray]) -> list[PublishedCell]:
    found = kruskal(groups)
    return [figure(found.statistic, ".5g"), figure(len(groups) - 1, "d"), printed_p(found.p)]


def _pairs(
    cases: Sequence[Case], compilers: Sequence[str], branches: Sequence[str], names: tuple[str, str], processes: int
) -> list[PublishedTable]:
    made = []
    of = "One process a build" if processes == 1 else "Blocks are what is tested, not processes"
    for compiler in compilers:
        mine = {case.branch: case.total_us for case in cases if case.compiler == compiler}
        if len(mine) < 2:
            continue
        found = pairwise_signed_rank(mine)
        columns = [branch for branch in branches if branch in mine]
        rows = [
            [
                PublishedCell(other),
                *(
                    printed_p(found[one, other]) if (one, other) in found else PublishedCell("-")
                    for one in columns[:-1]
                ),
            ]
            for other in columns[1:]
        ]
        made.append(
            PublishedTable(
                f"Pairwise signed-rank tests with continuity correction, {names[0]} {compiler}".rstrip(", "),
                [names[1], *columns[:-1]],
                rows,
                labels=1,
                notes=[
                    f"p-values, Holm-adjusted; of these rows alone. {of}: they hold for these processes and not for the builds."
                ],
            )
        )
    return made


def _medians(cases: Sequence[Case], names: tuple[str, str], source: list[str]) -> PublishedTable:
    rows = [
        [
            *words(case.compiler, case.branch),
            figure(case.total_us.size, ",d"),
            *(figure(value, ".1f") for value in median_and_iqr(case.total_us)),
        ]
        for case in cases
    ]
    note = "The interquartile range is a spread between different blocks, not the noise of a measurement."
    return PublishedTable(
        "Median and interquartile range",
        [names[0] or "group", names[1], "n", "median", "iqr"],
        rows,
        notes=[*source, note],
    )


def _quantiles(cases: Sequence[Case], names: tuple[str, str], source: list[str]) -> PublishedTable:
    blocks = cases[0].total_us.size
    few = [f"{q:.0%}" for q in QUANTILES if blocks_beyond(blocks, q) < FEW_BLOCKS]
    notes = [*source, *([f"Resting on fewer than {FEW_BLOCKS} blocks: {', '.join(few)}."] if few else [])]
    rows = [
        [
            *words(case.compiler, case.branch),
            *(figure(value, ".1f") for value in np.quantile(case.total_us, QUANTILES).tolist()),
        ]
        for case in cases
    ]
    return PublishedTable(
        "Quantiles", [names[0] or "group", names[1], *(f"{q:.0%}" for q in QUANTILES)], rows, notes=notes
    )


def _speedups(
    cases: Sequence[Case], compilers: Sequence[str], branches: Sequence[str], names: tuple[str, str], source: list[str]
) -> list[PublishedTable]:
    by_case = {(case.compiler, case.branch): np.quantile(case.total_us, DECILES) for case in cases}
    reference, others = compilers[0], compilers[1:]
    apart = jumps(dict(zip(DECILES, by_case[cases[0].compiler, cases[0].branch].tolist(), strict=True)))
    edges = [f"{one:.0%} to {other:.0%}" for one, other in apart]
    notes = [
        *source,
        "Speedup in percent: (reference - other) / reference, between quantiles, not between blocks.",
        *(
            [f"Between {', '.join(edges)} lies the edge of a cluster: there quantiles are of other blocks."]
            if edges
            else []
        ),
    ]
    made = []
    if others:
        rows = [
            [
                *words(branch, f"{quantile:.0%}"),
                *(_cell(by_case.get((compiler, branch)), place) for compiler in compilers),
                *(
                    _speedup(by_case.get((reference, branch)), by_case.get((compiler, branch)), place)
                    for compiler in others
                ),
            ]
            for branch in branches
            for place, quantile in enumerate(DECILES)
        ]
        columns = [names[1], "quantile", *compilers, *(f"speedup {compiler}" for compiler in others)]
        made.append(PublishedTable(f"Speedup over {reference}, each {names[1]} by itself", columns, rows, notes=notes))
    base = by_case[cases[0].compiler, cases[0].branch]
    against = [case for case in cases if case.compiler != reference] if others else list(cases[1:])
    rows = [
        [
            *words(f"{quantile:.0%}", case.branch, case.compiler),
            _speedup(base, by_case[case.compiler, case.branch], place),
        ]
        for place, quantile in enumerate(DECILES)
        for case in against
    ]
    title = f"Speedup over {' '.join(filter(None, (cases[0].compiler, cases[0].branch)))}"
    made.append(
        PublishedTable(title, ["percentile", names[1], names[0] or "group", "speedup"], rows, labels=3, notes=notes)
    )
    return made


def _cell(quantiles: np.ndarray | None, place: int) -> PublishedCell:
    return PublishedCell("-") if quantiles is None else figure(float(quantiles[place]), ".1f")


def _speedup(reference: np.ndarray | None, other: np.ndarray | None, place: int) -> PublishedCell:
    if reference is None or other is None or reference[place] == 0:
        return PublishedCell("-")
    return figure(speedup(float(reference[place]), float(other[place])), ".2f")
