"""The time and memory that the changes and the site of a whole store take: 10,000 runs of 60 series, in one process each; beside the same search of single series by ruptures."""

import hashlib
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import ruptures
from playwright.sync_api import sync_playwright

from slotmark.history import make_store, open_store
from slotmark.history.entries import Entry, Estimated, Labels
from slotmark.history.estimates import Estimate
from slotmark.history.index import encoded, rows
from slotmark.history.series import Group
from slotmark.metrics import catalogue
from slotmark.places import Place

DAY_NS = 86_400 * 10**9


def main(runs: int, series: int) -> None:
    """Makes such a store and prints what its changes take."""
    with tempfile.TemporaryDirectory() as folder:
        # By a process of its own: what this one had at most would count as that of each that it starts.
        made = multiprocessing.get_context("spawn").Process(target=_make, args=(Path(folder), runs, series))
        made.start()
        made.join()
        assert made.exitcode == 0
        store = open_store(Path(folder) / "store")
        index_bytes = next((Path(folder) / "store" / "index").iterdir()).stat().st_size
        command = [sys.executable, "-m", "slotmark", "history", "--changes", "--json", "--store", str(store.place)]
        begin = time.perf_counter()
        with (Path(folder) / "found.json").open("wb") as out:
            asked = subprocess.Popen(command, stdout=out)
            _, status, used = os.wait4(asked.pid, 0)
        wall = time.perf_counter() - begin
        assert status == 0
        found = json.loads((Path(folder) / "found.json").read_bytes())
        for what in ("site, first", "site again"):
            print(f"{what}: {_site(store.place, Path(folder) / 'public')}", flush=True)
        _look(Path(folder) / "public")
    every = [*found["changes"], *found["accepted"]]
    print(
        f"{found['runs']:,} runs, {found['series']} series, index of {index_bytes / 1e6:.1f} MB: {wall:.1f} s, {used.ru_utime + used.ru_stime:.1f} s of processor time, "
        f"{used.ru_maxrss / 1024:.0f} MiB at most; {sum(one['state'] == 'sure' for one in every)} sure changes that matter, {found['within']} within margins"
    )
    levels = _levels(runs, series)
    begin = time.process_time()
    for place in range(series):
        ruptures.KernelCPD(kernel="linear", min_size=3).fit(levels[:2000, [place]] / 0.02).predict(pen=8 * np.log(runs))
    peer = time.process_time() - begin
    print(
        f"ruptures, the first 2,000 runs of each series alone: {peer:.1f} s of processor time; of all runs its time grows with the square"
    )


def _levels(runs: int, series: int) -> np.ndarray:
    """Levels of runs of which each third series has a step; shape (runs, series)."""
    draws = np.random.default_rng(1)
    levels = 0.02 * draws.normal(size=(runs, series))
    for place in range(0, series, 3):
        levels[int(draws.integers(20, runs - 20)) :, place] += 0.1
    return levels


def _make(folder: Path, runs: int, series: int) -> None:
    """Makes the store."""
    metrics = [metric for metric in catalogue("cluster").metrics if metric.tested]
    names = [(metrics[place % len(metrics)], "" if place < len(metrics) else "more") for place in range(series)]
    levels = _levels(runs, series)
    store = make_store(folder / "store")
    made = []
    for number in range(runs):
        digest = _digest(number)
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
    entries = folder / "store" / "entries"
    entries.mkdir()
    for number in range(runs):
        (entries / f"{_digest(number)}.json").touch()
    content = encoded(rows(made))
    store.files.put(f"index/{store.slotmark}.parquet", content)


def _digest(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()[:32]


def _site(store: Place, public: Path) -> str:
    """Writes the site. Returns what that takes, in words."""
    command = [sys.executable, "-m", "slotmark", "site", "--store", str(store), "-o", str(public)]
    begin = time.perf_counter()
    with (public.parent / "said").open("wb") as said:
        asked = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said)
        _, status, used = os.wait4(asked.pid, 0)
    if status:
        sys.exit((public.parent / "said").read_text(encoding="utf-8"))
    files = (public.parent / "said").read_text(encoding="utf-8").splitlines()[-1].removeprefix("slotmark: ")
    return (
        f"{files}; {time.perf_counter() - begin:.1f} s, {used.ru_utime + used.ru_stime:.1f} s of processor time, "
        f"{used.ru_maxrss / 1024:.0f} MiB at most"
    )


def _look(public: Path) -> None:
    """Prints the sizes of what a reader loads, and how long a browser takes until it is drawn."""
    data = {file: file.stat().st_size for file in (public / "data").iterdir()}
    of_runs = [size for file, size in data.items() if file.name.startswith("runs-")]
    of_metrics = [size for file, size in data.items() if not file.name.startswith("runs-")]
    pages = [file.stat().st_size for file in (public / "metrics").glob("*-*.html")]
    print(
        f"first page {(public / 'index.html').stat().st_size / 1e3:.0f} kB; a metric's data {max(of_metrics) / 1e3:.0f} kB at most, its page "
        f"{max(pages) / 1e3:.0f} kB, the names of all runs, which metrics share, {max(of_runs) / 1e3:.0f} kB"
    )
    chromium = Path("/usr/bin/chromium")
    if not chromium.exists():
        print("left out: a browser, Debian's chromium")
        return
    metric = next(one for one in sorted((public / "metrics").glob("*-*.html")))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        for name, file, drawn in (
            ("first page", public / "index.html", "h1"),
            ("a metric", metric, "#chart canvas, #chart svg"),
        ):
            took = []
            for _ in range(5):
                begin = time.perf_counter()
                page.goto(file.as_uri())
                page.wait_for_selector(drawn)
                took.append(time.perf_counter() - begin)
            print(f"{name} in a browser: {sorted(took)[2]:.2f} s until it is drawn, median of 5")
        browser.close()


if __name__ == "__main__":
    main(*(int(one) for one in sys.argv[1:3] or ("10000", "60")))
