"""Figures from samples of nodes and of the machine."""

import pyarrow as pa

from slotmark.benches.cluster.live.sampling import MACHINE_SCHEMA, USAGE_SCHEMA, Busyness, busyness


def usage(*rows: tuple[str, int, int, int]) -> pa.Table:
    """Samples of a host at a time, with its processor time and its time without one."""
    names = ("host", "ts_ns", "cpu_ns", "runqueue_ns")
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], USAGE_SCHEMA)


def machine(*rows: tuple[int, int, int]) -> pa.Table:
    """Samples of the machine at a time, with how long its processors were busy and idle."""
    names = ("ts_ns", "busy_ns", "idle_ns")
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], MACHINE_SCHEMA)


def test_only_samples_of_the_measurement_tell_how_busy_it_was() -> None:
    nodes = usage(
        ("a", 10, 0, 0),  # while nodes started, they waited for processors
        ("b", 11, 0, 0),
        ("a", 20, 100, 9_000),
        ("b", 21, 200, 9_000),
        ("a", 30, 190, 9_010),
        ("b", 31, 260, 9_040),
        ("a", 40, 5_000, 9_010),  # while they were stopped
        ("b", 41, 5_000, 9_040),
    )
    of_machine = machine((10, 0, 0), (21, 1_000, 100), (31, 1_300, 800), (41, 9_000, 800))
    assert busyness(nodes, of_machine, 20, 31) == Busyness(waiting=50 / 200, busy=0.3)
    assert busyness(nodes, of_machine, 10, 31) == Busyness(waiting=18_050 / 18_500, busy=1_300 / 2_100)
    assert busyness(nodes, of_machine, 22, 31) is None


def test_a_node_that_was_started_anew_counts_from_0() -> None:
    nodes = usage(("a", 1, 500, 50), ("a", 2, 600, 100), ("a", 3, 30, 20), ("a", 4, 50, 30))
    of_machine = machine((1, 0, 0), (4, 300, 100))
    assert busyness(nodes, of_machine, 1, 4) == Busyness(waiting=80 / 230, busy=0.75)
