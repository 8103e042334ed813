"""The 2023 study: its printed figures come out of the tool's formulas, and where its text is at odds with them the tool finds it."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from slotmark.benches.ledger.importing import Recording, import_recordings
from slotmark.errors import ComparisonError
from slotmark.published import PublishedTable, published_report
from slotmark.published.ghc_study import (
    FEW_BLOCKS,
    SMALLEST_PRINTED,
    Case,
    blocks_beyond,
    cases_of,
    exponential_quantile_ratio,
    jumps,
    kruskal,
    median_and_iqr,
    pairwise_signed_rank,
    printed_p,
    shapiro,
    speedup,
)
from slotmark.run import Run
from slotmark.statistics.rank_tests import holm, signed_rank_p
from tests.conftest import SHARED
from tests.ledger.recordings import AGE_2023, points, tab_separated, written
from tests.statistics.reference_data import MTCARS_MPG, MUCOCILIARY, ROUNDING_TIMES

STUDY = SHARED / "published" / "ghc-and-branch-study-2023.md"
needs_study = pytest.mark.usefixtures("shared")

COMPILERS, BRANCHES = ("810", "92", "96"), ("baseline", "SplitUMElem", "NoFailT")
QUANTILES = (0.05, 0.1, 0.5, 0.9, 0.95)
BLOCKS = 122


@cache
def text() -> str:
    return STUDY.read_text(encoding="utf-8")


def between(start: str, end: str) -> str:
    after = text()[text().index(start) :]
    return after[: after.index(end)]


def times(part: str) -> list[float]:
    """The times printed in a part of the text, in their order: all numbers from 10,000 on."""
    return [float(one) for one in re.findall(r"\d{5,}", part)]


@cache
def quantiles() -> dict[tuple[str, str], dict[float, float]]:
    """The table of 45 quantiles by compiler and branch."""
    found = np.array(times(between("`5%`", "In this table"))).reshape(9, 5)
    cases = [(compiler, branch) for compiler in COMPILERS for branch in BRANCHES]
    return {case: dict(zip(QUANTILES, row, strict=True)) for case, row in zip(cases, found.tolist(), strict=True)}


def gains(of: tuple[str, str], over: tuple[str, str]) -> list[float]:
    """The speedup at each printed quantile."""
    return [speedup(quantiles()[over][q], quantiles()[of][q]) for q in QUANTILES]


def is_printed_as(value: float, printed: str) -> bool:
    """Returns whether a figure, rounded to as many digits as were printed, is what was printed."""
    text = printed.rstrip(".")
    if "e" in text:
        digits = len(text.partition("e")[0].replace(".", "").replace("-", ""))
        return f"{value:.{digits - 1}e}" == f"{float(text):.{digits - 1}e}"
    return abs(value - float(text)) <= 0.5 * 10 ** -len(text.partition(".")[2])


def not_always_fastest(times_: Mapping[str, Mapping[float, float]], name: str) -> list[tuple[float, str, float]]:
    """At which quantiles another target is as fast as the one that is said to be the fastest, which, and its speedup in percent."""
    return [
        (quantile, rival, speedup(time, of_rival[quantile]))
        for quantile, time in times_[name].items()
        for rival, of_rival in times_.items()
        if rival != name and of_rival[quantile] <= time
    ]


def decile_rows() -> list[tuple[list[float], str, str]]:
    """Three times and two printed speedups a row; the text lost the order of the times within some."""
    part = re.sub(
        r"^\d+ baseline \d+%", "", between("# A tibble: 33", "23 more rows").partition("<db1>\n1 ")[2], flags=re.M
    )
    numbers = re.findall(r"-?\d+\.?\d*", re.sub(r"^baseline 0%", "", part))
    large = [one for one in numbers if len(one.partition(".")[0]) >= 5]
    small = [one for one in numbers if one not in large]
    return [
        ([float(one) for one in large[3 * row : 3 * row + 3]], small[3 * row], small[3 * row + 1])
        for row in range(len(large) // 3)
    ]


@needs_study
def test_every_printed_speedup_comes_out_of_the_printed_quantiles() -> None:
    rows = decile_rows()
    assert len(rows) == 10
    for deciles, printed_96, printed_92 in rows:
        fitting = [
            (base, of_92, of_96)
            for base, of_92, of_96 in permutations(deciles)
            if fits(base, of_96, printed_96) and fits(base, of_92, printed_92)
        ]
        assert len(fitting) == 1, (deciles, printed_96, printed_92)


def fits(base: float, other: float, printed: str) -> bool:
    """Returns whether a speedup is as printed, the times being rounded to whole ones and the speedup to three digits."""
    found = speedup(base, other)
    unit = 10.0 ** -len(printed.partition(".")[2])
    return abs(found - float(printed)) <= 0.5 * unit + 100 * 0.5 / base * (1 + other / base)


@needs_study
def test_the_speedups_worked_out_from_the_quantiles() -> None:
    over_baseline = {
        ("810", "SplitUMElem"): [-3.29, -3.68, -2.74, -9.41, -15.29],
        ("810", "NoFailT"): [2.47, 2.08, -1.00, -7.19, -25.49],
        ("92", "SplitUMElem"): [0.90, 0.76, 1.28, 13.55, 13.14],
        ("92", "NoFailT"): [-9.09, -9.13, -5.49, 6.52, 6.44],
        ("96", "SplitUMElem"): [3.13, 3.03, 3.57, -1.62, -0.83],
        ("96", "NoFailT"): [-0.54, -0.55, -2.03, -11.78, -28.37],
    }
    for case, expected in over_baseline.items():
        assert gains(case, (case[0], "baseline")) == pytest.approx(expected, abs=0.006), case
    of_96 = {
        "baseline": [2.12, 2.08, 0.35, 20.98, 12.93],
        "SplitUMElem": [8.21, 8.41, 6.47, 26.61, 23.85],
        "NoFailT": [-0.90, -0.55, -0.67, 17.59, 10.93],
    }
    for branch, expected in of_96.items():
        assert gains(("96", branch), ("810", branch)) == pytest.approx(expected, abs=0.006), branch


@needs_study
def test_the_p_values_follow_from_the_printed_statistics() -> None:
    found = re.findall(r"chi-squared = ([\d.]+), df = 2, p-value =\s+([\d.]+)", text())
    assert len(found) == 4
    for statistic, printed in found[1:]:
        assert stats.chi2.sf(float(statistic), 2) == pytest.approx(float(printed), rel=1e-3)
    # Item 3: the text calls the first 5.9e-15, its printed zeros say 5.97e-17, its statistic 5.97e-16.
    first = float(stats.chi2.sf(float(found[0][0]), 2))
    assert f"{first:.2e}" == "5.97e-16"
    assert not is_printed_as(first, "5.9e-15")
    assert "5.9e-15" in text()
    assert float(found[0][1]) == pytest.approx(first / 10, rel=1e-3)


@needs_study
def test_a_bound_is_not_a_p_value() -> None:
    (bound,) = re.findall(r"W = 0.42007, p-value < ([\d.]+)", text())
    assert float(bound) <= SMALLEST_PRINTED * 1.01
    # Item 3: "fails the normality test with a p-value of 2.2e-15" is ten times that, and no p-value.
    assert not is_printed_as(float(bound), "2.2e-15")
    assert "p-value of 2.2e-15" in text()


@needs_study
def test_nanoseconds_would_be_faster_than_the_blocks_own_signatures() -> None:
    # Item 1: a VRF and a KES check take some hundred microseconds.
    assert "time units are nanoseconds" in text()
    fastest = min(quantiles()["96", "SplitUMElem"].values())
    assert fastest / 1_000 < 100 < fastest


@needs_study
def test_the_pairwise_tests_compared_rows_with_labels_of_others() -> None:
    # Item 2: values of the whole frame, groups of one compiler's rows.
    lines = re.findall(r"data: +df\\?\$totalTime and filter\(df, GHC == (\d+)\)\\?\$Branch", text())
    assert set(lines) == set(COMPILERS)


@needs_study
def test_the_costs_are_not_exponential() -> None:
    # Item 5.
    base = quantiles()["810", "baseline"]
    assert exponential_quantile_ratio(0.1, 0.5) == pytest.approx(0.152, abs=5e-4)
    assert exponential_quantile_ratio(0.95, 0.5) == pytest.approx(4.32, abs=5e-3)
    assert base[0.1] / base[0.5] == pytest.approx(0.389, abs=5e-4)
    assert base[0.95] / base[0.5] == pytest.approx(40.0, abs=0.05)


@needs_study
def test_percentages_in_the_text_that_are_not_in_the_tables() -> None:
    split, split_over_base = (
        gains(("96", "SplitUMElem"), ("810", "SplitUMElem")),
        gains(("96", "SplitUMElem"), ("810", "baseline")),
    )
    # Item 8: 3 % is 3.57 %; about 5 % for 70 % of the data is 3.9 % at the median.
    assert not is_printed_as(gains(("96", "SplitUMElem"), ("96", "baseline"))[2], "3")
    assert split_over_base[:3] == pytest.approx([5.19, 5.04, 3.91], abs=0.006)
    assert not is_printed_as(split_over_base[2], "5")
    # Item 9: 7 % at the median is 6.47 %.
    assert not is_printed_as(split[2], "7")
    # Item 10: 27 % at the 80th percentile is what the 90th has.
    assert is_printed_as(split[3], "27")
    # Item 11: 0 to 2 % for the baseline, whose own row prints up to 21 %.
    printed = [float(printed_96) for _, printed_96, _ in decile_rows()]
    assert [one for one in printed if one > 2.6] == [12.7, 6.34, 21.4, 21.0]


@needs_study
def test_claims_about_all_quantiles_that_some_contradict() -> None:
    # Item 13: baseline "consistently the best performing branch" on 8.10.
    on_810 = {branch: quantiles()["810", branch] for branch in BRANCHES}
    assert [(quantile, rival) for quantile, rival, _ in not_always_fastest(on_810, "baseline")] == [
        (0.05, "NoFailT"),
        (0.1, "NoFailT"),
    ]
    # Item 12: "each branch" faster on 9.6: NoFailT is slower at 5, 10 and 50 %.
    of_no_fail = {compiler: quantiles()[compiler, "NoFailT"] for compiler in ("810", "96")}
    assert [quantile for quantile, _, _ in not_always_fastest(of_no_fail, "96")] == [0.05, 0.1, 0.5]
    # Item 14: removing FailT helps the slowest blocks on 9.2 by 6.5 %.
    on_92 = {branch: quantiles()["92", branch] for branch in ("baseline", "NoFailT")}
    helped = not_always_fastest(on_92, "baseline")
    assert [(quantile, round(gain, 1)) for quantile, _, gain in helped] == [(0.9, 6.5), (0.95, 6.4)]
    # Item 15: the recommended branch is slower on 8.10 at every quantile.
    recommended = {branch: on_810[branch] for branch in ("baseline", "SplitUMElem")}
    assert not_always_fastest(recommended, "baseline") == []


@needs_study
def test_quantiles_that_do_not_carry_what_is_said_of_them() -> None:
    # Item 16: the interquartile range ends at 75 %, at a cluster's edge, so it jumps where medians are equal.
    summary = between("get_summary_stats(type", "Let's begin with")
    printed = np.array(times(summary)).reshape(9, 2)
    no_fail, baseline = printed[2], printed[0]
    assert (no_fail[0] / baseline[0] < 1.02, no_fail[1] / baseline[1] > 1.9) == (True, True)
    # Item 17: between 30 and 40 % and between 70 and 80 % quantiles are of other blocks.
    deciles = {tenth / 10: min(times_) for tenth, (times_, _, _) in enumerate(decile_rows())}
    assert jumps(deciles) == [(0.3, 0.4), (0.7, 0.8)]
    # Item 18: the 95 % quantile rests on seven blocks.
    assert blocks_beyond(BLOCKS, 0.95) == 7 < FEW_BLOCKS
    # Item 19: each of three branches has all blocks, so each block is in each compiler's group three times.
    assert re.findall(r"\b122\b", summary) == ["122"] * len(COMPILERS) * len(BRANCHES)


# R's own examples.


def test_shapiro_and_kruskal_as_in_r() -> None:
    found = shapiro(MTCARS_MPG)
    assert (f"{found.statistic:.5f}", f"{found.p:.4f}") == ("0.94756", "0.1229")
    found = kruskal([np.array(one) for one in MUCOCILIARY])
    assert (f"{found.statistic:.5f}", f"{found.p:.2f}") == ("0.77143", "0.68")
    assert kruskal([np.ones(4), np.ones(3)]).p == 1


def test_pairwise_signed_rank_as_in_r() -> None:
    names = ("round out", "narrow angle", "wide angle")
    found = pairwise_signed_rank({name: ROUNDING_TIMES[:, place] for place, name in enumerate(names)})
    assert list(found.values()) == pytest.approx([0.366521, 0.029264, 0.005785], abs=1e-6)


def test_quantiles_are_of_type_seven() -> None:
    middle, spread = median_and_iqr(np.array([1.0, 2, 3, 4, 10]))
    assert (middle, spread) == (3, 2)
    assert np.quantile([1, 2, 3, 4, 10], [0.1, 0.9]) == pytest.approx([1.4, 7.6])


def test_p_values_below_the_machines_precision_are_bounds() -> None:
    assert (printed_p(1e-300).text, printed_p(1e-300).value) == ("< 2.2e-16", 1e-300)
    assert printed_p(5.97e-16).text == "5.97e-16"


# The recycling bug.


def frame(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compiler, branch and total time of 1,098 rows in the study's order, in which branches make no difference."""
    draws = np.random.default_rng(seed)
    base = draws.choice([12_500.0, 32_000.0, 450_000.0], BLOCKS) * np.exp(draws.normal(0, 0.05, BLOCKS))
    compilers, branches = np.tile(COMPILERS, 3), np.repeat(BRANCHES, 3)
    factors = np.array([{"810": 1.0, "92": 2.0, "96": 0.97}[one] for one in compilers])
    values = base[:, np.newaxis] * factors * np.exp(draws.normal(0, 0.01, (BLOCKS, 9)))
    return np.tile(compilers, BLOCKS), np.tile(branches, BLOCKS), values.ravel()


def as_the_study_called_it(values: np.ndarray, groups: np.ndarray) -> list[float]:
    """R's pairwise.wilcox.test(values, groups, paired = TRUE) with fewer groups than values: the mask is recycled."""
    samples_ = [values[np.resize(groups == one, values.size)] for one in BRANCHES]
    pairs = [(0, 1), (0, 2), (1, 2)]
    return holm([signed_rank_p(samples_[one] - samples_[other]) for one, other in pairs])


@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_studys_call_finds_branches_where_there_are_none_and_ours_does_not(compiler: str) -> None:
    compilers, branches, values = frame(1)
    groups = branches[compilers == compiler]
    # The study's frame: bind_rows in the order of branches, sorted by slot; groups repeat with period 3.
    assert max(as_the_study_called_it(values, groups)) < 2e-16
    recycled = np.resize(groups == "baseline", values.size)
    assert set(compilers[recycled]) == {"810"}
    mine = {branch: values[(compilers == compiler) & (branches == branch)] for branch in BRANCHES}
    assert min(pairwise_signed_rank(mine).values()) > 0.05


def test_groups_of_other_sizes_are_refused() -> None:
    with pytest.raises(ComparisonError, match=r"other sizes: a 4, b 2"):
        pairwise_signed_rank({"a": np.arange(4.0), "b": np.arange(2.0)})


# The tables from runs.


def study_runs(folder: Path, processes: int = 1, names: Sequence[str] = ("ghc", "branch")) -> list[Run]:
    recordings = []
    for place, (compiler, branch) in enumerate((c, b) for c in COMPILERS for b in BRANCHES):
        files = [
            written(
                folder,
                f"{compiler}-{branch}-{process}.csv",
                tab_separated(points(122, seed=10 * place + process, with_table_read=False), AGE_2023),
            )
            for process in range(processes)
        ]
        factors = dict(zip(names, (compiler, branch), strict=False))
        name = f"{compiler}-{branch}"
        recordings.append(Recording(target=name, files=files, factors=factors, out=folder / "runs" / name))
    return import_recordings(recordings)


def table(found: list[PublishedTable], start: str) -> PublishedTable:
    (one,) = (table_ for table_ in found if table_.title.startswith(start))
    return one


def rows(found: list[PublishedTable], start: str) -> list[list[str]]:
    """The texts of a table."""
    return [[cell.text for cell in row] for row in table(found, start).rows]


def tables(sides: Sequence[Sequence[Run]]) -> list[PublishedTable]:
    return published_report([{str(run.path): run for run in side} for side in sides]).tables


def test_the_table_set_comes_from_runs(tmp_path: Path) -> None:
    sides = [[run] for run in study_runs(tmp_path)]
    found = tables(sides)
    _, cases = cases_of(sides)
    by_case = {(case.compiler, case.branch): case.total_us for case in cases}
    assert [one.title.split(",")[0].split(" over")[0] for one in found] == [
        "Shapiro-Wilk test of total time",
        "Kruskal-Wallis rank sum test",
        *["Pairwise signed-rank tests with continuity correction"] * 3,
        "Median and interquartile range",
        "Quantiles",
        "Speedup",
        "Speedup",
    ]
    assert all(len(row) == len(one.columns) for one in found for row in one.rows)
    tests = rows(found, "Kruskal")
    assert [row[1] for row in tests] == ["all", "ghc 810", "ghc 92", "ghc 96"]
    expected = stats.kruskal(*(by_case["92", branch] for branch in BRANCHES))
    assert tests[2][2] == f"{expected.statistic:.5g}"
    pairs = rows(found, "Pairwise signed-rank tests with continuity correction, ghc 92")
    mine = pairwise_signed_rank({branch: by_case["92", branch] for branch in BRANCHES})
    assert pairs[1][1:] == [
        printed_p(mine["baseline", "NoFailT"]).text,
        printed_p(mine["SplitUMElem", "NoFailT"]).text,
    ]
    shown = rows(found, "Quantiles")
    expected = np.quantile(by_case["92", "SplitUMElem"], QUANTILES).tolist()
    assert shown[4] == ["92", "SplitUMElem", *(f"{one:.1f}" for one in expected)]
    assert [cell.value for cell in table(found, "Quantiles").rows[4]] == [None, None, *expected]
    assert "Resting on fewer than 10 blocks: 5%, 95%." in table(found, "Quantiles").notes
    assert (len(table(found, "Speedup over 810,").rows), len(table(found, "Speedup over 810 baseline").rows)) == (
        33,
        66,
    )
    base, other = np.quantile(by_case["810", "SplitUMElem"], 0.4), np.quantile(by_case["96", "SplitUMElem"], 0.4)
    row = next(row for row in rows(found, "Speedup over 810,") if row[:2] == ["SplitUMElem", "40%"])
    assert row[-1] == f"{(base - other) / base * 100:.2f}"


def test_of_several_processes_the_median_of_each_block_counts(tmp_path: Path) -> None:
    sides = [[run] for run in study_runs(tmp_path, processes=3)]
    values = sides[0][0].table("blocks")["total_us"].to_numpy().reshape(3, -1)
    _, (first, *_) = cases_of(sides)
    assert isinstance(first, Case)
    assert first.total_us.tolist() == np.median(values, axis=0).tolist()
    found = tables(sides)
    assert any("the median of each block" in note for note in table(found, "Quantiles").notes)
    pairs = table(found, "Pairwise signed-rank tests with continuity correction, ghc 92")
    assert not any("One process a build" in note for note in pairs.notes)


def test_processes_in_several_runs_of_a_side_are_put_together(tmp_path: Path) -> None:
    one, other = study_runs(tmp_path / "a", processes=3)[0], study_runs(tmp_path / "b", processes=2)[0]
    both = np.concatenate([run.table("blocks")["total_us"].to_numpy().reshape(-1, 122) for run in (one, other)])
    (case,) = cases_of([[one, other]])[1]
    assert case.total_us.tolist() == np.median(both, axis=0).tolist()


def test_targets_stand_in_for_factors(tmp_path: Path) -> None:
    sides = [[run] for run in study_runs(tmp_path, names=())]
    assert [case.branch for case in cases_of(sides[:2])[1]] == ["810-baseline", "810-SplitUMElem"]
    found = tables(sides[:2])
    assert [row[1] for row in rows(found, "Speedup over")][:1] == ["810-SplitUMElem"]
    with pytest.raises(ComparisonError, match="another run is 810 baseline too"):
        tables([study_runs(tmp_path / "b")[:1]] * 2)
