"""Lines that a host's log has twice, where its pieces overlap, are told of."""

from pathlib import Path

from slotmark.benches.cluster.ingest import Request, ingest
from slotmark.metrics import Analysis
from slotmark.run import Run
from tests.cluster.made_up_logs import Cluster


def repeated(run: Run) -> list[str]:
    with Analysis(run) as analysis:
        return [one.text for one in analysis.doubts() if one.kind == "repeated_lines"]


def test_pieces_that_overlap_are_told_of_with_hosts_and_slots(tmp_path: Path) -> None:
    cluster = Cluster(2)
    for slot in range(100, 140):
        for host in (0, 1):
            cluster.check(host, slot)
    logs = cluster.write(tmp_path / "logs", pieces=2)
    assert repeated(ingest(Request(logs=logs, out=tmp_path / "plain"))[0]) == []

    first, second = logs / "node-1" / "stdout.0", logs / "node-1" / "stdout.1"
    tail = first.read_text().splitlines(keepends=True)[-8:]  # the last four slots: a start and an answer each
    second.write_text("".join(tail) + second.read_text())
    (text,) = repeated(ingest(Request(logs=logs, out=tmp_path / "overlapping"))[0])
    assert (
        "4 of 84 starts of the forge loop repeat another of the same host and time, from slot 116 to 119, on node-1"
        in text
    )
