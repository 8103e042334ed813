"""Slotmark's own figures over time: what its commands take on fixed input, by the commit that is checked out, in a store with its site.

    benchmarks/own/run [ROUNDS [STORE]]      5 rounds, .build/own by default

A run of the store is all commands in turns, ROUNDS times; a figure is their processor time, which other programs disturb less than time of the clock does.
"""

import datetime
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from slotmark.run import machine_facts

REPO = Path(__file__).resolve().parents[2]
SLOTMARK = Path(os.environ.get("SLOTMARK", REPO / ".venv" / "bin" / "slotmark"))
"""The command that is measured, so that one script measures several builds."""


def processor_s(words: Sequence[str | Path], folder: Path) -> float:
    """The processor time that a command and its children take, in s; ends with the command's own message where it fails."""
    with (folder / "said").open("wb") as said:
        asked = subprocess.Popen([SLOTMARK, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=said)
        _, status, used = os.wait4(asked.pid, 0)
    if status:
        sys.exit(f"{' '.join(map(str, words))}: {(folder / 'said').read_text(encoding='utf-8')}")
    return used.ru_utime + used.ru_stime


def measured(rounds: int, folder: Path) -> dict[str, list[float]]:
    """The processor times of each command, one per round."""
    found: dict[str, list[float]] = {}
    for number in range(rounds):
        place = folder / str(number)
        place.mkdir()
        for name, words in {
            "logs of 5 hosts, 1,000 slots": ["simulate", "value-only-5", "--slots", "1000", "-o", "logs"],
            "ingest of these": ["ingest", "logs", "-o", "ingested"],
            "a run of 52 hosts, 400 slots": ["simulate", "value-only-10.5", "--slots", "400", "--set", "epoch_slots=40", "--direct", "-o", "a"],
            "another": ["simulate", "value-only-10.2", "--slots", "400", "--set", "epoch_slots=40", "--direct", "-o", "b"],
            "show of the first": ["show", "a"],
            "compare of both": ["compare", "a", "b"],
            "report of both": ["compare", "a", "b", "-o", "report"],
            "eight small runs": ["simulate", "value-only-5", "--slots", "100", "--repeat", "8", "--direct", "-o", "runs"],
            "store add of these": ["store", "add", "runs", "--to", "store"],
            "site of the store": ["site", "--store", "store", "-o", "public"],
            "a chain of 200 blocks": ["chain", "synth", "--workload", "value-only", "--blocks", "200", "-o", "chain"],
        }.items():  # fmt: skip
            found.setdefault(name, []).append(processor_s(words, place))
        print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
    return found


def main(rounds: int, store: Path) -> None:
    """Measures, adds the run, writes the site."""
    commit = subprocess.run(
        ["git", "-C", SLOTMARK.parent.parent.parent, "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    machine = machine_facts().kind
    with tempfile.TemporaryDirectory(prefix="slotmark-own-") as name:
        folder = Path(name)
        times = measured(rounds, folder)
        # The form of pytest-benchmark's file, which has all samples.
        file = folder / "own.json"
        file.write_text(
            json.dumps(
                {
                    "machine_info": {"cpu": {"brand_raw": ", ".join(machine.values())}},
                    "commit_info": {"id": commit, "branch": "main"},
                    "datetime": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
                    "benchmarks": [
                        {"fullname": name, "stats": {"mean": sum(each) / len(each), "data": each}}
                        for name, each in times.items()
                    ],
                }
            ),
            encoding="utf-8",
        )
        for words in (
            ["store", "import", file, "--format", "pytest-benchmark", "--target", "slotmark", "--to", store / "store"],
            ["history", "imported_duration", "--store", store / "store"],
            ["site", "--store", store / "store", "-o", store / "public", "--title", "Slotmark's own figures"],
        ):
            subprocess.run([REPO / ".venv" / "bin" / "slotmark", *words], check=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 5, Path(sys.argv[2]) if sys.argv[2:] else REPO / ".build" / "own")
