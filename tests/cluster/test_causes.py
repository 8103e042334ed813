"""A cause that is planted in a simulated cluster, all over, in one region, on one host or on a link, is named first, with its place."""

from pathlib import Path

import pytest

from slotmark.compare import stage_cells
from slotmark.compare.explain import explain
from slotmark.compare.stage_cells import observed
from slotmark.metrics import Analysis
from slotmark.metrics.catalogue import catalogue
from tests.cluster.planted_causes import KINDS, named_first, planted, simulated

TRIALS = 100

PAIRS = 64
"""Pairs with the spread of the shipped profile: docs/explain.md has what they gave."""


@pytest.mark.parametrize("kind", KINDS)
def test_a_cause_is_named_with_its_place(tmp_path: Path, kind: str) -> None:
    cause = planted(kind, 1)
    found = explain(simulated(tmp_path / "usual", 1), simulated(tmp_path / "other", 1001, *cause.settings), filters=[])
    assert named_first(found, cause), found.changes
    assert found.changes
    change = found.changes.found[0]
    assert 0 < change.delta.low < change.delta.estimate < change.delta.high
    assert found.places
    if kind == "one host":
        assert found.places.apart[0].place == cause.places[0]
    of_region = dict(zip(found.places.names, found.places.groups, strict=True))
    assert of_region["node-2"] == "ap-southeast-2"


def test_what_one_of_several_runs_did_is_no_change_of_its_side(tmp_path: Path) -> None:
    cause = planted("all hosts", 0)
    usual = [simulated(tmp_path / f"usual-{seed}", seed) for seed in (1, 2, 3)]
    slow = [simulated(tmp_path / f"slow-{seed}", seed, *cause.settings) for seed in (11, 12, 13)]
    other = [*(simulated(tmp_path / f"other-{seed}", seed) for seed in (21, 22)), slow[0]]
    assert named_first(explain(usual, slow, filters=[]), cause)
    found = explain(usual, other, filters=[]).changes
    assert found is not None
    assert not any(one.stage in cause.stages for one in found.found)


def test_of_a_long_run_some_blocks_are_read_and_name_the_cause_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cause = planted("all hosts", 1)
    usual, other = simulated(tmp_path / "usual", 1), simulated(tmp_path / "other", 1001, *cause.settings)
    stages = catalogue("cluster").stage_cells
    assert stages
    with Analysis(usual) as analysis:
        (every,) = analysis.select(stages.count_sql(), "stages")["stages"].to_pylist()
        whole = observed(stages, analysis)
        monkeypatch.setattr(stage_cells, "MOST_STAGES", every // 3)
        part = observed(stages, analysis)
    assert whole.keys() == part.keys()
    blocks = {block for one in part.values() for blocks in one.blocks.values() for block in blocks.tolist()}
    assert blocks == {
        block for one in whole.values() for all_ in one.blocks.values() for block in all_.tolist() if block % 4 == 0
    }
    assert named_first(explain(usual, other, filters=[]), cause)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_cause_is_named_first_in_95_of_100_trials(tmp_path: Path, kind: str) -> None:
    named = 0
    for number in range(TRIALS):
        cause, folder = planted(kind, number), tmp_path / str(number)
        usual = simulated(folder / "usual", number)
        other = simulated(folder / "other", 1000 + number, *cause.settings)
        named += named_first(explain(usual, other, filters=[]), cause)
    assert named >= 0.95 * TRIALS


@pytest.mark.slow
def test_nothing_is_named_where_nothing_is_planted(tmp_path: Path) -> None:
    changed = apart = 0
    for number in range(TRIALS):
        folder = tmp_path / str(number)
        found = explain(simulated(folder / "usual", number), simulated(folder / "other", 1000 + number), filters=[])
        assert found.changes and found.places
        changed += bool(found.changes.found)
        apart += bool(found.places.apart)
    # At most 5 % are allowed: of 100 trials, 12 or more have less than one chance in a hundred then.
    assert max(changed, apart) < 12


@pytest.mark.slow
def test_of_seeds_that_draw_their_links_anew_few_pairs_have_anything_named(tmp_path: Path) -> None:
    changed = apart = 0
    for number in range(PAIRS):
        folder = tmp_path / str(number)
        sides = (simulated(folder / name, seed, spread=True) for name, seed in (("u", number), ("o", 1000 + number)))
        found = explain(*sides, filters=[])
        assert found.changes and found.places
        changed += bool(found.changes.found)
        apart += bool(found.places.apart)
    # 5 and 3 when the test was written; of 64 at 8 %, 12 or more have less than one chance in a hundred.
    assert max(changed, apart) < 12


def test_a_cause_is_named_first_although_seeds_draw_their_links_anew(tmp_path: Path) -> None:
    """The positive control of pairs in which nothing is named."""
    cause = planted("all hosts", 0)
    usual = simulated(tmp_path / "usual", 1, spread=True)
    other = simulated(tmp_path / "other", 1001, *cause.settings, spread=True)
    assert named_first(explain(usual, other, filters=[]), cause)
