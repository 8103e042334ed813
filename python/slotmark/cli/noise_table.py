"""Table of `slotmark ledger noise`."""

from collections.abc import Iterator

from slotmark.compare import ALL, Comparison
from slotmark.compare.run_to_run.noise import CONFIDENCE, Noise
from slotmark.numbers import p_value, percent

PROCESSES = (3, 5, 10)
"""Per side, for each of which the table has a row."""

LOW_P = 0.05


def noise_lines(noise: Noise, comparison: Comparison) -> Iterator[str]:
    """The table, line by line, and where the two sides differ as if they were of two targets, a warning."""
    work = noise.workload
    yield (
        f"{noise.target} against itself: {noise.processes} and {noise.processes} processes, {work['blocks']} blocks, "
        f"slots {work['first slot']} to {work['last slot']}"
    )
    yield ""
    yield "  ".join([f"{'processes per side':>18}", *(f"{spread.quantity:>28}" for spread in noise.spreads)])
    for processes in PROCESSES:
        cells = []
        for spread in noise.spreads:
            change = noise.detectable(spread, processes)
            cells.append(f"{percent(change.estimate)} ({percent(change.low)} to {percent(change.high)})")
        yield "  ".join([f"{processes:>18}", *(f"{cell:>28}" for cell in cells)])
    yield ""
    yield (
        f"The smallest change of {noise.metric.lower()} that is found four times in five by one test at 5 %, where all blocks share it; "
        f"in brackets its range at {percent(CONFIDENCE)} confidence. Where more is tested, or changes differ from block to block, it is larger."
    )
    differing = [
        difference.p
        for row in comparison.rows
        if row.metric.name == noise.metric and row.part == ALL
        for difference in row.differences
        if difference and difference.p is not None
    ]
    if differing and min(differing) < LOW_P:
        yield (
            f"! The two sides differ (p {p_value(min(differing))}), though they are one target. That happens by chance in one of 20 measurements; else something "
            "drifted, and the noise is larger than this. Measure again."
        )
