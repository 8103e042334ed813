"""`show` of all simulations of a sweep as one run: 100 values with 100 seeds, made up, and written as `predict` writes them.

sweeps.py [VALUES [SEEDS]]
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from tests.made_up_runs import bare_manifest

from slotmark.benches.cluster.simulating.predict import BENCH, written_together
from slotmark.metrics import catalogue
from slotmark.run import Run, RunWriter, Target, machine_facts


def main() -> None:
    """Prints what writing takes, and what showing takes."""
    values, seeds = (int(one) for one in [*sys.argv[1:], *["100", "100"][len(sys.argv) - 1 :]])
    facts = machine_facts()
    print(f"machine: {facts.cpu}, {facts.cores} cores, load {os.getloadavg()[0]:.1f}; {values * seeds:,} simulations")
    with tempfile.TemporaryDirectory(prefix="slotmark-") as named:
        folder = Path(named)
        runs = [_made_up(folder / str(value), value, seeds) for value in range(values)]
        began, used = time.perf_counter(), time.process_time()
        written_together(runs, folder / "all")
        print(
            f"written together: {time.perf_counter() - began:.2f} s ({time.process_time() - used:.2f} s of processor time)"
        )
        for _ in range(3):
            began, before = time.perf_counter(), os.times()
            subprocess.run(
                [sys.executable, "-m", "slotmark", "show", str(folder / "all")], check=True, stdout=subprocess.DEVNULL
            )
            after = os.times()
            processor = after.children_user + after.children_system - before.children_user - before.children_system
            print(f"show: {time.perf_counter() - began:.2f} s ({processor:.2f} s of processor time)")


def _made_up(folder: Path, value: int, seeds: int) -> Run:
    draw = np.random.default_rng(value)
    columns = {one.name: draw.normal(1, 0.01, seeds) for one in catalogue(BENCH).metrics}
    with RunWriter(folder) as writer:
        writer.table("seeds", pa.table({"seed": np.arange(1, seeds + 1), "blocks": np.full(seeds, 900), **columns}))
        return writer.finish(
            bare_manifest(
                f"made up, {value}",
                BENCH,
                Target(f"block_size={value}kB", ""),
                workload={"profile": "made up", "description": "", "changed": "block_size", "seeds": f"1 to {seeds}"},
                parameters={"blocks": 900 * seeds},
                session=f"seeds 1 to {seeds}",
                origin="simulated",
            )
        )


if __name__ == "__main__":
    main()
