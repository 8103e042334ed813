"""Runs that took turns are compared round by round: what a round did to both goes out, and a round that isn't whole is left out and named."""

import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest

from slotmark import warnings
from slotmark.benches.cluster.simulating.direct import simulate_direct
from slotmark.benches.cluster.simulating.simulate import load_profile
from slotmark.compare import Policy, compare
from slotmark.errors import ComparisonError
from slotmark.metrics import catalogue
from slotmark.report import comparison_document
from slotmark.report.renderers.html import html
from slotmark.run import Run, open_run
from slotmark.run.manifest import ROUND
from slotmark.statistics.mean_difference import Units, over_levels
from slotmark.warnings import Warning
from tests.differences import difference

SMALL = ("hosts=5", "pools=5", "run.slots=900", "genesis.epoch_slots=200")
TICK_MS = 30.0
DAYS = (1.0, 2.0, 1.3, 0.7)
"""Factors by which each round changes the ledger tick of both sides: far more than the two differ by."""
SLOWER = 1.25


def units(values: np.ndarray) -> Units:
    return Units(values, np.ones(values.size))


def test_intervals_cover_whatever_the_rounds_do_to_both() -> None:
    """1,000 sessions a row: the share of intervals that cover the planted difference, and of equal builds called different."""
    draws = np.random.default_rng(27)
    for rounds in (3, 4, 6, 10):
        covered = false = 0
        for _ in range(1_000):
            day = 1 + 0.2 * draws.standard_normal(rounds)
            own = 0.01 * draws.standard_normal((2, rounds))
            levels = day + own + np.array([[0.0], [0.05]])
            sides = [[units(level + 0.01 * draws.standard_normal(50)) for level in side] for side in levels]
            ours, theirs = (np.array([one.mean for one in side]) for side in sides)
            found = over_levels(ours, theirs, confidence=0.95, scale="identity")
            covered += found.delta.low <= 0.05 <= found.delta.high
            moved = over_levels(ours, theirs - 0.05, confidence=0.95, scale="identity")
            false += moved.p < 0.05
        assert 0.93 <= covered / 1_000 <= 0.97, rounds
        assert false / 1_000 <= 0.07, rounds


def of_session(run: Run, number: int, name: str, *doubts: Warning) -> Run:
    """The run as one of a session: of a target, and of a round."""
    manifest = run.manifest
    changed = msgspec.structs.replace(
        manifest,
        id=f"{name}-{number}",
        target=msgspec.structs.replace(manifest.target, name=name),
        session="monday",
        parameters={**manifest.parameters, ROUND: number},
        warnings=[*manifest.warnings, *doubts],
    )
    (run.path / "run.json").write_bytes(msgspec.json.encode(changed))
    return open_run(run.path)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, int], Run]:
    """Runs of a session of four rounds, whose ledger tick is another in each."""
    folder = tmp_path_factory.mktemp("session")
    made: dict[tuple[str, int], Run] = {}
    for number, day in enumerate(DAYS, start=1):
        for name, slower in (("old", 1.0), ("new", SLOWER)):
            tick = f'forging.ledger_tick={{mean="{TICK_MS * day * slower:g}ms", sigma=0.05}}'
            profile = load_profile("value-only-10.5", (*SMALL, tick))
            seed = 2 * number + (name == "new")
            run, _ = simulate_direct(profile, seed, folder / f"{name}-{number}", lambda _done, _total: None)
            made[name, number] = of_session(run, number, name)
    return lambda name, number: made[name, number]


def test_two_rounds_need_more_rounds_and_no_runs_beside_them(session: Callable[[str, int], Run]) -> None:
    decision = compare([[session(name, number) for number in (1, 2)] for name in ("old", "new")]).decision
    assert decision is not None
    assert {cause.needed.over for cause in decision.causes if cause.needed} == {"paired rounds"}
    assert any(cause.conditional for cause in decision.causes)


def test_the_day_drops_out_and_rows_say_so(session: Callable[[str, int], Run]) -> None:
    sides = [[session(name, number) for number in (3, 1, 4, 2)] for name in ("old", "new")]
    comparison = compare(sides)
    found = difference(comparison, "forge_ticked")
    assert found.basis is not None
    assert (found.basis.over, found.basis.counts) == ("paired rounds", (4, 4))
    assert found.paired
    assert not found.conditional
    assert "one_run_a_side" not in {warning.kind for warning in comparison.all_warnings}
    assert found.delta is not None
    truth_s = TICK_MS * (SLOWER - 1) * float(np.mean(DAYS)) / 1e3
    assert found.delta.low <= truth_s <= found.delta.high
    # The same runs of as many sessions: what the days did stands in the interval.
    apart = [
        [
            Run(run.path, msgspec.structs.replace(run.manifest, session=str(place)))
            for place, run in enumerate(side, 10 * half)
        ]
        for half, side in enumerate(sides)
    ]
    unpaired = difference(compare(apart), "forge_ticked")
    assert unpaired.basis is not None
    assert unpaired.basis.over == "runs"
    assert unpaired.delta is not None
    assert found.delta.high - found.delta.low < (unpaired.delta.high - unpaired.delta.low) / 3
    text = html(comparison_document(comparison))
    assert "over 4 paired rounds" in text
    assert "the runs of a round are a pair" in text


def test_a_round_that_is_not_whole_is_left_out_and_named(session: Callable[[str, int], Run], tmp_path: Path) -> None:
    died = Warning(
        "cut_short",
        "The run ended after 3 of 9 s (node-1 ended by itself): there are fewer blocks than were asked for.",
    )
    third = session("new", 3)
    broken = Run(third.path, msgspec.structs.replace(third.manifest, warnings=[died]))
    ours = [session("old", number) for number in (1, 2, 3, 4)]
    comparison = compare([ours, [session("new", 1), session("new", 2), broken, session("new", 4)]])
    basis = difference(comparison, "forge_ticked").basis
    assert basis is not None
    assert basis.counts == (3, 3)
    (doubt,) = (one for one in comparison.warnings if one.kind == "round_left_out")
    assert "Round 3 is not compared" in doubt.text
    assert "node-1 ended by itself" in doubt.text
    assert [len(side.manifests) for side in comparison.sides] == [3, 3]
    # Unequal numbers of rounds.
    fewer = compare([ours, [session("new", number) for number in (4, 2, 1)]])
    (doubt,) = (one for one in fewer.warnings if one.kind == "round_left_out")
    assert "round 3 is there on one side only (old-3)" in doubt.text
    assert difference(fewer, "forge_ticked").delta == difference(comparison, "forge_ticked").delta
    # A round of which there is nothing.
    neither = compare(
        [[session("old", number) for number in (1, 2, 4)], [session("new", number) for number in (4, 2, 1)]]
    )
    (doubt,) = (one for one in neither.warnings if one.kind == "round_left_out")
    assert "Round 3 is not compared: no side has a run of it" in doubt.text


def test_a_round_in_which_a_node_died_is_left_out_with_its_pair(
    session: Callable[[str, int], Run], tmp_path: Path
) -> None:
    """The session went on, as with `--on-death restart`: the run is whole, but not what the others are."""
    shutil.copytree(session("new", 3).path, tmp_path / "new-3")
    died = catalogue("cluster").warning("node_died", "node-2", words="out of memory")
    third = of_session(open_run(tmp_path / "new-3"), 3, "new", died)
    ours = [session("old", number) for number in (1, 2, 3, 4)]
    comparison = compare([ours, [session("new", 1), session("new", 2), third, session("new", 4)]])
    assert [[run.round for run in side.manifests] for side in comparison.sides] == [[1, 2, 4]] * 2
    basis = difference(comparison, "forge_ticked").basis
    assert basis is not None
    assert (basis.over, basis.counts) == ("paired rounds", (3, 3))
    (doubt,) = (one for one in comparison.warnings if one.kind == "round_left_out")
    assert doubt.text.startswith("Round 3 is not compared: round 3: new-3: node-2: ")
    assert "Round 3 is not compared" in html(comparison_document(comparison))


@pytest.mark.parametrize(
    "why",
    [
        catalogue("cluster").warning("node_died", "node-2", words="out of memory"),
        catalogue("cluster").warning("machine_lost", why="no answer", slot=7, hosts="node-2"),
        catalogue("cluster").warning("cut_short", measured_s=3, asked_s=9, why="Ctrl-C"),
    ],
)
def test_nothing_ships_on_a_run_by_itself_in_which_a_node_died(
    why: Warning, session: Callable[[str, int], Run]
) -> None:
    """There is no round that it could be left out with, and figures are of the nodes that were left."""

    def alone(name: str, *doubts: Warning) -> list[Run]:
        runs = [session(name, number) for number in (1, 2, 3, 4)]
        return [
            Run(
                run.path,
                msgspec.structs.replace(
                    run.manifest, session=f"{name} {place}", parameters={}, warnings=[*doubts] if place else []
                ),
            )
            for place, run in enumerate(runs)
        ]

    wide = Policy(margins={metric.id: 9.0 for metric in catalogue("cluster").metrics if metric.tested})
    ours = alone("old")
    shipped, stopped = (compare([ours, alone("new", *doubts)], policy=wide).decision for doubts in ([], [why]))
    assert shipped is not None and stopped is not None
    assert shipped.answer == "ship", shipped.line
    assert (stopped.answer, why.kind in stopped.line) == ("run again", True)


def test_a_third_side_of_other_rounds_of_the_session_changes_none_of_the_others(
    session: Callable[[str, int], Run],
) -> None:
    sides = [[session("old", place) for place in (1, 2, 3)], [session("new", place) for place in (1, 2)]]
    found = compare([*sides, [session("new", 4)]])
    assert [len(side.manifests) for side in found.sides] == [2, 2, 1]
    assert "Round 3 is not compared" in " ".join(one.text for one in found.warnings)


@pytest.mark.parametrize("number", [0, 1])
def test_a_third_side_of_another_session_or_of_none_changes_no_round_of_the_others(
    session: Callable[[str, int], Run], tmp_path: Path, number: int
) -> None:
    others = []
    for place in (1, 2, 3):
        profile = load_profile("value-only-10.5", SMALL)
        made, _ = simulate_direct(profile, 40 + place, tmp_path / f"other-{place}", lambda _done, _total: None)
        run = of_session(made, place * number, "other")
        name = "tuesday" if number else f"alone-{place}"
        others.append(Run(run.path, msgspec.structs.replace(run.manifest, session=name)))
    died = catalogue("cluster").warning("node_died", "node-2", words="out of memory")
    third = session("new", 3)
    broken = Run(third.path, msgspec.structs.replace(third.manifest, warnings=[died]))
    ours = [session("old", place) for place in (1, 2, 3, 4)]
    theirs = [session("new", 4), session("new", 2), broken, session("new", 1)]
    alone, beside = compare([ours, theirs]), compare([ours, theirs, others])
    assert [len(side.manifests) for side in beside.sides] == [3, 3, 3]
    assert difference(beside, "forge_ticked").delta == difference(alone, "forge_ticked").delta
    assert {one.kind for one in beside.warnings} >= {"round_left_out"}
    with pytest.raises(ComparisonError, match="1 of 3 rounds can be compared"):
        compare([ours[:2], [session("new", 1), broken], others])


def test_rounds_that_cannot_be_paired_are_refused_in_a_line(session: Callable[[str, int], Run]) -> None:
    other = session("new", 2)
    twice = Run(other.path, msgspec.structs.replace(other.manifest, parameters={**other.manifest.parameters, ROUND: 1}))
    with pytest.raises(ComparisonError, match="are both of round 1: a side has one run of a round"):
        compare([[session("old", 1), session("old", 2)], [session("new", 1), twice]])
    with pytest.raises(ComparisonError, match="1 of 3 rounds can be compared"):
        compare([[session("old", 1), session("old", 2)], [session("new", 1), session("new", 3)]])


def test_one_round_alone_is_one_run_a_side(session: Callable[[str, int], Run]) -> None:
    comparison = compare([session("old", 1), session("new", 1)])
    found = difference(comparison, "forge_ticked")
    assert found.basis is not None
    assert found.basis.over == "blocks"
    assert "one_run_a_side" in {warning.kind for warning in comparison.all_warnings}


def test_a_doubt_is_known() -> None:
    assert warnings.round_left_out(3, "why").kind in warnings.KINDS
