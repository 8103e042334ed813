"""Clocks of machines by round trips over real sockets; what is ahead is planted in what the other one answers."""

import socket
import time

import pyarrow as pa
import pytest

from slotmark.benches.cluster.ingesting.clocks import beside_measured
from slotmark.benches.cluster.live.sites.machine_clocks import (
    Answering,
    Bounds,
    Looking,
    Offset,
    bounds,
    clock_warnings,
    clocks_table,
    look,
)

MS = 1_000_000


@pytest.mark.parametrize("behind_ns", [0, 5_000 * MS, -3 * MS])
def test_a_clock_is_found_where_it_is(behind_ns: int) -> None:
    answering = Answering("127.0.0.1", lambda: time.time_ns() - behind_ns)
    looking = Looking("127.0.0.1", answering.port)
    found = looking.ended()
    assert len(found) == 2  # at the beginning and at the end
    for one in found:
        assert abs(one.ahead_ns - behind_ns) <= one.doubt_ns + 1_000  # it is kept in whole microseconds
        assert one.trips == 50
    assert looking.ended() == found
    answering.close()


def test_who_does_not_answer_and_what_is_no_question() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as deaf:
        deaf.bind(("127.0.0.1", 0))
        assert look("127.0.0.1", deaf.getsockname()[1]) is None
    answering = Answering("127.0.0.1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.sendto(b"what?", ("127.0.0.1", answering.port))
    assert look("127.0.0.1", answering.port, trips=3) is not None
    answering.close()


def offset(ahead_ms: float, doubt_ms: float) -> Offset:
    return Offset(0, round(ahead_ms * MS), round(doubt_ms * MS), 50)


def test_bounds_hold_what_all_looks_found() -> None:
    assert bounds([]) is None
    assert bounds([offset(1, 2), offset(4, 1)]) == Bounds(-1 * MS, 5 * MS)
    assert clocks_table({"a": [offset(1, 2)], "b": []}).to_pylist() == [
        {"machine": "a", "ts_ns": 0, "ahead_ns": MS, "doubt_ns": 2 * MS, "trips": 50}
    ]


def test_a_clock_that_was_not_compared_is_warned_of() -> None:
    assert clock_warnings({"b": [offset(5_000, 0.1)]}, "a") == []  # what that matters for is known where it is shown
    (found,) = clock_warnings({"b": [offset(0, 0.1)], "c": []}, "a")
    assert found.kind == "machine_clocks_unknown"
    assert "the clocks of c from that of a" in found.text


def estimated(**hosts: tuple[int, int]) -> pa.Table:
    """Clocks as logs have them, in ms; the first host's is the reference."""
    return pa.Table.from_pylist(
        [
            {"host": host, "low_ns": low * MS, "high_ns": high * MS, "is_reference": host == next(iter(hosts))}
            for host, (low, high) in hosts.items()
        ]
    )


def test_the_estimate_of_logs_is_held_against_what_was_measured() -> None:
    logs = estimated(one=(0, 0), two=(-20, 30), three=(90, 110))
    ms = {"one": (4, 6), "two": (-4, -2), "three": (95, 97)}
    measured = {host: (low * MS, high * MS) for host, (low, high) in ms.items()}
    assert beside_measured(logs, measured) == []
    far = {**measured, "two": (51 * MS, 52 * MS)}
    assert beside_measured(logs, far) == ["two (-20.00 to +30.00 ms by the logs, +45.00 to +48.00 ms by round trips)"]
    assert beside_measured(logs, {"two": (51 * MS, 52 * MS)}) == []  # of the reference nothing is known
