"""The established tool's ways to print a cell, against what it published."""

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from slotmark.published.styles import STYLES, org, typst

ORG_REPORTS = ("10.5-vs-10.6-pre.value.json", "10.2-vs-10.2-utxohd.value.json")
TYPST_REPORT = "10.5-vs-10.5.4.plutus.json"

NARROW = 4
"""Widths of durations, and of the two that follow; all others are wider."""
NARROW_METRICS = ("Forge loop starts", "Height & slot battles")


def report(shared: Path, name: str) -> dict[str, Any]:
    file = shared / "published" / name
    if not file.is_file():
        pytest.skip(f"the published report ../shared/published/{name} is not here")
    return json.loads(file.read_text())


def rows(report_json: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All rows but sample counts, which have no delta."""
    return (row for section in report_json["sections"].values() for row in section if row["delta"] is not None)


def test_org_prints_every_delta_and_percentage_of_the_published_reports(shared: Path) -> None:
    seen = 0
    for name in ORG_REPORTS:
        report_json = report(shared, name)
        style = STYLES[report_json["style"]]
        for row in rows(report_json):
            baseline, candidate = float(row["base"]), float(row["candidate"])
            assert [
                style.cell(baseline, NARROW),
                style.cell(candidate, NARROW),
                style.delta(baseline, candidate, NARROW),
                style.percent(baseline, candidate, NARROW),
            ] == [row["base"], row["candidate"], row["delta"], row["delta_pct"]], row
            seen += 1
    assert seen == 90


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (3280 / 52, "63.076"),  # cut, where rounding gives 63.077
        (0.999069, "0.99906"),
        (0.0000699, "6e-05"),
        (0.0000099, "0.0"),
        (0.0, "0.0"),
        (52.0, "52.0"),
        (6638.69, "6638.6"),
        (88962.97, "88962"),
        (88962.0, "88962"),
        (1234567.8, "123456"),
        (-0.98765, "-0.987"),
        (1e-300, "0.0"),
    ],
)
def test_org_cuts_to_six_characters(value: float, printed: str) -> None:
    assert org.cell(value, NARROW) == printed


def test_org_takes_deltas_from_cut_cells_and_percentages_from_rounded_deltas() -> None:
    assert org.delta(88962.1, 88964.9, 5) == "2"
    assert org.percent(88962.1, 88964.9, 5) == "0"
    assert org.delta(0.0017599, 0.0011400, 4) == "-0.001"
    assert org.percent(0.0017599, 0.0011400, 4) == "-57"
    assert (org.delta(0.00119, 0.00096, 4), org.percent(0.00119, 0.00096, 4)) == ("-0.000", "0")
    assert (org.delta(0.0, 0.5, 4), org.percent(0.0, 0.5, 4)) == ("0.500", "nan")
    assert org.delta(99999.9, 123.456, 4) == "-99875.550"


def test_org_marks_counts_that_do_not_fit() -> None:
    assert [org.count(samples) for samples in (52, 2266, 10_000, 2_496_312)] == ["(52)", "(2266)", "(100>)", "(249>)"]
    assert typst.count(52) is None


def reach(cell: Callable[[float], str], printed: str) -> np.ndarray:
    """Numbers from end to end of those that are printed as ``printed``."""
    middle = float(printed)
    assert cell(middle) == printed
    ends = []
    for direction in (-1, 1):
        inside, outside = 0.0, max(abs(middle), 1e-4)
        for _ in range(60):
            between = (inside + outside) / 2
            inside, outside = (between, outside) if cell(middle + direction * between) == printed else (inside, between)
        ends.append(middle + direction * inside)
    return np.linspace(*ends, num=61)


def test_typst_can_print_every_row_of_the_published_report(shared: Path) -> None:
    report_json = report(shared, TYPST_REPORT)
    style = STYLES[report_json["style"]]
    seen = 0
    for row in rows(report_json):
        width = NARROW if row["unit"] == "s" or row["metric"] in NARROW_METRICS else NARROW + 1

        def cell(value: float, width: int = width) -> str:
            return style.cell(value, width)

        wanted = (row["delta"], row["delta_pct"])
        pairs = itertools.product(reach(cell, row["base"]), reach(cell, row["candidate"]))
        assert any(
            wanted == (style.delta(baseline, candidate, width), style.percent(baseline, candidate, width))
            for baseline, candidate in pairs
        ), row
        seen += 1
    assert seen == 37


@pytest.mark.parametrize(
    ("value", "width", "printed"),
    [
        (0.00138954, 4, "0.00139"),
        (0.0015, 4, "0.0015"),
        (12.345678, 4, "12.34568"),
        (0.00084, 3, "0.0008"),
        (0.5, 2, "0.500"),
        (3.88654, 5, "3.8865"),
        (28.7257, 5, "28.726"),
        (227.394, 6, "227.39"),
        (8198.04, 6, "8198."),
        (8198.05001, 6, "8198.1"),
        (12340.2, 7, "12340"),
        (0.0000664, 4, "6.6e-5"),
        (0.00003, 4, "3.0e-5"),
        (0.0000099, 4, "0.0"),
        (0.0, 4, "0.0"),
        (-0.0000664, 4, "-6.6e-5"),
    ],
)
def test_typst_rounds_by_width_and_size(value: float, width: int, printed: str) -> None:
    assert typst.cell(value, width) == printed


@pytest.mark.parametrize(
    ("baseline", "candidate", "delta", "percent"),
    [
        (0.00139, 0.00106, "-0.000", "-24"),  # what org prints as 0
        (1.0, 1.00011, "0.000", "0.0"),
        (1.0, 1.00009, "0.000", "0"),
        (0.00005, 0.00014, "0.000", "0"),  # 180 % more, and below the least delta
        (100.0, 100.94, "0.940", "0.9"),
        (100.0, 101.0, "1.000", "1"),
        (100.0, 99.06, "-0.940", "-0.9"),
        (2996.107, 2996.1, "-0.007", "-0.0"),
        (1.0, 1.0, "0.000", "0"),
        (0.0, 0.5, "0.500", "NaN"),
        (8198.04, 7962.498, "-235.542", "-3"),
    ],
)
def test_typst_takes_deltas_and_percentages_from_unrounded_numbers(
    baseline: float, candidate: float, delta: str, percent: str
) -> None:
    assert typst.delta(baseline, candidate, 4) == delta
    assert typst.percent(baseline, candidate, 4) == percent
