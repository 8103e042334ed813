"""The time and memory that the changes of a whole store take: 10,000 runs of 60 series, in one process; beside the same search of single series by ruptures."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import ruptures

from slotmark.history import make_store
from slotmark.history.entries import Entry, Estimated, Labels
from slotmark.history.estimates import Estimate
from slotmark.history.index import encoded, rows
from slotmark.history.series import Group
from slotmark.metrics import catalogue

DAY_NS = 86_400 * 10**9


def main(runs: int, series: int) -> None:
    """Makes such a store and prints what its changes take."""
    metrics = [metric for metric in catalogue("cluster").metrics if metric.tested]
    names = [(metrics[place % len(metrics)], "" if place < len(metrics) else "more") for place in range(series)]
    draws = np.random.default_rng(1)
    levels = 0.02 * draws.normal(size=(runs, series))
    for place in range(0, series, 3):
        levels[int(draws.integers(20, runs - 20)) :, place] += 0.1
    with tempfile.TemporaryDirectory() as folder:
        store = make_store(Path(folder) / "store")
        made = []
        for number in range(runs):
            digest = f"{number:032x}"
            found = Estimated(
                slotmark=store.slotmark, run=digest, name=f"run {number}", group=Group("cluster", "cardano-node", "0" * 12, "made up"),
                version=f"1.{number // 10}", build=f"1.{number // 10}", commit=f"{number:07x}", origin="measured", facts={"kernel": "Linux 6.1.0"},
                estimates=[
                    Estimate(metric=metric.id, part=part, unit=metric.unit, scale="log", level=float(level), variance=1e-5, estimate=float(np.exp(level)),
                             low=float(np.exp(level - 0.01)), high=float(np.exp(level + 0.01)), samples=1000)
                    for (metric, part), level in zip(names, levels[number], strict=True)
                ],
            )  # fmt: skip
            at = 1_700_000_000 * 10**9 + number * DAY_NS // 10
            made.append((Entry(run=digest, labels=Labels(), at_ns=at, added_ns=at, place=0), found))
        entries = Path(folder) / "store" / "entries"
        entries.mkdir()
        for number in range(runs):
            (entries / f"{number:032x}.json").touch()
        content = encoded(rows(made))
        store.files.put(f"index/{store.slotmark}.parquet", content)
        command = [sys.executable, "-m", "slotmark", "history", "--changes", "--json", "--store", str(store.place)]
        begin = time.perf_counter()
        with (Path(folder) / "found.json").open("wb") as out:
            asked = subprocess.Popen(command, stdout=out)
            _, status, used = os.wait4(asked.pid, 0)
        wall = time.perf_counter() - begin
        assert status == 0
        found = json.loads((Path(folder) / "found.json").read_bytes())
    every = [*found["changes"], *found["accepted"]]
    print(
        f"{found['runs']:,} runs, {found['series']} series, index of {len(content) / 1e6:.1f} MB: {wall:.1f} s, {used.ru_utime + used.ru_stime:.1f} s of processor time, "
        f"{used.ru_maxrss / 1024:.0f} MiB at most; {sum(one['state'] == 'sure' for one in every)} sure changes that matter, {found['within']} within margins"
    )
    begin = time.process_time()
    for place in range(series):
        ruptures.KernelCPD(kernel="linear", min_size=3).fit(levels[:2000, [place]] / 0.02).predict(pen=8 * np.log(runs))
    peer = time.process_time() - begin
    print(
        f"ruptures, the first 2,000 runs of each series alone: {peer:.1f} s of processor time; of all runs its time grows with the square"
    )


if __name__ == "__main__":
    main(*(int(one) for one in sys.argv[1:3] or ("10000", "60")))
