"""`make attack`: every attack in turn, within the time; a table of what was tried and what failed."""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from attack import bombs, disks, files, kills, matrices, networks, programs, resuming, tampering, targets, together
from attack.control import Attack, Controlled, controlled
from attack.ground import Ground
from attack.signals import default_for_children

MINUTES = 20
SHOWN = 5
"""The most failures that are shown of each attack."""


ATTACKS = {
    "lines": programs.LINES,
    "wire": programs.WIRE,
    "chains": programs.CHAINS,
    "kills": kills.ATTACK,
    "resumes": resuming.ATTACK,
    "networks": networks.ATTACK,
    "targets": targets.ATTACK,
    "files": files.ATTACK,
    "together": together.ATTACK,
    "runs": tampering.ATTACK,
    "matrices": matrices.ATTACK,
    "bombs": bombs.ATTACK,
    "disks": disks.ATTACK,
}


class Result(NamedTuple):
    """The result of an attack."""

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
    options.add_argument("--without-controls", action="store_true", help="only the attacks, to look for more failures")
    options.add_argument("--only", choices=sorted(ATTACKS), action="append", help="an attack; again for more")
    options.add_argument(
        "--minutes",
        type=float,
        default=MINUTES,
        help="for all together without their controls; what is not reached is not tried",
    )
    asked = options.parse_args()
    chosen = [ATTACKS[name] for name in ATTACKS if not asked.only or name in asked.only]
    out = Console(highlight=False, markup=False, soft_wrap=True)
    default_for_children()
    began, shares, results = time.monotonic(), sum(one.share for one in chosen), []
    with tempfile.TemporaryDirectory(prefix="slotmark-attack-") as folder:
        ground = Ground(Path(folder))
        used = in_controls = 0.0
        for one in chosen:
            used += one.share
            tries = max(1, round(asked.share * one.tries))
            before = time.monotonic()
            checked = Controlled(0, []) if asked.without_controls else controlled(one, ground, asked.seed)
            in_controls += time.monotonic() - before
            for failure in checked.failures:
                out.print(f"{one.name}: control: {failure}")
            result = attack(one, ground, asked.seed, tries, began + in_controls + 60 * asked.minutes * used / shares)
            results.append((one, checked, result))
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
    for column in ("tried", "failed", "controls", "failed"):
        table.add_column(column, justify="right")
    for one, checked, result in results:
        counts = (result.tried, len(result.failures), checked.controls, len(checked.failures))
        table.add_row(one.name, *(f"{count:,}" for count in counts))
    out.print()
    out.print(table)
    return 1 if any(result.failures or checked.failures for _, checked, result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
