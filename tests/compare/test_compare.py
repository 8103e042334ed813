"""From run folders to verdicts."""

from pathlib import Path

import msgspec
import numpy as np
import pytest

from slotmark.compare import Comparison, Difference, Row, compare, name_sides
from slotmark.errors import ComparisonError
from slotmark.metrics import catalogue
from slotmark.run import Run
from slotmark.warnings import Warning
from tests.made_up_runs import MACHINE, workload, write_run

SEQUENTIAL, PIPELINED = "decode, sequential", "decode, 100 in flight"


def rates(mean: float, *, spread: float = 0.004, rounds: int = 10, seed: int = 1) -> list[float]:
    return list(mean * np.exp(np.random.default_rng(seed).normal(0, spread, rounds)))


def row(comparison: Comparison, metric: str = "blocks_per_s", setting: str = SEQUENTIAL) -> Row:
    (found,) = (one for one in comparison.rows if one.metric.id == metric and one.part == setting)
    return found


def difference(comparison: Comparison, metric: str = "blocks_per_s", setting: str = SEQUENTIAL) -> Difference:
    (found,) = row(comparison, metric, setting).differences
    assert found is not None
    return found


def kinds(comparison: Comparison) -> list[str]:
    return [warning.kind for warning in comparison.all_warnings]


class TestVerdicts:
    @pytest.fixture
    def three(self, tmp_path: Path) -> Comparison:
        """b does 30 % more blocks and takes twice the CPU time; c is as a."""
        return compare(
            [
                write_run(tmp_path / "a", "a", {SEQUENTIAL: rates(3_000), PIPELINED: rates(20_000, seed=2)}),
                write_run(
                    tmp_path / "b",
                    "b",
                    {SEQUENTIAL: rates(3_900, seed=3), PIPELINED: rates(26_000, seed=4)},
                    cpu_us_per_block=160,
                ),
                write_run(tmp_path / "c", "c", {SEQUENTIAL: rates(3_000, seed=6), PIPELINED: rates(20_000, seed=5)}),
            ],
            seed=3,
        )

    def test_one_a_candidate_in_the_order_given(self, three: Comparison) -> None:
        assert (three.baseline.name, [side.name for side in three.candidates]) == ("a", ["b", "c"])
        verdicts = [one.verdict for one in row(three).differences if one]
        assert verdicts == ["better", "equivalent"]
        (b, _) = row(three).differences
        assert b is not None
        assert b.ratio is not None
        assert b.paired
        assert b.ratio.low < 1.3 < b.ratio.high
        assert b.ratio.high - b.ratio.low < 0.02

    def test_less_cpu_time_is_better_and_more_is_worse(self, three: Comparison) -> None:
        b, c = row(three, "cpu_us_per_block").differences
        assert b is not None
        assert c is not None
        assert (b.verdict, c.verdict) == ("worse", "equivalent")

    def test_holm_is_over_all_that_is_tested(self, three: Comparison) -> None:
        # Five tested metrics in two settings for two candidates; the five others are shown, not tested.
        # Beside them the two candidates are held against each other, for the ranking.
        assert three.tests == 20 + 2
        tested = [one for entry in three.rows for one in entry.differences if one and one.p is not None]
        assert len(tested) == 20
        smallest = min(tested, key=lambda one: one.p or 1)
        # It is of the decisive metric, six tests of which share four fifths of the error rate.
        assert smallest.p_adjusted == pytest.approx(6 / 0.8 * (smallest.p or 0))

    def test_metrics_that_are_not_tested_have_a_ratio_but_no_verdict(self, three: Comparison) -> None:
        b, _ = row(three, "mb_per_s").differences
        assert b is not None
        assert b.ratio is not None
        assert (b.verdict, b.p, b.p_adjusted, b.reason) == (None, None, None, "not tested")
        # Many windows a round: the rounds count, so the interval is no narrower than that of the rates.
        windows, rate = (row(three, metric).differences[0] for metric in ("window_blocks_per_s", "blocks_per_s"))
        assert windows is not None
        assert rate is not None
        assert windows.ratio is not None
        assert rate.ratio is not None
        assert windows.ratio.estimate == pytest.approx(rate.ratio.estimate, rel=1e-4)
        assert windows.ratio.high - windows.ratio.low > 0.5 * (rate.ratio.high - rate.ratio.low)

    def test_rows_follow_the_catalogue_and_settings_their_names(self, three: Comparison) -> None:
        assert [(entry.metric.id, entry.part) for entry in three.rows[:4]] == [
            ("blocks_per_s", PIPELINED),
            ("blocks_per_s", SEQUENTIAL),
            ("cpu_us_per_block", PIPELINED),
            ("cpu_us_per_block", SEQUENTIAL),
        ]

    def test_the_same_seed_gives_the_same_comparison(self, tmp_path: Path) -> None:
        runs = [write_run(tmp_path / name, name, {SEQUENTIAL: rates(3_000, seed=n)}) for n, name in enumerate("ab")]
        first, again, other = (msgspec.json.encode(compare(runs, seed=seed)) for seed in (1, 1, 2))
        assert first == again
        assert first != other

    def test_what_else_is_compared_does_not_change_an_interval(self, tmp_path: Path) -> None:
        runs = [write_run(tmp_path / name, name, {SEQUENTIAL: rates(3_000, seed=n)}) for n, name in enumerate("abc")]
        alone, among = compare([runs[0], runs[2]]), compare(runs)
        assert difference(alone).ratio == getattr(row(among).differences[1], "ratio", None)

    def test_swapping_baseline_and_candidate_inverts_and_flips(self, tmp_path: Path) -> None:
        a = write_run(tmp_path / "a", "a", {SEQUENTIAL: rates(3_000)}, cpu_us_per_block=rates(80, seed=7))
        b = write_run(tmp_path / "b", "b", {SEQUENTIAL: rates(3_300, seed=2)}, cpu_us_per_block=rates(79, seed=8))
        flipped = {"better": "worse", "worse": "better"}
        rows = list(zip(compare([a, b]).rows, compare([b, a]).rows, strict=True))
        assert len(rows) >= 2
        for forward, backward in rows:
            (one,), (other,) = forward.differences, backward.differences
            assert one is not None
            assert other is not None
            assert one.ratio is not None
            assert other.ratio is not None
            assert other.ratio.estimate == pytest.approx(1 / one.ratio.estimate)
            assert other.ratio.low == pytest.approx(1 / one.ratio.high)
            assert other.p_adjusted == one.p_adjusted
            assert other.verdict == flipped.get(str(one.verdict), one.verdict)

    def test_rounds_are_paired_by_number_not_by_row(self, tmp_path: Path) -> None:
        drift = [1.0, 1.5, 0.7, 2.0, 1.2, 0.9]
        a = write_run(tmp_path / "a", "a", {SEQUENTIAL: [1_000 * d for d in drift]})
        b = write_run(
            tmp_path / "b", "b", {SEQUENTIAL: [1_100 * d for d in reversed(drift)]}, rounds=[6, 5, 4, 3, 2, 1]
        )
        found = difference(compare([a, b]))
        assert found.ratio is not None
        assert (found.ratio.low, found.ratio.high) == pytest.approx((1.1, 1.1))
        assert found.verdict == "better"


def few_rounds(rounds: int) -> Warning:
    (warning,) = catalogue("chainsync").warnings_on("too_few", count=f"{rounds} rounds", enough="5")
    return warning


class TestTooLittle:
    def test_four_rounds_can_not_tell(self, tmp_path: Path) -> None:
        runs = [
            write_run(tmp_path / name, name, {SEQUENTIAL: rates(1_000 * n, rounds=4)})
            for n, name in ((1, "a"), (9, "b"))
        ]
        comparison = compare(runs)
        found = difference(comparison)
        assert found.ratio is not None
        assert found.ratio.estimate == pytest.approx(9)
        assert (found.verdict, found.p, found.p_adjusted) == ("undecided", None, None)
        assert found.reason == "4 rounds can't separate a difference from noise; 5 are needed"
        assert comparison.tests == 0
        assert comparison.all_warnings[0] == few_rounds(4)
        assert comparison.all_warnings[0].text == (
            "4 rounds can't separate a difference from noise: no verdict is given below 5. Run again with --rounds 20."
        )

    def test_a_single_round_has_no_ratio(self, tmp_path: Path) -> None:
        runs = [write_run(tmp_path / name, name, {SEQUENTIAL: [1_000.0]}) for name in "ab"]
        found = difference(compare(runs))
        assert (found.ratio, found.verdict) == (None, "undecided")
        assert found.reason == "1 round can't separate a difference from noise; 5 are needed"

    def test_five_rounds_tell_a_plain_difference_among_forty_tests(self, tmp_path: Path) -> None:
        names = {"a": 1, "b": 1.3, "c": 1, "d": 1, "e": 1}
        settings = {SEQUENTIAL: 3_000, PIPELINED: 20_000}
        runs = [
            write_run(
                tmp_path / name,
                "client",
                {
                    setting: rates(mean * factor, rounds=5, seed=10 * n + m)
                    for m, (setting, mean) in enumerate(settings.items())
                },
            )
            for n, (name, factor) in enumerate(names.items())
        ]
        comparison = compare(runs)
        assert comparison.tests == 40
        # A twentieth of the level for the smallest: p-values down to .05 / 40 / 20 need 16,000 repetitions.
        assert comparison.repetitions == 16_000
        assert next(one.verdict for one in row(comparison).differences if one) == "better"

    def test_zeros_have_no_ratio(self, tmp_path: Path) -> None:
        a = write_run(tmp_path / "a", "a", {SEQUENTIAL: rates(3_000)}, switches_per_block=0)
        b = write_run(tmp_path / "b", "b", {SEQUENTIAL: rates(3_000)}, switches_per_block=0.5)
        c = write_run(tmp_path / "c", "c", {SEQUENTIAL: rates(3_000)}, switches_per_block=0)
        some, none = row(compare([a, b, c]), "switches_per_block").differences
        assert some is not None
        assert none is not None
        assert (some.ratio, some.verdict) == (None, "undecided")
        assert some.reason == "some samples are zero or below, so there is no ratio; the medians are 0 and 0.5"
        assert (none.ratio, none.verdict, none.reason) == (None, "equivalent", "all samples of both are 0")

    def test_zeros_in_too_few_rounds_can_not_tell(self, tmp_path: Path) -> None:
        runs = [write_run(tmp_path / name, name, {SEQUENTIAL: [1.0, 1.0]}, switches_per_block=0) for name in "ab"]
        assert difference(compare(runs), "switches_per_block").verdict == "undecided"

    def test_counts_that_never_vary_are_judged(self, tmp_path: Path) -> None:
        a = write_run(tmp_path / "a", "a", {SEQUENTIAL: rates(3_000)}, switches_per_block=1)
        b = write_run(tmp_path / "b", "b", {SEQUENTIAL: rates(3_000)}, switches_per_block=2)
        found = difference(compare([a, b]), "switches_per_block")
        assert (found.verdict, found.ratio and found.ratio.low, found.ratio and found.ratio.high) == ("worse", 2, 2)


class TestMargins:
    def test_a_margin_decides_what_matters(self, tmp_path: Path) -> None:
        a = write_run(tmp_path / "a", "a", {SEQUENTIAL: rates(3_000)})
        b = write_run(tmp_path / "b", "b", {SEQUENTIAL: rates(3_120, seed=2)})
        assert difference(compare([a, b])).verdict == "better"
        found = difference(compare([a, b], margins={"blocks_per_s": 0.1}))
        assert (found.verdict, found.margin) == ("equivalent", 0.1)
        assert row(compare([a, b], margins={"blocks_per_s": 0.1})).metric.margin == 0.1

    @pytest.mark.parametrize(
        ("margins", "message"),
        [
            ({"speed": 0.1}, "A margin for 'speed', which isn't tested. Tested are: blocks_per_s, cpu_us_per_block, "),
            ({"mb_per_s": 0.1}, "A margin for 'mb_per_s', which isn't tested."),
            ({"blocks_per_s": -0.1}, "The margin of 'blocks_per_s' is -0.1, but it's a fraction from 0 on."),
            ({"blocks_per_s": float("nan")}, "The margin of 'blocks_per_s' is nan"),
        ],
    )
    def test_a_margin_that_makes_no_sense_is_refused(
        self, margins: dict[str, float], message: str, tmp_path: Path
    ) -> None:
        runs = [write_run(tmp_path / name, name, {SEQUENTIAL: [1.0]}) for name in "ab"]
        with pytest.raises(ComparisonError) as caught:
            compare(runs, margins=margins)
        assert str(caught.value).startswith(message)

    def test_arguments_that_make_no_sense_are_refused(self, tmp_path: Path) -> None:
        runs = [write_run(tmp_path / name, name, {SEQUENTIAL: [1.0]}) for name in "ab"]
        with pytest.raises(ComparisonError, match="confidence is 95"):
            compare(runs, confidence=95)
        with pytest.raises(ComparisonError, match="at least one candidate"):
            compare(runs[:1])


class TestUnlikeRuns:
    def test_another_session_is_not_paired(self, tmp_path: Path) -> None:
        a = write_run(tmp_path / "a", "a", {SEQUENTIAL: rates(3_000, rounds=8)})
        b = write_run(tmp_path / "b", "b", {SEQUENTIAL: rates(3_900, rounds=12, seed=2)}, session="s2")
        comparison = compare([a, b])
        found = difference(comparison)
        assert (found.paired, found.verdict) == (False, "better")
        assert kinds(comparison)[0] == "apart"
        assert comparison.all_warnings[0].subject == "b"
        # Another number of rounds was asked for.
        assert [one.text for one in comparison.all_warnings if one.kind == "different"] == [
            "Parameter 'rounds' differs: 8 for the baseline, 12 here. The difference may come from that."
        ]

    def test_one_session_with_other_rounds_is_refused(self, tmp_path: Path) -> None:
        a = write_run(tmp_path / "a", "a", {SEQUENTIAL: rates(3_000, rounds=6)})
        b = write_run(tmp_path / "b", "b", {SEQUENTIAL: rates(3_000, rounds=6)}, rounds=[1, 2, 3, 4, 5, 7])
        with pytest.raises(ComparisonError, match="only a has round 6; only b has round 7"):
            compare([a, b])

    def test_another_bench_is_refused(self, tmp_path: Path) -> None:
        a = write_run(tmp_path / "a", "a", {SEQUENTIAL: [1.0]})
        b = write_run(tmp_path / "b", "b", {SEQUENTIAL: [1.0]}, bench="ledger")
        with pytest.raises(ComparisonError, match="a is a run of bench 'chainsync', b of 'ledger'"):
            compare([a, b])

    def test_other_blocks_are_refused(self, tmp_path: Path) -> None:
        a = write_run(tmp_path / "a", "a", {SEQUENTIAL: [1.0]})
        b = write_run(
            tmp_path / "b", "b", {SEQUENTIAL: [1.0]}, workload_facts={**workload(), "last block": "7.ff", "bytes": "1"}
        )
        with pytest.raises(ComparisonError) as caught:
            compare([a, b])
        assert str(caught.value).startswith("a and b did different work: last block is 1285336.")
        assert "; bytes is 23,190,000 and 1." in str(caught.value)

    def test_runs_that_say_nothing_in_common_about_their_work_are_refused(self, tmp_path: Path) -> None:
        a = write_run(tmp_path / "a", "a", {SEQUENTIAL: [1.0]}, workload_facts={"chain": "x"})
        b = write_run(tmp_path / "b", "b", {SEQUENTIAL: [1.0]}, workload_facts={"blocks": "5"})
        with pytest.raises(ComparisonError, match="no workload fact in common"):
            compare([a, b])

    def test_a_mode_that_one_lacks_is_no_other_work(self, tmp_path: Path) -> None:
        a = write_run(tmp_path / "a", "a", {SEQUENTIAL: rates(3_000), "raw, sequential": rates(5_000)})
        b = write_run(tmp_path / "b", "b", {SEQUENTIAL: rates(3_000, seed=2)}, floor_blocks_per_s=None)
        comparison = compare([a, b])
        entry = row(comparison, setting="raw, sequential")
        assert entry.summaries[1] is None
        assert entry.differences == [None]
        assert row(comparison, "floor_share").differences == [None]
        texts = [one.text for one in comparison.all_warnings if one.kind == "unmatched"]
        assert texts == [
            "a has the setting 'raw, sequential', and b does not: they are not compared in it.",
            "a has 'Share of the floor' in 'decode, sequential', and b does not: they are not compared in it.",
        ]
        turned = [one.text for one in compare([b, a]).all_warnings if one.kind == "unmatched"]
        assert turned == texts, "the one that has it is named, whichever comes first"

    def test_what_should_be_equal_is_named(self, tmp_path: Path) -> None:
        a = write_run(tmp_path / "a", "a", {SEQUENTIAL: rates(3_000)})
        b = write_run(
            tmp_path / "b",
            "b",
            {SEQUENTIAL: rates(3_000)},
            session="s2",
            machine=msgspec.structs.replace(MACHINE, cores=8, load=3.0),
            parameters={"seed": 2, "reply delay, us": 250.0},
            versions={"slotmark": "0.2.0", "slotmark commit": "0123456789ab", "target b": "9"},
        )
        texts = [one.text for one in compare([a, b]).all_warnings if one.kind == "different"]
        assert texts == [
            "The number of cores differs: 2 for the baseline, 8 here. The difference may come from that.",
            "Parameter 'reply delay, us' differs: 0.0 for the baseline, 250.0 here. The difference may come from that.",
            "The version of slotmark differs: 0.1.0 for the baseline, 0.2.0 here. The difference may come from that.",
        ]


class TestNamesAndWarnings:
    def test_folders_of_one_name_are_told_apart_by_those_above(self, tmp_path: Path) -> None:
        paths = [tmp_path / "10.5" / "x" / "native", tmp_path / "10.6" / "x" / "native", tmp_path / "pallas"]
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
        comparison = compare(
            [write_run(path, "node", {SEQUENTIAL: [1.0]}, session=f"s{place}") for place, path in enumerate(paths)]
        )
        assert [side.name for side in comparison.sides] == ["10.5/x/native", "10.6/x/native", "pallas"]

    def test_several_runs_are_named_by_the_folder_that_only_they_are_in(self, tmp_path: Path) -> None:
        for side in ("out/a", "out/b", "c"):
            (tmp_path / side).mkdir(parents=True)

        def run(name: str) -> Run:
            return write_run(tmp_path / name, "node", {SEQUENTIAL: [1.0]}, session=name)

        groups = [[run(f"out/{side}/round-{number}") for number in (1, 2)] for side in "ab"]
        mixed = [[run("c/x-1"), run("c/x-2")], [run("c/y-1"), run("c/y-2")]]
        assert [side.name for side in name_sides(groups)] == ["a (2 runs)", "b (2 runs)"]
        assert [side.name for side in name_sides(mixed)] == ["x-1 (2 runs)", "y-1 (2 runs)"]
        assert [side.name for side in name_sides([groups[0], [groups[1][0]]])] == ["a (2 runs)", "round-1"]

    def test_a_run_is_not_compared_with_itself(self, tmp_path: Path) -> None:
        run = write_run(tmp_path / "a", "a", {SEQUENTIAL: [1.0]})
        again = Run(tmp_path / "." / "a", run.manifest)
        with pytest.raises(ComparisonError, match="named twice"):
            compare([run, again])

    def test_the_runs_own_warnings_are_kept_with_their_side(self, tmp_path: Path) -> None:
        of_bench = catalogue("chainsync")
        not_pinned = of_bench.warning("not_pinned")
        a = write_run(tmp_path / "a", "a", {SEQUENTIAL: [1.0] * 5}, warnings=[not_pinned])
        busy = of_bench.warning("server_busy", SEQUENTIAL, share="80%", limit="70%")
        b = write_run(tmp_path / "b", "b", {SEQUENTIAL: [1.0] * 5}, warnings=[not_pinned, busy])
        assert compare([a, b]).all_warnings == [
            Warning("not_pinned", not_pinned.text, "a; b"),
            Warning("server_busy", busy.text, "b: decode, sequential"),
        ]

    def test_too_few_rounds_are_said_once(self, tmp_path: Path) -> None:
        runs = [write_run(tmp_path / n, n, {SEQUENTIAL: [1.0, 1.0]}, warnings=[few_rounds(2)]) for n in "ab"]
        assert kinds(compare(runs)) == ["few_rounds"]

    def test_an_outlier_is_marked_and_kept(self, tmp_path: Path) -> None:
        disturbed = rates(3_000)
        disturbed[6] = 1_400
        a = write_run(tmp_path / "a", "a", {SEQUENTIAL: disturbed})
        b = write_run(tmp_path / "b", "b", {SEQUENTIAL: rates(3_000, seed=3)})
        comparison = compare([a, b])
        summary = row(comparison).summaries[0]
        assert summary is not None
        assert (7,) in summary.outliers
        assert summary.n == 10
        assert summary.minimum == pytest.approx(1_400)
        (warning,) = (one for one in comparison.all_warnings if one.subject == "a: decode, sequential")
        assert warning.kind == "outliers"
        assert "7" in warning.text
        # One slow invocation of ten doesn't hide that the two are equal.
        assert difference(comparison).verdict == "equivalent"
