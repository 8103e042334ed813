"""A chain replayed by our engine in one process on one core, with the unspent outputs in memory."""

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from slotmark.benches.ledger.engine import program


def replay(chain: Path, folder: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Lines of its blocks, and the last line, of a chain whose genesis is in it; what it writes is in a folder of its own in `folder`."""
    with tempfile.TemporaryDirectory(dir=folder) as own:
        prepared, out = Path(own) / "prepared", Path(own) / "out"
        genesis = chain / "genesis" / "shelley-genesis.json"
        subprocess.run([program(), "--prepare", "--genesis", genesis, "--out", prepared], check=True)
        words = [
            "--chain",
            chain,
            "--prepared",
            prepared,
            "--backend",
            "memory",
            "--state",
            Path(own) / "state",
            "--out",
            out,
        ]
        core = min(os.sched_getaffinity(0))
        subprocess.run([program(), *words], check=True, preexec_fn=lambda: os.sched_setaffinity(0, {core}))
        _, *blocks, end = (json.loads(line) for line in out.read_text().splitlines())
    return blocks, end
