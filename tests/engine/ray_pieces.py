"""Pieces of tests on a Ray cluster, by a process of one of its machines: ray_pieces.py WORK OUT HOW_MANY FOLDER [HOST] prints their outputs."""

import json
import sys
from functools import partial
from pathlib import Path

from slotmark.engine import Piece
from slotmark.engine.ray import on_ray
from slotmark.errors import SlotmarkError
from slotmark.places import Url, place
from tests.engine import works


def main(work: str, out: str, number: str, folder: str, host: str = "") -> None:
    pieces = [
        Piece(work=getattr(works, work), inputs=(one, folder), label=f"number {one}", host=host)
        for one in range(int(number))
    ]
    remark = partial(print, file=sys.stderr)
    kept = place(out)
    own, shared = (Path(folder) / "ray", kept) if isinstance(kept, Url) else (kept, None)
    try:
        with on_ray(own, shared=shared, insecure=False, labels={}, checked=lambda _: None, remark=remark) as engine:
            print(json.dumps(engine(pieces, list)))
    except SlotmarkError as error:
        sys.exit(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main(*sys.argv[1:])
