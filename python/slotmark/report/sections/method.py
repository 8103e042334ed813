"""How figures were computed, a paragraph per quantity that a comparison holds."""

from slotmark.compare.result import Comparison
from slotmark.numbers import percent
from slotmark.report.document import Block, Paragraph
from slotmark.statistics.rank_tests import FIRST_SHARE
from slotmark.verdict import Verdict
from slotmark.warnings import ENOUGH_BLOCKS, ENOUGH_RUNS


def method(comparison: Comparison) -> list[Block]:
    """A paragraph per kind of estimator, then what verdicts mean."""
    estimators = dict.fromkeys(row.metric.estimator for row in comparison.rows)
    words = {
        "rounds": _rounds,
        "pairs": _pairs,
        "means": _means,
        "blocks": _blocks,
        "processes": _processes,
        "seeds": _seeds,
    }
    texts = [words[estimator](comparison) for estimator in estimators]
    return [*map(Paragraph, texts), *([Paragraph(_verdicts(comparison))] if comparison.tests else [])]


def _rounds(comparison: Comparison) -> str:
    paired = all(
        difference.paired
        for row in comparison.rows
        if row.metric.estimator == "rounds"
        for difference in row.differences
        if difference
    )
    pairing = (
        "Samples are paired by their keys: the runs were measured in one session, interleaved in an order drawn at random."
        if paired
        else "Not all runs were measured in one session: where not, samples are taken as independent."
    )
    return (
        f"{pairing} The ratio is the typical one of candidate over baseline (of 8 rounds or more, the geometric mean without the smallest "
        f"and the largest tenth); its {percent(comparison.confidence)} interval and p-value come from a studentised bootstrap with "
        f"{comparison.repetitions:,} repetitions (seed {comparison.seed}). The unit of replication is the process run; outliers are marked, "
        "never dropped. docs/method.md gives the reasons."
    )


def _pairs(comparison: Comparison) -> str:
    return (
        "Blocks are paired by slot, hash and announcement: all clients followed one node at the same time. Only blocks that both have count. "
        "The ratio is the typical one of candidate over baseline (of 8 blocks or more, the geometric mean without the smallest and the "
        f"largest tenth; blocks of one slot count as one); its {percent(comparison.confidence)} interval and p-value come from a studentised "
        f"bootstrap with {comparison.repetitions:,} repetitions (seed {comparison.seed}). Each client was one process, so verdicts are "
        f"conditional on these; below {ENOUGH_BLOCKS} blocks there is none. docs/method.md gives the reasons."
    )


def _means(comparison: Comparison) -> str:
    several = any(side.others for side in comparison.sides)
    filters = comparison.baseline.filters
    way = (
        "Sides with two or more runs are compared by the means of their runs (Welch's t, with at least the pooled variance); else samples"
        if several
        else "Samples"
    )
    in_turns = any(
        one.basis.over == "paired rounds"
        for row in comparison.rows
        for one in row.differences
        if one is not None and one.basis is not None
    )
    turns = (
        "Runs of both sides took turns in one session: the runs of a round are a pair, and Student's t is over the differences of rounds. "
        if in_turns
        else ""
    )
    analysed = (
        f"Analysed are blocks and slots that pass: {', '.join(filters)}."
        if filters
        else "All blocks of the chain and all slots are analysed."
    )
    return (
        "A metric's value is the arithmetic mean of its samples: one per block, per block and host, or per host and slot. "
        f"{way} of one run aren't independent of each other: how much a mean varies is read off the slowest cosines of the run's course, and "
        "intervals and p-values are Student's t with as many degrees of freedom; levels of memory are compared over hosts. Blocks of "
        "two runs with the same leaders are matched by slot and forger, hosts of two runs on the same machines by name. Each row says over how many blocks, slots or hosts, and how many independent ones would tell as much; no verdict is possible below 4. Verdicts are "
        f"conditional where each side was run once. Where a side has several runs, the run is the unit: what runs of one side differ by, of all sides "
        f"together, is what each run may differ by, and intervals and p-values are Student's t over it. {turns}Where a metric has a least difference that matters, the margin is that or "
        f"a share of the baseline, whichever is more. docs/method.md gives the reasons, and how often it is right. {analysed}"
    )


def _blocks(comparison: Comparison) -> str:
    return (
        "Blocks are paired by slot; of several processes of a target, the mean of log costs counts. Typical block: the Hodges-Lehmann "
        "estimate of the blocks' log ratios, as a ratio. All blocks together: the ratio of sums. "
        f"{percent(comparison.confidence)} intervals and p-values are Student's t over two levels of chance, processes and blocks; how much "
        "neighbouring blocks answer alike is taken from their order. With one process on a side, intervals cover blocks within the processes "
        f"only; below {ENOUGH_RUNS} there is no verdict. Quantiles are Harrell-Davis's (bootstrap, {comparison.repetitions:,} repetitions, seed "
        f"{comparison.seed}). "
        "docs/ledger.md gives the reasons, and how often it is right."
    )


def _processes(comparison: Comparison) -> str:
    return (
        "What a process used as a whole is compared by the means over processes: "
        f"{percent(comparison.confidence)} intervals and p-values are Student's t (Welch's, with at least the pooled variance). Below "
        f"{ENOUGH_RUNS} processes on a side there is no verdict."
    )


def _seeds(comparison: Comparison) -> str:
    return (
        "Simulated, not measured: docs/simulator.md describes how the model was fitted, how far it is from published results, and what it leaves "
        "out. Each seed is one simulation of the whole run, and the same seed draws the same slot leaders and the same luck on every side. "
        "Metrics are defined as in the published reports: means over the analysed blocks, or over blocks and peers; an adoption centile "
        f"counts from the start of the block's slot. Standard errors and {percent(comparison.confidence)} intervals (Student's t) are over "
        "seeds: they cover the simulation's own noise, not how far the model is from a real cluster. Nothing else changes than what is "
        "set, and what is named as moved along: larger blocks take longer to transfer, but the stages of forging and adoption stay as "
        "the profile has them unless they are set too."
    )


def _verdicts(comparison: Comparison) -> str:
    alike: dict[str, list[str]] = {}
    for verdict in Verdict:
        alike.setdefault(verdict.meaning.format(alpha=f"{1 - comparison.confidence:.2g}"), []).append(verdict)
    meanings = [f"{' or '.join(words).capitalize()}: {meaning}." for meaning, words in alike.items()]
    return (
        f"p-values are Holm-adjusted over the {comparison.tests:,} tests of this report, of whose error rate decisive metrics have {percent(FIRST_SHARE)}. {' '.join(meanings)} "
        "Ratios, differences and intervals come from unrounded values."
    )
