"""Made-up stages whose hosts differ between two runs by chance."""

import numpy as np

from slotmark.compare.attribution.stage_cells import Cells, Errors

STAGES, BLOCKS = 9, 20

MEAN_S, APART = 0.07, 0.06
"""The time that a stage takes on a host, and the share of it by which hosts differ between two runs of their own."""


def stages(
    draws: np.random.Generator,
    hosts: int,
    *,
    first: float = 0.0,
    those: int = 1,
    all_: float = 0.0,
    longest: float = MEAN_S,
) -> list[Cells]:
    """Stages of one run and another.

    Args:
        draws: Where differences are drawn from.
        hosts: Their number.
        first: By how many seconds the first stage takes longer on the first hosts.
        those: How many hosts these are.
        all_: By how many seconds every host's first stage takes longer.
        longest: How long stages take on the last host, in seconds; most hosts are near the first.
    """
    found = []
    base = MEAN_S + (longest - MEAN_S) * np.linspace(0, 1, hosts) ** 2
    for number in range(STAGES):
        moved = draws.normal(0, APART, hosts) * base
        if number == 0:
            moved[:those] += first
            moved += all_
        means = np.stack([base, base + moved])
        found.append(
            Cells(
                stage=f"stage {number}",
                names=[("", f"node-{host}") for host in range(hosts)],
                groups=[("", "")] * hosts,
                means=means,
                taken=np.zeros(hosts),
                weights=np.ones(hosts),
                errors=[_errors(of_side) for of_side in means],
            )
        )
    return found


def _errors(means: np.ndarray) -> Errors:
    """Blocks that differ by as large a share of what the host takes, wherever that is."""
    blocks = np.tile(np.array([-0.02, 0.02]), BLOCKS // 2) / BLOCKS
    return Errors(
        np.repeat(np.arange(means.size, dtype=np.int32), BLOCKS),
        np.tile(np.arange(BLOCKS, dtype=np.int32), means.size),
        np.outer(means, blocks).ravel(),
    )
