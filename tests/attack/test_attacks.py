"""A short form of each attack, so that it stays right; `make attack` runs the long ones. Those in Rust are tested in their crates too."""

import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from attack.__main__ import ATTACKS, attack
from attack.control import Attack, Controlled, controlled
from attack.disks import FULL
from attack.faults import REFUSES
from attack.ground import Fault, Ground, emptied
from attack.outcome import Ended, Tried
from attack.programs import _COUNTS
from attack.tampering import Commands, tampering

from attack import bombs as bombing
from attack import tampering as tampered
from slotmark.run.integrity import digest_of

SHORT = {
    "kills": 3,
    "resumes": 2,
    "networks": 3,
    "runs": 8,
    "matrices": 4,
    "bombs": 2,
    "disks": 4,
    "files": 8,
    "targets": 2,
    "together": 1,
}
"""The number of inputs of each attack that are tried here."""
SLOW_UNHARMED = ("kills", "resumes", "targets", "together")
"""Attacks whose unharmed inputs take long. The inputs of each have what is unharmed beside what is not, and fail where it doesn't end well."""
FAULTS = [
    pytest.param(
        name,
        fault,
        id=f"{name}: {fault.what}",
        marks=[] if (name, fault) == ("runs", REFUSES) else [pytest.mark.slow],
    )
    for name in ("runs", "bombs")
    for fault in ATTACKS[name].faults
]
"""Faults that are planted here: `make attack` plants all."""


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return Ground(tmp_path_factory.mktemp("attack"))


def all_tried(name: str, folder: Path, tries: int) -> tuple[str, list[Tried]]:
    """Faults of the unharmed input of an attack, and the outcomes of its inputs."""
    ground = Ground(folder)
    unharmed = "" if name in SLOW_UNHARMED else ATTACKS[name].unharmed(ground)
    return unharmed, list(ATTACKS[name].run(ground, 7, tries))


@pytest.mark.parametrize(("name", "tries"), SHORT.items(), ids=list(SHORT))
def test_the_unharmed_input_passes_and_no_input_of_a_short_attack_fails(name: str, tries: int, ground: Ground) -> None:
    if name == "disks" and not FULL.is_char_device():
        pytest.skip(f"this system has no device {FULL}")
    # A new process: what the kernel says of a child's peak memory begins with what its parent had, and this one may have much.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
        unharmed, tried = fresh.submit(all_tried, name, ground.folder, tries).result()
    assert unharmed == ""
    assert sum(one.inputs for one in tried) >= tries  # a session that is cut comes to its end
    assert [failure for one in tried for failure in one.failures] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW_UNHARMED)
def test_a_slow_unharmed_input_passes(name: str, ground: Ground) -> None:
    assert ATTACKS[name].unharmed(ground) == ""


@pytest.mark.slow
def test_sessions_that_are_cut_a_hundred_times_hold_what_those_hold_that_nobody_cut(ground: Ground) -> None:
    tried = list(ATTACKS["resumes"].run(ground, 7, 100))
    assert sum(one.inputs for one in tried) >= 100
    assert [failure for one in tried for failure in one.failures] == []


@pytest.mark.parametrize(("name", "fault"), FAULTS)
def test_an_attack_finds_a_fault_that_is_planted(name: str, fault: Fault, ground: Ground) -> None:
    assert controlled(ATTACKS[name], ground, 7, (fault,)).failures == []


def test_every_attack_has_faults_that_it_must_find() -> None:
    assert all(one.faults for one in ATTACKS.values())
    with pytest.raises(ValueError, match="matrices: an attack needs faults"):
        replace(ATTACKS["matrices"], name="matrices", faults=())


def test_an_attack_whose_inputs_never_reach_slotmark_fails_its_controls(tmp_path: Path) -> None:
    """As the attack with bombs was: its commands were refused for an option, and exit code 2 was as good as 0."""

    def refused(ground: Ground, _seed: int, tries: int) -> Iterator[Tried]:
        for _ in range(tries):
            done = ground.attacked("ingest", "--no-such-option", into=ground.folder)
            yield Tried(1, [wrong] if (wrong := done.wrong(0, 2)) else [])

    def unharmed(ground: Ground) -> str:
        return ground.attacked("ingest", "--no-such-option", into=ground.folder).wrong(0)

    found = controlled(Attack("x", 1, 1, refused, unharmed, (REFUSES,), inputs=1), Ground(tmp_path), 1)
    assert found.controls == 2
    assert found.failures[0].startswith("the unharmed input: exit code 2")

    found = controlled(Attack("x", 1, 1, refused, lambda _: "", (REFUSES,), inputs=1), Ground(tmp_path), 1)
    assert found == Controlled(
        2, ["planted and not found: every command is refused in one line; found instead: nothing"]
    )


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
    ("name", "module", "constant", "refused"),
    [
        ("runs", tampered, "SAMPLES", {**tampered.SAMPLES, "ledger": ("totalTime",)}),
        ("bombs", bombing, "_OPTIONS", ("--max-rejected", "100%")),
    ],
    ids=["runs", "bombs"],
)
def test_an_attack_whose_unharmed_input_is_refused_does_not_pass(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, name: str, module: ModuleType, constant: str, refused: object
) -> None:
    """Both had these values, and attacked nothing."""
    monkeypatch.setattr(module, constant, refused)
    [failure] = controlled(ATTACKS[name], ground, 7, ()).failures
    assert failure.startswith("the unharmed input: ")


def test_how_a_command_must_not_end() -> None:
    def ended(code: int, said: str) -> Ended:
        return Ended(code, b"", said, 0)

    assert ended(0, "").wrong(0, 2) == ""
    assert ended(2, "slotmark: a: not there. Name another.\n").wrong(0, 2) == ""
    assert "Traceback" not in ended(2, "slotmark: one\nslotmark: two\n").wrong(0, 2)
    assert ended(2, "slotmark: one\nslotmark: two\n").wrong(0, 2).startswith("refused in 2 lines")
    assert ended(1, "Traceback\nKeyError: x").wrong(0, 2) == "a traceback: KeyError: x"
    assert ended(-11, "").wrong(0, 2) == "exit code -11: no output"


def test_a_command_that_hangs_is_ended_and_named(tmp_path: Path) -> None:
    """Found by the attack on files with seed 26: a fault that was planted opened a pipe that nobody writes, and the attack waited for it."""
    place, temporary = emptied(tmp_path / "place"), emptied(tmp_path / "temporary")
    os.mkfifo(place / "pipe.toml")
    around = "import slotmark.texts as _texts\n_texts.read_toml = lambda file: file.read_text()\n"
    ground = Ground(tmp_path)
    with ground.planted(Fault("a pipe is read", around, "hangs")):
        commands = Commands(place, temporary, ground.variables, timeout_s=5)
        assert commands("release", "pipe.toml", "-o", "out").wrong(0, 2) == "hangs"
        commands.close()


def test_the_clock_ends_an_attack(tmp_path: Path) -> None:
    def endless(_ground: Ground, _seed: int, _tries: int) -> Iterator[Tried]:
        while True:
            yield Tried(1, ["one"])

    found = attack(
        Attack("x", 1, 1, endless, lambda _: "", (REFUSES,)), Ground(tmp_path), 1, 1, time.monotonic() + 0.01
    )
    assert found.tried == len(found.failures) >= 1
    assert not found.in_time


def test_every_attack_has_time_and_counts_are_read() -> None:
    assert all(0 < one.share < 1 for one in ATTACKS.values())
    assert _COUNTS.findall("damaged chain folders: 500 tried, 2 failed\nlog lines: 7 tried, 0 failed (seed 1)") == [
        ("500", "2"),
        ("7", "0"),
    ]
