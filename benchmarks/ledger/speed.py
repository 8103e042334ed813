"""Measures the time and memory of a comparison of many targets: 9 targets, 5 processes each, 100,000 blocks."""

import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from benchmarks.ledger.made_up_runs import made_up_run

from slotmark.compare import Blocks, compare
from slotmark.run import open_run
from slotmark.statistics.hodges_lehmann import hodges_lehmann

GOAL_S, GOAL_GIB = 60, 2
RATIOS = [1.0, 1.03, 0.97, 2.0, 2.03, 1.94, 0.99, 0.96, 1.02]


def main() -> None:
    """Prints both, and what forming all Walsh averages would take."""
    blocks = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as folder:
        places = [(ghc, branch) for ghc in ("8.10", "9.2", "9.6") for branch in ("baseline", "split", "nofailt")]
        for index, (ratio, (ghc, branch)) in enumerate(zip(RATIOS, places, strict=True)):
            made_up_run(
                Path(folder) / f"{ghc}-{branch}",
                ratio,
                processes=5,
                blocks=blocks,
                seed=index,
                factors={"ghc": ghc, "branch": branch},
            )
        runs = [open_run(Path(folder) / f"{ghc}-{branch}") for ghc, branch in places]
        began, used = time.monotonic(), time.process_time()
        found = compare(runs, repetitions=2_000)
        took, used = time.monotonic() - began, time.process_time() - used
    effects = sum(len(one.factors) for one in found.details if isinstance(one, Blocks))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"9 targets, 5 processes, {blocks:,} blocks, 2,000 repetitions: {took:.1f} s (goal {GOAL_S}), {used:.1f} s of CPU, peak {peak:.2f} GiB (goal {GOAL_GIB})"
    )
    print(f"{len(found.rows)} rows, {found.tests} tests, {effects} effects of factors")
    values = np.random.default_rng(1).normal(0, 0.02, 5_000)
    began = time.perf_counter()
    one, other = np.triu_indices(values.size)
    naive = float(np.median((values[one] + values[other]) / 2))
    took_naive = time.perf_counter() - began
    began = time.perf_counter()
    ours = hodges_lehmann(values)
    took_ours = time.perf_counter() - began
    print(
        f"Hodges-Lehmann of 5,000 values: all pairs {took_naive * 1e3:.0f} ms, ours {took_ours * 1e3:.1f} ms, {took_naive / took_ours:.0f} times faster, difference {abs(naive - ours):.1g}"
    )


main()
