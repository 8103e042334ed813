"""`make attack`: every attack in turn, within the time; a table of what was tried and what failed."""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from attack import programs
from attack.bombs import bombs
from attack.disks import disks
from attack.ground import Ground
from attack.kills import kills
from attack.outcome import Tried
from attack.plans import plans
from attack.tampering import tampering

MINUTES = 20
SHOWN = 5
"""Of each attack, so many failures are shown."""


class Attack(NamedTuple):
    """An attack, how many inputs it tries, and its share of the time."""

    name: str
    tries: int
    share: float
    run: Callable[[Ground, int, int], Iterator[Tried]]


ATTACKS = {
    "lines": Attack("mutated log lines", 8_000_000, 0.05, lambda _, seed, tries: programs.log_lines(seed, tries)),
    "wire": Attack("fuzzed wire inputs", 400_000, 0.10, lambda _, seed, tries: programs.wire_inputs(seed, tries)),
    "chains": Attack("damaged chain folders", 3_000, 0.05, lambda _, seed, tries: programs.chain_folders(seed, tries)),
    "kills": Attack("commands killed at random moments", 126, 0.30, kills),
    "runs": Attack("tampered run folders", 400, 0.25, tampering),
    "plans": Attack("tampered plans and noise files", 60, 0.05, plans),
    "bombs": Attack("bombs as packed logs", 18, 0.10, bombs),
    "disks": Attack("full disks", 84, 0.10, disks),
}


class Result(NamedTuple):
    """What an attack found."""

    tried: int
    failures: list[str]
    seconds: float
    in_time: bool


def attack(one: Attack, ground: Ground, seed: int, tries: int, until: float) -> Result:
    """Tries inputs until there are no more or the time, on the clock of ``time.monotonic``, is over."""
    began, tried, failures = time.monotonic(), 0, []
    for outcome in one.run(ground, seed, tries):
        tried += outcome.inputs
        failures += outcome.failures
        if time.monotonic() > until:
            return Result(tried, failures, time.monotonic() - began, False)
    return Result(tried, failures, time.monotonic() - began, True)


def main() -> int:
    """Attacks; 1 where any input failed."""
    options = argparse.ArgumentParser(prog="make attack", description=__doc__)
    options.add_argument("--seed", type=int, default=1, help="decides every input")
    options.add_argument("--share", type=float, default=1.0, help="of the usual counts, for trying it out: 0.01")
    options.add_argument("--only", choices=sorted(ATTACKS), action="append", help="an attack; again for more")
    options.add_argument(
        "--minutes", type=float, default=MINUTES, help="for all together; what is not reached is not tried"
    )
    asked = options.parse_args()
    chosen = [ATTACKS[name] for name in ATTACKS if not asked.only or name in asked.only]
    out = Console(highlight=False, markup=False, soft_wrap=True)
    if any(ATTACKS[name] in chosen for name in ("lines", "wire", "chains")):
        programs.build()
    began, shares, results = time.monotonic(), sum(one.share for one in chosen), []
    with tempfile.TemporaryDirectory(prefix="slotmark-attack-") as folder:
        ground = Ground(Path(folder))
        used = 0.0
        for one in chosen:
            used += one.share
            tries = max(1, round(asked.share * one.tries))
            result = attack(one, ground, asked.seed, tries, began + 60 * asked.minutes * used / shares)
            results.append((one, result))
            for failure in result.failures[:SHOWN]:
                out.print(f"{one.name}: {failure}")
            more = "" if result.in_time else ", out of time"
            out.print(
                f"{one.name}: {result.tried:,} tried, {len(result.failures):,} failed, {result.seconds:.0f} s{more}"
            )
    table = Table(
        title=f"seed {asked.seed}, {time.monotonic() - began:.0f} s", title_justify="left", box=None, pad_edge=False
    )
    table.add_column("test")
    for column in ("tried", "failed"):
        table.add_column(column, justify="right")
    for one, result in results:
        table.add_row(one.name, f"{result.tried:,}", f"{len(result.failures):,}")
    out.print()
    out.print(table)
    return 1 if any(result.failures for _, result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
