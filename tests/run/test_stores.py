"""Runs in an object store: a real S3 server, and a proxy before it that does what networks and stores do."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from slotmark import stores
from slotmark.benches.cluster.simulating.direct import simulate_direct
from slotmark.benches.cluster.simulating.simulate import load_profile
from slotmark.compare import alone, compare
from slotmark.errors import ArgumentError, SlotmarkError
from slotmark.places import Url, folder_of, place, refuse_secrets
from slotmark.report import comparison_document, write_report
from slotmark.report.document import Document
from slotmark.report.renderers.json import json as as_json
from slotmark.run import Run, RunWriter, check_run, copy_run, open_run, open_runs
from slotmark.run.storage import TAIL_BYTES
from slotmark.stores import WHOLE_BYTES, traffic
from tests.cluster.made_up_logs import Cluster
from tests.conftest import slotmark
from tests.made_up_runs import write_run
from tests.run.test_folder import manifest
from tests.s3 import (
    BUCKET,
    S3,
    SECRET,
    SLOW_DOWN,
    Fault,
    changed,
    cut,
    lost,
    on_small_disk,
    proxy,
    reaching,
    refused,
    s3_server,
    slowly,
    through,
)
from tests.web import serving


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run in a folder."""
    return write_run(tmp_path_factory.mktemp("here") / "a", "a", {"decode, sequential": [90.0, 91.0, 92.0] * 4})


@pytest.fixture(scope="module")
def kept(s3: S3, run: Run) -> Url:
    """A copy of it in the store."""
    copy_run(run.place, at("kept/a"))
    is_whole(s3, "kept/a")
    return at("kept/a")


def at(key: str) -> Url:
    """A place in the bucket."""
    return Url("s3", BUCKET, key)


def refuses(doing: Callable[..., object], *given: object, words: tuple[str, ...]) -> None:
    """Checks that something is refused in one line with some words, and without the secret."""
    with pytest.raises(SlotmarkError) as found:
        doing(*given)
    line = str(found.value)
    assert "\n" not in line
    assert SECRET not in line
    for word in words:
        assert word in line


def is_whole(s3: S3, below: str) -> None:
    """Checks that nothing is there but a run: its manifest, and the files that this lists."""
    parts = json.loads((s3.folder / BUCKET / below / "run.json").read_text())["parts"]
    assert s3.names(below) == sorted(["run.json", *(f"tables/{part['file']}" for part in parts)])


def alike(result: object) -> str:
    """A result without the names of runs' files: those in a store hold a number of who wrote them."""
    return re.sub('"file":"[^"]*"', "", msgspec.json.encode(result).decode())


def test_a_run_is_the_same_in_a_folder_and_in_a_store(s3: S3, run: Run, kept: Url, tmp_path: Path) -> None:
    there = open_run(str(kept))
    assert there.manifest.content == run.manifest.content
    assert check_run(kept) == 2
    assert alike(alone(there)) == alike(alone(run))
    assert copy_run(kept, tmp_path / "back").manifest.content == run.manifest.content
    refuses(copy_run, run.place, kept, words=(str(kept), "never overwritten"))
    other = write_run(tmp_path / "b", "b", {"decode, sequential": [80.0, 81.0, 82.0] * 4})
    copy_run(other.path, at("sides/b"))
    for number in (10, 9):
        copy_run(run.place, at(f"several/x-{number}"))
    assert alike(compare([there, open_run("s3://runs/sides/b/")], repetitions=50)) == alike(
        compare([run, other], repetitions=50)
    )
    assert [str(one.place) for one in open_runs("s3://runs/several")] == [f"s3://runs/several/x-{n}" for n in (9, 10)]


def test_copy_prints_where_the_copy_is(s3: S3, kept: Url, tmp_path: Path) -> None:
    for to in ("s3://runs/printed", tmp_path / "printed"):
        assert slotmark("copy", str(kept), to).stdout == f"{to}\n"


def test_a_simulation_writes_to_a_store_and_is_shown_with_few_bytes(s3: S3, tmp_path: Path) -> None:
    """The bytes that --verbose prints are those that the server sent, and hardly more than the columns that were needed. All is read by DuckDB and by compiled code."""
    profile = load_profile("value-only-5", ["run.slots=6000"])
    here, _ = simulate_direct(profile, 1, tmp_path / "x", lambda _done, _total: None)
    simulate_direct(profile, 1, at("simulated/x"), lambda _done, _total: None)
    is_whole(s3, "simulated/x")
    with proxy(s3.port) as between:
        there = slotmark("--verbose", "show", "s3://runs/simulated/x", "--json", env=s3.environment(between.port))
    assert there.returncode == 0, there.stderr
    assert re.sub('"file": "[^"]*"', "", there.stdout) == re.sub('"file": "[^"]*"', "", as_json(alone(here)).decode())
    found = re.search(r"([\d,]+) bytes read, the columns that were needed have ([\d,]+)", there.stderr)
    assert found, there.stderr
    read, needed = (int(number.replace(",", "")) for number in found.groups())
    size = sum(part.bytes for part in here.manifest.parts)
    print(f"read {read:,} bytes, needed {needed:,}: {read / needed:.3f}; the tables have {size:,}")
    assert read == between.sent_bytes
    assert needed < read < 1.2 * needed
    assert read < 0.9 * size


def test_ingest_writes_to_a_store_what_it_writes_to_a_folder(s3: S3, tmp_path: Path) -> None:
    made = Cluster(2)
    for slot in range(100, 160):
        made.check(slot % 2, slot)
    logs = made.write(tmp_path / "logs")
    for where in ("s3://runs/ingested/x", tmp_path / "x"):
        done = slotmark("ingest", logs, "-o", where)
        assert done.returncode == 0, done.stderr
        assert done.stderr.startswith(f"{where}: 2 hosts, 120 lines, 120 of interest")
    is_whole(s3, "ingested/x")
    assert open_run("s3://runs/ingested/x").manifest.content == open_run(tmp_path / "x").manifest.content
    assert slotmark("check", "s3://runs/ingested/x").returncode == 0
    again = slotmark("ingest", logs, "-o", "s3://runs/ingested/x")
    assert (again.returncode, again.stdout, again.stderr.count("\n")) == (2, "", 1)
    is_whole(s3, "ingested/x")


def test_a_column_that_was_not_fetched_is_an_error_and_never_zeros(s3: S3) -> None:
    table = pa.table({name: np.random.default_rng(1).integers(0, 1 << 60, TAIL_BYTES) for name in ("a", "b", "c")})
    with RunWriter(at("holes")) as writer:
        writer.table("numbers", table)
        writer.finish(manifest())
    found = open_run(at("holes"))
    before = traffic.needed_bytes
    found.fetch("numbers", ["b"])
    (part,) = found.manifest.parts
    assert part.bytes / 4 < traffic.needed_bytes - before < part.bytes / 2
    (file,) = found.table_files("numbers")
    database = duckdb.connect()
    assert database.sql(f"SELECT b FROM '{file}'").to_arrow_table()["b"].equals(table["b"])
    with pytest.raises(duckdb.Error):
        database.execute(f"SELECT sum(a) FROM '{file}'").fetchall()
    assert found.table("numbers").equals(table)


def test_a_column_with_a_dot_in_its_name_is_fetched(s3: S3) -> None:
    """As those of all simulations of a sweep: 0.50 adoption. Parts of a column have a dot before their names too."""
    numbers = np.random.default_rng(1).integers(0, 1 << 60, TAIL_BYTES)
    table = pa.table({"0": numbers, "0.50 adoption": numbers + 1, "parts": [{"a": int(n)} for n in numbers]})
    with RunWriter(at("dots")) as writer:
        writer.table("numbers", table)
        writer.finish(manifest())
    for name in table.column_names:
        found = open_run(at("dots"))
        found.fetch("numbers", [name])
        assert pq.read_table(found.table_files("numbers")[0], columns=[name])[name].equals(table[name])


def test_what_is_not_there_or_may_not_be_read_is_told(s3: S3, run: Run, kept: Url) -> None:
    refuses(open_run, at("kept"), words=("no run.json", "Name one of those inside it: a."))
    refuses(open_runs, at("nothing"), words=("no run.json",))
    for doing in (open_run, lambda url: copy_run(run.place, url)):
        refuses(doing, place("s3://no-such-bucket/a"), words=("s3://no-such-bucket", "no such bucket"))
    with reaching(s3, secret="another-secret"):
        refuses(open_run, kept, words=("credentials",))
        refuses(copy_run, run.place, at("refused"), words=("credentials",))
    with reaching(s3, port=1):
        refuses(open_run, kept, words=("can't be reached",))


@pytest.mark.parametrize(
    "named",
    ["s3://key:pass77@runs/a", "https://pass77@host/a", "s3://runs/a?X-Amz-Signature=pass77", "az://c/a#pass77"],
)
def test_urls_with_secrets_are_refused_and_not_printed(named: str) -> None:
    with pytest.raises(ArgumentError, match="URL with") as found:
        place(named)
    assert "pass77" not in str(found.value)


@pytest.mark.parametrize(
    "named",
    [
        "s3:///a",
        "s3://runs/../a",
        "ftp://host/a",
        "file://host/a",
        "s3://runs/a\x1bb",
        "s3://runs/a\tb",
        "s3://runs/a#",
    ],
)
def test_urls_that_name_nothing_are_refused(named: str) -> None:
    with pytest.raises(ArgumentError):
        place(named)


def test_paths_stay_paths(tmp_path: Path) -> None:
    assert place("a/b") == Path("a/b")
    assert place(f"file://{tmp_path}/x%20y") == tmp_path / "x y"
    assert str(place("S3://runs//a/b/")) == "s3://runs/a/b"
    assert place("s3://runs/a%20b") == Url("s3", "runs", "a%20b")


def test_what_is_written_to_folders_refuses_urls(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the place of making a folder called s3:."""
    monkeypatch.chdir(tmp_path)
    ended = slotmark("plan", run.path, "-o", "s3://runs/report")
    assert ended.returncode == 2
    assert "s3://runs/report: this is written to a folder" in ended.stderr
    with pytest.raises(ArgumentError, match="this is written to a folder"):
        write_report(Document("", "", []), run.manifest, Path("s3://runs/report"))
    for named in (Path("s3://runs/session"), at("session"), "gs://runs/session"):
        with pytest.raises(ArgumentError, match="this is written to a folder"):
            folder_of(named)
    assert list(tmp_path.iterdir()) == []


def test_any_command_refuses_a_url_with_a_password() -> None:
    ended = slotmark("ledger", "run", "-o", "s3://key:pass77@runs/a", "--chain", "x")
    assert ended.returncode == 2
    assert "URL with a user or password" in ended.stderr
    assert "pass77" not in ended.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("ingest", "logs", "--genesis", "https://host/genesis.json?token=pass77", "-o", "run"),
        ("ingest", "logs", "--meta=s3://bucket/meta.json?X-Amz-Signature=pass77", "-o", "run"),
        ("hosts", "check", "https://host/hosts.toml?token=pass77", "--engine", "ray"),
        ("simulate", "S3://bucket/profile?pass77", "-o", "run"),
    ],
)
def test_any_command_refuses_a_url_with_a_query(words: tuple[str, ...]) -> None:
    """Also for a file that has to be on this machine."""
    ended = slotmark(*words)
    assert ended.returncode == 2
    assert "a URL with '?' or '#' and more behind it, where secrets may stand" in ended.stderr
    assert "pass77" not in ended.stderr


def test_commands_and_sentences_may_hold_urls_with_queries() -> None:
    refuse_secrets(["--run", "curl https://host/x?y=1", "--reason=as in https://host/x?y=1"])


def test_a_table_that_was_changed_is_found(s3: S3, run: Run) -> None:
    copy_run(run.place, at("changed"))
    (file,) = (s3.folder / BUCKET / "changed" / "tables" / "invocations").iterdir()
    content = file.read_bytes()
    file.write_bytes(content[:200] + bytes([content[200] ^ 1]) + content[201:])
    refuses(check_run, at("changed"), words=(file.name, "its digest isn't the one"))
    refuses(copy_run, at("changed"), at("again"), words=("its digest isn't the one",))
    file.write_bytes(content[:-1])
    refuses(open_run, at("changed"), words=(file.name, "cut or changed"))
    file.unlink()
    refuses(open_run, at("changed"), words=(file.name, "it is gone"))
    assert s3.names("again") == []


def test_of_two_writers_one_wins_and_the_other_is_told(s3: S3, run: Run, tmp_path: Path) -> None:
    with RunWriter(at("two")) as slow:
        slow.table("numbers", pa.table({"a": [1]}))
        copy_run(run.place, at("two"))
        refuses(slow.finish, manifest(), words=("another command has just written a run there",))
    assert open_run(at("two")).manifest.content == run.manifest.content
    is_whole(s3, "two")


def test_two_processes_that_write_one_name_leave_one_run(s3: S3, run: Run, tmp_path: Path) -> None:
    other = write_run(tmp_path / "b", "b", {"decode, sequential": [80.0] * 6})
    both = [subprocess.Popen([*COPY, str(one.path), "s3://runs/both"], stderr=subprocess.PIPE) for one in (run, other)]
    errors = [one.communicate(timeout=120)[1].decode() for one in both]
    assert sorted(one.returncode for one in both) == [0, 2], errors
    assert any("never overwritten" in error for error in errors)
    is_whole(s3, "both")
    assert check_run(at("both")) == 2


COPY = [sys.executable, "-m", "slotmark", "copy"]


def test_what_a_killed_writer_left_is_no_run_and_is_removed_by_the_next(
    s3: S3, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    held: list[str] = []

    def hold(_request: object) -> None:
        held.append("")
        time.sleep(120)

    with proxy(s3.port, Fault(hold, "PUT", "killed/tables/windows")) as between:
        writer = subprocess.Popen([*COPY, str(run.place), "s3://runs/killed"], env=s3.environment(between.port))
        while not held or not any("invocations" in name for name in s3.names("killed")):
            assert writer.poll() is None
            time.sleep(0.02)
        writer.send_signal(signal.SIGKILL)
        writer.wait(timeout=60)
    assert len(s3.names("killed")) == 2
    refuses(open_run, at("killed"), words=("no run.json",))
    copy_run(run.place, at("killed"))
    assert "2 objects are of a writer that has not finished" in capsys.readouterr().err
    is_whole(s3, "killed")


def test_a_writer_that_is_stopped_leaves_nothing(s3: S3, run: Run) -> None:
    with proxy(s3.port, Fault(slowly, "PUT", "stopped/tables")) as between:
        writer = subprocess.Popen(
            [*COPY, str(run.place), "s3://runs/stopped"], env=s3.environment(between.port), stderr=subprocess.PIPE
        )
        while not s3.names("stopped"):
            assert writer.poll() is None
            time.sleep(0.005)
        writer.send_signal(signal.SIGTERM)
        error = writer.communicate(timeout=120)[1].decode()
    if writer.returncode:
        assert "interrupted" in error
        assert s3.names("stopped") == []
    else:  # it was done by then
        is_whole(s3, "stopped")


CONFLICT = refused(409, "ConditionalRequestConflict")


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("slow-down", lambda: Fault(SLOW_DOWN, "PUT", times=3)),
        ("conflict", lambda: Fault(CONFLICT, "PUT", "run.json", times=2)),
        ("lost", lambda: Fault(lost, "PUT", "run.json", times=1)),
        ("lost-part", lambda: Fault(lost, "PUT", "tables", times=1)),
        ("slowly", lambda: Fault(slowly, "PUT")),
    ],
)
def test_a_write_through_faults_is_whole(s3: S3, run: Run, name: str, fault: Callable[[], Fault]) -> None:
    with through(s3, fault()):
        copy_run(run.place, at(name))
    is_whole(s3, name)
    assert check_run(at(name)) == 2


def test_a_listing_that_is_old_hides_only_what_the_next_writer_removes(s3: S3, run: Run) -> None:
    """A listing decides what is removed, and nothing else: a run is read by its manifest."""
    with through(s3, Fault(changed(b"Contents>", b"Stale>"), "GET", "list-type")):
        copy_run(run.place, at("unlisted"))
        assert check_run(at("unlisted")) == 2
    is_whole(s3, "unlisted")


@pytest.mark.parametrize(
    ("name", "fault", "words"),
    [
        ("down", lambda: Fault(SLOW_DOWN, "PUT", "tables/"), ("(SlowDown)", "tables/")),
        ("conflicts", lambda: Fault(CONFLICT, "PUT", "run.json"), ("(ConditionalRequestConflict)", "run.json")),
        ("denied", lambda: Fault(refused(403, "AccessDenied"), "PUT"), ("(AccessDenied)", "credentials")),
        ("cut", lambda: Fault(lambda _: None, "PUT", "run.json"), ("can't be reached", "run.json")),
    ],
)
def test_a_write_that_fails_is_told_and_leaves_nothing(
    s3: S3, run: Run, name: str, fault: Callable[[], Fault], words: tuple[str, ...]
) -> None:
    with through(s3, fault()):
        refuses(copy_run, run.place, at(name), words=words)
    assert s3.names(name) == []


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (400, "ExpiredToken", "temporary, and have expired"),
        (400, "InvalidToken", "refuses these credentials (InvalidToken)"),
        (400, "AuthorizationHeaderMalformed", "Set that to the bucket's"),
        (301, "PermanentRedirect", "Set that to the bucket's"),
        (403, "RequestTimeTooSkewed", "clock"),
        (400, "InvalidRequest", "refuses this request (InvalidRequest)"),
    ],
)
def test_what_no_later_try_mends_has_its_own_remedy(s3: S3, kept: Url, status: int, code: str, words: str) -> None:
    with through(s3, planted := Fault(refused(status, code))), pytest.raises(SlotmarkError) as found:
        open_run(kept)
    assert planted.met == 1
    assert words in str(found.value)
    assert "again" not in str(found.value)


def test_a_listing_that_is_refused_is_a_matter_of_credentials(s3: S3, run: Run) -> None:
    with through(s3, Fault(refused(403, "AccessDenied"), "GET", "list-type")):
        refuses(copy_run, run.place, at("unseen"), words=("credentials (AccessDenied)",))


def test_an_environment_without_credentials_is_told(s3: S3, kept: Url, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library asks for the machine's own identity then: here where nothing listens."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setattr(stores, "client", stores.client.__wrapped__)
    refuses(open_run, kept, words=("the environment has no credentials", "Set AWS_ACCESS_KEY_ID and"))


@pytest.mark.parametrize(
    ("scheme", "name"),
    [
        ("s3", "AWS_ENDPOINT"),
        ("s3", "AWS_ENDPOINT_URL"),
        ("s3", "AWS_ENDPOINT_URL_S3"),
        ("gs", "GOOGLE_BASE_URL"),
        ("az", "AZURE_ENDPOINT"),
        ("az", "AZURE_STORAGE_ENDPOINT"),
    ],
)
@pytest.mark.parametrize("value", ["localhost:7070", "", "http//host:7070", "http://u:pass77@ho st", "http://[::1"])
def test_an_address_of_a_store_that_is_no_url_is_refused(
    s3: S3, scheme: str, name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    monkeypatch.setattr(stores, "client", stores.client.__wrapped__)
    url = place(f"{scheme}://runs/x")
    refuses(open_run, url, words=(f"{scheme}://runs: ", f"{name}, the address of the store, is no URL"))


@pytest.mark.parametrize(
    ("name", "answers", "told"),
    [
        ("answer-lost", True, "the run is whole all the same"),
        ("nothing-known", False, "the store doesn't answer whether"),
    ],
)
def test_a_run_whose_last_answer_was_lost_keeps_its_files(
    s3: S3, run: Run, name: str, told: str, capsys: pytest.CaptureFixture[str], *, answers: bool
) -> None:
    """The manifest is written, but no answer comes: without its tables the run would be there and damaged."""
    away = [] if answers else [Fault(lost, "GET", "run.json")]
    with through(s3, Fault(lost, "PUT", "run.json"), *away):
        refuses(copy_run, run.place, at(name), words=("can't be reached", "run.json"))
    assert told in capsys.readouterr().err
    assert check_run(at(name)) == 2
    left = [one for one in s3.names(name) if one.startswith("writing-")]
    assert (len(s3.names(name)), len(left)) == (3 + len(left), int(not answers))


@pytest.mark.parametrize("what", [SLOW_DOWN, cut, slowly])
def test_a_read_through_faults_is_right(s3: S3, run: Run, kept: Url, what: Callable[..., None]) -> None:
    with through(s3, planted := Fault(what, "GET", "kept", times=-1 if what is slowly else 3)):
        assert open_run(kept).table("invocations").equals(run.table("invocations"))
    assert planted.met >= 3


@pytest.mark.parametrize("name", ["run.json", "tables"])
def test_a_read_that_is_always_cut_is_told(s3: S3, kept: Url, name: str) -> None:
    with through(s3, Fault(cut, "GET", name)):
        refuses(open_run, kept, words=(name, "cut"))


def test_a_store_without_conditional_puts_is_named_before_anything_is_written(
    s3: S3, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that refuses the condition, and one that takes no notice of it."""
    for name, fault in {
        "refuses": Fault(refused(501, "NotImplemented"), "PUT", conditional=True),
        "ignores": Fault(_as_if_written, "PUT", "writing-", conditional=True),
    }.items():
        with through(s3, fault), RunWriter(at(name)) as writer:
            assert "no conditional put" in capsys.readouterr().err
            writer.table("numbers", pa.table({"a": [1]}))
            writer.finish(manifest())
        is_whole(s3, name)
        refuses(copy_run, run.place, at(name), words=("never overwritten",))


def _as_if_written(_request: object) -> tuple[int, list[tuple[str, str]], bytes]:
    return 200, [("ETag", '"d41d8cd98f00b204e9800998ecf8427e"')], b""


@pytest.mark.parametrize("other", ["../../a", "/etc", "..", "x/../../../../../tmp"])
def test_names_of_runs_that_a_store_lists_are_no_paths(s3: S3, kept: Url, other: str) -> None:
    with through(s3, Fault(changed(b"<Prefix>kept/a/", f"<Prefix>kept/{other}/".encode()), "GET", "delimiter")):
        refuses(open_runs, at("kept"), words=())


@pytest.mark.parametrize("other", ["../../escaped.parquet", "/tmp/escaped.parquet", "invocations/part-../x.parquet"])
def test_names_of_files_in_a_manifest_are_no_paths(s3: S3, run: Run, kept: Url, other: str) -> None:
    file = open_run(kept).manifest.parts[0].file
    with through(s3, Fault(changed(file.encode(), other.ljust(len(file), "x").encode()), "GET", "run.json")):
        refuses(open_run, kept, words=("is no place of a file",))


def test_a_large_file_that_fails_leaves_no_part_of_an_upload(s3: S3) -> None:
    table = pa.table({"a": np.random.default_rng(1).integers(0, 1 << 62, WHOLE_BYTES // 7)})

    def write() -> None:
        with RunWriter(at("large")) as writer:
            writer.table("numbers", table)
            writer.finish(manifest())

    with through(s3, Fault(refused(403, "AccessDenied"), "PUT", "partNumber=2")):
        refuses(write, words=("AccessDenied",))
    assert s3.names("large") == []
    assert not [name for name in s3.names() if "multipart" in name]
    with proxy(s3.port) as between, reaching(s3, between.port):
        write()
    assert sum("partNumber" in asked for asked in between.asked) > 2
    is_whole(s3, "large")
    assert check_run(at("large")) == 1


def test_a_full_disk_behind_a_store_is_told(tmp_path: Path, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """The disk is in a namespace of the server's own, so what is left is what the server lists."""
    table = pa.table({"a": np.random.default_rng(1).integers(0, 1 << 62, 500_000)})
    (tmp_path / "disk").mkdir()
    with s3_server(tmp_path / "disk", *on_small_disk(tmp_path / "disk", "2m")) as full, reaching(full):
        with RunWriter(at("x")) as writer:
            writer.table("numbers", table)
            refuses(writer.finish, manifest(), words=("tables/numbers", "the store failed"))
        assert stores.Bucket(at("x")).names() == []
        copy_run(run.place, at("x"))
        assert check_run(at("x")) == 2


def test_secrets_are_nowhere(s3: S3, run: Run, kept: Url, tmp_path: Path) -> None:
    """The secret is a canary: it is looked for in all that commands print, in the store, and in a report."""
    out = tmp_path / "report"
    other = write_run(tmp_path / "b", "b", {"decode, sequential": [80.0] * 12})
    result = compare([open_run(kept), other], repetitions=50)
    write_report(comparison_document(result), result, out)
    assert (out / "report.json").is_file()
    failed = slotmark("--debug", "show", str(kept), env=s3.environment(secret=SECRET[::-1]))
    assert "Traceback" in failed.stderr  # with all that the library says of the store's answer
    printed = failed.stdout + failed.stderr
    looked = [file for folder in (s3.folder, out) for file in folder.rglob("*") if file.is_file()]
    assert len(looked) > 10
    for secret in (SECRET, SECRET[::-1]):
        assert secret not in printed
        assert not [file for file in looked if secret.encode() in file.read_bytes()]
    (out / "control").write_text(f"… {SECRET} …")
    assert SECRET.encode() in (out / "control").read_bytes()


def test_a_run_is_read_over_http(run: Run) -> None:
    """By a web server that knows ranges; it lists nothing, and nothing is written to it."""
    assert isinstance(run.path, Path)
    with serving(run.path.parent) as port:
        there = open_run(f"http://127.0.0.1:{port}/a")
        assert alike(alone(there)) == alike(alone(run))
        refuses(open_runs, f"http://127.0.0.1:{port}/", words=("no run.json",))
        refuses(copy_run, run.place, place(f"http://127.0.0.1:{port}/b"), words=("for reading",))
    assert check_run(place(f"file://{run.place}")) == 2


def test_a_web_server_that_refuses_has_no_remedy_of_another_store(run: Run) -> None:
    with (
        serving(run.path.parent, status=403) as port,
        pytest.raises(SlotmarkError, match="no credentials for web") as found,
    ):
        open_run(f"http://127.0.0.1:{port}/a")
    assert "AWS" not in str(found.value)


def test_a_web_server_without_ranges_is_named(run: Run, tmp_path: Path) -> None:
    """As the one of Python's library: it gives whole files only."""
    with serving(run.path.parent, ranges=False) as port:
        refuses(open_run, f"http://127.0.0.1:{port}/a", words=("answer requests for ranges", "Copy it here first"))


def test_without_a_url_no_client_of_stores_is_loaded(run: Run) -> None:
    code = "import sys; from slotmark.cli import main\ntry: main()\nexcept SystemExit: pass\nsys.exit('obstore' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code, "show", str(run.place)], capture_output=True, check=False)
    assert ended.returncode == 0
