"""Two targets in one cluster, swapped from round to round: what a host, a block and a round add of their own goes out, and what has no verdict is said."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from slotmark.benches.cluster.live.placing import halves
from slotmark.compare import compare
from slotmark.errors import ComparisonError
from slotmark.metrics import catalogue
from slotmark.report import comparison_document
from slotmark.report.renderers.html import html
from slotmark.run import Manifest, Run
from slotmark.run.manifest import ROUND
from slotmark.statistics.swapped import levels, swapped
from tests.compare.planted_mixed import NAMES, Plant, beds_hosts, differences, session

DELAYED = Plant(adopt=0.02, forge=0.01, memory=20.0, passed_on=0.0)


def changed(run: Run, **fields: object) -> Run:
    return Run(run.path, msgspec.structs.replace(run.manifest, **fields))


def numbered(manifest: Manifest, number: int) -> dict[str, object]:
    return {**manifest.parameters, ROUND: number}


@pytest.fixture(scope="module")
def delayed(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """A session of four rounds in which one target is 20 ms late to adopt, 10 ms to forge, and has 20 MiB more."""
    return session(tmp_path_factory.mktemp("delayed"), DELAYED, 1)


def test_what_is_planted_is_found_by_the_hosts_that_it_is_on(delayed: Sequence[Run]) -> None:
    comparison = compare([[delayed[place] for place in (2, 0, 3, 1)]])
    assert [side.name for side in comparison.sides] == list(NAMES)
    assert [{one.target.version for one in side.manifests} for side in comparison.sides] == [{"1.0"}, {"1.1"}]
    assert "runs_differ" not in {one.kind for one in comparison.warnings}
    found = {row.metric.id: row.differences[0] for row in comparison.rows}
    truth = {"host_adopted": 0.02 + 0.01 / 4, "forged": 0.01, "memory": 20.0}
    assert found.keys() == truth.keys()  # and not what only the whole cluster has
    for name, one in found.items():
        assert one is not None
        assert one.basis is not None
        assert (one.basis.over, one.basis.counts) == ("mixed rounds", (4, 4))
        assert one.paired
        assert not one.conditional
        assert one.delta is not None
        if name != "host_adopted":
            assert one.delta.low <= truth[name] <= one.delta.high, name
    adopted = found["host_adopted"]
    assert adopted is not None
    assert adopted.verdict == "worse"
    assert adopted.delta is not None
    assert adopted.delta.estimate == pytest.approx(0.02, rel=0.1)
    (warning,) = (one for one in comparison.warnings if one.kind == "mixed_cluster")
    assert "Adoption by all are of the whole run and not compared" in warning.text
    text = html(comparison_document(comparison))
    assert "over 4 mixed rounds" in text
    assert "a host in a round is the unit" in text
    assert comparison.decision is not None
    assert comparison.decision.answer == "hold"


def test_equal_targets_are_not_told_apart_and_neighbours_that_pass_a_delay_on_make_it_look_smaller(
    tmp_path: Path,
) -> None:
    """Ten sessions each; the rates of more are in docs/method.md."""
    equal = [differences(session(tmp_path / "equal", Plant(rounds=4), seed))["host_adopted"] for seed in range(10)]
    assert sum(one.verdict in ("worse", "better") for one in equal) <= 1
    passed = [
        differences(session(tmp_path / "passed", Plant(adopt=0.02, passed_on=0.5), seed))["host_adopted"]
        for seed in range(10)
    ]
    assert all(one.verdict == "worse" for one in passed)
    estimates = [one.delta.estimate for one in passed if one.delta]
    # Half of the blocks come by another host, which is delayed 1/4 more often where this one is not, of five.
    assert 0.014 < float(np.mean(estimates)) < 0.0195


def test_levels_and_the_effect_are_exact_without_noise() -> None:
    draws = np.random.default_rng(3)
    own, rounds, treated = draws.normal(0, 1, 6), [], []
    for number in range(4):
        x = np.array([1.0, 0, 1, 0, 1, 0]) if number % 2 else np.array([0, 1.0, 0, 1, 0, 1])
        units, places = np.divmod(np.arange(60), 6)
        there = (units * 7 + places) % 5 > 0  # not every place has every unit
        blocks = draws.normal(0, 5, 10)
        values = (blocks[units] + own[places] + 3 * number + 0.5 * x[places])[there]
        found = levels(values, places[there], units[there])
        assert np.allclose(np.diff(found.values), np.diff(own + 0.5 * x))
        rounds.append(found)
        treated.append(x == 1)
    result = swapped(rounds, treated, 0.95)
    assert result is not None
    assert result.found.interval.estimate == pytest.approx(0.5)
    assert result.degrees == 24 - 6 - 4
    # Nothing is swapped, or all of it is one target: nothing tells.
    assert swapped(rounds, [treated[0]] * 4, 0.95) is None
    assert swapped(rounds, [np.ones(6, bool)] * 4, 0.95) is None
    assert swapped(rounds[:1], treated[:1], 0.95) is None
    # Values that are all one leave no rounding behind that would look like a difference.
    alike = swapped([msgspec.structs.replace(one, values=np.full(6, 0.1)) for one in rounds], treated, 0.95)
    assert alike is not None
    assert (alike.found.interval.estimate, alike.found.p) == (0.0, 1.0)


def test_intervals_cover_where_a_hosts_process_adds_to_all_of_a_round() -> None:
    draws = np.random.default_rng(4)
    covered = 0
    for _ in range(1_000):
        own, rounds, treated = draws.normal(0, 1, 5), [], []
        for number in range(4):
            x = np.array([1.0, 0, 1, 0, 1]) if number % 2 else np.array([0, 1.0, 0, 1, 0])
            rounds.append(levels(own + 0.3 * x + draws.normal(0, 0.1, 5), np.arange(5)))
            treated.append(x == 1)
        result = swapped(rounds, treated, 0.95)
        assert result is not None
        covered += result.found.interval.low <= 0.3 <= result.found.interval.high
    assert 0.93 <= covered / 1_000 <= 0.97


def test_hosts_are_halved_by_region_and_stake_and_swapped() -> None:
    hosts = beds_hosts(12)
    seen = set()
    for seed in range(20):
        first, second = (halves(hosts, NAMES, seed, number) for number in (1, 2))
        assert all(first[host] != second[host] for host in first)
        seen.add(tuple(first.values()))
        for region in ("eu", "us", "ap"):
            of_region = [first[host.name] for host in hosts if host.region == region]
            assert of_region.count(NAMES[0]) == 2
        stakes = [sum(host.stake for host in hosts if first[host.name] == name) for name in NAMES]
        assert abs(stakes[0] - stakes[1]) <= 3
        assert halves(hosts, NAMES, seed, 1) == first
    assert len(seen) > 4
    assert sorted(halves(beds_hosts(5), NAMES, 1, 1).values()).count(NAMES[0]) in (2, 3)


def test_rounds_that_make_no_sense_are_refused_in_a_line(delayed: Sequence[Run]) -> None:
    twice = changed(delayed[2], parameters=numbered(delayed[2].manifest, 2), id="twice")
    not_swapped = (
        r"hosts were not swapped between these two rounds: node-[0-9] ran.* again with `bring A and B --mixed`"
    )
    with pytest.raises(ComparisonError, match=not_swapped):
        compare([[delayed[0], twice]])
    with pytest.raises(ComparisonError, match="two of the runs are one round of one session"):
        compare([[delayed[0], delayed[1], twice]])
    with pytest.raises(ComparisonError, match="1 of these rounds can be compared"):
        compare([[delayed[0]]])
    with pytest.raises(ComparisonError, match="Name its rounds alone"):
        compare([[delayed[0]], [delayed[1]]])
    other = changed(delayed[1], parameters={**delayed[1].manifest.parameters, "mixed": ["usual", "third"]})
    with pytest.raises(ComparisonError, match="Name rounds of the same two"):
        compare([[delayed[0], other]])
    both = [changed(run, parameters={**run.manifest.parameters, "mixed": ["usual", "third"]}) for run in delayed[:2]]
    with pytest.raises(ComparisonError, match="a host ran 'delayed', which is neither of usual and third"):
        compare([both])
    untold = [changed(run, tables={"blocks": 1}) for run in delayed[:2]]
    with pytest.raises(ComparisonError, match="no table 'host_nodes'"):
        compare([untold])


def test_a_round_with_a_warning_that_spoils_by_the_catalogue_is_left_out_and_named(delayed: Sequence[Run]) -> None:
    of_bench = catalogue(delayed[2].manifest.bench)
    second = changed(delayed[1], warnings=[of_bench.warning("warm_day", degrees=31)])
    third = changed(delayed[2], warnings=[of_bench.warning("broke_off", after_s=3)])
    comparison = compare([[delayed[0], second, third, delayed[3]]])
    (warning,) = (one for one in comparison.warnings if one.kind == "round_left_out")
    assert "Round 3 is not compared" in warning.text
    compared = [one for row in comparison.rows for one in row.differences if one]
    assert compared
    assert all(one.basis and one.basis.counts == (3, 3) for one in compared)
