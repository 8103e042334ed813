"""Pieces of tests on a Ray cluster, by a process of one of its machines: ray_pieces.py WORK OUT HOW_MANY FOLDER prints their outputs."""

import json
import sys
from pathlib import Path

from slotmark.engine import Piece
from slotmark.engine.ray import on_ray
from slotmark.errors import SlotmarkError
from tests.engine import works


def main(work: str, out: str, number: str, folder: str) -> None:
    pieces = [
        Piece(work=getattr(works, work), inputs=(one, folder), label=f"number {one}") for one in range(int(number))
    ]
    engine = on_ray(
        Path(out), insecure=False, labels={}, checked=lambda _: None, remark=lambda line: print(line, file=sys.stderr)
    )
    try:
        print(json.dumps(engine(pieces, list)))
    except SlotmarkError as error:
        sys.exit(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main(*sys.argv[1:])
