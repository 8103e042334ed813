"""Makes what slotmark writes of fixed input: chains, beds, logs, run folders, reports and what is printed.

``python -m tests.golden.making FOLDER`` makes it for a look at what differs, with ``diff -r``;
``python -m tests.golden.making --write`` makes ``digests.txt`` anew, after a change of bytes that is meant.
"""

import argparse
import hashlib
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from tests import made_up_runs
from tests.ledger import recordings

SIMULATED = "--set genesis.epoch_slots=40 --slots 360"
DIGESTS = Path(__file__).parent / "digests.txt"
PYTHON = "3.11.7"
"""The version that the digests were made with: every run names its own."""
BLOCKS = 80
RECORDED = 1_780_000_000
"""Seconds since 1970 at which the recorded files were written."""


def make(folder: Path) -> None:
    """Makes all of it in ``folder``, which is new or empty."""
    folder.mkdir(parents=True, exist_ok=True)
    _networks(folder)
    _clusters(folder)
    _predictions(folder)
    _ledger(folder)
    _clients(folder)


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 by path, of each file, and of all files together of a chain, a bed, a run directory and the tables of a run folder."""
    together: dict[str, list[str]] = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        parts = path.relative_to(folder).parts
        name = "/".join(parts[: 2 if parts[0] in ("chains", "beds", "logs") else 3])
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        together.setdefault(name, []).append(f"{digest}  {path.relative_to(folder)}\n")
    return {
        name: hashlib.sha256("".join(lines).encode()).hexdigest() if len(lines) > 1 else lines[0].split()[0]
        for name, lines in together.items()
    }


def _networks(folder: Path) -> None:
    _slotmark(folder, "chain synth --workload mix:value-only=3,plutus-loop=1 --blocks 40 --seed 3 -o chains/mixed")
    _slotmark(folder, "chain synth --workload preview-like --blocks 200 --seed 3 -o chains/preview-like")
    _slotmark(folder, "chain info chains/preview-like", "chain-info")
    _slotmark(folder, "cluster create value-only-5 --seed 3 --set utxo_entries=20000 -o beds/value-only-5")


def _clusters(folder: Path) -> None:
    for version in ("10.5", "10.6-pre"):
        profile = f"value-only-{version}"
        _slotmark(folder, f"simulate {profile} {SIMULATED} -o logs/{version}")
        _slotmark(folder, f"ingest logs/{version} -o runs/{version}")
        _slotmark(folder, f"simulate {profile} {SIMULATED} --direct -o runs/direct-{version}")
    _shown(folder, "cluster", "runs/10.5", "runs/10.6-pre")
    _slotmark(
        folder, "compare runs/10.5 runs/10.6-pre --method published -o reports/published", "published", may=(0, 1)
    )
    _slotmark(folder, "explain runs/10.5 runs/10.6-pre", "explain")
    _slotmark(folder, "plan runs/10.5", "plan")
    _slotmark(folder, "samples runs/10.5 blocks", "samples")


def _predictions(folder: Path) -> None:
    _slotmark(folder, "predict value-only-5 --seeds 3 --set tps*=0.5 -o reports/predicted", "predicted", may=(0, 1, 3))


def _ledger(folder: Path) -> None:
    for name, scale in (("base", 1.0), ("slower", 1.2)):
        for process in range(4):
            recorded = recordings.points(BLOCKS, seed=process, scale=scale)
            recordings.written(folder / "recorded", f"{name}-{process}.csv", recordings.tab_separated(recorded))
    recorded = recordings.beacon_run(recordings.points(BLOCKS, seed=9))
    recordings.written(folder / "recorded", "beacon.json", recorded)
    for path in (folder / "recorded").iterdir():  # a run began when the first of its files was written
        os.utime(path, (RECORDED, RECORDED))
    for name in ("base", "slower"):
        files = " ".join(f"recorded/{name}-{process}.csv" for process in range(4))
        _slotmark(folder, f"ledger import {files} --target {name} --session one -o runs/ledger-{name}")
    _slotmark(folder, "ledger import recorded/beacon.json --target beacon -o runs/ledger-beacon")
    _shown(folder, "ledger", "runs/ledger-base", "runs/ledger-slower")
    _slotmark(
        folder,
        "forecast runs/ledger-base runs/ledger-slower --profile value-only-5 --seeds 3 -o reports/forecast",
        "forecast",
    )


def _clients(folder: Path) -> None:
    for name, rate in (("client-1.0", 50_000.0), ("client-1.1", 56_000.0)):
        rates = [rate * (1 + 0.004 * ((7 * number) % 11 - 5)) for number in range(20)]
        made_up_runs.write_run(
            folder / "runs" / name,
            name,
            {"decode, sequential": rates, "raw, 100 in flight": [3 * one for one in rates]},
        )
    _shown(folder, "clients", "runs/client-1.0", "runs/client-1.1")


def _shown(folder: Path, name: str, baseline: str, candidate: str) -> None:
    """All forms in which a run and a comparison of two are shown."""
    _slotmark(folder, f"show {baseline}", f"show-{name}")
    _slotmark(folder, f"show {baseline} --json", f"show-{name}-json")
    _slotmark(folder, f"compare {baseline} {candidate} -o reports/{name}", f"compare-{name}", may=(0, 1, 3))


def _slotmark(folder: Path, line: str, printed: str = "", *, may: tuple[int, ...] = (0,)) -> None:
    """Runs a command in ``folder``; what it prints on standard output is kept as ``printed/NAME.txt``.

    Raises:
        RuntimeError: Where its exit code is none of ``may``.
    """
    ended = subprocess.run(
        [sys.executable, "-m", "slotmark", *shlex.split(line)],
        cwd=folder,
        # Every run names the commit that made it: here none is found.
        env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "GIT_DIR": os.devnull},
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode not in may:
        raise RuntimeError(f"slotmark {line}: ended with {ended.returncode}:\n{ended.stderr}")
    if printed:
        (folder / "printed").mkdir(exist_ok=True)
        (folder / "printed" / f"{printed}.txt").write_text(ended.stdout, encoding="utf-8")


def written() -> dict[str, str]:
    """The digests in ``digests.txt``."""
    return {path: digest for digest, path in (line.split("  ", 1) for line in DIGESTS.read_text().splitlines())}


def _write() -> None:
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder))
        DIGESTS.write_text("".join(f"{digest}  {path}\n" for path, digest in digests(Path(folder)).items()))


if __name__ == "__main__":
    asked = argparse.ArgumentParser(prog="python -m tests.golden.making", description=__doc__)
    where = asked.add_mutually_exclusive_group(required=True)
    where.add_argument("folder", type=Path, nargs="?", help="where to make it; new or empty")
    where.add_argument("--write", action="store_true", help="make digests.txt anew")
    given = asked.parse_args()
    if given.write:
        _write()
    else:
        make(given.folder)
