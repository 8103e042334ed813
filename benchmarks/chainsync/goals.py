"""Prints how our client stands beside Pallas and the floor, from the runs of one session: medians over interleaved rounds."""

import sys
from pathlib import Path
from statistics import median

from slotmark import Run, open_run
from slotmark.metrics import samples


def middle(run: Run, metric: str, setting: str) -> float:
    """The median of a metric over rounds."""
    return median(samples(run, metric).values(setting))


def main(name: str, folder: Path) -> None:
    """Prints one line a goal: what was reached, and the goal."""
    pallas, native, floor = (open_run(folder / target) for target in ("pallas", "native", "floor"))
    machine = native.manifest.machine
    assert machine is not None
    print(
        f"{name}: {machine.cpu}, {machine.cores} cores, {machine.virtualisation}, {machine.kernel}, load {machine.load:.2f}"
    )
    rate = "blocks_per_s"
    one, many, raw = "decode, sequential", "decode, 100 in flight", "raw, 100 in flight"
    pallas_rate = middle(pallas, rate, one)
    lines = [
        ("sequential decode, times Pallas", middle(native, rate, one) / pallas_rate, ">= 1.8"),
        ("pipelined decode, times Pallas", middle(native, rate, many) / pallas_rate, ">= 15"),
        (
            "CPU a block, sequential, share of Pallas's",
            middle(native, "cpu_us_per_block", one) / middle(pallas, "cpu_us_per_block", one),
            "<= 0.33",
        ),
        (
            "CPU a block, pipelined, share of Pallas's",
            middle(native, "cpu_us_per_block", many) / middle(pallas, "cpu_us_per_block", one),
            "<= 0.33",
        ),
        ("pipelined raw, share of the floor", middle(native, rate, raw) / middle(floor, rate, raw), ">= 0.90"),
        ("pipelined decode, share of the floor", middle(native, rate, many) / middle(floor, rate, raw), ""),
    ]
    for what, reached, goal in lines:
        print(f"  {what:<44} {reached:8.2f}   {goal}")
    for run in (pallas, native, floor):
        for setting in samples(run, rate).parts:
            figures = ", ".join(
                f"{middle(run, metric, setting):,.1f} {unit}"
                for metric, unit in (
                    (rate, "blocks/s"),
                    ("mb_per_s", "MB/s"),
                    ("cpu_us_per_block", "us CPU/block"),
                    ("switches_per_block", "switches/block"),
                    ("server_share", "% server"),
                )
            )
            print(f"    {run.name:<8} {setting:<22} {figures}")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
