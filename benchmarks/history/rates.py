"""Error rates of searches for changes: the tables of docs/history.md. Series have planted changes; peers are measured on the same series, each at its best setting.

benchmarks/history/run [SERIES]    SERIES of each noise and plant, 40 by default
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import ruptures
from benchmarks.history.planted import LEAST_AFTER, LEAST_BEFORE, NOISES, PLANTS, STEPS, Planted, Score, planted

from slotmark.statistics.change_points import changes
from slotmark.statistics.e_divisive import e_divisive

OTAVA = Path(__file__).resolve().parents[2] / ".build" / "otava" / "bin" / "python"

Search = Callable[[np.ndarray], list[int]]

FOLLOWED = 15
"""Runs after a step within which it is looked for run by run."""


def ours(values: np.ndarray, states: tuple[str, ...] = ("sure",)) -> list[int]:
    """The places of our changes in some states."""
    found = changes(values[:, None], np.zeros((values.size, 1)))
    return [one.first for one in found if one.state in states]


def pelt(penalty: float) -> Search:
    """PELT for means, by ruptures' compiled search; the penalty is that times log n times the variance by differences of neighbours, whose spikes don't count."""

    def search(values: np.ndarray) -> list[int]:
        spread = 1.4826 * np.median(np.abs(np.diff(values))) / np.sqrt(2) or 1.0
        algorithm = ruptures.KernelCPD(kernel="linear", min_size=3).fit((values / spread)[:, None])
        return (algorithm.predict(pen=penalty * np.log(values.size)) or [])[:-1]

    return search


def by_otava(series: list[Planted], settings: list[float]) -> dict[str, list[list[int]]]:
    """The places that Otava finds, by its setting."""
    asked = json.dumps({"series": [one.values.tolist() for one in series], "settings": settings})
    done = subprocess.run(
        [OTAVA, Path(__file__).with_name("with_otava.py")], input=asked, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def main(count: int) -> None:
    """Prints all tables."""
    series = [
        planted(noise, plant, np.random.default_rng([count, number, row, column]))
        for row, noise in enumerate(NOISES)
        for column, plant in enumerate(PLANTS)
        for number in range(count)
    ]
    print(f"{len(series):,} series, {sum(one.values.size for one in series):,} runs; {count} of each noise and plant")
    found: dict[str, list[list[int]]] = {}
    begin = time.process_time()
    found["slotmark"] = [ours(one.values) for one in series]
    print(f"slotmark: {time.process_time() - begin:.1f} s of processor time")
    begin = time.process_time()
    for penalty in (2.0, 4.0, 8.0, 16.0, 32.0):
        found[f"ruptures PELT, penalty {penalty:g} log n"] = [pelt(penalty)(one.values) for one in series]
    print(f"ruptures: {(time.process_time() - begin) / 5:.1f} s a setting")
    begin = time.perf_counter()
    settings = [1e-3, 1e-4, 1e-5, 1e-6]
    if OTAVA.is_file():
        for name, places in by_otava(series, settings).items():
            found[f"Otava 0.8.0, p {name}"] = places
        print(f"Otava: {(time.perf_counter() - begin) / len(settings):.1f} s a setting")
    else:
        for p in settings:
            found[f"E-divisive as Otava's, p {p}"] = [
                [one.place for one in e_divisive(each.values, p)] for each in series
            ]
    scores = {name: scored(series, places) for name, places in found.items()}
    print("\n| search | F1 | found | placed within 1 | false per 100 runs |\n| --- | --- | --- | --- | --- |")
    for name, score in scores.items():
        print(
            f"| {name} | {score.f1:.3f} | {share(score.found, score.planted)} | {share(score.placed, score.found)} | {100 * score.false / score.runs:.2f} |"
        )
    peers = [[name for name in scores if name.startswith(peer)] for peer in ("ruptures", "Otava", "E-divisive")]
    best = ["slotmark", *(max(mine, key=lambda name: scores[name].f1) for mine in peers if mine)]
    print_by("noise", series, {name: found[name] for name in best})
    print_by("plant", series, {name: found[name] for name in best})
    print_waiting([one for one in series if one.plant == "step 2"])
    print_goal()
    print_limit()


def scored(series: list[Planted], places: list[list[int]]) -> Score:
    """The score of a search over some series."""
    score = Score()
    for one, of_one in zip(series, places, strict=True):
        score.take(one, of_one)
    return score


def share(part: int, whole: int) -> str:
    """A share in percent."""
    return f"{100 * part / whole:.0f} %" if whole else "-"


def print_by(what: str, series: list[Planted], found: dict[str, list[list[int]]]) -> None:
    """Prints a table by noise or by plant."""
    print(
        f"\nfound, placed within 1 of those, false per 100 runs, by {what}\n\n| {what} | {' | '.join(found)} |\n{'| --- ' * (len(found) + 1)}|"
    )
    for name in NOISES if what == "noise" else PLANTS:
        cells = []
        for places in found.values():
            mine = [(one, of_one) for one, of_one in zip(series, places, strict=True) if getattr(one, what) == name]
            score = scored([one for one, _ in mine], [of_one for _, of_one in mine])
            cells.append(
                f"{share(score.found, score.planted)}, {share(score.placed, score.found)}, {100 * score.false / score.runs:.2f}"
            )
        print(f"| {name} | {' | '.join(cells)} |")
    for places in found.values():
        nothing = [(one, of_one) for one, of_one in zip(series, places, strict=True) if one.plant == "nothing"]
        each = [
            f"{noise} {100 * sum(len(p) for o, p in nothing if o.noise == noise) / sum(o.values.size for o, _ in nothing if o.noise == noise):.2f}"
            for noise in NOISES
        ]
        if what == "noise":
            print(f"nothing planted, false per 100 runs: {', '.join(each)}")


def print_limit(count: int = 4_000) -> None:
    """Prints how often the place of a step can be known within one run at best, where noise is normal and all else is known: both levels and that there is one step.

    No choice is right more often than the middle of the three places that are most probable together. The likeliest place, which most searches choose, is beside it; and the share
    of the surest 95 %, as a search may leave out the others.
    """
    print(
        "\nplaced within 1 at best (normal noise, both levels known, exactly one step)\n\n"
        "| step | middle of the likeliest three | of the surest 95 % | the likeliest place |\n| --- | --- | --- | --- |"
    )
    for size in STEPS:
        draws = np.random.default_rng(1)
        likeliest, middles, sure = [], [], []
        for _ in range(count):
            one = planted("normal", f"step {size:g}", draws)
            at = one.truth[0][0]
            way = np.sign(one.values[at:].mean() - one.values[:at].mean())
            # The logarithm of the likelihood of each place, but for what all have in common.
            logs = size * np.concatenate([[0.0], np.cumsum(size / 2 - way * one.values)])
            logs = logs[LEAST_BEFORE : one.values.size - LEAST_AFTER]
            chances = np.exp(logs - logs.max())
            threes = np.convolve(chances / chances.sum(), np.ones(3), "same")
            likeliest.append(abs(int(logs.argmax()) + LEAST_BEFORE - at) <= 1)
            middles.append(abs(int(threes.argmax()) + LEAST_BEFORE - at) <= 1)
            sure.append(float(threes.max()))
        surest = np.argsort(sure)[::-1][: round(0.95 * count)]
        of_surest = sum(middles[place] for place in surest)
        print(
            f"| {size:g} | {share(sum(middles), count)} | {share(of_surest, surest.size)} | {share(sum(likeliest), count)} |"
        )


def print_goal() -> None:
    """The goals for a step of 2, over 600 series of other seeds, by noise: 95 % become sure, and 90 % of these are placed within one run."""
    draws = [
        (seed, row, noise, number) for seed in (901, 902) for row, noise in enumerate(NOISES) for number in range(50)
    ]
    series = [
        planted(noise, "step 2", np.random.default_rng([seed, number, row])) for seed, row, noise, number in draws
    ]
    places = [ours(one.values) for one in series]
    print(
        "\n| a step of 2, noise | series | found | placed within 1 | false per 100 runs |\n| --- | --- | --- | --- | --- |"
    )
    for noise in (*NOISES, "all"):
        chosen = [number for number, one in enumerate(series) if noise in (one.noise, "all")]
        score = scored([series[number] for number in chosen], [places[number] for number in chosen])
        print(
            f"| {noise} | {score.planted} | {100 * score.found / score.planted:.1f} % | {100 * score.placed / score.found:.1f} % | {100 * score.false / score.runs:.2f} |"
        )


def print_waiting(series: list[Planted]) -> None:
    """Runs of the new level until a step of 2 is found, by looking at the series as it was after each run; each of the same 60 series."""
    series = series[:: max(1, len(series) // 60)][:60]
    searches: dict[str, Search] = {
        "slotmark, likely or sure": lambda values: ours(values, ("likely", "sure")),
        "slotmark, sure": ours,
        "ruptures PELT, penalty 8 log n": pelt(8.0),
        "E-divisive as Otava's, p 0.001": lambda values: [one.place for one in e_divisive(values, 1e-3)],
    }
    print("\n| search | median runs until a step of 2 is found | found within 15 |\n| --- | --- | --- |")
    for name, search in searches.items():
        waited = []
        for one in series:
            ((at, _),) = one.truth
            after = [
                runs
                for runs in range(1, FOLLOWED + 1)
                if any(abs(place - at) <= 5 for place in search(one.values[: at + runs]))
            ]
            waited.append(min(after, default=FOLLOWED + 1))
        shown = np.median(waited)
        print(f"| {name} | {shown:g} | {share(sum(runs <= FOLLOWED for runs in waited), len(waited))} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
