"""Amaru's traces beside the log of another make: what a run holds of them. The lines have the form that version 0.1.2 writes."""

import json
from typing import Any

import pytest

from slotmark.run import Run
from tests.cluster.made_up_dingo_logs import block_hash, followed_by
from tests.cluster.made_up_logs import rfc3339, ts
from tests.cluster.test_dingo import values
from tests.cluster.test_ingest import ingested
from tests.conftest import slotmark

BLOCKS = 20


def said(ts_ns: int, fields: dict[str, Any], target: str, **span: str) -> str:
    """A line of an Amaru, whose times are in microseconds."""
    line = {"timestamp": f"{rfc3339(ts_ns)[:26]}Z", "level": "TRACE", "fields": fields, "target": target, "span": span}
    return json.dumps(line, separators=(",", ":")) + "\n"


def stored(ts_ns: int, name: str, **of: str) -> str:
    """The beginning and the end of a span of its store."""
    target = "amaru::stores::consensus"
    return said(ts_ns, {"message": "enter"}, target, name=name) + said(
        ts_ns, {"message": "exit"}, target, **of, name=name
    )


def follower() -> str:
    """The log of a host that notes all headers 9 ms, has fetched 60 ms, adopts 93 ms and announces 94 ms into each second slot."""
    lines = [said(ts(-10), {"message": "Started with global arguments", "with_json_traces": True}, "amaru")]
    for number in range(BLOCKS):
        slot = 2 * number
        block = block_hash(number, slot)
        tip = {"message": "diffusion.forward_chain.new_tip", "point": f"{slot}.{block}"}
        lines += [
            stored(ts(slot, 9), "store_header", hash=block),
            stored(ts(slot, 60), "store_block", hash=block),
            stored(ts(slot, 93), "roll_forward_chain", hash=block, slot=str(slot)),
            said(ts(slot, 94), tip, "amaru::consensus::forward_chain", name="poll"),
        ]
    return "".join(lines)


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of a Dingo that makes all blocks, and an Amaru that follows it."""
    folder = tmp_path_factory.mktemp("amaru")
    run, facts = ingested(followed_by(follower(), folder / "logs", BLOCKS), folder / "run")
    assert facts.rejected == 0
    return run


def test_every_step_that_the_log_tells_is_measured(made_up: Run) -> None:
    rows = [row for row in made_up.table("block_events").to_pylist() if row["host"] == "n1"]
    steps = {"noticed": 9, "fetched": 60, "adopted": 93, "announced": 94}
    assert sorted((row["block"], row["ts_ns"], row["event"]) for row in rows) == sorted(
        (block_hash(number, 2 * number), ts(2 * number, ms), event)
        for number in range(BLOCKS)
        for event, ms in steps.items()
    )
    chain = range(BLOCKS - 1)  # the tip is left out
    assert values(made_up, "host_adopted") == {(number, "n1"): pytest.approx(0.093, abs=1e-9) for number in chain}
    assert set(values(made_up, "adoption_share").values()) == {1.0}
    (row,) = (row for row in made_up.table("hosts").to_pylist() if row["host"] == "n1")
    assert (row["node"], row["kept"]) == ("amaru", 4 * BLOCKS)


def test_what_the_log_does_not_tell_is_not_recorded(made_up: Run) -> None:
    for metric in ("peer_requested", "forge_starts", "cpu_percent"):
        assert not [key for key in values(made_up, metric) if "n1" in key], metric
    shown = slotmark("show", made_up.path)
    assert shown.returncode == 0, shown.stderr
    assert "Not recorded: " in " ".join(shown.stdout.split())
