"""Lines that a host's log has twice count once, and are counted; what can't be distinguished from new ones gives a warning."""

import gzip
from pathlib import Path

import pytest

from slotmark.benches.cluster.ingesting.ingest import ingest
from slotmark.benches.cluster.requests import IngestRequest
from slotmark.metrics import Analysis
from slotmark.run import Run
from tests.cluster.made_up_logs import Cluster, line, ts

EVENTS = ("slot_events", "block_events", "resources", "ledger_metrics", "transactions")


def cluster(first: int = 100, last: int = 140) -> Cluster:
    made = Cluster(2)
    for slot in range(first, last):
        for host in (0, 1):
            made.check(host, slot)
    return made


def rows(run: Run) -> dict[str, list[dict[str, object]]]:
    """Rows that the lines became, in the order of time."""
    with Analysis(run) as analysis:
        return {table: analysis.query(f"SELECT * FROM {table} ORDER BY ALL").to_pylist() for table in EVENTS}


def repeated(run: Run) -> dict[str, int]:
    with Analysis(run) as analysis:
        return {row["host"]: row["repeated"] for row in analysis.query("SELECT host, repeated FROM hosts").to_pylist()}


def warned_of(run: Run) -> list[str]:
    with Analysis(run) as analysis:
        return [one.text for one in analysis.warnings() if one.kind == "repeated_starts"]


def warned(run: Run) -> list[str]:
    return [one.text for one in run.manifest.warnings if one.kind == "repeated_lines"]


@pytest.fixture
def plain(tmp_path: Path) -> Run:
    return ingest(IngestRequest(logs=[str(cluster().write(tmp_path / "plain"))], out=tmp_path / "plain-run"))[0]


def test_nothing_is_left_out_of_a_log_without_repeats(plain: Run) -> None:
    assert repeated(plain) == {"node-0": 0, "node-1": 0}
    assert warned(plain) == warned_of(plain) == []


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
@pytest.mark.parametrize("overlap", [1, 8, 40], ids=str)
def test_pieces_that_overlap(tmp_path: Path, plain: Run, overlap: int, *, packed: bool) -> None:
    logs = cluster().write(tmp_path / "logs", pieces=2)
    first, second = logs / "node-1" / "stdout.0", logs / "node-1" / "stdout.1"
    lines = first.read_text().splitlines(keepends=True)
    second.write_text("".join(lines[-overlap:]) + second.read_text())
    if packed:
        for piece in (first, second):
            piece.with_suffix(piece.suffix + ".gz").write_bytes(gzip.compress(piece.read_bytes()))
            piece.unlink()
    run, ingested = ingest(IngestRequest(logs=[str(logs)], out=tmp_path / "run"))
    assert repeated(run) == {"node-0": 0, "node-1": overlap}
    assert rows(run) == rows(plain)
    assert ingested.lines == 2 * 80 + overlap
    assert warned_of(run) == []
    (text,) = warned(run)
    assert text.startswith(
        f"{overlap:,} log lines were left out, because the log of their host has the same line earlier: on node-1."
    )


def test_a_piece_that_begins_as_another(tmp_path: Path, plain: Run) -> None:
    logs = cluster().write(tmp_path / "logs")
    (whole,) = (logs / "node-0").iterdir()
    (logs / "node-0" / "stdout.earlier").write_text("".join(whole.read_text().splitlines(keepends=True)[:30]))
    run, _ = ingest(IngestRequest(logs=[str(logs)], out=tmp_path / "run"))
    assert repeated(run) == {"node-0": 30, "node-1": 0}
    assert rows(run) == rows(plain)


def test_lines_that_a_collector_sent_again(tmp_path: Path, plain: Run) -> None:
    logs = cluster().write(tmp_path / "logs")
    (log,) = (logs / "node-0").iterdir()
    lines = log.read_text().splitlines(keepends=True)
    # A batch of ten twice, one line three times, and the last line once more.
    log.write_text("".join([*lines[:30], *lines[20:30], *lines[30:50], lines[49], lines[49], *lines[50:], lines[-1]]))
    run, _ = ingest(IngestRequest(logs=[str(logs)], out=tmp_path / "run"))
    assert repeated(run) == {"node-0": 13, "node-1": 0}
    assert rows(run) == rows(plain)


def filler(length: int) -> str:
    """Lines of no interest, of so many bytes in all or a little more."""
    one = line(ts(120), "Net.Other", {"kind": "Other", "text": "x" * 50_000}, "node-0") + "\n"
    return one * (length // len(one) + 1)


def test_repeats_that_lie_far_apart_are_told_of(tmp_path: Path) -> None:
    logs = cluster().write(tmp_path / "logs")
    (log,) = (logs / "node-0").iterdir()
    lines = log.read_text().splitlines(keepends=True)
    near, far = filler(3 << 20), filler(5 << 20)
    log.write_text("".join([*lines[:40], near, *lines[36:40], far, *lines[32:36], *lines[40:]]))
    run, _ = ingest(IngestRequest(logs=[str(logs)], out=tmp_path / "run"))
    assert repeated(run)["node-0"] == 4
    (text,) = warned_of(run)
    assert (
        "2 of 82 starts of the forge loop repeat another of the same host and time, from slot 116 to 117, on node-0"
        in text
    )


def test_how_a_file_is_divided_doesnt_matter(tmp_path: Path) -> None:
    made = cluster(100, 3_000)
    logs = made.write(tmp_path / "logs")
    plain = ingest(IngestRequest(logs=[str(logs)], out=tmp_path / "plain"))[0]
    (log,) = (logs / "node-0").iterdir()
    text = log.read_text()
    # Three pieces: the repeats lie on both sides of where the first ends.
    third = 45 << 20
    assert 500_000 < len(text) < 2 << 20
    log.write_text(filler(third - len(text)) + text + text + filler(2 * third))
    run, _ = ingest(IngestRequest(logs=[str(logs)], out=tmp_path / "run", threads=2))
    assert repeated(run) == {"node-0": text.count("\n"), "node-1": 0}
    assert rows(run) == rows(plain)
