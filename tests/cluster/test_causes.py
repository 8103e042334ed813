"""A cause that is planted in a simulated cluster, all over, in one region, on one host or on a link, is named first, with its place."""

from pathlib import Path

import pytest

from slotmark.benches.cluster.simulating.direct import simulate_direct
from slotmark.benches.cluster.simulating.simulate import load_profile
from slotmark.compare.explain import explain
from slotmark.metrics import Analysis
from slotmark.metrics.catalogue import Catalogue
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


def test_what_is_found_of_a_stage_is_fitted_together(tmp_path: Path) -> None:
    """One region, then all hosts by as much, then that region by as much less: a slow server was named so."""
    settings = ("network.hosts=12", "network.pools=12", "run.slots=1500")
    profiles = (load_profile("value-only-10.5", (*settings, *more)) for more in ((), ("peer.serve.mean=30ms",)))
    usual, slow = (
        simulate_direct(profile, 2, tmp_path / name, lambda _done, _total: None)[0]
        for name, profile in zip(("usual", "slow"), profiles, strict=True)
    )
    found = explain(usual, slow).changes
    assert found
    of_fetch = [one for one in found.found if one.stage == "fetch"]
    assert of_fetch
    assert len({tuple(one.places) for one in of_fetch}) == len(of_fetch)
    assert all(0.020 < one.delta.estimate < 0.035 for one in of_fetch)


def test_what_one_of_several_runs_did_is_no_change_of_its_side(tmp_path: Path) -> None:
    cause = planted("all hosts", 0)
    usual = [simulated(tmp_path / f"usual-{seed}", seed) for seed in (1, 2, 3)]
    slow = [simulated(tmp_path / f"slow-{seed}", seed, *cause.settings) for seed in (11, 12, 13)]
    other = [*(simulated(tmp_path / f"other-{seed}", seed) for seed in (21, 22)), slow[0]]
    assert named_first(explain(usual, slow, filters=[]), cause)
    found = explain(usual, other, filters=[]).changes
    assert found is not None
    assert not any(one.stage in cause.stages for one in found.found)


def test_of_a_long_run_some_blocks_are_traced_and_name_the_cause_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cause = planted("all hosts", 1)
    usual, other = simulated(tmp_path / "usual", 1), simulated(tmp_path / "other", 1001, *cause.settings)
    relation_sql, traced = Catalogue.relation_sql, "SELECT block_no FROM traced_blocks ORDER BY block_no"
    with Analysis(usual) as analysis:
        every = analysis.query(traced)["block_no"].to_pylist()
        adoptions = analysis.query("SELECT COUNT(*) AS n FROM adoptions")["n"][0].as_py()

    def as_if_long(catalogue: Catalogue, name: str) -> str:
        return relation_sql(catalogue, name).replace("150000", str(adoptions // 3))

    monkeypatch.setattr(Catalogue, "relation_sql", as_if_long)
    with Analysis(usual) as analysis:
        some = analysis.query(traced)["block_no"].to_pylist()
        stages = analysis.query("SELECT DISTINCT block_no FROM stage_cells ORDER BY block_no")["block_no"].to_pylist()
    assert some == stages == [block for block in every if block % 4 == 0]
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
    # 3 and 1 when this was written; of 64 at 8 %, 12 or more have less than one chance in a hundred.
    assert max(changed, apart) < 12


def test_a_cause_is_named_first_although_seeds_draw_their_links_anew(tmp_path: Path) -> None:
    """The positive control of pairs in which nothing is named."""
    cause = planted("all hosts", 0)
    usual = simulated(tmp_path / "usual", 1, spread=True)
    other = simulated(tmp_path / "other", 1001, *cause.settings, spread=True)
    assert named_first(explain(usual, other, filters=[]), cause)
