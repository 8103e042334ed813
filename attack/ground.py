"""The input of attacks, made once with the command itself."""

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from attack.outcome import REFUSED, Ended, command

SMALL = ("--set", "network.hosts=4", "--set", "network.pools=4", "--set", "epoch_slots=200", "--slots", "300")

PUBLISHED = b"""{
  "report": "release-10.6", "style": "typst", "workload": "value-only", "versions": ["10.5", "10.6"],
  "manifest": {"cardano-node version": ["10.5.0", "10.6.0"], "Machines": ["52", "52"]},
  "sections": {
    "Forging": [
      {"metric": "Ledger ticking", "unit": "s", "values": ["0.02139", "0.02679"]},
      {"metric": "Slot start to announced", "unit": "s", "values": ["0.12650", "0.12701"]}
    ],
    "End-to-end propagation": [
      {"metric": "0.50 adoption", "unit": "s", "values": ["0.35201", "0.35377"]},
      {"metric": "0.96 adoption", "unit": "s", "values": ["0.45108", "0.45500"]}
    ]
  }
}
"""
"""The tables of a published report, as docs/archive.md describes them."""


class Fault(NamedTuple):
    """A fault that is planted in what is attacked.

    Attributes:
        what: What is wrong, in words.
        planted: Python code that each attacked process runs when it starts; for the attacks in Rust, the word behind ``--plant``.
        found: What the attack must say where it finds it.
        shows_unharmed: The unharmed input can show it too, so that it is tried first.
    """

    what: str
    planted: str
    found: str
    shows_unharmed: bool = True


class Ground:
    """Logs, chains and runs in a folder of their own, and the slotmark that is attacked.

    Attributes:
        folder: Where all is.
        fault: What is planted in attacked commands; what they work on is always made without it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fault: Fault | None = None

    @contextmanager
    def planted(self, fault: Fault) -> Iterator[None]:
        """Has every command that is attacked inside run with this fault."""
        place = emptied(self.folder / "fault")
        (place / "sitecustomize.py").write_text(fault.planted)
        self.fault = fault
        try:
            yield
        finally:
            self.fault = None

    @property
    def variables(self) -> Mapping[str, str]:
        """Returns the variables in the environment of attacked processes, beside the usual ones."""
        others = [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
        return {"PYTHONPATH": os.pathsep.join([str(self.folder / "fault"), *others])} if self.fault else {}

    def attacked(self, *arguments: str | Path, into: Path, **limits: int) -> Ended:
        """Runs an attacked command to its end."""
        return command(*arguments, into=into, variables=self.variables, **limits)

    @cached_property
    def logs(self) -> Path:
        """A simulated run directory of four hosts."""
        return self._made("logs", "simulate", "value-only-10.5", *SMALL, "-o", "logs")

    @cached_property
    def other_logs(self) -> Path:
        """Another run directory of these hosts."""
        return self._made("other-logs", "simulate", "value-only-10.5", *SMALL, "--seed", "11", "-o", "other-logs")

    @cached_property
    def chain(self) -> Path:
        """A forged chain."""
        return self._made("chain", "chain", "synth", "--workload", "preview-like", "--blocks", "400", "-o", "chain")

    @cached_property
    def cluster_run(self) -> Path:
        """The run folder of :attr:`logs`."""
        return self._made("cluster", "ingest", self.logs, "-o", "cluster")

    @cached_property
    def other_cluster_run(self) -> Path:
        """A run folder to compare :attr:`cluster_run` with."""
        return self._made("other", "simulate", "value-only-10.6-pre", *SMALL, "--direct", "-o", "other")

    @cached_property
    def recording(self) -> Path:
        """A recording of ledger operations, as db-analyser writes it."""
        path = self.folder / "recording.csv"
        rows = [
            f"{slot} {20 + slot % 3} {900 + slot % 101} {700 + slot % 97} {100 + slot % 7} 1 2 400 {50 + slot % 11} 0 0 0 90000"
            for slot in range(20, 60_000, 20)
        ]
        names = "slot slotGap totalTime mut gc majGcCount minGcCount allocatedBytes mut_forecast mut_headerTick mut_headerApply mut_blockTick mut_blockApply"
        path.write_text(
            "\n".join("\t".join(row.split()) for row in [names, *(" ".join(row.split()[:13]) for row in rows)]) + "\n"
        )
        return path

    @cached_property
    def ledger_run(self) -> Path:
        """The run folder of :attr:`recording`."""
        return self._made("ledger", "ledger", "import", self.recording, "--target", "base", "-o", "ledger")

    @cached_property
    def measured(self) -> Path:
        """The run folders ``a`` and ``b`` of one engine, which were measured here."""
        return self._made("measured", *self._measuring, "--backend", "a=memory,b=memory", "-o", "measured")

    @cached_property
    def noise(self) -> Path:
        """This machine's noise, as `ledger noise` writes it."""
        words = ("noise" if word == "run" else word for word in self._measuring)
        return self._made("noise.json", *words, "-o", "noise.json")

    @cached_property
    def published(self) -> tuple[Path, Path]:
        """The run folders of both columns of :data:`PUBLISHED`."""
        (self.folder / "published.json").write_bytes(PUBLISHED)
        words = ("published", "import", "published.json")
        return (
            self._made("column-1", *words, "1", "-o", "column-1"),
            self._made("column-2", *words, "2", "-o", "column-2"),
        )

    @property
    def _measuring(self) -> tuple[str | Path, ...]:
        return ("ledger", "run", "--chain", self.chain, "--blocks", "60", "--rounds", "3")

    def _made(self, name: str, *arguments: str | Path) -> Path:
        if (self.folder / name).exists():  # whole, of another ground in this folder
            return self.folder / name
        done = command(*arguments, into=self.folder)
        if done.code:
            raise RuntimeError(f"{name} can't be made: {done.said}")
        return self.folder / name


def emptied(folder: Path) -> Path:
    """The folder, new and empty."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def content(folder: Path, *without: Path) -> dict[str, str]:
    """Every file below a folder by its digest, links by where they lead; what is below ``without`` is left out."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if any(path.is_relative_to(other) for other in without):
            continue
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        else:
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
    return found


def is_fine_or_refused(done: Ended) -> str:
    """Returns the fault of a command that may end well or refuse its input."""
    return done.wrong(0, REFUSED)
