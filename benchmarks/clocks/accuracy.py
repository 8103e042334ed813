"""Prints how far estimates of clocks are from planted offsets of up to ±500 ms.

    benchmarks/clocks/run [repetitions]

Prints the two tables of "How well" in docs/clocks.md. The same seeds print the same tables.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from tests.cluster.planted_clocks import Found, planted

CASES = ((10, 1_000), (10, 4_000), (52, 1_000), (52, 4_000))
ASYMMETRIES_MS = (0.0, 10.0, 40.0)

SET_UPS = (
    ("as shipped", 0.0, (), ""),
    ("server, 30 ms in place of 2.5", 0.0, ("peer.serve.mean=30ms",), ""),
    ("noticing headers, 30 ms in place of 2.7", 0.0, ("peer.header_notice.mean=30ms",), ""),
    ("both", 0.0, ("peer.header_notice.mean=30ms", "peer.serve.mean=30ms"), ""),
    (
        "both, a third of the hosts are edges",
        0.0,
        ("peer.header_notice.mean=30ms", "peer.serve.mean=30ms", "EDGES"),
        "",
    ),
    ("one host, 2.5 times as slow", 0.0, (), '{kind="host-slow", host=1, factor=2.5, from=0, until=9999}'),
    ("one host, 10 times as slow", 0.0, (), '{kind="host-slow", host=1, factor=10.0, from=0, until=9999}'),
    (
        "one host, 10 times as slow from the middle",
        0.0,
        (),
        '{kind="host-slow", host=1, factor=10.0, from=500, until=9999}',
    ),
    ("links, up to 10 ms longer one way", 10.0, (), ""),
    ("links, up to 40 ms longer one way", 40.0, (), ""),
)
"""Set-ups: what is slow, the asymmetry of links in ms, settings, and a fault."""


def main() -> None:
    """Prints the tables."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print(
        "| hosts | slots | blocks | half the asymmetry, ms | error, ms: median | 95 % | largest | uncertainty, ms: median | outside |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for hosts, slots in CASES:
        for asymmetry_ms in ASYMMETRIES_MS:
            found = repeated(repetitions, hosts, slots, asymmetry_ms=asymmetry_ms)
            errors = np.abs(np.concatenate([one.errors for one in found]))
            uncertainty = np.median(np.concatenate([one.uncertainties for one in found]))
            print(
                f"| {hosts} | {slots:,} | {np.mean([one.blocks for one in found]):.0f} | {max(one.half_asymmetry for one in found):.1f} "
                f"| {np.median(errors):.2f} | {np.quantile(errors, 0.95):.2f} | {errors.max():.2f} | {uncertainty:.1f} "
                f"| {sum(one.outside for one in found)} of {errors.size} |",
                flush=True,
            )
    print()
    print(
        "| slow | hosts | error, ms: median | largest | stated, ms: median | runs with one beyond | right clocks named | wrong ones not named | runs with clocks that moved |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, asymmetry_ms, settings, fault in SET_UPS:
        for hosts in (4, 12, 30):
            edges = (f"network.edge_hosts={hosts // 3}", f"pools={hosts - hosts // 3}")
            more = [one for setting in settings for one in (edges if setting == "EDGES" else (setting,))]
            right, wrong = (
                repeated(
                    4 * repetitions, hosts, 1_000, asymmetry_ms=asymmetry_ms, most_ms=most_ms, more=more, fault=fault
                )
                for most_ms in (0.0, 100.0)
            )
            both = [*right, *wrong]
            errors, stated = (
                np.concatenate(values) for values in zip(*((one.errors, one.stated) for one in both), strict=True)
            )
            beyond = sum(bool((np.abs(one.errors) > one.stated + 1e-5).any()) for one in both)
            print(
                f"| {name} | {hosts} | {np.nanmedian(np.abs(errors)):.2f} | {np.nanmax(np.abs(errors)):.2f} | {np.nanmedian(stated):.2f} "
                f"| {beyond} of {len(both)} | {sum(one.called_wrong for one in both)} of {errors.size} "
                f"| {sum(one.left for one in wrong)} of {errors.size // 2} | {sum(one.moved for one in both)} of {len(both)} |",
                flush=True,
            )


def repeated(repetitions: int, hosts: int, slots: int, **more: Any) -> list[Found]:
    """The outcomes of as many seeds."""
    found = []
    for seed in range(repetitions):
        with tempfile.TemporaryDirectory() as folder:
            found.append(planted(Path(folder) / "bed", hosts, slots, seed, **more))
    return found


if __name__ == "__main__":
    main()
