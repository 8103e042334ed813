"""Logs that several calls read in pieces, in any order, become the very run folder that one call makes."""

import hashlib
import os
import random
import re
import shlex
from pathlib import Path

import msgspec
import pytest

from slotmark.benches.cluster.ingesting.ingest import ingest, merged, shard_done
from slotmark.benches.cluster.ingesting.log_pieces import accounts, merged_accounts, pieces_of, survey, surveyed
from slotmark.benches.cluster.ingesting.log_places import look, look_at_host
from slotmark.benches.cluster.ingesting.logs import host_logs
from slotmark.benches.cluster.requests import IngestRequest, Logs
from slotmark.engine import local
from slotmark.engine.kept import Kept, kept
from slotmark.errors import LogError, PieceError
from tests.cluster.made_up_logs import Cluster
from tests.conftest import slotmark
from tests.engine.test_shards import bytes_of


def logs_in(folder: Path) -> Path:
    """Logs of four hosts, each of another length; those of one are in files that overlap, and two lines of another can't be read."""
    made = Cluster(4)
    for host in range(4):
        for slot in range(100, 140 + 40 * host):
            made.check(host, slot)
    logs = made.write(folder)
    (whole,) = (logs / "node-2").iterdir()
    lines = whole.read_text().splitlines(keepends=True)
    whole.write_text("".join(lines[:60]))
    (logs / "node-2" / "stdout.later").write_text("".join(lines[50:]))
    (broken,) = (logs / "node-3").iterdir()
    broken.write_text(broken.read_text() + '{"at":"2026","ns":\n' * 2)
    return logs


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return logs_in(tmp_path_factory.mktemp("logs") / "logs")


@pytest.fixture(scope="module")
def at_once(logs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of the run folder that one call makes."""
    run, ingested = ingest(
        IngestRequest(logs=[str(logs)], out=tmp_path_factory.mktemp("at once") / "run", max_rejected=0.1)
    )
    assert (ingested.rejected, sum(host.repeated for host in ingested.hosts)) == (2, 10)
    return bytes_of(run.path)


def shards_of(logs: Path, out: Path, of: int, seed: int = 0) -> Path:
    """A folder of shards that were read in some order."""
    order = list(range(1, of + 1))
    random.Random(seed).shuffle(order)
    for number in order:
        shard_done(Logs(logs=[str(logs)], max_rejected=0.1), f"{number}/{of}", out, lambda *_: None)
    return out


@pytest.mark.parametrize(("of", "seed"), [(1, 0), (2, 1), (7, 2)])
def test_the_run_has_the_same_bytes_for_any_number_of_pieces(
    of: int, seed: int, logs: Path, at_once: dict[str, bytes], tmp_path: Path
) -> None:
    told: list[tuple[int, int]] = []
    shards = shards_of(logs, tmp_path / "shards", of, seed)
    merged(shards, tmp_path / "run", lambda *done: told.append(done))
    assert bytes_of(tmp_path / "run") == at_once
    assert told[-1] == (of, of)


@pytest.mark.parametrize(("of", "workers"), [(1, 1), (3, 1), (3, 2)])
def test_so_have_the_tables_on_any_number_of_processes(
    of: int, workers: int, logs: Path, at_once: dict[str, bytes], tmp_path: Path
) -> None:
    found = survey(host_logs(logs).logs)
    assert found == [surveyed(log) for log in host_logs(logs).logs]
    pieces = pieces_of(found, "path", tmp_path, 1, of)
    ingested = local(pieces, lambda outputs: merged_accounts(found, outputs, tmp_path), workers=workers)
    assert ingested.lines == 2 * (40 + 80 + 120 + 160) + 10 + 2
    for file, content in bytes_of(tmp_path).items():
        assert content == at_once[f"tables/{file}"], file


def test_no_piece_may_be_missing(logs: Path, tmp_path: Path) -> None:
    found = survey(host_logs(logs).logs)
    files = [one.file for one in found]
    made = [accounts(files, "", 0, 1, "path", folder=tmp_path, threads=1, progress=lambda *_: None)]
    with pytest.raises(LogError, match="the accounts of these logs' parts aren't those of 5 parts, one of each"):
        merged_accounts(found, [made[0][1:]], tmp_path)
    with pytest.raises(LogError, match="EOF while parsing"):
        merged_accounts(found, [["{"]], tmp_path)


def test_commands_make_the_run_of_one_call(logs: Path, at_once: dict[str, bytes], tmp_path: Path) -> None:
    options = ["--max-rejected", "10%"]
    alone = slotmark("ingest", logs, *options, "-o", tmp_path / "alone" / "run")
    first = slotmark("ingest", logs, *options, "--shard", "2/2", "-o", tmp_path / "shards", "--json")
    assert msgspec.json.decode(first.stdout) == {"shard": "2/2", "pieces": 1, "found": 0, "missing": 1}
    refused = slotmark("merge", tmp_path / "shards", "-o", tmp_path / "together" / "run")
    found = re.search(r"1 of 2 pieces are missing, of shard 1 of 2\. Run (slotmark ingest .*)\.\n", refused.stderr)
    assert found is not None, refused.stderr
    second = slotmark(*shlex.split(found[1])[1:])
    assert second.stdout.splitlines() == [
        "Shard 1/2: 1 piece finished; of all shards 0 are missing.",
        f"Merge them: slotmark merge {tmp_path / 'shards'} -o OUT",
    ]
    together = slotmark("merge", tmp_path / "shards", "-o", tmp_path / "together" / "run")
    assert together.returncode == 0, together.stderr
    assert together.stderr == alone.stderr.replace("alone", "together")
    assert bytes_of(tmp_path / "together" / "run") == bytes_of(tmp_path / "alone" / "run") == at_once


def test_a_part_that_is_not_as_it_was_written_is_named_and_made_anew(
    logs: Path, at_once: dict[str, bytes], tmp_path: Path
) -> None:
    shards = shards_of(logs, tmp_path / "shards", 2)
    part = sorted(shards.glob("outputs/*.files/slot_events/part-*.parquet"))[0]
    part.write_bytes(part.read_bytes()[:-1] + b"?")
    with pytest.raises(PieceError, match=rf"^{re.escape(str(part))}: not as it was written: damaged or cut\. Run slot"):
        merged(shards, tmp_path / "run", lambda *_: None)
    assert not list(tmp_path.glob("*run*"))
    asked = Logs(logs=[str(logs)], max_rejected=0.1)
    assert sorted(shard_done(asked, f"{one}/2", shards, lambda *_: None).found for one in (1, 2)) == [0, 1]
    merged(shards, tmp_path / "run", lambda *_: None)
    assert bytes_of(tmp_path / "run") == at_once


@pytest.mark.parametrize("name", ["../../stolen", "/tmp/stolen", "a/../../b", "a//b", ".hidden", "a\nb", ""])
def test_a_place_outside_the_folder_is_damage(name: str, logs: Path, tmp_path: Path) -> None:
    shards = shards_of(logs, tmp_path / "shards", 1)
    (file,) = (one for one in (shards / "outputs").iterdir() if one.is_file())
    found = kept(file)
    assert found is not None
    file.write_bytes(written(file, Kept(found.output, [msgspec.structs.replace(found.files[0], name=name)])))
    assert kept(file) is None
    file.write_bytes(written(file, found))
    assert kept(file) == found


def written(file: Path, found: Kept) -> bytes:
    """The content of a file in which a piece's output is kept."""
    encoded = msgspec.msgpack.encode(found)
    return hashlib.sha256(file.name.encode() + b"\0" + encoded).digest() + encoded


def test_ctrl_c_leaves_nothing_of_a_piece_or_a_run(logs: Path, tmp_path: Path) -> None:
    def stop(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shard_done(Logs(logs=[str(logs)], max_rejected=0.1), "1/1", tmp_path / "shards", stop)
    assert bytes_of(tmp_path / "shards").keys() == {"shards.json"}
    assert not list((tmp_path / "shards" / "outputs").iterdir())
    shards_of(logs, tmp_path / "shards", 1)
    with pytest.raises(KeyboardInterrupt):
        merged(tmp_path / "shards", tmp_path / "run", stop)
    with pytest.raises(KeyboardInterrupt):
        ingest(IngestRequest(logs=[str(logs)], out=tmp_path / "run"), stop)
    assert [one.name for one in tmp_path.iterdir()] == ["shards"]


def test_logs_that_change_between_shards_are_refused(tmp_path: Path) -> None:
    logs = logs_in(tmp_path / "logs")
    shards_of(logs, tmp_path / "shards", 1)
    log = logs / "node-0" / "stdout"
    log.write_bytes(log.read_bytes() + log.read_bytes()[:-1])
    with pytest.raises(
        PieceError, match="of other content: a file that they read was changed since, a profile or a log"
    ):
        merged(tmp_path / "shards", tmp_path / "run", lambda *_: None)
    before = survey(host_logs(logs).logs)
    log.write_bytes(log.read_bytes().replace(b"slot", b"slut"))
    with pytest.raises(LogError, match="node-0/stdout: was put in another's place or cut"):
        accounts([one.file for one in before], "", 0, 1, "path", folder=tmp_path, threads=1, progress=lambda *_: None)


def changed_inside(log: Path) -> None:
    """Changes a line in the middle of a long log, which keeps its size."""
    text = log.read_bytes()
    assert len(text) > 200_000
    half = len(text) // 2
    log.write_bytes(text[:half] + text[half:].replace(b"NotLeader", b"NotLoader", 1))
    assert log.stat().st_size == len(text) and log.read_bytes() != text


def test_pieces_for_other_machines_are_others_where_a_log_was_changed_inside(tmp_path: Path) -> None:
    """They are kept, so that a call that was cut goes on: with those of before, it would be of the old log."""
    made = Cluster(1)
    for slot in range(100, 1_000):
        made.check(0, slot)
    logs = made.write(tmp_path / "logs")

    def names() -> list[str]:
        return [piece.name for piece in pieces_of(survey(host_logs(logs).logs), "path", tmp_path, 1)]

    before = names()
    assert names() == before
    changed_inside(logs / "node-0" / "stdout")
    assert set(names()).isdisjoint(before)


def test_shards_read_copies_of_logs_that_are_as_old_as_they_like(logs: Path, tmp_path: Path) -> None:
    shards_of(logs, tmp_path / "shards", 1)
    for log in logs.rglob("stdout*"):
        os.utime(log, (1_000_000_000, 1_000_000_000))
    assert shard_done(Logs(logs=[str(logs)], max_rejected=0.1), "1/1", tmp_path / "shards", lambda *_: None).found == 1


@pytest.mark.parametrize("overlap", [0, 10])
def test_logs_of_a_host_on_two_machines_may_have_no_line_in_common(overlap: int, tmp_path: Path) -> None:
    made = Cluster(1)
    for slot in range(100, 140):
        made.check(0, slot)
    (whole,) = (made.write(tmp_path / "logs") / "node-0").iterdir()
    lines = whole.read_text().splitlines(keepends=True)
    for place, part in (("archive/node-0/stdout", lines[: 40 + overlap]), ("node/stdout", lines[40:])):
        (tmp_path / place).parent.mkdir(parents=True)
        (tmp_path / place).write_text("".join(part))
    found = [*look(tmp_path / "archive").survey, *look_at_host(str(tmp_path / "node"), "node-0").survey]
    pieces = pieces_of(sorted(found, key=lambda one: one.place), "path", tmp_path / "tables", 1)
    (tmp_path / "tables").mkdir()
    assert [piece.host for piece in pieces] == ["", "node-0"]
    if overlap:
        with pytest.raises(LogError, match=r"logs of one host on different machines that have lines in common"):
            local(pieces, list, workers=1)
    else:
        assert len(local(pieces, list, workers=1)) == 2
