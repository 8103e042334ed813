"""Policies: what a file may change, what is refused, and what follows from it."""

import ast
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from string import Formatter

import msgspec
import pytest

import slotmark as slotmark_package
from slotmark.compare import Comparison, Policy, compare, policy_text, read_policy
from slotmark.compare.deciding.policy import Accepted, only
from slotmark.errors import ComparisonError, RunError
from slotmark.metrics import benches, catalogue, register
from slotmark.metrics.entries import CONDITIONS
from slotmark.run import Manifest, Run, open_run
from slotmark.verdict import Conditional
from slotmark.warnings import KINDS, SHOWING_ROUNDS, STOPPING
from tests.conftest import slotmark
from tests.made_up_runs import write_run

SETTING = "decode, sequential"
RATES = [1000.0 + 2 * n for n in (3, 7, 0, 9, 4, 1, 8, 2, 6, 5)]  # no rate resembles the one before it


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Run]:
    """Writes a run of one client whose rates are the baseline's times a factor."""
    folder = tmp_path_factory.mktemp("runs")

    def written(name: str, factor: float = 1.0, noise: float = 0.001, **more: object) -> Run:
        if (folder / name).exists():
            return open_run(folder / name)
        own = [rate * factor * (1 + noise * ((7 * place + len(name)) % 5 - 2)) for place, rate in enumerate(RATES)]
        return write_run(folder / name, "client", {SETTING: own}, **more)  # pyright: ignore[reportArgumentType]

    return written


def line(comparison: Comparison) -> str:
    assert comparison.decision is not None
    return comparison.decision.line


def test_ship_needs_that_it_is_shown(run: Callable[..., Run]) -> None:
    base = run("base")
    same = compare([base, run("same")])
    assert line(same) == "SHIP same: the decisive metric is shown not worse beyond its margin"
    assert same.decision is not None
    assert (same.decision.answer, same.decision.answers, same.decision.causes) == ("ship", ["ship"], [])
    noisy = compare([base, run("noisy", noise=0.02)])
    assert re.fullmatch(
        r"RUN AGAIN noisy: no verdict on Blocks per second, decode, sequential; needs about [\d,]+ more rounds per side",
        line(noisy),
    )
    assert noisy.decision is not None
    (cause,) = noisy.decision.causes
    assert re.fullmatch(
        r"may be worse by more than the margin of 2 %: up to -\d\.\d % by the 98 % interval", cause.reason
    )
    assert cause.needed is not None
    assert (cause.needed.over, cause.needed.size) == ("rounds", 10)
    assert cause.needed.total > 10


def test_how_much_more_is_said_only_of_what_more_would_tell(tmp_path: Path) -> None:
    noisy = [rate * (1 + 0.02 * ((7 * place) % 5 - 2)) for place, rate in enumerate(RATES)]
    base = write_run(tmp_path / "base", "client", {SETTING: RATES, "decode, parallel": RATES})
    candidate = write_run(tmp_path / "noisy", "client", {SETTING: noisy})
    assert re.fullmatch(
        r"RUN AGAIN noisy: no verdict on Blocks per second, decode, sequential and Blocks per second, decode, parallel; "
        r"about [\d,]+ more rounds per side would decide 1 of these 2 differences",
        line(compare([base, candidate])),
    )


def test_hold_names_what_is_worse_and_by_how_much(run: Callable[..., Run]) -> None:
    slow = compare([run("base"), run("slow", 0.9)])
    assert re.fullmatch(
        r"HOLD slow: worse in Blocks per second, decode, sequential -\d+\.\d % \(margin 2 %\)", line(slow)
    )


def test_of_several_candidates_the_worst_answer_counts_and_each_is_named(run: Callable[..., Run]) -> None:
    decision = compare([run("base"), run("same"), run("slow", 0.9)]).decision
    assert decision is not None
    assert (decision.answer, decision.answers) == ("hold", ["ship", "hold"])
    assert decision.line.startswith("HOLD slow: worse in Blocks per second")
    assert decision.line.endswith("; SHIP same: the decisive metric is shown not worse beyond its margin")


def test_where_several_candidates_are_worse_the_line_says_which_in_what(run: Callable[..., Run]) -> None:
    assert re.fullmatch(
        r"HOLD slow and slower: slow is worse in Blocks per second, decode, sequential -10\.\d % \(margin 2 %\); "
        r"slower is worse in Blocks per second, decode, sequential -20\.\d % \(margin 2 %\)",
        line(compare([run("base"), run("slow", 0.9), run("slower", 0.8)])),
    )


def test_where_several_candidates_have_no_verdict_the_line_says_which_on_what(tmp_path: Path) -> None:
    def written(name: str, *noisy: str) -> Run:
        wide = [rate * (1 + 0.02 * ((7 * place) % 5 - 2)) for place, rate in enumerate(RATES)]
        rates = {part: wide if part in noisy else RATES for part in (SETTING, "decode, parallel")}
        return write_run(tmp_path / name, "client", rates)

    base, first, second = written("base"), written("first", SETTING), written("second", "decode, parallel")
    assert (
        "RUN AGAIN first and second: first has no verdict on Blocks per second, decode, sequential; "
        "second has no verdict on Blocks per second, decode, parallel; needs"
    ) in line(compare([base, first, second]))
    assert "RUN AGAIN first and third: no verdict on Blocks per second, decode, sequential; needs" in line(
        compare([base, first, written("third", SETTING)])
    )


def test_a_policy_changes_ranks_margins_and_directions(run: Callable[..., Run]) -> None:
    sides = [run("base"), run("slow", 0.9)]
    wider = Policy(margins={"blocks_per_s": 0.2})
    assert line(compare(sides, policy=wider)).startswith("SHIP")
    informative = Policy(ranks={"blocks_per_s": "informative", "peak_memory_mb": "decisive"})
    assert line(compare(sides, policy=informative)).startswith("SHIP")
    mirrored = compare(sides, policy=Policy(directions={"blocks_per_s": "lower"}))
    assert line(mirrored).startswith("SHIP")
    assert mirrored.rows[0].differences[0] is not None
    assert mirrored.rows[0].differences[0].verdict == "better"


def test_a_gate_may_have_a_margin_of_zero() -> None:
    gate = only({"blocks_per_s": 0.0, "peak_memory_mb": None}, "chainsync", "gate")
    assert gate.margins == {"blocks_per_s": 0.0}
    assert [name for name, rank in gate.ranks.items() if rank == "decisive"] == ["blocks_per_s", "peak_memory_mb"]


def test_verdicts_on_these_runs_are_asked_for_where_they_may_hold_or_count() -> None:
    asked = {one: Policy(conditional=one).asks_of_these_runs for one in (None, *Conditional)}
    assert asked == {None: False, Conditional.COUNT: True, Conditional.HOLD: True, Conditional.UNDECIDED: False}


def test_without_a_decisive_metric_nothing_is_decided(run: Callable[..., Run]) -> None:
    assert compare([run("base"), run("same")], policy=Policy(ranks={"blocks_per_s": "important"})).decision is None


@pytest.mark.parametrize(
    ("accepted", "begin"),
    [
        (Accepted(metric="blocks_per_s", reason="known", until="1.1"), "SHIP"),
        (Accepted(metric="blocks_per_s", reason="known", until="1.0"), "HOLD"),
        (Accepted(metric="blocks_per_s", reason="known", until="2026-11-21"), "SHIP"),
        (Accepted(metric="blocks_per_s", reason="known", until="2026-11-20"), "HOLD"),
        (Accepted(metric="blocks_per_s", reason="known", until="1.1", up_to=0.15), "SHIP"),
        (Accepted(metric="blocks_per_s", reason="known", until="1.1", up_to=0.05), "HOLD"),
        (Accepted(metric="peak_memory_mb", reason="known", until="1.1"), "HOLD"),
    ],
)
def test_an_accepted_regression_ends(run: Callable[..., Run], accepted: Accepted, begin: str) -> None:
    """The candidate has version 1.0.0 and began on 2026-11-21."""
    comparison = compare([run("base"), run("slow", 0.9)], policy=Policy(accepted=[accepted]))
    assert line(comparison).startswith(begin)
    assert comparison.decision is not None
    if begin == "SHIP":
        assert comparison.decision.accepted == [f"blocks_per_s until {accepted.until}: known"]
        assert "but for what is accepted" in comparison.decision.line


def test_the_line_has_the_margin_beside_what_is_accepted(run: Callable[..., Run]) -> None:
    """The table's margin is that of the metric, 2 %, however much more is accepted."""
    accepted = Accepted(metric="blocks_per_s", reason="known", until="1.1", up_to=0.05)
    held = compare([run("base"), run("slow", 0.9)], policy=Policy(accepted=[accepted]))
    assert "% (accepted up to 5 %, margin 2 %)" in line(held)
    smaller = Policy(accepted=[msgspec.structs.replace(accepted, up_to=0.01)])
    assert "% (margin 2 %)" in line(compare([run("base"), run("slow", 0.9)], policy=smaller))
    open_ = compare([run("base"), run("unsure", 0.96, noise=0.01)], policy=Policy(accepted=[accepted]))
    assert open_.decision
    assert "more than what is accepted (accepted up to 5 %, margin 2 %)" in open_.decision.causes[0].reason


@pytest.mark.parametrize("version", ["", "unknown", "rc"])
def test_what_has_no_version_or_date_is_not_accepted(run: Callable[..., Run], version: str) -> None:
    manifest: Manifest = run("base").manifest
    other = msgspec.structs.replace(
        manifest, target=msgspec.structs.replace(manifest.target, version=version), started=""
    )
    for until in ("99", "2099-01-01"):
        assert not Accepted(metric="m", reason="r", until=until).applies(other)


def test_nothing_ships_on_a_warning_that_the_policy_names(run: Callable[..., Run]) -> None:
    sides = [
        run("base"),
        run("suspect", warnings=[catalogue("chainsync").warning("server_busy", SETTING, share="95%", limit="80%")]),
    ]
    assert line(compare(sides)) == "RUN AGAIN suspect: warnings: server_busy"
    assert line(compare(sides, policy=Policy(warnings=[]))).startswith("SHIP")


def test_two_sessions_hold_but_do_not_ship(run: Callable[..., Run]) -> None:
    base = run("base")
    apart, slow = run("apart", session="s2"), run("slow apart", 0.8, session="s2")
    assert (
        line(compare([base, apart]))
        == "RUN AGAIN apart: not worse here, but these are too few runs for a verdict on the build"
    )
    assert line(compare([base, slow])).startswith("HOLD")
    assert line(compare([base, apart], policy=Policy(conditional=Conditional.COUNT))).startswith("SHIP")
    assert line(compare([base, slow], policy=Policy(conditional=Conditional.UNDECIDED))).startswith("RUN AGAIN")


def test_a_part_that_the_candidate_lacks_does_not_ship(tmp_path: Path) -> None:
    both = write_run(tmp_path / "both", "client", {SETTING: RATES, "raw": RATES})
    one = write_run(tmp_path / "one", "client", {SETTING: RATES})
    lacking = compare([both, one]).decision
    assert lacking is not None
    assert [cause.part for cause in lacking.causes] == ["raw"]
    assert lacking.answer == "run again"
    assert line(compare([one, both])).startswith("SHIP")


@pytest.mark.parametrize("bench", ["chainsync", "cluster", "ledger"])
def test_the_default_policy_is_printed_and_read_again(bench: str, tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(policy_text(bench))
    found, default = read_policy(file, bench), Policy()
    metrics = catalogue(bench).metrics
    assert found.applied(metrics) == default.applied(metrics)
    # Of clusters those of single runs neither hold nor ship, and those of two rounds hold: the file leaves that as it is.
    conditional = None if bench == "cluster" else "hold"
    assert (found.conditional, found.stopping(bench), found.accepted) == (conditional, default.stopping(bench), [])
    # The example of what is accepted is one.
    example = file.read_text().replace("# [[accepted]]", "[[accepted]]").replace('# metric = "METRIC"', 'metric = "X"')
    example = re.sub(r"# (reason|until|up_to) =", r"\1 =", example).replace('"X"', f'"{metrics[0].id}"')
    head, inside = example.split("[[accepted]]")
    accepted, rest = inside.split("[metrics]")
    file.write_text(f"{head}\n[metrics]{rest}\n[[accepted]]{accepted}")
    assert [one.up_to for one in read_policy(file, bench).accepted] == [0.05]


@pytest.mark.parametrize("end", ["10.7", "v10.7.0", "2543.0", "2026-12-31"])
def test_an_end_is_a_version_or_a_day(end: str, tmp_path: Path) -> None:
    (one,) = _accepted_until(end, tmp_path)
    assert one.until == end


@pytest.mark.parametrize(
    "end",
    [
        "31.12.2026",
        "12/31/2026",
        "12/31/26",
        "2026/12/31",
        "2026.12.31",
        "20261231",
        "2026-12",
        "2026",
        "2026-02-30",
        "10,7",
    ],
)
def test_a_day_in_another_form_is_no_version_that_never_comes(end: str, tmp_path: Path) -> None:
    with pytest.raises(ComparisonError, match="neither a version nor a date"):
        _accepted_until(end, tmp_path)


def _accepted_until(end: str, folder: Path) -> Sequence[Accepted]:
    file = folder / "policy.toml"
    file.write_text(f"[[accepted]]\nmetric = 'blocks_per_s'\nreason = 'x'\nuntil = '{end}'")
    return read_policy(file, "chainsync").accepted


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("bench = 'ledger'", "a policy for bench 'ledger', but the runs are of 'chainsync'"),
        ("metrics.block_per_s.rank = 'decisive'", "'block_per_s' isn't tested. Did you mean 'blocks_per_s'?"),
        ("metrics.blocks_per_s.rank = 'vital'", "Invalid enum value 'vital'"),
        ("metrics.blocks_per_s.margin = 'much'", "the margin of 'blocks_per_s' is 'much'"),
        ("metrics.blocks_per_s.margin = 2", "the margin of 'blocks_per_s' is '2.0'"),
        ("metrics.blocks_per_s.least = 2", "unknown field `least`"),
        ("rank = 'decisive'", "unknown field `rank`"),
        ("conditional = 'perhaps'", "Invalid enum value 'perhaps'"),
        ("[[accepted]]\nmetric = 'blocks_per_s'\nreason = 'x'", "missing required field `until`"),
        ("[[accepted]]\nmetric = 'blocks_per_s'\nreason = ' '\nuntil = '2'", "has no reason"),
        ("[[accepted]]\nmetric = 'blocks_per_s'\nreason = 'x'\nuntil = 'soon'", "neither a version nor a date"),
        (
            "warnings = ['server_bussy']",
            "'server_bussy' is no kind of warning. Did you mean 'server_busy'? There are: ",
        ),
        ("warnings = ['counters_restarted']", "'counters_restarted' is no kind of warning."),  # of clusters
        ("metrics", "no policy ("),
    ],
)
def test_what_is_no_policy_is_refused_in_a_line(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(text)
    with pytest.raises(ComparisonError, match=re.escape(said)) as caught:
        read_policy(file, "chainsync")
    assert str(caught.value).startswith(f"{file}: ")


def test_every_kind_of_warning_is_known_and_there_is_no_other() -> None:
    """General kinds are those of their constructors. Of a bench's kinds each is found by SQL or given by code, with the values that its text names."""
    constructed: set[object] = set()
    given: dict[object, set[frozenset[str | None]]] = {}
    on: dict[object, set[frozenset[str | None]]] = {}
    for file in Path(slotmark_package.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_bytes())):
            match node:
                case ast.Call(func=ast.Name("Warning"), args=[ast.Constant(kind), *_]):
                    constructed.add(kind)
                case ast.Call(
                    func=ast.Attribute(attr="warnings_on"), args=[ast.Constant(condition), *_], keywords=values
                ):
                    on.setdefault(condition, set()).add(frozenset(value.arg for value in values))
                case ast.Call(func=ast.Attribute(attr="warning"), args=[kinds, *_], keywords=values):
                    for one in ast.walk(kinds):
                        if isinstance(one, ast.Constant) and isinstance(one.value, str):
                            given.setdefault(one.value, set()).add(frozenset(value.arg for value in values))
                case _:
                    pass
    assert set(KINDS) == constructed
    assert set(STOPPING) <= set(KINDS)
    by_name = {"silent_hosts", "time_backwards", "short_hashes"}  # given in a loop over their names
    in_benches: set[object] = set()
    conditions: set[object] = set()
    ours = [one for one in map(catalogue, benches()) if one.folder.is_relative_to(slotmark_package.__path__[0])]
    for of_bench in ours:
        for one in of_bench.warnings:
            named = frozenset(name for _, name, _, _ in Formatter().parse(f"{one.text} {one.remedy}") if name)
            if one.condition:
                conditions.add(one.condition)
            elif one.kind in by_name:
                assert named == {"hosts"}
            elif of_bench.clocks and one.kind in (of_bench.clocks.least, of_bench.clocks.most):
                assert named == {"apart", "metrics"}  # given by compare/clocks.py, as the catalogue names them
            elif not one.sql:
                assert given.get(one.kind) == {named}, one.kind
                in_benches.add(one.kind)
    assert set(given) == in_benches
    assert on == {condition: {values} for condition, values in CONDITIONS.items()}
    assert conditions == set(CONDITIONS), "each has words somewhere"


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ('condition = "driftin"', "has the condition 'driftin', which there isn't. Did you mean 'drifting'?"),
        ('condition = "failed"', "names what, not given with the condition 'failed'. Given are: why."),
    ],
)
def test_words_for_a_condition_are_checked_when_they_are_read(
    entry: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "catalogue.toml").write_text('estimator = "rounds"')
    (tmp_path / "warnings.toml").write_text(f"[[warning]]\nkind = 'odd'\ntext = 'It {{what}}.'\n{entry}")
    # Its folder is gone when later tests ask for all benches.
    monkeypatch.setattr(sys.modules["slotmark.metrics.catalogue"], "_folders", {})
    register(f"checked {entry}", tmp_path)
    with pytest.raises(RunError, match=re.escape(said)) as caught:
        catalogue(f"checked {entry}")
    assert str(caught.value).startswith(f"{tmp_path / 'warnings.toml'}: 'odd' ")


STOPS: dict[str, set[str]] = {
    "chainsync": {"server_busy"},
    "cluster": {
        # The load wasn't the profile's.
        *("no_workload", "load_over", "load_lost", "cut_short", "no_blocks"),
        # Something else than the target made the figures.
        *("machine_shared", "machine_lost", "node_died", "other_block_sizes"),
        # Logs that lack something, or are of two hosts or two runs.
        *(
            "blocks_outside_logs",
            "damaged_files",
            "hosts_in_turns",
            "repeated_starts",
            "impossible_orders",
            "time_backwards",
        ),
        *("clocks_apart", "clocks_disagree", "clocks_moved", "machine_clocks_apart"),
        # Blocks that no metric of blocks has.
        "leads_without_blocks",
    },
    "ledger": {"other_ends"},
}
"""Kinds of warnings on which nothing ships by default, beside those of all benches."""

HIGHER_IS_BETTER: dict[str, set[str]] = {
    "chainsync": {"blocks_per_s", "mb_per_s", "floor_share", "window_blocks_per_s"},
    "cluster": {
        *(
            "forge_starts",
            "blocks_per_host",
            "filtered_to_chained",
            "chained_to_forged",
            "adoption_share",
            "chain_density",
        ),
        "host_share",
    },
    "follow": set(),
    "ledger": set(),
    "stores": {"operations_per_s", "operations_per_read"},
}


DECISIVE: dict[str, dict[str, tuple[float, float]]] = {
    "chainsync": {"blocks_per_s": (0.02, 0)},
    "cluster": {
        "slot_to_announced": (0.02, 0.0005),
        "adopted_by_050": (0.02, 0.002),
        "adopted_by_096": (0.02, 0.002),
        "adoption_share": (0.005, 0),
        "host_adopted": (0.02, 0.002),
        "host_share": (0.005, 0),
    },
    "follow": {"decoded_us": (0.05, 0)},
    "ledger": {"total_us": (0.01, 0)},
    "stores": {"operations_per_s": (0.05, 0)},
}
"""The margins, as shares, and the least differences that matter, in the metrics' units."""


@pytest.mark.parametrize("bench", HIGHER_IS_BETTER)
def test_what_stops_decides_and_is_better_by_default(bench: str) -> None:
    entries = catalogue(bench)
    of_all = {*STOPPING, "not_interleaved", *(["drifting_rounds"] if bench != "follow" else [])}
    assert {*entries.stopping} == of_all | STOPS.get(bench, set())
    assert {*entries.spoiling} == ({"cut_short", "load_lost", "machine_lost", "node_died"} & STOPS.get(bench, set()))
    metrics = [*entries.metrics, *(entries.mixed.metric if entries.mixed else ())]
    assert {one.id for one in metrics if one.better == "higher"} == HIGHER_IS_BETTER[bench]
    decisive = {one.id: (one.margin, one.least) for one in metrics if one.rank == "decisive" and one.tested}
    assert decisive == DECISIVE[bench]


def test_the_number_of_rounds_that_a_remedy_names_is_the_usual_one() -> None:
    assert [
        f"--rounds {SHOWING_ROUNDS}." in one.text
        for one in catalogue("chainsync").warnings_on("too_few", count="", enough="")
    ] == [True]


def test_a_policy_may_name_what_a_catalogue_warns_of(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text("warnings = ['counters_restarted', 'resumed']")
    assert read_policy(file, "cluster").warnings == ["counters_restarted", "resumed"]


def test_a_date_may_be_one_of_toml(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text("[[accepted]]\nmetric = 'blocks_per_s'\nreason = 'x'\nuntil = 2026-12-31\nup_to = '5 %'")
    (one,) = read_policy(file, "chainsync").accepted
    assert (one.until, one.up_to) == ("2026-12-31", 0.05)


def test_the_command_ends_by_the_decision(run: Callable[..., Run], tmp_path: Path) -> None:
    base = run("base").path
    shown = slotmark("compare", base, "--show-policy")
    assert (shown.returncode, shown.stdout) == (0, policy_text("chainsync"))
    policy = tmp_path / "policy.toml"
    policy.write_text(shown.stdout)
    for candidate, code, answer in (
        (run("same"), 0, "SHIP same: "),
        (run("slow", 0.9), 1, "HOLD slow: "),
        (run("noisy", noise=0.02), 3, "RUN AGAIN noisy: "),
    ):
        decided = slotmark("compare", base, candidate.path, "--policy", policy, "-o", tmp_path / "out")
        assert decided.returncode == code, decided.stderr
        title, *_, last = decided.stdout.splitlines()
        assert last.startswith(answer)
        assert last.startswith(title.strip())
        written = msgspec.json.decode((tmp_path / "out" / "report.json").read_bytes())["decision"]
        assert written["line"] == last
        for name in ("report.md", "report.html"):
            assert last.split(":")[0] in (tmp_path / "out" / name).read_text()
        # Without a policy the line is the same, and the command ends with 0.
        free = slotmark("compare", base, candidate.path)
        assert (free.returncode, free.stdout.splitlines()[-1]) == (0, last)
    assert slotmark("compare", base, run("same").path, "--policy", policy, "--gate", policy).returncode == 2


@pytest.mark.parametrize(("options", "code"), [([], 3), (["--fail-on", "worse"], 0)])
def test_a_policy_by_which_nothing_decides_lets_nothing_ship(
    options: list[str], code: int, run: Callable[..., Run], tmp_path: Path
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[metrics]\nblocks_per_s = { rank = "important" }\n')
    decided = slotmark("compare", run("base").path, run("slow", 0.9).path, "--policy", policy, *options)
    assert decided.returncode == code, decided.stderr
    assert decided.stdout.splitlines()[-1] == "NO DECISION: no metric that was compared is decisive."


def test_all_tested_metrics_are_those_that_were_compared(run: Callable[..., Run], tmp_path: Path) -> None:
    base, other = (
        run("base"),
        write_run(tmp_path / "other", "client", {"raw, sequential": [500.0, 505.0, 495.0, 501.0]}),
    )
    for fail_on in ("worse", "undecided"):
        nothing = slotmark("compare", base.path, other.path, "--fail-on", fail_on)
        assert (nothing.returncode, nothing.stdout.splitlines()[-1][:11]) == (3, "NO DECISION"), "nothing was compared"
        # Nor was it for one of two candidates, whatever the other is.
        both = slotmark("compare", base.path, run("same").path, other.path, "--fail-on", fail_on)
        assert both.returncode == 3, both.stderr
    assert both.stdout.splitlines()[-1].startswith("RUN AGAIN other: no verdict on Blocks per second, ")
    few = {metric.id: None for metric in catalogue("chainsync").metrics if metric.id in ("blocks_per_s", "floor_share")}
    alone = write_run(tmp_path / "alone", "client", {SETTING: RATES}, floor_blocks_per_s=None)
    decided = compare(
        [base, alone], policy=only(few, "chainsync", "two of which one is there", needs_all=False)
    ).decision
    assert decided is not None
    assert decided.decisive == 1
