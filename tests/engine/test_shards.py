"""Shards: parts of a prediction's simulations, done by calls of their own in any order, and merged to what one call gives."""

import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from slotmark.benches.cluster.requests import Question
from slotmark.benches.cluster.simulating.question import answered, merged, shard_done
from slotmark.engine import Shard, opened
from slotmark.errors import ArgumentError, PieceError
from tests.conftest import bytes_of, remarks, slotmark

SMALL = ["hosts=6", "pools=6", "run.slots=600", "genesis.epoch_slots=250"]
SWEEP = Question(profile="value-only-10.5", settings=SMALL, sweep="block_size=22kB..88kB", steps=3, seeds=3)
PIECES = 12
"""Three values and the published profile, three seeds of each."""


def done(question: Question, shard: str, out: Path) -> tuple[int, int, int]:
    """Pieces of a shard, those that were found finished, and those that all shards lack."""
    found = shard_done(question, shard, out, lambda *_: None)
    return found.pieces, found.found, found.missing


@pytest.fixture(scope="module")
def at_once(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The run folders of one call."""
    folder = tmp_path_factory.mktemp("at once")
    answered(SWEEP, folder, lambda *_: None)
    return bytes_of(folder)


@pytest.fixture(scope="module")
def halves(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of two shards that are finished."""
    out = tmp_path_factory.mktemp("halves") / "sweep"
    assert done(SWEEP, "2/2", out) == (6, 0, 6)
    assert done(SWEEP, "1/2", out) == (6, 0, 0)
    return out


@pytest.fixture
def sweep(halves: Path, tmp_path: Path) -> Path:
    """The same, to be harmed."""
    return Path(shutil.copytree(halves, tmp_path / "sweep"))


@pytest.mark.parametrize(("shards", "seed"), [(1, 0), (5, 2), (14, 3)])
def test_runs_are_the_same_for_any_number_of_shards_and_any_order(
    shards: int, seed: int, at_once: dict[str, bytes], tmp_path: Path
) -> None:
    order = list(range(1, shards + 1))
    random.Random(seed).shuffle(order)
    counts = [done(SWEEP, f"{number}/{shards}", tmp_path / "sweep") for number in order]
    assert sum(pieces for pieces, _, _ in counts) == PIECES
    assert [found for _, found, _ in counts] == [0] * shards
    assert counts[-1][2] == 0
    merged(tmp_path / "sweep", tmp_path / "merged", lambda *_: None)
    assert bytes_of(tmp_path / "merged") == at_once


def test_commands_make_the_report_of_one_call(halves: Path, tmp_path: Path) -> None:
    options = SWEEP.command(Shard(1, 2), halves).split(" --shard ")[0]
    runs = [tmp_path / "run-alone", tmp_path / "run-together"]
    alone = slotmark(*shlex.split(options)[1:], "-o", tmp_path / "alone", "--simulations", runs[0])
    together = slotmark("merge", halves, "-o", tmp_path / "together", "--simulations", runs[1])
    assert (alone.returncode, together.returncode) == (0, 0), alone.stderr + together.stderr
    assert together.stdout.replace("together", "alone") == alone.stdout
    names = ["report.json", "report.html", "report.md"]
    assert [(tmp_path / "together" / name).read_bytes() for name in names] == [
        (tmp_path / "alone" / name).read_bytes() for name in names
    ]
    assert bytes_of(runs[0]) == bytes_of(runs[1])
    refused = slotmark("merge", halves, "--simulations", runs[1])
    assert (refused.returncode, "already there" in refused.stderr) == (2, True)


def test_a_shard_that_was_killed_goes_on_with_what_is_finished(tmp_path: Path) -> None:
    longer = msgspec.structs.replace(SWEEP, settings=[*SMALL[:2], "run.slots=6000", SMALL[3]])
    command = [sys.executable, "-m", *shlex.split(longer.command(Shard(1, 1), tmp_path / "sweep"))]
    outputs = tmp_path / "sweep" / "outputs"
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        until = time.monotonic() + 120
        while not (outputs.is_dir() and [one for one in outputs.iterdir() if not one.name.startswith(".")]):
            assert time.monotonic() < until
            assert process.poll() is None
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
    again = slotmark(*command[3:])
    assert again.returncode == 0, again.stderr
    found = re.match(
        r"Shard 1/1: 12 pieces finished, (\d+) of them before; of all shards 0 are missing\.\n", again.stdout
    )
    assert found is not None
    assert 0 < int(found[1]) <= PIECES
    assert again.stdout.endswith(f"Merge them: slotmark merge {tmp_path / 'sweep'} -o OUT\n")
    assert {one.name for one in outputs.iterdir() if not one.name.startswith(".")} == {
        one.name for one in outputs.iterdir() if re.fullmatch(r"simulate\.tables-[0-9a-f]{12}", one.name)
    }


def test_shards_that_begin_at_once_share_one_folder(tmp_path: Path) -> None:
    commands = [
        [sys.executable, "-m", *shlex.split(SWEEP.command(Shard(number, 3), tmp_path / "sweep"))]
        for number in (1, 2, 3)
    ]
    processes = [
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for command in commands
    ]
    assert [remarks(process.communicate()[1]) for process in processes] == [[], [], []]
    assert len(merged(tmp_path / "sweep", tmp_path / "merged", lambda *_: None)) == 3
    assert {one.name for one in (tmp_path / "sweep").iterdir()} == {"shards.json", "outputs"}


def test_missing_shards_are_named_with_a_command_that_makes_them(sweep: Path) -> None:
    outputs = sorted((sweep / "outputs").iterdir())
    outputs[0].unlink()
    refused = slotmark("merge", sweep)
    assert refused.returncode == 2
    found = re.fullmatch(
        rf"slotmark: {re.escape(str(sweep))}: 1 of 12 pieces are missing, of shard ([12]) of 2\. Run (slotmark predict .*)\.\n",
        refused.stderr,
    )
    assert found is not None
    again = slotmark(*shlex.split(found[2])[1:], "--json")
    assert msgspec.json.decode(again.stdout) == {"shard": f"{found[1]}/2", "pieces": 6, "found": 5, "missing": 0}
    assert slotmark("merge", sweep).returncode == 0


@pytest.mark.parametrize("harm", ["cut", "changed", "empty", "another's"])
def test_an_output_that_is_not_as_it_was_written_is_named_and_made_anew(
    harm: str, sweep: Path, tmp_path: Path, at_once: dict[str, bytes]
) -> None:
    another, file = sorted((sweep / "outputs").iterdir())[3:5]
    whole = file.read_bytes()
    changed = whole[:-1] + bytes([whole[-1] ^ 1])
    harmed = {"cut": whole[:-1], "changed": changed, "empty": b"", "another's": another.read_bytes()}
    file.write_bytes(harmed[harm])
    with pytest.raises(
        PieceError, match=rf"^{re.escape(str(file))}: not as it was written: damaged or cut\. Run slotmark predict"
    ):
        merged(sweep, tmp_path / "refused", lambda *_: None)
    assert sorted(done(SWEEP, f"{number}/2", sweep)[1] for number in (1, 2)) == [5, 6]
    assert file.read_bytes() == whole
    merged(sweep, tmp_path / "merged", lambda *_: None)
    assert bytes_of(tmp_path / "merged") == at_once


@pytest.mark.parametrize(
    ("changed", "shard", "why"),
    [
        ({"seeds": 4}, "1/2", "its pieces are of seeds 3, not 4. Ask for the same"),
        (
            {"sweep": "block_size=22kB..90kB"},
            "1/2",
            'its pieces are of sweep "block_size=22kB..88kB", not "block_size=22kB..90kB"',
        ),
        ({"settings": SMALL[:3]}, "1/2", "its pieces are of settings"),
        ({}, "1/3", "it is shared in 2 shards, not 3"),
    ],
)
def test_a_shard_of_something_else_is_refused(changed: dict, shard: str, why: str, sweep: Path) -> None:
    before = bytes_of(sweep)
    with pytest.raises(PieceError, match=re.escape(why)):
        done(msgspec.structs.replace(SWEEP, **changed), shard, sweep)
    assert bytes_of(sweep) == before


def test_pieces_of_another_version_are_not_merged(sweep: Path, tmp_path: Path) -> None:
    shared = msgspec.structs.replace(opened(sweep), slotmark="0.0.9", commit="")
    (sweep / "shards.json").write_bytes(msgspec.json.encode(shared))
    with pytest.raises(PieceError, match=r"its pieces are of slotmark 0\.0\.9; this is \d.*Use one version"):
        merged(sweep, tmp_path / "merged", lambda *_: None)
    assert not (tmp_path / "merged").exists()


def test_a_profile_that_was_changed_between_two_shards_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    profile = Path("mine.toml")
    profile.write_text('extends = "value-only-10.5"\n[run]\nslots = 600\n', encoding="utf-8")
    question = Question(
        profile="mine.toml", settings=["hosts=6", "pools=6", SMALL[3], "ledger_tick.mean=40ms"], seeds=1
    )
    assert done(question, "1/2", Path("sweep")) == (1, 0, 1)
    profile.write_text('extends = "value-only-10.5"\n[run]\nslots = 700\n', encoding="utf-8")
    with pytest.raises(
        PieceError, match="of the same options, but of other content: a file that they read was changed"
    ):
        done(question, "2/2", Path("sweep"))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not what --shard writes"),
        ("[" * 20_000, "not what --shard writes"),
        ("x" * (2 << 20), "more than 1,048,576 bytes"),
        ('{"schema":3}', "not what --shard writes"),
        (None, "no folder of shards: there is no shards.json"),
    ],
)
def test_a_folder_of_a_stranger_is_refused_in_a_line(text: str | None, why: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "shards.json").write_text(text, encoding="utf-8")
    refused = slotmark("merge", tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert why in refused.stderr
    assert refused.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "options",
    [{"seeds": 10**12}, {"steps": 10**9}, {"profile": 7}, {"other": 1}, {"settings": "x"}, {"spacing": "wide"}],
)
def test_options_of_a_stranger_are_refused_before_work_begins(options: dict, sweep: Path, tmp_path: Path) -> None:
    shared = opened(sweep)
    harmed = msgspec.structs.replace(shared, options={**shared.options, **options})
    (sweep / "shards.json").write_bytes(msgspec.json.encode(harmed))
    with pytest.raises(PieceError, match="not what --shard writes"):
        merged(sweep, tmp_path / "merged", lambda *_: None)


@pytest.mark.parametrize("place", ["shards.json", "outputs"])
@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_file_is_not_waited_for(place: str, kind: str, sweep: Path) -> None:
    file = sweep / "shards.json" if place == "shards.json" else sorted((sweep / "outputs").iterdir())[0]
    file.unlink()
    {"pipe": os.mkfifo, "device": lambda one: one.symlink_to("/dev/zero"), "folder": Path.mkdir}[kind](file)
    refused = slotmark("merge", sweep)
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    assert str(sweep) in refused.stderr


def test_a_folder_of_other_things_is_let_be(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(PieceError, match=r"not a folder of shards: 'notes\.txt' is in it"):
        done(SWEEP, "1/2", tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == ["notes.txt"]
    with pytest.raises(PieceError, match="Choose a -o that can be written"):
        done(SWEEP, "1/2", tmp_path / "notes.txt" / "sweep")


@pytest.mark.parametrize("shard", ["", "3", "0/2", "3/2", "1/0", "1/2/3", "a/b", "-1/2", "1/99999999", "١/٢"])
def test_what_names_no_shard_is_refused(shard: str) -> None:
    with pytest.raises(ArgumentError, match="expected N/OF with N from 1 to OF, as 3/40"):
        Shard.parsed(shard)


def test_a_shard_needs_a_place() -> None:
    refused = slotmark("predict", "value-only-10.5", "--shard", "1/2")
    assert (refused.returncode, refused.stderr) == (
        2,
        "slotmark: --shard: expected -o with the folder that all shards share, as -o sweep.\n",
    )
