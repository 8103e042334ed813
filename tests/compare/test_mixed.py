"""Two targets in one cluster, swapped from round to round: what a host, a block and a round add of their own goes out, and what has no verdict is said."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pyarrow.parquet as pq
import pytest

from slotmark.benches.cluster.live.placing import halves
from slotmark.compare import compare
from slotmark.errors import ComparisonError
from slotmark.metrics import catalogue
from slotmark.numbers import readable
from slotmark.report import comparison_document
from slotmark.report.renderers.html import html
from slotmark.report.sections.cells import headed
from slotmark.report.sections.means import mean_tables
from slotmark.run import Manifest, Run
from slotmark.run.manifest import ROUND
from slotmark.statistics.passed_on import UNKNOWN, PassedOn, swapped_on_the_way
from slotmark.statistics.swapped import levels, swapped
from tests.compare.planted_mixed import NAMES, Plant, beds_hosts, differences, rounds_of, session, straight

DELAYED = Plant(adopt=0.02, forge=0.01, memory=20.0)


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
    assert not {"runs_differ", "builds_differ"} & {one.kind for one in comparison.all_warnings}
    found = {row.metric.id: row.differences[0] for row in comparison.rows}
    truth = {"host_adopted": 0.02, "forged": 0.01, "memory": 20.0}
    assert found.keys() == truth.keys()  # and not what only the whole cluster has
    for name, one in found.items():
        assert one is not None
        assert one.basis is not None
        assert (one.basis.over, one.basis.counts) == ("mixed rounds", (4, 4))
        assert one.paired
        assert not one.conditional
        assert one.delta is not None
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


def test_hosts_that_forge_may_stay_where_others_swap(tmp_path: Path) -> None:
    """Two hosts forge in all rounds; four follow and swap. What is of forging isn't compared, and isn't waited for by the decision."""
    few = Plant(hosts=6, producers=2, neighbours=3.0)
    for adopt, answer in ((0.02, "hold"), (0.0, "ship")):
        comparison = compare([session(tmp_path / answer, msgspec.structs.replace(few, adopt=adopt, forge=adopt), 4)])
        found = {row.metric.id: row.differences[0] for row in comparison.rows}
        assert found.keys() == {"host_adopted", "memory"}
        adopted = found["host_adopted"]
        assert adopted is not None
        assert adopted.delta is not None
        assert adopted.delta.low <= adopt <= adopted.delta.high
        assert comparison.decision is not None
        assert comparison.decision.answer == answer, comparison.decision.line
        (warning,) = (one for one in comparison.warnings if one.kind == "mixed_cluster")
        assert "Of hosts that were not swapped, and not compared: Forging." in warning.text


def test_a_target_whose_hosts_log_no_senders_is_compared_by_hosts_and_blocks_alone(tmp_path: Path) -> None:
    """As of a node that logs no requests: without the hosts on a block's way, which is said, and the interval still has the truth in it."""
    runs = session(tmp_path, Plant(adopt=0.02, hosts=6, producers=2, neighbours=5.0), 4)
    known = compare([runs])
    assert "senders_unknown" not in {one.kind for one in known.warnings}
    for run in runs:
        ran = dict(zip(*(run.table("host_nodes")[name].to_pylist() for name in ("host", "name")), strict=True))
        (table,) = (run.path / "tables").glob("adoptions*")
        file = table if table.is_file() else next(table.iterdir())
        rows = pq.read_table(file)
        senders = [
            None if ran[host] == NAMES[1] else sender
            for host, sender in zip(*(rows[name].to_pylist() for name in ("host", "sender")), strict=True)
        ]
        place = rows.column_names.index("sender")
        pq.write_table(rows.set_column(place, rows.schema.field("sender"), [senders]), file)
    comparison = compare([runs])
    (warning,) = (one for one in comparison.warnings if one.kind == "senders_unknown")
    assert warning.text == f"Where those of {NAMES[1]} had theirs from isn't known."
    for one in (known, comparison):
        (adopted,) = (row.differences[0] for row in one.rows if row.metric.id == "host_adopted")
        assert adopted is not None
        assert adopted.delta is not None
        assert adopted.delta.low <= 0.02 <= adopted.delta.high
        assert adopted.verdict == "worse"


def test_a_host_that_stays_without_a_record_of_it_was_forgotten(tmp_path: Path) -> None:
    runs = session(tmp_path, Plant(hosts=6, producers=2, neighbours=3.0), 4)
    for run in runs:
        (table,) = (run.path / "tables").glob("host_nodes*")
        file = table if table.is_file() else next(table.iterdir())
        pq.write_table(pq.read_table(file).drop_columns(["stays"]), file)
    with pytest.raises(ComparisonError, match="node-0 ran 'usual' in both"):
        compare([runs])


def test_the_columns_that_are_shown_agree_with_the_difference(tmp_path: Path) -> None:
    """In two short rounds, where samples of the two targets are of other hosts: their means differ by something else."""
    comparison = compare([session(tmp_path, msgspec.structs.replace(DELAYED, rounds=2, blocks=12), 3)])
    rows = {headed(row.metric, readable(row.metric.unit)[1]): row for row in comparison.rows}
    seen, off = 0, 0.0
    for table in mean_tables(comparison):
        assert table.notes
        assert "Both columns are the levels that the difference is between" in table.notes[0]
        for name, base, candidate, delta, share, *_ in table.rows:
            row = rows[name.text]
            ours, theirs = float(base.text), float(candidate.text)
            rounding = 10.0 ** -min(len(one.text.partition(".")[2]) for one in (base, candidate, delta))
            assert theirs - ours == pytest.approx(float(delta.text), abs=2 * rounding)
            assert 100 * (theirs / ours - 1) == pytest.approx(float(share.text), abs=2 + 200 * rounding / ours)
            usual, delayed = (one.mean for one in row.summaries if one)
            (one,) = row.differences
            assert one is not None
            assert one.delta is not None
            off = max(off, abs(delayed - usual - one.delta.estimate) / abs(one.delta.estimate))
            seen += 1
    assert seen == 3
    assert off > 0.1  # the control: with means of samples the columns would not agree


@pytest.mark.parametrize("held", [1.0, 0.0])
def test_what_a_neighbour_passes_on_is_not_taken_for_a_hosts_own(held: float, tmp_path: Path) -> None:
    """Six sessions each in a ring, where half of the blocks come by another host than their forger; the rates of more are in docs/method.md."""
    ring = Plant(neighbours=2.0, held=held)
    equal = [differences(session(tmp_path / "equal", ring, seed))["host_adopted"] for seed in range(6)]
    assert sum(one.verdict in ("worse", "better") for one in equal) <= 1
    late = msgspec.structs.replace(ring, adopt=0.02)
    passed = [differences(session(tmp_path / "passed", late, seed))["host_adopted"] for seed in range(6)]
    assert all(one.verdict == "worse" for one in passed)
    deltas = [one.delta for one in passed if one.delta]
    assert float(np.mean([one.estimate for one in deltas])) == pytest.approx(0.02, rel=0.1)
    assert sum(one.low <= 0.02 <= one.high for one in deltas) >= 5


def test_without_who_sent_a_block_a_ring_is_told_badly(tmp_path: Path) -> None:
    """The control of the test above: by hosts alone, what comes late from others counts as a host's own, in one direction or the other."""
    ring = Plant(neighbours=2.0, adopt=0.02)
    off = []
    for seed in range(10):
        rounds = [*rounds_of(ring, seed)]
        off.append([straight(rounds, senders_known=known).found.interval.estimate - 0.02 for known in (False, True)])
    without, known = np.abs(off).mean(axis=0)
    assert without > 2 * known
    # What rates are counted with is what a comparison of run folders gives.
    delta = differences(session(tmp_path, ring, 9))["host_adopted"].delta
    assert delta is not None
    assert delta.estimate - 0.02 == pytest.approx(off[9][1])


def ring(hosts: int, numbers: Sequence[int], draws: np.random.Generator) -> list[PassedOn]:
    """Rounds without noise: links, senders and units add what they like, hosts what they have of their own, and 0.5 where they had the treatment."""
    own, links, half = draws.normal(0, 1, hosts), draws.normal(0, 1, (hosts, hosts)), draws.permutation(hosts) % 2 == 0
    rounds = []
    for number in numbers:
        x = half if number % 2 else ~half
        keeps = draws.normal(0, 1, hosts)
        rows: list[tuple[float, int, int, int, int]] = []
        for unit in range(10 * hosts):
            first, block = unit % hosts, draws.normal(0, 5)
            has: dict[int, float] = {}
            for step in (1, -1, 2, -2):
                place, sender = (first + step) % hosts, (first + step - int(np.sign(step))) % hosts
                sent = block if sender == first else has[sender] + keeps[sender]
                has[place] = sent + links[sender, place] + own[place] + 0.5 * x[place]
                rows.append((has[place], place, unit, sender, first))
        values, *others = (np.array(one) for one in zip(*rows, strict=True))
        places, units, senders, origins = others
        rounds.append(PassedOn(values, places, units, senders, origins, x))
    return rounds


@pytest.mark.parametrize("hosts", [5, 6])
def test_the_effect_on_hosts_that_pass_units_on_is_exact_without_noise(hosts: int) -> None:
    """In a ring of six each block goes from one half to the other: no two of them ever wait for the same, and each half is told by itself."""
    rounds = ring(hosts, range(4), np.random.default_rng(5))
    result = swapped_on_the_way(rounds, 0.95)
    assert result is not None
    assert result.found.interval.estimate == pytest.approx(0.5)
    # Levels less hosts and rounds, of each half, and the effect.
    assert result.degrees == {5: 20 - 5 - 3 - 1, 6: 24 - 6 - 2 * 3 - 1}[hosts]
    # A value whose sender nobody knows shows nothing, and neither do those that it was sent on to if its own is gone.
    lost = [np.arange(one.values.size) % 7 == 0 for one in rounds]
    some = [
        msgspec.structs.replace(one, senders=np.where(gone, UNKNOWN, one.senders))
        for one, gone in zip(rounds, lost, strict=True)
    ]
    found = swapped_on_the_way(some, 0.95)
    assert found is not None
    assert found.found.interval.estimate == pytest.approx(0.5)
    nobody = [msgspec.structs.replace(one, senders=np.full(one.senders.size, UNKNOWN)) for one in rounds]
    assert swapped_on_the_way(nobody, 0.95) is None
    # Nothing is swapped, or there is one round.
    assert swapped_on_the_way(ring(hosts, (0, 2, 4), np.random.default_rng(5)), 0.95) is None
    assert swapped_on_the_way(rounds[:1], 0.95) is None


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
