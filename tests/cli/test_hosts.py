"""Ends of `slotmark hosts check`, by what was found in a cluster that is thought up. `tests/engine/test_ray.py` has a real one."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from slotmark.cli import app
from slotmark.engine.hosts import Clock, Host
from slotmark.engine.ray import Cluster, Node

FINE = Host(name="one", node="a", clock=Clock(ahead_us=-3, doubt_us=1_250))
LACKS = Host(name="two", node="a", wrong=["no program sh", "port 1: taken"])


@pytest.mark.parametrize("as_json", [False, True], ids=["table", "JSON"])
@pytest.mark.parametrize(
    ("hosts", "node", "code", "said"),
    [
        ([FINE], Node(secured=True), 0, []),
        ([FINE, LACKS], Node(secured=True), 2, ["Something is wrong with 1 of 2 hosts."]),
        ([FINE], Node(secured=False), 2, ["requires no token"]),
        ([FINE, LACKS], Node(secured=False), 2, ["requires no token", "Something is wrong with 1 of 2 hosts."]),
        # A node that didn't answer is a fault of the hosts on it alone.
        ([FINE], Node(secured=False, fault="gone"), 0, []),
    ],
    ids=["fine", "wrong", "without tokens", "both", "no answer"],
)
def test_it_fails_where_a_host_lacks_anything_or_the_cluster_has_no_tokens(
    hosts: list[Host],
    node: Node,
    code: int,
    said: list[str],
    as_json: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @contextmanager
    def folder(_remark: object) -> Iterator[Path]:
        yield tmp_path

    monkeypatch.setenv("COLUMNS", "200")
    cluster = Cluster(address="x", here=Node(), nodes=[node])
    monkeypatch.setattr("slotmark.engine.ray.output_of_ray", folder)
    monkeypatch.setattr("slotmark.engine.ray.hosts_found", lambda *_: (cluster, hosts))
    file = tmp_path / "hosts.toml"
    file.write_text('[one]\nprograms = ["sh"]\n[two]\nports = [1]\n', encoding="utf-8")
    ended = CliRunner().invoke(app, ["hosts", "check", str(file), *(["--json"] if as_json else [])])
    assert ended.exit_code == code, ended.output
    remarks = ended.stderr.strip().splitlines()
    assert len(remarks) == len(said)
    assert all(words in remark for words, remark in zip(said, remarks, strict=True)), remarks
    if as_json:
        found = [json.loads(line) for line in ended.stdout.splitlines()]
        assert [(one["name"], one["wrong"]) for one in found] == [(host.name, host.wrong) for host in hosts]
        assert found[0]["clock"] == {"ahead_us": -3, "doubt_us": 1_250}
    else:
        assert "-3 us ± 1,250 us" in ended.stdout
        assert ("no program sh; port 1: taken" in ended.stdout) is (LACKS in hosts)
