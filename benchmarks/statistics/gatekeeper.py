"""Prints what the share of the error rate that decisive metrics have costs and gives: the table of docs/decision.md.

    PYTHONPATH=. .venv/bin/python benchmarks/statistics/gatekeeper.py [repetitions] [--shard N/OF -o FOLDER | --merge FOLDER]

With all of it, other metrics are tested only once every decisive one is found: a strict gatekeeper.
"""

from collections.abc import Sequence
from unittest.mock import patch

import numpy as np
from benchmarks.statistics.rows import Asked
from tests.compare.planted_runs import MARGIN, Plant, decided, made_worse, means_of

from slotmark.statistics import rank_tests

DESIGNS: dict[str, Plant] = {
    "1 and 1, a table, 1 %": Plant(sides=(1, 1), prior=1.0),
    "1 and 1, a table, 2 %": Plant(sides=(1, 1), prior=1.0, spread=0.02),
    "2 and 2, 1 %": Plant(sides=(2, 2)),
    "3 and 3, 1 %": Plant(sides=(3, 3)),
    "5 and 5, 2 %": Plant(sides=(5, 5), spread=0.02),
}

SHARES = (0.8, 0.95, 0.9999)
"""The last is as good as all."""


def main() -> None:
    """Prints the table."""
    asked = Asked(400)
    count = asked.repetitions
    print(
        f"\n{count:,} made-up comparisons per row, 4 of 8 metrics decide; others worse by two margins and eight spreads"
    )
    print(
        "runs per side, spread, share of decisive | equal: hold, any verdict but equivalent | decisive worse by 4 %: hold | others alone worse: found"
    )
    asked.print_rows(row, ((name, share, count) for name in DESIGNS for share in SHARES))


def row(name: str, share: float, count: int) -> str:
    """A line of the table."""
    plant = DESIGNS[name]
    seen: list[Sequence[float]] = []
    with patch.object(rank_tests, "FIRST_SHARE", share):
        for index in range(count):
            means, prior = means_of(plant, [2026, index])
            rows, equal = decided(means, prior)
            _, four = decided(made_worse(means, 0.04), prior)
            others, _ = decided(made_worse(means, 2 * MARGIN + 8 * plant.spread, decisive=False), prior)
            verdicts = [one.differences[0].verdict for one in rows if one.differences[0]]
            found = [
                one.differences[0].verdict == "worse"
                for one in others
                if one.metric.rank != "decisive" and one.differences[0]
            ]
            seen.append(
                (
                    equal.answer == "hold",
                    any(one in ("better", "worse") for one in verdicts),
                    four.answer == "hold",
                    float(np.mean(found)),
                )
            )
    held, called, of_four, of_others = np.mean(seen, axis=0)
    return f"{name:24} {share:6.1%} | {held:6.1%} {called:6.1%} | {of_four:6.1%} | {of_others:6.1%}"


if __name__ == "__main__":
    main()
