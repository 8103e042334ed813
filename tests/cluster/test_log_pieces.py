"""Logs that are read in pieces, in any order, become the very tables that one piece makes."""

from pathlib import Path

import pytest

from slotmark.benches.cluster.ingest import ingest
from slotmark.benches.cluster.log_pieces import accounts, merged_accounts, pieces_of, survey, surveyed
from slotmark.benches.cluster.logs import host_logs
from slotmark.benches.cluster.requests import IngestRequest
from slotmark.engine import local
from slotmark.errors import LogError
from tests.cluster.made_up_logs import Cluster
from tests.engine.test_shards import bytes_of

TABLES = (
    "slot_events",
    "block_events",
    "resources",
    "transactions",
    "ledger_metrics",
    "hosts",
    "trace_frequencies",
    "rejected",
)
"""Those of lines."""


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
    run, ingested = ingest(IngestRequest(logs=logs, out=tmp_path_factory.mktemp("at once") / "run", max_rejected=0.1))
    assert (ingested.rejected, sum(host.repeated for host in ingested.hosts)) == (2, 10)
    return bytes_of(run.path)


@pytest.mark.parametrize(("of", "workers"), [(1, 1), (3, 1), (3, 2)])
def test_so_have_the_tables_on_any_number_of_processes(
    of: int, workers: int, logs: Path, at_once: dict[str, bytes], tmp_path: Path
) -> None:
    found = survey(host_logs(logs).logs)
    assert found == [surveyed(log.host, str(log.path)) for log in host_logs(logs).logs]
    pieces = pieces_of(found, of, "path", tmp_path, 1)
    ingested = local(pieces, lambda outputs: merged_accounts(found, outputs, tmp_path), workers=workers)
    assert ingested.lines == 2 * (40 + 80 + 120 + 160) + 10 + 2
    for file, content in bytes_of(tmp_path).items():
        assert content == at_once[f"tables/{file}"], file


def test_pieces_are_merged_in_any_order_and_none_is_missing(
    logs: Path, at_once: dict[str, bytes], tmp_path: Path
) -> None:
    found = survey(host_logs(logs).logs)
    files = [one.file for one in found]
    made = [
        accounts(files, number, 7, "path", folder=tmp_path, threads=1, progress=lambda *_: None)
        for number in (3, 6, 0, 5, 2, 1, 4)
    ]
    with pytest.raises(LogError, match="the accounts of these logs' parts aren't those of 5 parts, one of each"):
        merged_accounts(found, made[1:], tmp_path)
    with pytest.raises(LogError, match="EOF while parsing"):
        merged_accounts(found, [["{"]], tmp_path)
    merged_accounts(found, made, tmp_path)
    assert {f"tables/{file}": content for file, content in bytes_of(tmp_path).items()} == {
        file: content
        for file, content in at_once.items()
        if file.startswith(tuple(f"tables/{table}/" for table in TABLES))
    }


def test_ctrl_c_leaves_nothing_of_a_run(logs: Path, tmp_path: Path) -> None:
    def stop(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest(IngestRequest(logs=logs, out=tmp_path / "run"), stop)
    assert not list(tmp_path.iterdir())


def test_a_log_that_is_not_the_one_that_was_looked_at_is_refused(tmp_path: Path) -> None:
    logs = logs_in(tmp_path / "logs")
    before = survey(host_logs(logs).logs)
    log = logs / "node-0" / "stdout"
    log.write_bytes(log.read_bytes().replace(b"slot", b"slut"))
    with pytest.raises(LogError, match="node-0/stdout: was put in another's place or cut"):
        accounts([one.file for one in before], 0, 1, "path", folder=tmp_path, threads=1, progress=lambda *_: None)
