"""Proof that a target did the work: its digest against ours. See docs/targets.md."""

from collections.abc import Callable, Sequence

import msgspec

from slotmark.benches.chainsync.invocation import Progress


class Proof(msgspec.Struct, frozen=True):
    """The digest that a setting must have, and those up to each block, to find the first one that differs.

    Attributes:
        digest: Over all blocks of the window, in hex.
        trail: Yields, for each block of the window in order, the digest up to it and the block's name.
        whose: Whose digest it is, in words.
        last: Slot and hash of the last block.
        bytes: Of all blocks together, as clients count them; None where that isn't known.
    """

    digest: str
    trail: Callable[[], list[tuple[str, str]]]
    whose: str
    last: tuple[int | None, str | None]
    bytes: int | None = None


def first_difference(proof: Proof, records: Sequence[Progress]) -> str:
    """Names the first block whose record differs.

    Args:
        proof: What it must be.
        records: Progress records of an invocation that has one every block.
    """
    for number, (record, (digest, block)) in enumerate(zip(records, proof.trail(), strict=False)):
        if record.digest != digest:
            return f"block {number} of the window ({block}) is the first that differs from {proof.whose}"
    return (
        f"its {len(records)} progress records agree with {proof.whose}, its last digest doesn't: it folded other blocks the "
        "second time, or not all of them"
    )
