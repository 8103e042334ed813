"""The spread of runs of one build: measured, kept as a table, and used as what is known before; tables that aren't of these runs."""

import contextlib
import re
import shutil
from pathlib import Path

import msgspec
import numpy as np
import pytest
import typer

from slotmark.cli import app
from slotmark.compare import Comparison, Policy
from slotmark.compare.compare import compare
from slotmark.compare.deciding.policy import read_policy
from slotmark.compare.earlier import EarlierRuns
from slotmark.compare.plan import plan
from slotmark.compare.run_to_run.spread_table import (
    read_spread_table,
    shipped_table,
    spread_table_text,
    write_spread_table,
)
from slotmark.compare.spread import spread
from slotmark.errors import ArgumentError, ComparisonError, RunError, SlotmarkError, StoreError
from slotmark.history import Labels, make_store
from slotmark.history.decisions import Decisions, LeftOut
from slotmark.history.earlier import runs_like
from slotmark.metrics import catalogue, register
from slotmark.run import Run, SourceFile, Target, open_run, open_runs
from slotmark.verdict import Conditional
from slotmark.warnings import run_left_out
from tests.compare.planted_runs import BENCH, FOLDER, Plant, levels, manifest_of, values_of, write_runs
from tests.made_up_runs import write_run


@pytest.fixture(autouse=True)
def registered() -> None:
    register(BENCH, FOLDER)


def runs(folder: Path, build: str, count: int, *, spread: float = 0.01, seed: int = 1, worse: float = 0.0) -> list[Run]:
    draws = np.random.default_rng([seed, len(build)])
    plant = Plant(sides=(1, 1), spread=spread)
    return write_runs(folder, build, values_of(draws, levels(draws, plant, count, 1.0) + np.log1p(worse)))


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of 30 runs of two builds that differ by half and vary by 1 %."""
    register(BENCH, FOLDER)
    folder = tmp_path_factory.mktemp("measured")
    found = spread([runs(folder, "a", 15), runs(folder, "bb", 15, worse=0.5)], "our cluster")
    write_spread_table(found.table, folder / "spread.toml")
    return folder / "spread.toml"


@pytest.fixture
def table(tmp_path: Path, measured: Path) -> Path:
    """A copy of that table."""
    return Path(shutil.copy(measured, tmp_path))


def test_the_planted_spread_is_recovered_with_its_interval(table: Path) -> None:
    found = read_spread_table(table)
    assert (found.name, found.bench, found.known_from) == ("our cluster", BENCH, "30 runs of 2 builds")
    assert found.workload == {"workload": "planted"}
    assert len({run.digest for run in found.run}) == 30
    assert [one.degrees for one in found.metric] == [28] * 8
    assert all(0.006 < one.sd < 0.015 for one in found.metric)
    assert sum(one.low <= np.hypot(0.01, 0.003) <= one.high for one in found.metric) >= 6
    assert all(0.002 < one.within < 0.004 for one in found.metric)
    # Written, read and written again it is the same.
    assert spread_table_text(found) == table.read_text(encoding="utf-8")


def test_a_build_with_one_run_is_no_source_and_facts_are_those_of_all_runs(tmp_path: Path) -> None:
    sides = [runs(tmp_path, build, count) for build, count in (("a", 3), ("bb", 2), ("ccc", 1))]
    rewritten(sides[0][0], workload={"workload": "planted", "rack": "3"})
    found = spread([[open_run(run.path) for run in side] for side in sides], "our cluster").table
    assert (found.known_from, len(found.run)) == ("5 runs of 2 builds", 6)
    assert {one.degrees for one in found.metric} == {2 + 1}
    assert found.workload == {"workload": "planted"}


def test_versions_of_one_target_are_builds_whose_difference_is_no_spread(tmp_path: Path) -> None:
    """As of a folder of all runs: 10.5 and 10.6 are of one target, and what is between them isn't chance."""
    older, newer = runs(tmp_path, "a", 15), runs(tmp_path, "bb", 15, worse=0.5)
    mixed = [
        Run(run.path, msgspec.structs.replace(run.manifest, target=Target(name="node", version=version)))
        for version, group in (("10.5", older), ("10.6", newer))
        for run in group
    ]
    found = spread([mixed], "our cluster").table
    assert found.known_from == "30 runs of 2 builds"
    assert len({run.build for run in found.run}) == 2
    assert all(0.006 < one.sd < 0.015 for one in found.metric)
    with pytest.raises(ComparisonError, match=r"^No build has two runs"):
        spread([[mixed[0], mixed[-1]]], "x")


def decided(found: Comparison) -> tuple[str, str]:
    assert found.decision is not None
    return found.decision.answer, found.decision.line


def test_one_run_a_side_neither_holds_nor_ships_and_says_at_which_spread_it_would_be_chance(tmp_path: Path) -> None:
    sides = [runs(tmp_path, "a", 1, spread=0.0), runs(tmp_path, "bb", 1, spread=0.0, worse=0.48)]
    answer, line = decided(compare(sides))
    assert answer == "run again"
    assert "one run per side doesn't show how much runs of one build differ: Metric 0 +4" in line
    # log(1.48) = 0.392 is z = 2.58 times the square root of 2 s^2, so s is 10.8 %, with the share of the error rate that four decisive metrics have.
    assert "%: chance only if they vary by more than 11 %" in line
    assert "needs about 2 more runs per side" in line
    both = decided(compare([*sides, runs(tmp_path, "dddd", 1, spread=0.0, worse=0.2)]))[1]
    assert re.search(r"differ: bb: Metric 0 \+4.*; and 1 more; dddd: Metric 0 \+[12].*; and 1 more; needs", both)
    answer, line = decided(compare([sides[0], runs(tmp_path, "ccc", 1, spread=0.0)]))
    assert answer == "run again"
    assert "not worse if they vary by less than 0." in line
    # Asked for, verdicts count, and the line tells what they rest on.
    answer, line = decided(compare(sides, policy=Policy(conditional=Conditional.HOLD)))
    assert answer == "hold"
    assert line.endswith("conditional on these runs: how much runs of one build differ is not known")


def test_a_table_and_a_policy_make_verdicts_count_and_the_line_says_so(tmp_path: Path, table: Path) -> None:
    sides = [runs(tmp_path, "a1", 1), runs(tmp_path, "b10", 1, worse=0.12)]
    found = compare(sides, run_to_run=table)
    answer, line = decided(found)
    assert answer == "hold"
    assert line.endswith("run-to-run variation assumed: our cluster, 30 runs of 2 builds")
    difference = found.rows[0].differences[0]
    assert difference is not None and difference.basis is not None
    assert not difference.conditional
    assert difference.basis.source == "our cluster, 30 runs of 2 builds"
    policy = tmp_path / "policy.toml"
    for assumed, expected in (("1 %", "hold"), ("9 %", "run again")):
        policy.write_text(f'assume_spread = "{assumed}"', encoding="utf-8")
        answer, line = decided(compare(sides, policy=read_policy(policy, BENCH)))
        assert answer == expected
        assert line.endswith(f"run-to-run variation assumed: {assumed} by the policy")
    # What a metric has of its own comes before what all have, and runs before any assumption.
    policy.write_text('assume_spread = "9 %"\n[metrics]\nmetric_0 = { assume_spread = "1 %" }', encoding="utf-8")
    assert decided(compare(sides, policy=read_policy(policy, BENCH)))[0] == "hold"
    several = [runs(tmp_path, "a22", 3, seed=4), runs(tmp_path, "b333", 3, seed=5, worse=0.12)]
    answer, line = decided(compare(several, policy=read_policy(policy, BENCH)))
    assert (answer, "assumed" in line) == ("hold", False)
    answer, line = decided(compare(several, run_to_run=table))
    assert "run-to-run variation from runs of this comparison and our cluster" in line


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (("sd = 0.0", "sd = -0.0"), "Expected `float` > 0"),
        (("sd = 0.0", "sd = 0.0 #"), "Expected `float` > 0"),
        (("within = 0.0", "within = -0.0"), "Expected `float` >= 0.0 - at `$.metric[0].within`"),
        (('unit = "s"', 'unit = "ms"'), "the unit of 'metric_0' is 'ms', but here it is 's'"),
        (('scale = "log"', 'scale = "identity"'), "the scale of 'metric_0' is 'identity', but here it is 'log'"),
        (('id = "metric_0"', 'id = "metric_x"'), "'metric_x' is no metric of bench"),
        (('id = "metric_1"', 'id = "metric_0"'), "'metric_0' is there twice"),
        (("degrees = 28.0", "degrees = 0.0"), "Expected `float` >= 1"),
        (("sd = 0.0", "sd = inf #"), "a figure of 'metric_0' is no number"),
        (("schema = 1", "schema = 9"), "schema 9, this slotmark reads 1"),
        (('"workload" = "planted"', '"workload" = "other"'), "workload is other there, and planted in a1-0"),
        (('machine = ""', 'machine = "abc"'), "a table of the machine abc, but a1-0 is of no machine of its own"),
        (('profile_ends = ""', 'profile_ends = "-nomadperf"'), "its profiles end with '-nomadperf', but a1-0 has ''"),
        (("[workload]", "[workload"), "no table of how much runs differ"),
    ],
)
def test_a_table_that_is_none_or_of_other_runs_is_refused(
    tmp_path: Path, table: Path, changed: tuple[str, str], expected: str
) -> None:
    text = table.read_text(encoding="utf-8")
    assert changed[0] in text
    table.write_text(text.replace(*changed, 1), encoding="utf-8")
    with pytest.raises(ComparisonError) as refused:
        compare([runs(tmp_path, "a1", 1), runs(tmp_path, "b10", 1)], run_to_run=table)
    assert str(refused.value).startswith(f"{table}: ")
    assert expected in str(refused.value)


def test_a_table_of_another_bench_and_one_for_simulated_runs_are_refused(tmp_path: Path, table: Path) -> None:
    sides = [runs(tmp_path, "a1", 1), runs(tmp_path, "b10", 1)]
    other = tmp_path / "other.toml"
    reference = catalogue("cluster").folder / "run_to_run" / "reference-52.toml"
    other.write_bytes(reference.read_bytes())
    with pytest.raises(ComparisonError, match="a table of bench 'cluster'"):
        compare(sides, run_to_run=other)
    for side in sides:
        side[0].manifest = msgspec.structs.replace(side[0].manifest, origin="simulated")
    with pytest.raises(ComparisonError, match="its seeds are its runs"):
        compare(sides, run_to_run=table)


def test_a_metric_that_the_table_lacks_is_told_by_single_runs_alone(tmp_path: Path, table: Path) -> None:
    text = table.read_text(encoding="utf-8")
    first, rest = text.split('[[metric]]\nid = "metric_0"', 1)
    table.write_text(f"{first}[[metric]]{rest.split('[[metric]]', 1)[1]}", encoding="utf-8")
    found = compare([runs(tmp_path, "a1", 1), runs(tmp_path, "b10", 1)], run_to_run=table)
    differences = [row.differences[0] for row in found.rows]
    assert [one.basis.over for one in differences if one and one.basis] == ["blocks", *["runs"] * 7]
    assert found.decision is not None
    assert found.decision.run_to_run.endswith("; of the other metrics not known")


def test_a_run_that_was_copied_counts_once_whatever_it_is_called(tmp_path: Path) -> None:
    first, second = runs(tmp_path, "a", 2)
    shutil.copytree(first.path, tmp_path / "again")
    copy = Run(tmp_path / "again", msgspec.structs.replace(first.manifest, id="another", session="another"))
    for refused in (
        lambda: spread([[first, second, copy]], "x"),
        lambda: compare([[first, copy], [second]]),
        lambda: compare([[first], [copy]]),
        lambda: compare([[first], [second], [copy]]),
    ):
        with pytest.raises(ComparisonError, match="a-0 and again have the same tables to the last byte"):
            refused()
    with pytest.raises(ComparisonError, match=r"^No build has two runs"):
        spread([[first], [second]], "x")


def test_simulated_runs_of_two_sides_may_be_equal_but_show_once_how_much_runs_differ(tmp_path: Path) -> None:
    sides = [[], []]
    for one in runs(tmp_path, "a", 3):
        shutil.copytree(one.path, tmp_path / "b" / one.path.name)
        for side, place in zip(sides, (one.path, tmp_path / "b" / one.path.name), strict=True):
            side.append(
                Run(
                    place,
                    msgspec.structs.replace(one.manifest, id=place.parent.name + one.manifest.id, origin="simulated"),
                )
            )
    found = [one for row in compare(sides).rows if (one := row.differences[0])]
    assert [one.delta.estimate for one in found if one.delta] == [0.0] * 8
    for refused in (
        lambda: spread(sides, "x"),
        lambda: compare([sides[0], [*sides[1], Run(tmp_path / "c", sides[1][0].manifest)]]),
    ):
        with pytest.raises(ComparisonError, match="have the same tables to the last byte"):
            refused()


def test_the_shipped_table_is_used_for_runs_of_that_cluster_alone() -> None:
    facts = {"workload": "value-only", "hosts": "52", "epoch, slots": "8000", "slot, s": "1", "active slots": "0.05"}
    of_cluster = msgspec.structs.replace(
        manifest_of("10.5", "one"),
        bench="cluster",
        origin="measured",
        workload=facts,
        parameters={"profile": "value-drep10k-nomadperf"},
    )
    found = shipped_table([of_cluster, of_cluster])
    assert found is not None
    assert found.words == "reference-52, 10 pairs"
    others = (
        {"origin": "simulated"},
        {"parameters": {"profile": "made-up"}},
        {"workload": {**facts, "hosts": "51"}},
        {"workload": {"workload": "value-only"}},
    )
    for changed in others:
        assert shipped_table([of_cluster, msgspec.structs.replace(of_cluster, **changed)]) is None, changed


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A folder of earlier runs: four and three of two builds, one of a third, and what must not count."""
    folder = tmp_path / "earlier"
    runs(folder, "a", 4, seed=21)
    runs(folder, "bb", 3, seed=22, worse=0.5)
    runs(folder, "ccc", 1, seed=23)
    for build, changed in (
        ("other-work", {"workload": {"workload": "another"}}),
        ("simulated", {"origin": "simulated"}),
        ("other-cluster", {"parameters": {"profile": "of-another"}}),
    ):
        for run in runs(folder, build, 2, seed=24, spread=0.3):
            rewritten(run, **changed)
    return folder


def rewritten(run: Run, **changed: object) -> None:
    """Changes the manifest of a run folder."""
    manifest = msgspec.structs.replace(run.manifest, **changed)
    (run.path / "run.json").write_bytes(msgspec.json.encode(manifest))


def test_earlier_runs_of_that_cluster_and_work_tell_the_spread(store: Path, tmp_path: Path) -> None:
    sides = [runs(tmp_path, "old", 1, seed=31), runs(tmp_path, "new", 1, seed=32, worse=0.12)]
    # The same runs as a table, and two of those compared kept among the earlier ones.
    table = tmp_path / "spread.toml"
    same = [
        [open_run(store / f"{build}-{number}") for number in range(count)] for build, count in (("a", 4), ("bb", 3))
    ]
    write_spread_table(spread(same, "by hand").table, table)
    for (run,) in sides:
        shutil.copytree(run.path, store / run.path.name)
    compared, by_table = (compare(sides, run_to_run=given) for given in (store, table))
    for one, other in zip(compared.rows, by_table.rows, strict=True):
        mine, its = one.differences[0], other.differences[0]
        assert mine and its and mine.ratio and its.ratio
        assert mine.ratio.low == pytest.approx(its.ratio.low, rel=1e-4)
    assert compared.decision is not None
    assert compared.decision.answer == "hold"
    assert "run-to-run variation assumed: earlier runs in earlier, 7 runs of 2 builds" in compared.line
    (warning,) = (one for one in compared.warnings if one.kind == "earlier_runs_left_out")
    for part in (
        "compared here: new-0 and old-0",
        "of other work (workload is another there, and planted here): other-work-0 and other-work-1",
        "simulated: simulated-0 and simulated-1",
        "of another profile ('of-another' there, and '' here): other-cluster-0 and other-cluster-1",
        "the only run of its build: ccc-0",
    ):
        assert part in warning.text
    # Without them nothing tells, and a plan asks for as many as with that table.
    assert (compare(sides).decision or compared.decision).answer == "run again"
    plans = [plan([sides[0]], run_to_run=given) for given in (store, table)]
    assert plans[0].decision == plans[1].decision
    assert [one.kind for one in plans[0].warnings] == ["earlier_runs_left_out"]


def test_logs_that_were_ingested_twice_are_one_earlier_run(store: Path, tmp_path: Path) -> None:
    """Another filter, or another slotmark, makes other tables of one recording."""
    sides = [runs(tmp_path, build, 1, seed=seed) for build, seed in (("old", 31), ("new", 32))]
    before = compare(sides, run_to_run=store)
    log = [SourceFile(path="node-0.log", bytes=9, digest="blake3:00")]
    for run in (open_run(store / "a-0"), *runs(store, "a-again", 1, seed=77)):
        rewritten(run, sources=log, target=open_run(store / "a-0").manifest.target)
    here = [SourceFile(path="node-0.log", bytes=9, digest="blake3:01")]
    for run in (sides[0][0], *runs(store, "bb-again", 1, seed=78)):
        rewritten(run, sources=here, target=open_run(store / "bb-0").manifest.target)
    sides[0] = [open_run(sides[0][0].path)]
    after = compare(sides, run_to_run=store)
    ratios = [[one.ratio for row in found.rows if (one := row.differences[0])] for found in (before, after)]
    assert ratios[0] == ratios[1]
    (warning,) = (one for one in after.warnings if one.kind == "earlier_runs_left_out")
    assert "there twice: a-again-0" in warning.text
    assert "compared here: bb-again-0" in warning.text


def test_a_folder_whose_runs_dont_tell_is_refused_in_a_line(store: Path, tmp_path: Path) -> None:
    sides = [runs(tmp_path, build, 1) for build in ("old", "new")]
    rewritten(sides[0][0], workload={"workload": "third"})
    rewritten(sides[1][0], workload={"workload": "third"})
    sides = [[open_run(run.path) for run in side] for side in sides]
    with pytest.raises(
        ComparisonError,
        match=r"earlier: no two of its runs are of one build .* Left out: of other work .*: a-0, a-1, a-2 and [0-9]+ more",
    ):
        compare(sides, run_to_run=store)
    simulated = [
        [Run(run.path, msgspec.structs.replace(run.manifest, origin="simulated")) for run in side] for side in sides
    ]
    with pytest.raises(ComparisonError, match="its seeds are its runs"):
        compare(simulated, run_to_run=store)
    (store / "a-1" / "run.json").write_text("{")
    with pytest.raises(RunError, match="a-1"):
        compare(sides, run_to_run=store)
    with pytest.raises(SlotmarkError, match="no-such"):
        compare(sides, run_to_run=tmp_path / "no-such")


def test_no_table_is_written_of_simulated_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """None is taken for such runs, and the machine's other runs don't differ by seeds."""
    made = runs(tmp_path, "a", 2)
    for run in made:
        simulated = msgspec.structs.replace(run.manifest, origin="simulated")
        (run.path / "run.json").write_bytes(msgspec.json.encode(simulated))
    words = ["spread", ",".join(str(run.path) for run in made), "--of", "x"]
    named = re.escape(words[1])
    with pytest.raises(
        ComparisonError, match=rf"^{named}: .* is simulated, and its seeds are its runs: .* Leave -o out"
    ):
        typer.main.get_command(app)([*words, "-o", str(tmp_path / "spread.toml")], standalone_mode=False)
    assert not (tmp_path / "spread.toml").exists()
    typer.main.get_command(app)(words, standalone_mode=False)
    assert "s.d. of a run" in capsys.readouterr().out


def test_the_printed_table_has_the_runs_that_were_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = runs(tmp_path, "a", 3)
    words = ["spread", ",".join(str(run.path) for run in made), "--of", "x", "--json"]
    typer.main.get_command(app)(words, standalone_mode=False)
    printed = msgspec.json.decode(capsys.readouterr().out)
    assert (printed["name"], printed["warnings"]) == ("x", [])
    found = spread([made], "x")
    left_out = run_left_out("a-4", "node-2: the node ended by itself")
    as_json = msgspec.to_builtins(msgspec.structs.replace(found, warnings=[left_out]).printed)
    assert as_json == {**msgspec.to_builtins(found.table), "warnings": [msgspec.to_builtins(left_out)]}


def test_a_store_shows_the_spread_of_its_runs_by_itself(store: Path, tmp_path: Path) -> None:
    """The runs of the folder, in a store: as the folder, but that nothing is refused where they don't show it."""
    sides = [runs(tmp_path, "old", 1, seed=31), runs(tmp_path, "new", 1, seed=32, worse=0.12)]
    kept = make_store(tmp_path / "kept")
    kept.add([*open_runs(store), *sides[0]], Labels())
    both = [run for side in sides for run in side]
    found = compare(sides, run_to_run=runs_like(kept, both))
    by_folder = compare(sides, run_to_run=store)
    assert [row.differences for row in found.rows if row.metric.rank != "decisive"] != []
    for one, other in zip(found.rows, by_folder.rows, strict=True):
        mine, its = one.differences[0], other.differences[0]
        assert mine and its
        assert mine.ratio == its.ratio
    assert "run-to-run variation assumed: earlier runs in kept, 7 runs of 2 builds" in found.line
    (warning,) = (one for one in found.warnings if one.kind == "earlier_runs_left_out")
    assert "compared here" in warning.text
    # Of other work none is opened; two builds' worth of bad runs leave nothing, which the line shows as without a store.
    assert "of other work" not in warning.text
    bad = [
        LeftOut(name=str(row["name"]), reason="x") for row in kept.table().to_pylist() if row["build"] in ("a", "bb")
    ]
    left = compare(sides, run_to_run=runs_like(kept, both, Decisions(bad_run=bad)))
    assert left.decision and left.decision.answer == "run again"
    assert [one.kind for one in left.warnings] == ["earlier_runs_left_out"]


def test_a_store_of_runs_that_cant_show_it_is_no_error(tmp_path: Path) -> None:
    """A release asks a store for each of its comparisons, also for those of clients, whose runs repeat rounds."""
    rounds = {
        build: [
            write_run(
                tmp_path / f"{build}-{number}",
                "pallas",
                {"decode": [200_000.0 + 500 * number + 100 * one for one in range(8)]},
                session=f"{build}-{number}",
                version=version,
            )
            for number in range(count)
        ]
        for build, version, count in (("old", "1.0", 2), ("base", "2.0", 1), ("new", "3.0", 1))
    }
    kept = make_store(tmp_path / "kept")
    kept.add(rounds["old"], Labels())
    sides = [rounds["base"], rounds["new"]]
    found = compare(sides, run_to_run=runs_like(kept, sides[0]))
    assert found.line == compare(sides).line
    (warning,) = (one for one in found.warnings if one.kind == "earlier_runs_left_out")
    assert "Left out: all of them. Metrics of bench 'chainsync' aren't compared by means of runs." in warning.text
    with pytest.raises(
        ComparisonError, match=r"^earlier: nothing shows how .* differ. Metrics of bench 'chainsync' aren't compared"
    ):
        compare(sides, run_to_run=EarlierRuns("earlier", rounds["old"]))


def test_commands_take_a_store(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sides = [runs(tmp_path, "old", 1, seed=31), runs(tmp_path, "new", 1, seed=32, worse=0.12)]
    names = [str(one.path) for side in sides for one in side]
    kept = str(tmp_path / "kept")
    make_store(tmp_path / "kept").add(open_runs(store), Labels())
    (tmp_path / "release.toml").write_text(
        f'[[comparison]]\nname = "one"\nbench = "{BENCH}"\nbaseline = ["{names[0]}"]\ncandidate = ["{names[1]}"]\n'
    )
    release = str(tmp_path / "release.toml")
    for command, words in (
        (["compare", *names], "earlier runs in kept, 7 runs of 2 builds"),
        (["plan", names[0]], "7 runs of 2 builds"),
        (["release", "decide", release], "HOLD release: one"),
        (["release", "plan", release], "one"),
    ):
        with contextlib.suppress(typer.Exit):
            app([*command, "--store", kept], standalone_mode=False)
        shown = " ".join(capsys.readouterr().out.split())
        assert words in shown, command
    with pytest.raises(ArgumentError, match="Give one of them"):
        app(["compare", *names, "--store", kept, "--run-to-run", str(store)], standalone_mode=False)
    with pytest.raises(StoreError, match="no store"):
        app(["plan", names[0], "--store", str(store)], standalone_mode=False)
