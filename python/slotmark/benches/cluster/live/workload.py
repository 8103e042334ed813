"""The workload of a live cluster: the program that submits its transactions, and what became of each of them."""

import math
import re
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.json as pj

from slotmark.benches.cluster.bed import Bed
from slotmark.benches.cluster.live.launching import Child, Wan, spawn
from slotmark.benches.cluster.live.network import GENERATOR, targets
from slotmark.benches.cluster.scripts import LOOP
from slotmark.benches.cluster.sweep import amount
from slotmark.errors import BedError, RunError, SimulationError
from slotmark.measure.process import ending, last_words_in
from slotmark.measure.shipped import built_program
from slotmark.metrics.catalogue import catalogue
from slotmark.numbers import plain
from slotmark.warnings import Warning
from slotmark.words import listed

_FOLDER = "generator"
_SUBMISSIONS = "submissions.jsonl"
_INCLUSIONS = "inclusions.jsonl"
_STOP_GRACE_S = 330
"""At its end it reads the whole chain."""

SUBMISSIONS_SCHEMA = pa.schema(
    [
        ("number", pa.int64()),
        ("transaction", pa.string()),
        ("action", pa.string()),
        ("target", pa.string()),
        ("due_ns", pa.int64()),
        ("offered_ns", pa.int64()),
        ("requested_ns", pa.int64()),
        ("acknowledged_ns", pa.int64()),
    ]
)
"""Table ``submissions``: docs/tables.md."""

INCLUSIONS_SCHEMA = pa.schema([("transaction", pa.string()), ("block", pa.string()), ("slot", pa.int64())])
"""Table ``inclusions``: docs/tables.md."""


OFFERED = "transactions offered"
"""By which name a manifest's ``observed`` has the number of transactions that were offered."""


class Workload(msgspec.Struct, frozen=True):
    """The transactions of a bed's profile.

    Attributes:
        name: ``value-only``, ``mixed``, ``script`` for that of the bed, or ``plutus-loop`` for the countdown in a bed of a version that had no other.
        tps: Transactions a second.
        most: Transactions in all.
        words: The generator's options for a transaction.
        shares: The share of transactions that begin in each region; empty where one generator is beside all hosts.
    """

    name: str
    tps: float
    most: int
    words: tuple[str, ...]
    shares: dict[str, float] = {}

    def places(self, addresses: Mapping[str, str]) -> tuple[str, ...]:
        """The generator's options for its targets.

        Args:
            addresses: Address of each target to its region.

        Raises:
            BedError: A region has a share, and no host with a pool.
        """
        if not self.shares:
            return tuple(word for address in addresses for word in ("--target", address))
        words: list[str] = []
        for region, share in self.shares.items():
            own = [address for address, where in addresses.items() if where == region]
            if share > 0 and not own:
                raise BedError(
                    f"workload.shares has {share} for {region}, where no host has a pool. Give it 0, or make the bed with more hosts."
                )
            words += ["--place", f"{share!r}={','.join(own)}"] if share > 0 else []
        return tuple(words)

    def transactions(self, seconds: float) -> int:
        """The number of transactions that are due in this time, or all that the profile has where those are fewer."""
        return min(self.most, math.ceil(self.tps * seconds))


def workload_of(bed: Bed) -> Workload:
    """The workload of a bed's profile.

    Raises:
        BedError: The profile has none that can be submitted.
    """
    try:
        of_profile = bed.profile["workload"]
        payload = ("--payload", str(round(amount(of_profile["payload"]))))
        if bed.script is not None:
            name, words = "script", payload
        elif of_profile["script"] == LOOP:
            name, words = "plutus-loop", payload
        elif of_profile["script"]:
            raise BedError(
                f"bed.json: workload.script is {of_profile['script']!r:.60}, and the bed has no such script. Make the bed again, or use --no-workload."
            )
        else:
            inputs, outputs = int(of_profile["inputs"]), int(of_profile["outputs"])
            name, words = "value-only", ("--inputs", str(inputs), "--outputs", str(outputs), *payload)
            if actions := of_profile.get("actions"):
                name = "mixed"
                words += ("--shares", ",".join(f"{action}={share}" for action, share in actions.items() if share))
        if bed.live.references:
            if of_profile["script"]:
                raise BedError(
                    "bed.json: live.references goes with transactions that move value, and this workload runs a script. Make the bed again without it, or use --no-workload."
                )
            words += ("--references", str(bed.live.references))
        shares = {str(region): float(share) for region, share in of_profile.get("shares", {}).items()}
        return Workload(name, float(of_profile["tps"]), int(of_profile["tx_count"]), words, shares)
    except (KeyError, TypeError, ValueError, SimulationError) as error:
        raise BedError(
            f"bed.json: its profile has no workload that can be submitted ({error!r}). Make the bed again, or use --no-workload."
        ) from error


def refuse_workload(bed: Bed) -> None:
    """Refuses a bed whose workload can't be submitted, before anything is started for it.

    Raises:
        BedError: The profile has no such workload, its rate or its number of transactions is 0, or a region with a share has no host with a pool.
    """
    workload = workload_of(bed)
    for name, amount_of in (("tps", workload.tps), ("tx_count", workload.most)):
        if amount_of <= 0:
            raise BedError(
                f"bed.json: workload.{name} is {plain(amount_of)}: expected more than 0. Make the bed again, or use --no-workload."
            )
    workload.places({host.name: host.region for host in targets(bed)})


class Phase(msgspec.Struct, frozen=True):
    """A line of the generator's standard output."""

    phase: str
    at_ns: int
    facts: dict[str, Any]


class Generator(Child):
    """The running generator; ends with :meth:`stop`, and by itself when this process ends.

    Args:
        bed: Its funds are spent.
        folder: The run directory, with the bed's files.
        seconds: How long transactions are submitted, once their inputs are in blocks.
        within_s: Time that inputs may take to be in blocks.
        seed: Decides payloads and who is paid.
        wan: The emulated network; None for loopback.
        ahead: The folder of the node whose chain is read, and its socket's name in it.
        addresses: Where each host listens.

    Attributes:
        workload: The transactions of the bed's profile.
        transactions: How many of them are submitted.

    Raises:
        TargetError: The program isn't built.
        BedError: The profile has no workload.
    """

    def __init__(
        self,
        bed: Bed,
        folder: Path,
        seconds: float,
        within_s: int,
        seed: int,
        wan: Wan | None,
        ahead: tuple[Path, str],
        addresses: Mapping[str, str],
    ) -> None:
        generator = built_program("slotmark-txgen", "what submits transactions", ", or use --no-workload")
        self.workload = workload_of(bed)
        self.transactions = self.workload.transactions(seconds)
        self._targets = {f"{addresses[host.name]}:{host.port}": host.name for host in targets(bed)}
        self._address = re.compile(rf"(?<![\d.])(?:{'|'.join(map(re.escape, self._targets))})(?!\d)")
        self._folder = folder / _FOLDER
        self._folder.mkdir()
        self._read = self._acknowledged = 0
        near, socket = ahead
        command = [
            *(wan.inside(GENERATOR) if wan else []),
            str(generator),
            *("--bed", str(folder.resolve()), "--workload", self.workload.name, *self.workload.words),
            *self.workload.places(
                {f"{addresses[host.name]}:{host.port}": host.region for host in targets(bed)},
            ),
            *("--tps", repr(self.workload.tps), "--transactions", str(self.transactions)),
            *("--seed", str(seed), "--socket", socket, "--settle", str(within_s)),
            *("-o", str((self._folder / _SUBMISSIONS).resolve())),
            *("--inclusions", str((self._folder / _INCLUSIONS).resolve())),
        ]
        with (self._folder / "stdout").open("wb") as out, (self._folder / "stderr").open("wb") as errors:
            # In the node's folder, so that its socket has a short name: a longer one than 107 bytes can't be opened.
            self._process = spawn(command, near, out, errors)

    @property
    def words(self) -> str:
        """The last lines of its standard error, with the names of hosts."""
        return self._with_hosts(last_words_in(self._folder / "stderr"))

    @property
    def is_whole(self) -> bool:
        """True once it has ended by itself and written down what became of all transactions."""
        return "ended" in self.phases()

    def last_words(self) -> str:
        """Its end in words, and its last lines."""
        return self._with_hosts(ending(self._process.wait(), self._folder / "stderr"))

    def _with_hosts(self, text: str) -> str:
        """The generator's words, with the name of a host before its address."""
        return self._address.sub(lambda found: f"{self._targets[found[0]]} ({found[0]})", text)

    def phases(self) -> dict[str, Phase]:
        """Phases that it has reached so far, by name: ``signed``, ``split``, ``begun``, ``ended``."""
        lines = (self._folder / "stdout").read_bytes().split(b"\n")[:-1]
        found = (msgspec.json.decode(line, type=Phase) for line in lines)
        return {phase.phase: phase for phase in found}

    @property
    def acknowledged(self) -> int:
        """Transactions that targets have acknowledged, as far as they are written down."""
        with suppress(FileNotFoundError), (self._folder / _SUBMISSIONS).open("rb") as file:
            file.seek(self._read)
            new = file.read()
            self._read += len(new)
            self._acknowledged += new.count(b"\n")
        return self._acknowledged

    def stop(self) -> None:
        """Ends it, and waits until it has written which block has which transaction."""
        if self.ended is None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(_STOP_GRACE_S)
            except subprocess.TimeoutExpired:
                self.kill()

    def warnings(self) -> list[Warning]:
        """Warnings about targets; each is named once per kind."""
        of_bench, phases = catalogue("cluster"), self.phases()
        opened: dict[str, set[int]] = {}
        for phase in phases.values():
            for one in phase.facts.get("opened", []):
                opened.setdefault(self._targets[one["target"]], set()).update(one["protocols"])
        # What is lost in the split is connected to anew: only what ends the load of a target counts.
        lost = {
            self._targets[one["target"]]: one["why"].removeprefix(f"{one['target']}: ")
            for one in (phases["ended"].facts["lost"] if "ended" in phases else [])
        }
        return [
            *(of_bench.warning("load_lost", host, why=why) for host, why in sorted(lost.items())),
            *(
                of_bench.warning(
                    "target_opened_protocols",
                    host,
                    host=host,
                    protocols=listed([str(one) for one in sorted(opened[host])]),
                )
                for host in sorted(opened)
            ),
        ]

    def outcome(self) -> dict[str, object]:
        """Figures of the workload that was done; empty where it didn't end as it should."""
        if (ended := self.phases().get("ended")) is None:
            return {}
        summary = ended.facts["summary"]
        return {
            "transactions offered, 1/s": summary["tps_offered"] and round(summary["tps_offered"], 3),
            OFFERED: summary["offered"],
            "transactions acknowledged": summary["acknowledged"],
            "transactions in blocks": ended.facts["in_blocks"],
            **(
                {"targets lost": [self._with_hosts(one["why"]) for one in lost]}
                if (lost := ended.facts["lost"])
                else {}
            ),
        }

    def tables(self) -> dict[str, pa.Table]:
        """The tables ``submissions`` and ``inclusions``: what became of each transaction.

        Raises:
            RunError: The generator's records can't be read.
        """
        submissions = self._records(_SUBMISSIONS, SUBMISSIONS_SCHEMA).sort_by(
            [("due_ns", "ascending"), ("transaction", "ascending")]
        )
        places = submissions["target"].combine_chunks().dictionary_encode()
        names = pa.array([self._targets[address] for address in places.dictionary.to_pylist()], pa.string())
        submissions = pa.table(
            {
                **{name: submissions[name] for name in submissions.column_names},
                "number": pa.array(range(submissions.num_rows), pa.int64()),
                "target": names.take(places.indices),
            }
        )
        return {
            "submissions": submissions.select(SUBMISSIONS_SCHEMA.names),
            "inclusions": self._records(_INCLUSIONS, INCLUSIONS_SCHEMA),
        }

    def _records(self, name: str, schema: pa.Schema) -> pa.Table:
        """The whole lines of a file, as far as this schema has their fields; an id is that of a transaction."""
        path = self._folder / name
        fields = [pa.field("id" if field.name == "transaction" else field.name, field.type) for field in schema]
        options = pj.ParseOptions(explicit_schema=pa.schema(fields), unexpected_field_behavior="ignore")
        try:
            whole = path.read_bytes().rpartition(b"\n")[0]
            if not whole:
                return schema.empty_table()
            return pj.read_json(pa.BufferReader(whole), parse_options=options).rename_columns({"id": "transaction"})
        except FileNotFoundError:
            return schema.empty_table()
        except (OSError, pa.ArrowInvalid) as error:
            raise RunError(
                f"{path}: can't be read ({error}). The logs beside it can be ingested without it."
            ) from error
