"""Files of hosts, and clocks by round trips."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from slotmark.engine.hosts import Wanted, matching, nearest, wanted
from slotmark.errors import EngineError

MS = 1_000_000
DELAYS = some.integers(0, 50 * MS)


@given(some.integers(-(10**4) * MS, 10**4 * MS), some.lists(some.tuples(DELAYS, DELAYS), min_size=1, max_size=50))
def test_a_clock_is_no_farther_off_than_its_doubt(ahead_ns: int, trips: list[tuple[int, int]]) -> None:
    now, exchanges = 1_700_000_000_000 * MS, []
    for there, back in trips:
        exchanges.append((now, now + there + ahead_ns, now + there + back))
        now += there + back + MS
    clock = nearest(exchanges)
    assert abs(clock.ahead_us - ahead_ns / 1e3) <= clock.doubt_us + 1
    assert clock.doubt_us <= min(map(sum, trips)) / 2e3 + 1


def test_a_hosts_entry_is_laid_over_that_of_all(tmp_path: Path) -> None:
    file = tmp_path / "hosts.toml"
    file.write_text('[all]\nports = [3001]\nprograms = ["sh"]\n[one]\nlabels = {host = "a"}\n[two]\nports = [1]\n')
    assert wanted(file) == {
        "one": Wanted(labels={"host": "a"}, programs=["sh"], ports=[3001]),
        "two": Wanted(programs=["sh"], ports=[1]),
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "0 hosts; expected 1 to"),
        ("[all]\nports = [1]\n", "0 hosts; expected 1 to"),
        ("[one]\nport = 1\n", "unknown field `port`"),
        ("[one]\nports = [0]\n", ">= 1"),
        ("[one]\ncpus = 1\n[two]\ncpus = -1\n", "two: Expected .* >= 0"),
        ("[one", "hosts.toml"),
    ],
)
def test_a_file_that_is_no_such_file_is_refused(text: str, why: str, tmp_path: Path) -> None:
    file = tmp_path / "hosts.toml"
    file.write_text(text)
    with pytest.raises(EngineError, match=why):
        wanted(file)
    with pytest.raises(EngineError, match="Correct the file"):
        wanted(tmp_path / "missing.toml")


def test_nodes_are_found_by_all_labels_that_are_asked_for() -> None:
    nodes = [{"host": "a", "region": "eu"}, {"host": "b", "region": "eu"}]
    assert matching({"region": "eu"}, nodes) == [0, 1]
    assert matching({"region": "eu", "host": "b"}, nodes) == [1]
    assert matching({"host": "c"}, nodes) == []
