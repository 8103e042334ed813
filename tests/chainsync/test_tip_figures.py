"""From what was announced to clients and what they have done with to the tables and warnings of a run: worked out by hand."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from slotmark.benches.chainsync.following import Block
from slotmark.benches.chainsync.targets import Description
from slotmark.benches.chainsync.tip import _counting, _Facts, _new_run, _rows
from slotmark.measure.manifest import NewRun
from slotmark.measure.session import Head
from tests.made_up_runs import MACHINE

MS = 10**6
BEGAN, ENDED = 1_000 * MS, 2_000 * MS
"""The time that counts, by the monotonic clock."""

PROGRAM = SimpleNamespace(
    name="mine", description=Description(contract=1, name="mine", version="1", modes={"decode": 1}, follow=["decode"])
)

# Hash, awaited, and in ms: announced, arrived, done with, the longest time in the relay.
ANNOUNCED = [
    ("aa", True, 900, 901, 905, 1),
    ("bb", True, 1_000, 1_004, 1_010, 2),  # at the moment when it begins
    ("cc", True, 1_100, 1_110, 1_140, 3),
    ("cc", True, 1_500, 1_505, 1_520, 4),  # again, after a roll-backward
    ("dd", False, 1_600, 1_601, 1_690, 5),
    ("aa", True, 1_700, 1_703, 1_707, 6),  # it was announced before the time that counts
    ("ee", True, 2_000, 2_008, None, 7),  # at the moment when it ends; never done
    ("ff", True, 2_001, 2_002, None, 8),
]


def follower(announced: Sequence[tuple[str, bool, int, int, int | None, int]], mode: str = "decode") -> Any:
    """A client that ended well, with these blocks and four roll-backwards."""

    class Made:
        def __init__(self, **facts: object) -> None:
            self.__dict__.update(facts)

        def __str__(self) -> str:
            return f"mine ({mode})"

    return Made(
        program=PROGRAM,
        mode=mode,
        ready=None,
        ended=None,
        announced=[
            SimpleNamespace(
                slot=100 + place,
                hash=name,
                awaited=awaited,
                bytes=700,
                announced_ns=at * MS,
                arrived_ns=arrived * MS,
                held_ns=held * MS,
            )
            for place, (name, awaited, at, arrived, _, held) in enumerate(announced)
        ],
        decoded=[Block(at_ns=done * MS) for *_, done, _ in announced if done is not None],
        rollbacks=[SimpleNamespace(at_ns=at * MS, to="origin") for at in (999, 1_000, 2_000, 2_001)],
    )


def run_of(one: Any, *, clients: int = 1, cut: str = "") -> NewRun:
    facts = _Facts(
        request=cast("Any", SimpleNamespace(out=Path("out"), modes=["decode"], magic=2)),
        head=Head(session="s", machine=MACHINE, started="", asked={}),
        ended="",
        node=cast("Any", SimpleNamespace(place="x.socket", label="node at x.socket", program=None)),
        start="origin",
        clients=clients,
        asked_s=5.0,
        ran_s=(ENDED - BEGAN) / 1e9,
        cut=cut,
        began_ns=BEGAN,
    )
    return _new_run(facts, cast("Any", PROGRAM), {one: _rows(one, BEGAN, ENDED)}, [])


def rows(run: NewRun, table: str) -> list[dict[str, Any]]:
    held = run.tables[table]
    assert not isinstance(held, Sequence)
    return held.to_pylist()


def test_blocks_count_from_the_beginning_to_the_end_with_their_times() -> None:
    run = run_of(follower(ANNOUNCED))
    times = [
        tuple(
            None if row[name] is None else row[name] // MS
            for name in ("announced_ns", "arrived_ns", "decoded_ns", "latency_ns", "held_ns")
        )
        for row in rows(run, "announcements")
    ]
    assert times == [
        (0, 4, 10, 10, 2),
        (100, 110, 140, 40, 3),
        (500, 505, 520, 20, 4),
        (600, 601, 690, 90, 5),
        (700, 703, 707, 7, 6),
        (1_000, 1_008, None, None, 7),
    ]
    keys = [(row["slot"], row["hash"], row["announcement"], row["awaited"]) for row in rows(run, "announcements")]
    assert keys == [
        (101, "bb", 1, True),
        (102, "cc", 1, True),
        (103, "cc", 2, True),
        (104, "dd", 1, False),
        (105, "aa", 2, True),
        (106, "ee", 1, True),
    ]
    assert [row["at_ns"] // MS for row in rows(run, "rollbacks")] == [0, 1_000]


def test_blocks_without_a_figure_are_counted_in_warnings() -> None:
    found = {one.kind: one.text for one in run_of(follower(ANNOUNCED)).warnings}
    assert found["not_awaited"].startswith("1 of 6 blocks arrived at once")
    assert found["never_done"].startswith("1 block was announced")
    assert found["few_blocks_at_tip"].startswith("4 blocks can't separate")
    assert not found.keys() & {"cut_at_tip"}
    clean = [(f"{place:02}", True, 1_000 + place, 1_001 + place, 1_002 + place, 1) for place in range(60)]
    assert not {one.kind for one in run_of(follower(clean)).warnings} & {
        "not_awaited",
        "never_done",
        "few_blocks_at_tip",
    }
    cut = {one.kind: one.text for one in run_of(follower(clean), cut="the node ended").warnings}
    assert cut["cut_at_tip"].startswith("Cut after 1 s of 5 s: the node ended.")


def test_clients_are_crowded_where_they_and_the_relay_and_the_node_have_no_core_each() -> None:
    assert MACHINE.cores == 2
    for clients, crowded in ((0, False), (1, True)):
        assert ("crowded" in {one.kind for one in run_of(follower(ANNOUNCED), clients=clients).warnings}) is crowded


@pytest.mark.parametrize(("place", "counts"), [(1, True), (4, False), (6, False)])
def test_a_block_counts_where_it_was_waited_for_and_done_with(place: int, counts: bool) -> None:
    assert _counting(_rows(follower([ANNOUNCED[place]]), BEGAN, ENDED)) is counts
