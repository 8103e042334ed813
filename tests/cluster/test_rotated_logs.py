"""Logs that others still write, rotate or cut while they are read: what was there at the beginning is read, or nothing."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from slotmark.benches.cluster.ingesting import log_places
from slotmark.benches.cluster.ingesting.ingest import ingest
from slotmark.benches.cluster.ingesting.logs import HostLogs, host_logs
from slotmark.benches.cluster.requests import IngestRequest
from slotmark.errors import LogError
from slotmark.run import Run
from tests.cluster.test_repeated_lines import cluster, rows


def _log(logs: Path) -> Path:
    return logs / "node-1" / "stdout"


def _during(logs: Path, out: Path, change: Callable[[Path], object]) -> Run:
    """Ingests logs, one after the other, of which the last one is changed as soon as something was read."""
    changes = [change]

    def on_step(_done: int, _total: int) -> None:
        if changes:
            changes.pop()(_log(logs))

    return ingest(IngestRequest(logs=[str(logs)], out=out, threads=1), on_step)[0]


def _begun_anew(log: Path) -> None:
    log.rename(log.with_name("older"))
    log.write_bytes(log.with_name("older").read_bytes()[:5_000])


def _packed(log: Path) -> None:
    log.with_suffix(".gz").write_bytes(gzip.compress(log.read_bytes()))
    log.unlink()


def _cut(log: Path) -> None:
    log.write_bytes(b"")


def _copied_and_cut(log: Path) -> None:
    log.with_name("copy").write_bytes(log.read_bytes())
    log.write_bytes(log.read_bytes()[:5_000])


@pytest.mark.parametrize("change", [_begun_anew, _cut, _copied_and_cut])
def test_a_log_that_is_rotated_while_it_is_read_is_refused(tmp_path: Path, change: Callable[[Path], object]) -> None:
    logs = cluster().write(tmp_path / "logs")
    with pytest.raises(LogError, match=r"node-1/stdout: was put in another's place or cut while it was read"):
        _during(logs, tmp_path / "run", change)
    assert not (tmp_path / "run").exists()


def test_a_log_that_is_packed_while_it_is_read_is_refused(tmp_path: Path) -> None:
    logs = cluster().write(tmp_path / "logs")
    with pytest.raises(LogError, match=r"node-1/stdout: "):
        _during(logs, tmp_path / "run", _packed)
    assert not (tmp_path / "run").exists()


def test_a_log_that_goes_before_it_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logs = cluster().write(tmp_path / "logs")

    def found_and_gone(folder: Path) -> HostLogs:
        found = host_logs(folder)
        _log(folder).unlink()
        return found

    monkeypatch.setattr(log_places, "host_logs", found_and_gone)
    with pytest.raises(LogError, match="a log was there and can't be read"):
        ingest(IngestRequest(logs=[str(logs)], out=tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_of_a_log_that_grows_what_was_there_is_read(tmp_path: Path) -> None:
    logs = cluster().write(tmp_path / "logs")
    before = ingest(IngestRequest(logs=[str(logs)], out=tmp_path / "before"))[0]
    more = _log(cluster(last=200).write(tmp_path / "more")).read_bytes()
    whole = _log(logs).read_bytes()
    assert more.startswith(whole)

    run = _during(logs, tmp_path / "run", lambda log: log.write_bytes(more))
    assert _log(logs).read_bytes() == more
    assert rows(run) == rows(before)
    assert run.manifest.sources == before.manifest.sources
