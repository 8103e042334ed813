"""Sizes of the benchmarks of this folder: small ones, and those that the goals are of."""

import resource
import sys
from pathlib import Path

import msgspec

from slotmark.run import machine_facts


class Size(msgspec.Struct, frozen=True):
    """The amount that is done.

    Attributes:
        slots: Of a simulation.
        seeds: Of each value of a sweep of four.
        shards: In which a sweep is done.
        rounds: How often both sides are measured.
        log_slots: Of the cluster whose logs are ingested, of 52 hosts.
    """

    slots: int
    seeds: int
    shards: int
    rounds: int
    log_slots: int

    @property
    def sweep(self) -> list[str]:
        """The words of the command."""
        return [
            *("predict", "value-only-10.5", "--set", f"slots={self.slots}", "--sweep", "block_size=22kB..88kB"),
            *("--steps", "4", "--seeds", str(self.seeds)),
        ]


SIZES = {
    "small": Size(slots=40_000, seeds=4, shards=4, rounds=3, log_slots=2_000),
    "full": Size(slots=700_000, seeds=50, shards=40, rounds=3, log_slots=50_000),
}


def asked() -> Size:
    """The size that the command line names; prints the machine."""
    named = sys.argv[1] if len(sys.argv) > 1 else "small"
    if named not in SIZES:
        sys.exit(f"{named}: expected one of {', '.join(SIZES)}.")
    machine = machine_facts()
    load = Path("/proc/loadavg").read_text().split()[0]
    print(f"machine: {machine.cpu}, {machine.cores} cores, load {load} before; size {named}", flush=True)
    return SIZES[named]


def children_s() -> float:
    """Seconds of processor time of all processes that this one started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
