"""Shards that share a folder of an object store: a real S3 server, real processes."""

import hashlib
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from slotmark.engine import Piece, gathered, opened, shard_done
from slotmark.engine.reached import forget
from slotmark.errors import PieceError, SlotmarkError
from slotmark.places import Place, Url
from slotmark.stores import Bucket
from tests.conftest import bytes_of, slotmark
from tests.engine.works import filled
from tests.s3 import BUCKET, S3, SLOW_DOWN, Fault, through

OPTIONS = {"asked": "for"}


def pieces(folder: Path, wait_s: float = 0) -> list[Piece[int]]:
    """Six pieces that make files."""
    return [
        Piece(work=filled, inputs=(number,), how={"wait_s": wait_s}, folder=folder, label=f"piece {number}")
        for number in range(6)
    ]


def done(shard: str, place: Place, options: dict[str, str] = OPTIONS, wait_s: float = 0) -> tuple[int, int, int]:
    """Does a shard: its pieces, those that were found finished, and those that all shards lack."""
    asked = pieces(Path("files"), wait_s)
    found = shard_done(shard, place, "fill", options, lambda engine: engine(asked, list, workers=1))
    return found.pieces, found.found, found.missing


def merged(place: Place, folder: Path) -> tuple[list[int], dict[str, bytes]]:
    """The outputs of the pieces of all shards, and the files that they made."""
    found = gathered(place, opened(place), lambda shard, _: f"do {shard}")(pieces(folder), list)
    return found, {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*.bin"))}


def test_shards_in_a_store_give_what_shards_in_a_folder_give(s3: S3, tmp_path: Path) -> None:
    given = []
    for number, place in enumerate((Url("s3", BUCKET, "sweep"), tmp_path / "sweep")):
        assert done("2/2", place) == (3, 0, 3)
        with pytest.raises(PieceError, match=r"3 of 6 pieces are missing, of shard 1 of 2. Run do 1/2"):
            merged(place, tmp_path / "none")
        assert done("1/2", place) == (3, 0, 0)
        assert done("1/2", place) == (3, 3, 0)
        given.append(merged(place, tmp_path / f"made{number}"))
        with pytest.raises(PieceError, match="of asked"):
            done("1/2", place, {"asked": "for more"})
        with pytest.raises(PieceError, match="shared in 2 shards"):
            done("1/3", place)
    assert given[0] == given[1]
    assert len(given[0][1]) == 12
    there, here = s3.folder / BUCKET / "sweep", tmp_path / "sweep"
    assert s3.names("sweep") == sorted(str(file.relative_to(here)) for file in here.rglob("*") if file.is_file())
    assert all((there / name).read_bytes() == (here / name).read_bytes() for name in s3.names("sweep"))


SWEEP = ["predict", "value-only-5", "--set=slots=300", "--sweep=block_size=22kB..44kB", "--steps=2", "--seeds=1"]


def test_commands_share_a_store_and_merge_gives_the_report_of_one_call(s3: S3, tmp_path: Path) -> None:
    there = f"s3://{BUCKET}/by-command"
    alone = slotmark(*SWEEP, "-o", tmp_path / "alone")
    assert alone.returncode == 0, alone.stderr
    assert slotmark(*SWEEP, "--shard", "1/2", "-o", there).returncode == 0
    early = slotmark("merge", there, "-o", tmp_path / "early")
    assert (early.returncode, early.stdout, early.stderr.count("\n")) == (2, "", 1)
    assert "of shard 2 of 2. Run slotmark predict value-only-5" in early.stderr
    assert f"--shard 2/2 -o {there}" in early.stderr
    last = slotmark(*SWEEP, "--shard", "2/2", "-o", there)
    assert f"Merge them: slotmark merge {there} -o OUT" in last.stderr + last.stdout
    merged = slotmark("merge", there, "-o", tmp_path / "merged")
    assert merged.returncode == 0, merged.stderr
    assert bytes_of(tmp_path / "merged") == bytes_of(tmp_path / "alone")
    assert {name.partition("/")[0] for name in s3.names("by-command")} == {"shards.json", "outputs"}


def test_what_a_killed_shard_had_finished_is_found(s3: S3) -> None:
    code = "from tests.engine.test_shards_in_a_store import *; done('1/1', Url('s3', BUCKET, 'killed'), wait_s=1)"
    shard = subprocess.Popen([sys.executable, "-c", code])
    while sum(name.startswith("outputs/filled") or "works.filled" in name for name in s3.names("killed")) < 3:
        assert shard.poll() is None
        time.sleep(0.02)
    shard.send_signal(signal.SIGKILL)
    shard.wait(timeout=60)
    of, found, missing = done("1/1", Url("s3", BUCKET, "killed"))
    assert (of, missing) == (6, 0)
    assert 1 <= found < 6


def test_an_output_that_was_damaged_is_made_anew(s3: S3, tmp_path: Path) -> None:
    place = Url("s3", BUCKET, "damaged")
    done("1/1", place)
    before = {
        name: hashlib.sha256((s3.folder / BUCKET / "damaged" / name).read_bytes()) for name in s3.names("damaged")
    }
    first, *_, last = [name for name in s3.names("damaged") if name.startswith("outputs/")]
    for name in (first, last):
        (s3.folder / BUCKET / "damaged" / name).write_bytes(b"damaged")
    with pytest.raises(PieceError, match=r"s3://runs/damaged/outputs/.*: not as it was written") as found:
        merged(place, tmp_path / "none")
    assert "slotmark-" not in str(found.value)
    assert done("1/1", place)[0] == 6
    after = {name: hashlib.sha256((s3.folder / BUCKET / "damaged" / name).read_bytes()) for name in before}
    assert {name: one.digest() for name, one in after.items()} == {name: one.digest() for name, one in before.items()}


def test_what_is_forgotten_is_removed_and_nothing_else(s3: S3) -> None:
    for name in ("kept", "kept-too"):
        done("1/1", Url("s3", BUCKET, name))
    forget(Url("s3", BUCKET, "kept"))
    assert s3.names("kept") == []
    assert done("1/1", Url("s3", BUCKET, "kept-too")) == (6, 6, 0)


def test_a_store_that_fails_is_told_and_what_is_finished_stays(s3: S3) -> None:
    place = Url("s3", BUCKET, "fails")
    with through(s3, Fault(SLOW_DOWN, "PUT", "outputs")), pytest.raises(SlotmarkError, match="SlowDown") as found:
        done("1/1", place)
    assert "\n" not in str(found.value)
    assert done("1/1", place) == (6, 0, 0)
    with through(s3, Fault(SLOW_DOWN, times=2)):
        assert done("1/1", place) == (6, 6, 0)


def test_a_store_that_fails_for_a_while_loses_nothing(s3: S3, capsys: pytest.CaptureFixture[str]) -> None:
    """Longer than the library asks again by itself."""
    place = Url("s3", BUCKET, "fails a while")
    with through(s3, Fault(SLOW_DOWN, "PUT", "outputs", times=16)):
        assert done("1/1", place, wait_s=0.6) == (6, 0, 0)
    assert "SlowDown" in capsys.readouterr().err
    assert done("1/1", place) == (6, 6, 0)


def test_what_is_no_folder_of_shards_is_let_be(s3: S3) -> None:
    (s3.folder / BUCKET / "other").mkdir()
    (s3.folder / BUCKET / "other" / "thing").write_text("x")
    with pytest.raises(PieceError, match="not a folder of shards: 'thing' is in it"):
        done("1/1", Url("s3", BUCKET, "other"))
    with pytest.raises(PieceError, match=r"no folder of shards: there is no shards.json in it"):
        opened(Url("s3", BUCKET, "other"))
    assert s3.names("other") == ["thing"]
    assert os.environ["AWS_ENDPOINT"]


def test_a_full_disk_for_temporary_files_is_named(s3: S3, tmp_path: Path) -> None:
    """Shards, merges, and ingest, which looks at logs, keep there what they read of a store."""
    there = f"s3://{BUCKET}/no-room"
    assert slotmark(*SWEEP, "--shard", "1/1", "-o", there).returncode == 0
    (tmp_path / "stdout").write_text('{"at":"2026-01-01T00:00:00Z","ns":"x","data":{}}\n' * 100)
    Bucket(Url("s3", BUCKET, "no-room-logs")).put("node-0/stdout", tmp_path / "stdout")

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (256, 256))

    for command in (
        ("merge", there, "-o", tmp_path / "merged"),
        (*SWEEP, "--shard", "1/1", "-o", there),
        ("ingest", f"s3://{BUCKET}/no-room-logs", "-o", tmp_path / "run"),
    ):
        ended = slotmark(*command, preexec_fn=limit, env={**os.environ, "TMPDIR": str(tmp_path)})
        told = f"slotmark: what is read of a store can't be kept in {tmp_path} (File too large). Free space there,"
        assert ended.stderr.startswith(told), ended.stderr
        assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
