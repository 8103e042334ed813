"""Logs that lie in an object store or on a web server: a real S3 server, and the tables that the same logs give on a disk."""

import gzip
import shutil
from pathlib import Path

import msgspec
import pytest

from slotmark.benches.cluster.ingesting.ingest import ingest, merged, shard_done
from slotmark.benches.cluster.requests import IngestRequest, Logs
from slotmark.errors import LogError, PieceError
from slotmark.places import Url
from slotmark.run import Manifest
from slotmark.stores import Bucket
from tests.cluster.made_up_logs import Cluster
from tests.cluster.test_log_pieces import changed_inside
from tests.conftest import bytes_of, slotmark
from tests.s3 import BUCKET, S3, SLOW_DOWN, Answer, Fault, Proxied, through
from tests.web import serving

LOOKED = 6
"""Ranges of a small packed file that are asked for before it is read: its beginning to know a log, its packing, kind, first line, and ends, those twice."""


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory, s3: S3) -> Path:
    """Logs of three hosts, one of them packed, on a disk and in the store."""
    made = Cluster(3)
    for host in range(3):
        for slot in range(100, 140 + 40 * host):
            made.check(host, slot)
    folder = made.write(tmp_path_factory.mktemp("logs") / "logs")
    (whole,) = (folder / "node-1").iterdir()
    (folder / "node-1" / "stdout.gz").write_bytes(gzip.compress(whole.read_bytes(), mtime=0))
    whole.unlink()
    put(folder, "logs")
    return folder


def put(folder: Path, key: str, but: str = "none") -> None:
    """Puts the files of a folder into the store, but for those of a host."""
    bucket = Bucket(Url("s3", BUCKET, key))
    for file in folder.rglob("*"):
        if file.is_file() and file.parent.name != but:
            bucket.put(str(file.relative_to(folder)), file)


@pytest.fixture(scope="module")
def here(logs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The run folder that the logs on the disk give, but for where they lie."""
    return known(ingest(IngestRequest(logs=[str(logs)], out=tmp_path_factory.mktemp("here") / "run"))[0].path)


def known(run: Path) -> dict[str, bytes]:
    """The files of a run folder, without the places of its logs."""
    files = bytes_of(run)
    manifest = msgspec.json.decode(files["run.json"], type=Manifest)
    sources = [msgspec.structs.replace(one, path="") for one in manifest.sources]
    return {**files, "run.json": msgspec.json.encode(msgspec.structs.replace(manifest, sources=sources))}


def test_logs_in_a_store_give_what_those_on_a_disk_give(
    s3: S3, logs: Path, here: dict[str, bytes], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    made = slotmark("ingest", f"s3://{BUCKET}/logs", "-o", run, env=s3.environment())
    assert made.returncode == 0, made.stderr
    assert known(run) == here
    assert f"s3://{BUCKET}/logs/node-0/stdout" in (run / "run.json").read_text()


def test_empty_objects_that_stand_for_folders_are_none(
    s3: S3, logs: Path, here: dict[str, bytes], tmp_path: Path
) -> None:
    """As consoles of stores make them; an empty log is there all the same."""
    put(logs, "marked")
    (tmp_path / "empty").touch()
    Bucket(Url("s3", BUCKET, "marked")).put("node-3/stdout", tmp_path / "empty")
    for key in ("marked/", "marked/node-0/", "marked/node-1/", "shared/", "written/"):
        assert s3.put_raw(key) == 200
    assert sorted({one.split("/")[0] for one in Bucket(Url("s3", BUCKET, "marked")).names()}) == sorted(
        [*(one.name for one in logs.iterdir()), "node-3"]
    )
    run, _ = ingest(IngestRequest(logs=[f"s3://{BUCKET}/marked"], out=Url("s3", BUCKET, "written")))
    assert [row["host"] for row in run.table("hosts").to_pylist()] == ["node-0", "node-1", "node-2", "node-3"]
    done = shard_done(Logs(logs=[f"s3://{BUCKET}/logs"]), "1/1", Url("s3", BUCKET, "shared"), lambda *_: None)
    assert done.missing == 0
    merged(Url("s3", BUCKET, "shared"), tmp_path / "run", lambda *_: None)
    assert known(tmp_path / "run") == here


def test_logs_may_lie_at_several_places(s3: S3, logs: Path, here: dict[str, bytes], tmp_path: Path) -> None:
    shutil.copytree(logs / "node-2", tmp_path / "half" / "node-2")
    put(logs, "half", but="node-2")
    run = ingest(IngestRequest(logs=[str(tmp_path / "half"), f"s3://{BUCKET}/half"], out=tmp_path / "run"))[0]
    assert {file: content for file, content in known(run.path).items() if file.startswith("tables/")} == {
        file: content for file, content in here.items() if file.startswith("tables/")
    }


def test_shards_read_a_store_too(s3: S3, here: dict[str, bytes], tmp_path: Path) -> None:
    asked = Logs(logs=[f"s3://{BUCKET}/logs"])
    shared = Url("s3", BUCKET, "shards")
    for shard in ("2/2", "1/2"):
        shard_done(asked, shard, shared, lambda *_: None)
    merged(shared, tmp_path / "run", lambda *_: None)
    assert known(tmp_path / "run") == here


def test_a_log_that_was_replaced_between_shards_is_refused(s3: S3, tmp_path: Path) -> None:
    """Also by one of the same size, beginning and end."""
    made = Cluster(1)
    for slot in range(100, 1_000):
        made.check(0, slot)
    logs = made.write(tmp_path / "logs")
    put(logs, "replaced")
    asked = Logs(logs=[f"s3://{BUCKET}/replaced"])
    shard_done(asked, "1/1", tmp_path / "parts", lambda *_: None)
    changed_inside(logs / "node-0" / "stdout")
    put(logs, "replaced")
    with pytest.raises(PieceError, match="of other content: a file that they read was changed since"):
        merged(tmp_path / "parts", tmp_path / "run", lambda *_: None)


def test_a_file_on_a_serving_is_read(logs: Path, tmp_path: Path) -> None:
    genesis = logs / "genesis" / "genesis.shelley.json"
    with serving(logs) as port:
        for name in ("node-0/stdout", "node-1/stdout.gz"):
            url = f"http://127.0.0.1:{port}/{name}"
            there = ingest(IngestRequest(logs=[url], genesis=genesis, out=tmp_path / name / "there" / "run"))[0]
            local = ingest(IngestRequest(logs=[str(logs / name)], genesis=genesis, out=tmp_path / name / "run"))[0]
            assert bytes_of(there.path / "tables") == bytes_of(local.path / "tables")
            assert [row["host"] for row in there.table("hosts").to_pylist()] == [name.partition("/")[0]]
        with pytest.raises(LogError, match=r"/node-0: nothing is there, or a folder, which a web server does not list"):
            ingest(IngestRequest(logs=[f"http://127.0.0.1:{port}/node-0"], out=tmp_path / "none"))
        with pytest.raises(LogError, match=rf"^http://127.0.0.1:{port}: nothing is there, or a folder, which a web"):
            ingest(IngestRequest(logs=[f"http://127.0.0.1:{port}/"], out=tmp_path / "none"))


def test_what_is_not_there_is_told(s3: S3, tmp_path: Path) -> None:
    with pytest.raises(LogError, match=rf"^s3://{BUCKET}/nothing: nothing is there\. Give the URL of the logs\.$"):
        ingest(IngestRequest(logs=[f"s3://{BUCKET}/nothing"], out=tmp_path / "run"))
    Bucket(Url("s3", BUCKET, "other")).put("x/y", b"no log")
    with pytest.raises(LogError, match=rf"^s3://{BUCKET}/other: no file in it begins like a node's log"):
        ingest(IngestRequest(logs=[f"s3://{BUCKET}/other"], out=tmp_path / "run"))
    with pytest.raises(LogError, match=r"^host-1:/var/log/node: a folder of the host host-1, .* give --engine ray"):
        ingest(IngestRequest(logs=["host-1:/var/log/node"], out=tmp_path / "run"))
    assert not list(tmp_path.iterdir())


def test_a_store_that_fails_while_logs_are_read_leaves_no_run(s3: S3, logs: Path, tmp_path: Path) -> None:
    """Also not of a packed file: what can't be read isn't damage, of which the rest may be left out."""
    gets = 0

    def fails_at_last(request: Proxied) -> Answer:
        nonlocal gets
        gets += 1
        return request.passed_on() if gets <= LOOKED else SLOW_DOWN(request)

    with (
        through(s3, Fault(fails_at_last, "GET", "node-1/stdout.gz")),
        pytest.raises(
            LogError, match=r"stdout.gz: can't be read \(the store failed \(SlowDown\), also when asked again"
        ) as told,
    ):
        ingest(IngestRequest(logs=[f"s3://{BUCKET}/logs"], accept_damaged=True, out=tmp_path / "run"))
    assert "\n" not in str(told.value)
    assert gets > LOOKED
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_replaced_while_it_is_read_leaves_no_run(s3: S3, logs: Path, tmp_path: Path) -> None:
    put(logs, "changing")
    text = (logs / "node-0" / "stdout").read_bytes()

    def step(_done: int, _total: int) -> None:
        Bucket(Url("s3", BUCKET, "changing")).put("node-0/stdout", text + text[-100:])

    with pytest.raises(LogError, match=r"changing/node-0/stdout: was put in another's place or cut while it was read"):
        ingest(IngestRequest(logs=[f"s3://{BUCKET}/changing"], out=tmp_path / "run"), step)
    assert not list(tmp_path.iterdir())
