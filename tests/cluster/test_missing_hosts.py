"""Blocks that some hosts of a cluster have no sample of: every form of a report names them."""

import html
import json
from pathlib import Path

from slotmark.metrics import Analysis
from slotmark.metrics.filters import parse_filters
from slotmark.run import Run
from tests.cluster.made_up_logs import Cluster
from tests.cluster.test_ingest import ingested
from tests.conftest import slotmark

KINDS = ("blocks_of_missing_hosts", "blocks_without_hosts")
BLOCKS = 16
STRANGERS = (3, 7)
"""Blocks that a host without a log forges."""

TIP = BLOCKS - 1
"""It is in no figure."""


def made_up(folder: Path, hosts: int, *, ends: dict[int, int] | None = None, strangers: tuple[int, ...] = ()) -> Path:
    """Logs of a block in every tenth slot, which all hosts adopt and forge in turn; those that end before a block have nothing of it."""
    cluster, previous = Cluster(hosts), None
    for number in range(BLOCKS):
        slot, name = 10 * number, f"block{number}"
        logging = [host for host in range(hosts) if number < (ends or {}).get(host, BLOCKS)]
        forger = None if number in strangers else logging[number % len(logging)]
        for host in logging:
            if host == forger:
                cluster.forge(host, slot, number, name, previous)
            else:
                cluster.observe(host, slot, number, name)
        previous = name
    for host in range(hosts):
        if host not in (ends or {}):
            cluster.check(host, 10 * BLOCKS)
    logs = cluster.write(folder)
    nodes = [{"name": f"node-{place}"} for place in range(5)] if strangers else []
    (logs / "topology.json").write_text(json.dumps({"coreNodes": nodes}))
    return logs


def found(run: Run, *, filters: tuple[str, ...] = ()) -> dict[str, str]:
    with Analysis(run, filters=parse_filters(filters, "cluster") if filters else None) as analysis:
        return {one.kind: one.text for one in analysis.warnings() if one.kind in KINDS}


def test_blocks_of_a_whole_cluster_are_not_named(tmp_path: Path) -> None:
    assert not found(ingested(made_up(tmp_path / "logs", 3), tmp_path / "run")[0])


def test_blocks_of_hosts_without_a_log_are_named_with_what_they_lack(tmp_path: Path) -> None:
    """Logs of three of five hosts, one of which ends early."""
    logs = made_up(tmp_path / "logs", 3, ends={2: 10}, strangers=STRANGERS)
    run, _ = ingested(logs, tmp_path / "run")
    told = found(run)
    assert "2 of 15 blocks on the chain were forged by no host with a log" in told["blocks_of_missing_hosts"]
    assert "(node-3, node-4): block 3 (slot 30), block 7 (slot 70)." in told["blocks_of_missing_hosts"]
    assert (
        "Adoption of 13 of 13 analysed blocks was measured on fewer than the cluster's 5 hosts: "
        "8 from block 0 (slot 0) to 9 (slot 90) without 2 (node-3, node-4), "
        "5 from block 10 (slot 100) to 14 (slot 140) without 3 (node-2, node-3, node-4)."
    ) in told["blocks_without_hosts"]
    with Analysis(run) as analysis:
        rows = analysis.query("SELECT * FROM blocks_without_hosts ORDER BY slot").to_pylist()
    assert [row["block_no"] for row in rows] == list(range(TIP))
    assert [row["block_no"] for row in rows if row["forger"] is None] == list(STRANGERS)
    assert {row["block_no"] for row in rows if row["without"] == "node-2, node-3, node-4"} == set(range(10, TIP))


def test_a_log_that_ends_early_is_enough(tmp_path: Path) -> None:
    run, _ = ingested(made_up(tmp_path / "logs", 3, ends={1: 14}), tmp_path / "run")
    assert found(run).keys() == {"blocks_without_hosts"}
    assert "of 1 of 15 analysed blocks" in found(run)["blocks_without_hosts"]
    assert ": block 14 (slot 140) without 1 (node-1)." in found(run)["blocks_without_hosts"]


def test_blocks_that_are_not_analysed_are_not_named(tmp_path: Path) -> None:
    logs = made_up(tmp_path / "logs", 3, ends={2: 10}, strangers=STRANGERS)
    told = found(ingested(logs, tmp_path / "run")[0], filters=("SlotGEq 40", "SlotLEq 89"))
    assert ": block 7 (slot 70)." in told["blocks_of_missing_hosts"]
    assert "of 4 of 4 analysed blocks" in told["blocks_without_hosts"]


def test_a_long_list_is_cut(tmp_path: Path) -> None:
    """Every second block is forged by a host without a log."""
    logs = made_up(tmp_path / "logs", 3, strangers=tuple(range(1, TIP, 2)))
    told = found(ingested(logs, tmp_path / "run")[0])["blocks_of_missing_hosts"]
    assert "block 9 (slot 90) and 2 more." in told
    assert "block 11" not in told


def test_every_form_of_the_report_names_them(tmp_path: Path) -> None:
    whole, _ = ingested(made_up(tmp_path / "whole", 3), tmp_path / "whole-run")
    lost, _ = ingested(made_up(tmp_path / "logs", 3, ends={2: 10}, strangers=STRANGERS), tmp_path / "run")
    told = found(lost)
    assert told.keys() == {*KINDS}
    compared = slotmark("compare", whole.path, lost.path, "-o", tmp_path / "report")
    assert compared.returncode == 0, compared.stderr
    pages = {file.name: file.read_text() for file in (tmp_path / "report").glob("report.[mhj]*")}
    pages["terminal"] = compared.stdout
    assert sorted(pages) == ["report.html", "report.json", "report.md", "terminal"]
    for text in told.values():
        for name, page in pages.items():
            assert text.split(":")[0] in html.unescape(" ".join(page.split())), name
    report, shown = json.loads(pages["report.json"]), json.loads(slotmark("show", lost.path, "--json").stdout)
    for side in (report["candidates"][0], shown["baseline"]):
        assert {one["kind"]: one["text"] for one in side["warnings"]}.items() >= told.items()
    assert not {one["kind"] for one in report["baseline"]["warnings"]} & {*KINDS}
