"""Prints how far estimates of clocks are from planted offsets of up to ±500 ms.

    benchmarks/clocks/run [repetitions]

Prints the table of "How well" in docs/clocks.md. The same seeds print the same table.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from tests.cluster.planted_clocks import planted

CASES = ((10, 1_000), (10, 4_000), (52, 1_000), (52, 4_000))
ASYMMETRIES_MS = (0.0, 10.0, 40.0)


def main() -> None:
    """Prints the table."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print(
        "| hosts | slots | blocks | half the asymmetry, ms | error, ms: median | 95 % | largest | uncertainty, ms: median | outside |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for hosts, slots in CASES:
        for asymmetry_ms in ASYMMETRIES_MS:
            found = []
            for seed in range(repetitions):
                with tempfile.TemporaryDirectory() as folder:
                    found.append(planted(Path(folder) / "bed", hosts, slots, seed, asymmetry_ms=asymmetry_ms))
            errors = np.abs(np.concatenate([one.errors for one in found]))
            uncertainty = np.median(np.concatenate([one.uncertainties for one in found]))
            print(
                f"| {hosts} | {slots:,} | {np.mean([one.blocks for one in found]):.0f} | {max(one.half_asymmetry for one in found):.1f} "
                f"| {np.median(errors):.2f} | {np.quantile(errors, 0.95):.2f} | {errors.max():.2f} | {uncertainty:.1f} "
                f"| {sum(one.outside for one in found)} of {errors.size} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
