"""Origins of a difference: steps add up to adoption to the nanosecond, and a planted cause is named first."""

import io
from itertools import pairwise
from pathlib import Path

import duckdb
import pytest
from rich.console import Console
from typer.testing import CliRunner

from slotmark.benches.cluster.ingesting.ingest import ingest
from slotmark.benches.cluster.requests import IngestRequest
from slotmark.benches.cluster.simulating.direct import simulate_direct
from slotmark.benches.cluster.simulating.simulate import load_profile
from slotmark.cli import app
from slotmark.compare import compare
from slotmark.compare.attribution.worst_samples import worst_samples
from slotmark.compare.explain import explain
from slotmark.compare.results.attribution import Attribution, Explained
from slotmark.compare.results.explanation import Explanation
from slotmark.errors import RoomError
from slotmark.metrics import Analysis
from slotmark.metrics.catalogue import Catalogue
from slotmark.metrics.database import Database
from slotmark.report import comparison_document, explanation_document, print_document
from slotmark.report.document import Paragraph
from slotmark.report.renderers.markdown import markdown
from slotmark.run import Run
from tests.cluster.made_up_logs import Cluster

SMALL = ("hosts=10", "pools=10", "run.slots=1500", "genesis.epoch_slots=250")

EQUAL = (10, 12, 14, 16, 18, 20)
"""First seeds of pairs of equal runs. By chance a few pairs have a step or a place named: the seed of one draws slower hosts or links than that of
the other, at 95 % confidence. Of the pairs (10, 11) to (32, 33) none has. Pairs share no run: seed 3 draws unusual blocks, and is named beside several."""


def simulated(folder: Path, name: str, *settings: str, seed: int = 3) -> Run:
    profile = load_profile("value-only-10.5", (*SMALL, *settings))
    return simulate_direct(profile, seed, folder / name, lambda _done, _total: None)[0]


def by_name(found: Explained) -> dict[str, float]:
    return {step.name: step.delta.estimate for step in found.steps}


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return simulated(tmp_path_factory.mktemp("usual"), "usual")


@pytest.fixture(scope="module")
def equal(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Explanation]:
    """Pairs of equal runs by the seed of the first; the other has the next seed. Each seed draws links and the speed of hosts anew."""
    folder = tmp_path_factory.mktemp("equal")
    return {
        seed: explain(*(simulated(folder, str(one), seed=one) for one in (seed, seed + 1)), filters=[])
        for seed in EQUAL
    }


@pytest.fixture(scope="module")
def slower(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run whose ledger ticks last 60 ms, where 21 are usual."""
    return simulated(tmp_path_factory.mktemp("slower"), "slower", "ledger_tick.mean=60ms")


def test_steps_of_every_adoption_add_up_to_the_nanosecond(usual: Run) -> None:
    with Analysis(usual, filters=[]) as analysis:
        adopted = {
            (row["block_no"], row["host"]): row["adopted_ns"] for row in analysis.relation("adoptions").to_pylist()
        }
        sums: dict[tuple[int, str], int] = {}
        hops: dict[tuple[int, str], int] = {}
        for row in analysis.relation("adoption_stages").to_pylist():
            key = row["block_no"], row["host"]
            sums[key] = sums.get(key, 0) + row["ns"]
            hops[key] = max(hops.get(key, 0), row["hop"])
    assert sums == {key: adopted[key] for key in sums}
    assert len(sums) > 0.95 * len(adopted)
    assert set(hops.values()) >= {0, 1, 2}  # the forger, its followers, theirs


def test_paths_lead_from_the_forger_to_the_host_and_go_where_the_block_was_first_fetched(usual: Run) -> None:
    with Analysis(usual, filters=[]) as analysis:
        forgers = {row["block"]: row["forger"] for row in analysis.relation("blocks").to_pylist()}
        first = {(row["block"], row["host"]): row["peer"] for row in analysis.relation("hops").to_pylist()}
        paths: dict[tuple[str, str], dict[int, tuple[str, str]]] = {}
        for row in analysis.relation("paths").to_pylist():
            paths.setdefault((row["block"], row["host"]), {})[row["hop"]] = row["from_host"], row["to_host"]
    assert paths
    for (block, host), hops in paths.items():
        ends = [hops[hop] for hop in sorted(hops)]
        assert sorted(hops) == list(range(1, len(hops) + 1))
        assert ends[0][0] == forgers[block]
        assert ends[-1][1] == host
        assert all(before[1] == after[0] for before, after in pairwise(ends))
        assert all(first[block, to] == sender for sender, to in ends)


def test_of_one_run_and_several_a_step_differs_where_it_is_beyond_what_the_several_differ_by(tmp_path: Path) -> None:
    """Ledger ticks differ by 6 ms from run to run, which all blocks of a run share."""
    ticks = (14, 18, 21, 25, 30, 34, 120)
    *usual, other, slower = [
        simulated(tmp_path, str(ms), f"ledger_tick.mean={ms}ms", seed=seed) for seed, ms in enumerate(ticks, start=30)
    ]
    for sides in (([other], usual), (usual, [other])):
        steps = explain(*sides, filters=[]).explained[0].steps
        (ticking,) = (one for one in steps if one.name == "ledger tick")
        assert ticking.p_adjusted > 0.05
    (adoption, *_) = explain(usual, [slower], filters=[]).explained
    assert adoption.first == "ledger tick"


def test_a_comparison_without_room_for_causes_has_all_its_figures_and_says_so(
    usual: Run, slower: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = compare([usual, slower])
    assert not {"unexplained"} & {one.kind for one in whole.all_warnings}
    assert any(isinstance(detail, Attribution) for detail in whole.details)

    def make(self: Database, name: str, sql: str) -> None:
        if name == "adoption_stages":
            raise duckdb.OutOfMemoryException("Out of Memory Error: failed to allocate data (350.0 MiB/350.0 MiB used)")
        made(self, name, sql)

    made = Database.make
    monkeypatch.setattr(Database, "make", make)
    found = compare([usual, slower])
    assert found.rows == whole.rows
    assert found.decision == whole.decision
    assert not any(isinstance(detail, Attribution) for detail in found.details)
    (warning,) = (one for one in found.all_warnings if one.kind == "unexplained")
    assert str(usual.path) in warning.text or str(slower.path) in warning.text
    assert "Where differences come from is not in this comparison" in markdown(comparison_document(found))
    with pytest.raises(RoomError, match="can't compute"):
        explain(usual, slower)


@pytest.mark.parametrize(
    ("setting", "cause", "least_ms"),
    [
        ("ledger_tick.mean=45ms", "ledger tick", 8),
        ("peer.adopt.mean=140ms", "arrival to adopted", 20),
        ("peer.notice_to_fetch.mean=30ms", "notice to request", 20),
    ],
)
def test_a_planted_cause_is_named_first(usual: Run, tmp_path: Path, setting: str, cause: str, least_ms: float) -> None:
    found = explain(usual, simulated(tmp_path, "slower", setting), filters=[])
    assert not found.unknown
    assert [one.metric.id for one in found.explained] == ["adopted_by_050", "adopted_by_096"]
    for one in found.explained:
        assert one.first == cause, by_name(one)
        assert by_name(one)[cause] * 1e3 > least_ms
        assert sum(by_name(one).values()) == pytest.approx(one.delta.estimate, abs=1e-9)
        assert one.candidate - one.baseline == pytest.approx(one.delta.estimate, abs=1e-9)


@pytest.mark.parametrize("seed", EQUAL)
def test_equal_runs_have_no_cause(equal: dict[int, Explanation], seed: int) -> None:
    assert [one.first for one in equal[seed].explained] == ["", ""]


def test_a_host_that_is_slower_is_named(usual: Run, tmp_path: Path) -> None:
    fault = 'fault=[{kind="host-slow", host=6, factor=3.0, from=0, until=1500}]'
    found = explain(usual, simulated(tmp_path, "slower", fault), filters=[])
    assert found.places
    assert found.places.count == 10
    assert {one.place for one in found.places.apart} == {"node-6"}
    first = found.places.apart[0]
    assert (first.stage, first.beyond > 0.05) == ("arrival to adopted", True)
    assert first.candidate > 2 * first.baseline
    run = CliRunner().invoke(app, ["explain", str(usual.path), str(tmp_path / "slower"), "--filter", "none"])
    assert "Of 10 hosts node-6 (arrival to adopted +" in " ".join(run.output.split())


@pytest.mark.parametrize("seed", EQUAL)
def test_hosts_of_equal_runs_do_not_differ(equal: dict[int, Explanation], seed: int) -> None:
    found = equal[seed]
    assert found.places
    assert not found.places.apart


@pytest.mark.parametrize("seed", EQUAL)
def test_links_that_a_seed_drew_anew_are_not_named(equal: dict[int, Explanation], seed: int) -> None:
    # The shipped profile draws each link's latency and each host's speed by seed: blocks without number show the same link.
    found = equal[seed].changes
    assert found
    assert not [one for one in found.found if one.places]


def test_a_change_of_all_hosts_is_named_though_each_seed_draws_other_links(usual: Run, tmp_path: Path) -> None:
    slower = simulated(tmp_path, "slower", "peer.notice_to_fetch.mean=30ms", seed=4)
    found = explain(usual, slower, filters=[]).changes
    assert found
    assert [(one.stage, one.kind) for one in found.found] == [("notice to request", "")]


def test_the_command_names_the_cause_and_writes_reports(usual: Run, slower: Run, tmp_path: Path) -> None:
    command = ["explain", str(usual.path), str(slower.path), "--filter", "none", "-o"]
    run = CliRunner().invoke(app, [*command, str(tmp_path / "out")])
    assert run.exit_code == 0, run.output
    CliRunner().invoke(app, [*command, str(tmp_path / "again")])
    for name in ("report.json", "report.md"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()
    assert "First cause: ledger tick (+" in " ".join(run.output.split())
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "report-short.md", "report-sources.csv", "report.html", "report.json", "report.md", "report.pdf"
    ]  # fmt: skip
    assert "ledger tick" in (tmp_path / "out" / "report.md").read_text()


def test_a_comparison_shows_where_its_difference_comes_from(usual: Run, slower: Run) -> None:
    comparison = compare([usual, slower], filters=[])
    (found,) = (one for one in comparison.details if isinstance(one, Attribution))
    whole = explain(usual, slower, filters=[])
    assert all(getattr(found, name) == getattr(whole, name) for name in found.__struct_fields__)
    document = comparison_document(comparison)
    sentence = "What changed most: ledger tick on all hosts, +"
    console = Console(width=100, record=True, color_system=None, file=io.StringIO())
    print_document(document, console)
    assert sentence in " ".join(console.export_text().split())
    head, _, section = markdown(document).partition("## Where it comes from\n")
    assert "## Comparison" in head
    assert sentence in section
    assert "What changed, ms" in section.partition("\n## ")[0]
    titles = [one.title for one in document.sections]
    assert titles[titles.index("Where it comes from") + 1] == "Worst blocks"
    (section,) = (one for one in document.sections if one.title == "Worst blocks")
    assert isinstance(how := section.blocks[0], Paragraph)
    assert how.text.startswith(
        f"The blocks of {comparison.candidates[0].name} with the worst 0.96 adoption: a row per host"
    )


def test_of_a_long_run_the_worst_blocks_are_of_those_that_are_split(
    usual: Run, slower: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    relation_sql = Catalogue.relation_sql

    def as_if_long(catalogue: Catalogue, name: str) -> str:
        return relation_sql(catalogue, name).replace("150000", "300")

    monkeypatch.setattr(Catalogue, "relation_sql", as_if_long)
    found = explain(usual, slower, filters=[])
    split = found.explained[-1]
    assert split.counts[1] < split.of[1]
    document = explanation_document(found)
    (section,) = (one for one in document.sections if one.title == "Worst blocks")
    assert isinstance(how := section.blocks[0], Paragraph)
    assert (
        f"with the worst 0.96 adoption, of {split.counts[1]} of {split.of[1]} that are split: a row per host"
        in how.text
    )
    assert "Of the others the logs don't have all steps, or there are so many that only some are split." in markdown(
        document
    )


def test_the_worst_blocks_are_told_host_by_host(usual: Run) -> None:
    with Analysis(usual, filters=[]) as analysis:
        assert analysis.catalogue.timelines
        (split,) = (one for one in analysis.catalogue.splits if one.metric == analysis.catalogue.timelines.metric)
        worst = worst_samples(analysis.catalogue.timelines, split, [analysis])
        values = {key: value for (key,), value in analysis.samples("adopted_by_096").of("").items()}
        hosts = {
            (row["block_no"], row["host"]): row["adopted_ns"] for row in analysis.relation("adoptions").to_pylist()
        }
    assert [(one.key, one.value) for one in worst] == sorted(values.items(), key=lambda one: -one[1])[:3]
    for one in worst:
        ends = {span.place: span.end for span in one.spans}
        assert ends == {host: pytest.approx(ns / 1e9) for (key, host), ns in hosts.items() if key == one.key}
        assert list(ends.values()) == sorted(ends.values())
        forger = dict(one.about)["forger"]
        assert [span.stage for span in one.spans if span.place == forger][5:] == [
            "ledger tick", "mempool snapshot", "forging", "arrival to adopted"
        ]  # fmt: skip
        for before, after in pairwise(one.spans):
            if before.place == after.place:
                assert after.begin == pytest.approx(before.end)


def test_without_connections_the_cause_is_not_known(tmp_path: Path) -> None:
    runs = []
    for name in ("a", "b"):
        cluster = Cluster(3)
        for number in range(6):
            block, parent = f"{name}{number}", f"{name}{number - 1}" if number else None
            cluster.forge(0, 20 * number + 10, number, block, parent)
            for host in (1, 2):
                cluster.observe(host, 20 * number + 10, number, block)
        logs = cluster.write(tmp_path / f"{name}-logs")
        runs.append(ingest(IngestRequest(logs=[str(logs)], out=tmp_path / name))[0])
    found = explain(*runs)
    assert not found.explained
    assert found.unknown == ["0.50 adoption", "0.96 adoption"]
    run = CliRunner().invoke(app, ["explain", *(str(one.path) for one in runs)])
    assert run.exit_code == 0, run.output
    said = " ".join(run.output.split())
    assert "it isn't known where a difference comes from. A run has fewer than two blocks of which the logs" in said


def test_steps_that_one_side_lacks_are_nothing_there_and_the_worst_blocks_are_the_candidates(tmp_path: Path) -> None:
    """One host, whose logs have no start of the forge loop on the baseline, so that the 2 ms to the leadership are one step there."""
    runs = []
    for name, blocks, steps_ms in (("a", 4, {"started_ms": None}), ("b", 5, {})):
        cluster = Cluster(1)
        for number in range(blocks + 1):
            block, parent = f"{name}{number}", f"{name}{number - 1}" if number else None
            # Block 2 is the slowest, whatever the side, and the candidate's adoptions take 10 ms more.
            adopted_ms = 120.0 + number + (50 if number == 2 else 0) + (10 if name == "b" else 0)
            cluster.forge(0, 20 * number + 10, number, block, parent, steps_ms=steps_ms, adopted_ms=adopted_ms)
        logs = cluster.write(tmp_path / f"{name}-logs")
        runs.append(ingest(IngestRequest(logs=[str(logs)], out=tmp_path / name))[0])
    found = explain(*runs)
    explained = found.explained[-1]
    assert (explained.counts, explained.of) == ((4, 5), (4, 5))
    steps = {step.name: (round(1e3 * step.baseline, 6), round(1e3 * step.candidate, 6)) for step in explained.steps}
    assert steps["slot start to leadership"] == (2.0, 0.0)
    assert steps["forge loop start"] == (0.0, 1.0)
    assert steps["leadership check"] == (0.0, 0.6)
    assert steps["ledger tick"] == (18.0, 18.0)
    # From 60 ms to the adoption: 60 + 0, 1, 52 and 3 less the 0.1 ms of its event; 70 + 0, 1, 52, 3 and 4.
    assert steps["arrival to adopted"] == (73.9, 81.9)
    assert explained.delta.estimate == pytest.approx(8e-3)
    assert [(one.run, one.key, round(1e3 * one.value, 6)) for one in found.worst] == [
        ("b", 2, 181.9),
        ("b", 4, 133.9),
        ("b", 3, 132.9),
    ]


def test_where_no_block_passes_the_filters_that_is_the_reason(usual: Run, slower: Run) -> None:
    """The logs have all steps: to say that they lack some would send the reader after them."""
    run = CliRunner().invoke(app, ["explain", str(usual.path), str(slower.path), "--filter", "SlotGEq 1000000"])
    assert run.exit_code == 0, run.output
    said = " ".join(run.output.split())
    assert "blocks must pass the filters" in said
    assert "The logs don't have all steps" not in said
