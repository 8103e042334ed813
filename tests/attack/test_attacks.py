"""A short form of each attack, so that it stays right; `make attack` runs the long ones. Those in Rust are tested in their crates."""

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from attack.__main__ import ATTACKS, Attack, attack
from attack.bombs import bombs
from attack.disks import disks
from attack.ground import Ground
from attack.kills import kills
from attack.outcome import Ended, Tried
from attack.plans import plans
from attack.programs import _COUNTS
from attack.tampering import tampering

from attack import bombs as bombing
from attack import tampering as tampered
from slotmark.run.integrity import digest_of


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return Ground(tmp_path_factory.mktemp("attack"))


def all_tried(run: Callable[[Ground, int, int], Iterator[Tried]], folder: Path, tries: int) -> list[Tried]:
    """What became of all inputs of an attack."""
    return list(run(Ground(folder), 7, tries))


@pytest.mark.parametrize(
    ("run", "tries"),
    [(kills, 3), (tampering, 12), (plans, 4), (bombs, 2), (disks, 4)],
    ids=["kills", "runs", "plans", "bombs", "disks"],
)
def test_no_input_of_a_short_attack_fails(
    run: Callable[[Ground, int, int], Iterator[Tried]], tries: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    # A new process: what the kernel says of a child's peak memory begins with what its parent had, and this one may have much.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
        tried = fresh.submit(all_tried, run, tmp_path_factory.mktemp("attack"), tries).result()
    assert sum(one.inputs for one in tried) == tries
    assert [failure for one in tried for failure in one.failures] == []


def test_an_attack_finds_a_run_whose_numbers_were_changed_and_pass(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    def later(run: Path, _chance: object) -> str:
        """Puts the ticking of the ledger 1 ms later in every slot, with the digests that stand for the files then."""
        manifest = json.loads((run / "run.json").read_bytes())
        for part in (part for part in manifest["parts"] if part["table"] == "slot_events"):
            path = run / "tables" / part["file"]
            table = pq.read_table(path)
            ticked = pc.call_function("equal", [table["event"], "ticked"])
            later = pc.call_function("add", [table["ts_ns"], 1_000_000])
            times = pc.call_function("if_else", [ticked, later, table["ts_ns"]])
            pq.write_table(table.set_column(table.column_names.index("ts_ns"), "ts_ns", times), path)
            part |= {"bytes": path.stat().st_size, "digest": digest_of(path)}
        (run / "run.json").write_text(json.dumps(manifest))
        return "times and digests"

    monkeypatch.setattr(tampered, "_change", later)
    monkeypatch.setattr(tampered, "SAMPLES", {"cluster": tampered.SAMPLES["cluster"]})
    failures = [failure for one in tampering(ground, 7, 1) for failure in one.failures]
    assert failures == ["run folder 0 (cluster, times and digests): check passes, and samples are others"]


@pytest.mark.parametrize(
    ("module", "name", "harmful"),
    [(tampered, "SAMPLES", {"ledger": ("totalTime",)}), (bombing, "_OPTIONS", ("--max-rejected", "100%"))],
    ids=["runs", "bombs"],
)
def test_an_attack_whose_unharmed_input_is_refused_does_not_pass(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str, harmful: object
) -> None:
    monkeypatch.setattr(module, name, harmful)
    with pytest.raises(RuntimeError, match="the unharmed"):
        list((tampering if module is tampered else bombs)(ground, 7, 1))


def test_how_a_command_must_not_end() -> None:
    def ended(code: int, said: str) -> Ended:
        return Ended(code, b"", said, 0)

    assert ended(0, "").wrong(0, 2) == ""
    assert ended(2, "slotmark: a: not there. Name another.\n").wrong(0, 2) == ""
    assert "Traceback" not in ended(2, "slotmark: one\nslotmark: two\n").wrong(0, 2)
    assert ended(2, "slotmark: one\nslotmark: two\n").wrong(0, 2).startswith("refused in 2 lines")
    assert ended(1, "Traceback\nKeyError: x").wrong(0, 2) == "a traceback: KeyError: x"
    assert ended(-11, "").wrong(0, 2) == "exit code -11: nothing said"


def test_the_clock_ends_an_attack(tmp_path: Path) -> None:
    def endless(_ground: Ground, _seed: int, _tries: int) -> Iterator[Tried]:
        while True:
            yield Tried(1, ["one"])

    found = attack(Attack("x", 1, 1, endless), Ground(tmp_path), 1, 1, time.monotonic() + 0.01)
    assert found.tried == len(found.failures) >= 1
    assert not found.in_time


def test_the_shares_of_the_time_are_all_of_it_and_counts_are_read() -> None:
    assert sum(one.share for one in ATTACKS.values()) == pytest.approx(1)
    assert _COUNTS.findall("damaged chain folders: 500 tried, 2 failed\nlog lines: 7 tried, 0 failed (seed 1)") == [
        ("500", "2"),
        ("7", "0"),
    ]
