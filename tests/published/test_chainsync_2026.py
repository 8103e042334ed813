"""Every figure of chainsync-benchmark-2026 that can be derived comes out as printed; where the report is at odds with itself, the cell is named."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from slotmark.published import PublishedTable, published_report
from slotmark.published.chainsync_2026 import (
    MIB,
    Figures,
    average_mib,
    average_time,
    delta,
    derive,
    rate,
    share,
    span,
)
from tests.conftest import SHARED
from tests.made_up_runs import BYTES_A_BLOCK, write_run

REPORT = SHARED / "published" / "chainsync-benchmark-2026.md"
needs_report = pytest.mark.usefixtures("shared")
pytestmark = pytest.mark.filterwarnings("error")

BLOCKS = 10_000
"""The report's title says 10k blocks."""
PALLAS_BYTES, CHRYSALIS_BYTES = 2_383.6, 2_388.5
"""Bytes a block that explain all printed MB/s of each: the report doesn't give them."""

Table = list[dict[str, str]]


@cache
def sections() -> dict[str, str]:
    """The report's text by heading."""
    parts = re.split(r"^#{2,3} (.*)$", REPORT.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def section(start: str) -> str:
    (found,) = (text for heading, text in sections().items() if heading.startswith(start))
    return found


def tables(start: str) -> list[Table]:
    """The Markdown tables of a section, a dictionary a row."""
    found: list[Table] = []
    for block in re.findall(r"(?:^\|.*\n?)+", section(start), flags=re.MULTILINE):
        head, _, *rows = ([cell.strip() for cell in line.strip().strip("|").split("|")] for line in block.splitlines())
        found.append([dict(zip(head, row, strict=True)) for row in rows])
    return found


def rates(row: dict[str, str]) -> list[float]:
    return [float(cell) for head, cell in row.items() if re.match(r"Run\d", head)]


def seconds(raw: list[float]) -> list[float]:
    """The times that the benchmark's programs wrote down: whole tenths of a second."""
    return [round(BLOCKS / rate, 1) for rate in raw]


def mib_per_s(name: str, raw: list[float]) -> list[float]:
    size = PALLAS_BYTES if name.startswith("Pallas") else CHRYSALIS_BYTES
    return [rate * size / MIB for rate in raw]


def shown(figures: Figures) -> dict[str, str]:
    """The figures of rates as printed."""
    return {
        "average": rate(figures.average).text,
        "deviation": rate(figures.deviation).text,
        "span": span(figures).text,
        "median": rate(figures.median).text,
        "trimmed": rate(figures.trimmed).text,
    }


def raw_results() -> dict[tuple[str, str], list[float]]:
    (table,) = tables("Raw Runs")
    return {(row["Target"], row["Mode"]): rates(row) for row in table}


def results() -> Iterator[tuple[str, list[float], dict[str, str], str]]:
    """Target, raw rates, printed row and printed min-max of the two tables of results."""
    for heading, mode in (("Results: With", "with-deser"), ("Results: No", "no-deser")):
        figures, stability = tables(heading)
        spans = {row["Implementation"]: row["Min-Max blk/s"] for row in stability}
        for row in figures:
            name = row["Implementation"]
            yield name, raw_results()[name, mode], row, spans[name]


@needs_report
@pytest.mark.parametrize("heading", ["Latest Validation Run", "Latest Snapshot"])
def test_both_snapshots_come_out_as_printed(heading: str) -> None:
    (table,) = tables(heading)
    assert len(table) == 4
    reference = {row["Mode"]: derive(rates(row)).average for row in table if row["Target"].startswith("Pallas")}
    for row in table:
        raw = rates(row)
        figures = derive(raw)
        ours = {
            **{f"Run{number} blk/s": rate(one).text for number, one in enumerate(figures.runs, start=1)},
            "Avg blk/s": shown(figures)["average"],
            "Min-Max blk/s": shown(figures)["span"],
            "StdDev": shown(figures)["deviation"],
            "Avg MB/s": average_mib(mib_per_s(row["Target"], raw)).text,
            "Avg time": average_time(seconds(raw)).text,
            "vs Pallas": share(figures.average, reference[row["Mode"]]).text,
        }
        assert {head: ours.get(head, cell) for head, cell in row.items()} == row


@needs_report
def test_the_results_come_out_as_printed() -> None:
    seen = 0
    pallas = {row["Avg blk/s"]: raw for name, raw, row, _ in results() if name.startswith("Pallas")}
    references = iter(pallas.values())
    reference = 0.0
    for name, raw, row, smallest_to_largest in results():
        figures = derive(raw)
        if name.startswith("Pallas"):
            reference = derive(next(references)).average
        ours = {
            "Implementation": name,
            "Avg blk/s": shown(figures)["average"],
            "Avg MB/s": average_mib(mib_per_s(name, raw)).text,
            "Avg time": average_time(seconds(raw)).text,
            "vs Pallas": share(figures.average, reference).text,
        }
        assert ours == row
        assert shown(figures)["span"] == smallest_to_largest
        seen += 1
    assert seen == 8


@needs_report
def test_both_stability_checks_and_their_ratio_come_out_as_printed() -> None:
    text = section("No-Deser Stability Check")
    chrysalis, pallas = (
        derive([float(rate) for rate in line.split(",")])
        for line in re.findall(r"Raw runs \(blk/s\):\n`([^`]*)`", text)
    )
    printed = tables("No-Deser Stability Check")
    for figures, table in zip((chrysalis, pallas), printed[:2], strict=True):
        assert len(figures.runs) == 10
        assert {row["Metric"]: row["Value"] for row in table} == {
            "Mean blk/s (raw 10x)": shown(figures)["average"],
            "Median blk/s": shown(figures)["median"],
            "StdDev blk/s (raw 10x)": shown(figures)["deviation"],
            "Min-Max blk/s": shown(figures)["span"],
            "Trimmed mean blk/s (exclude min/max)": shown(figures)["trimmed"],
        }
    assert printed[2] == [
        {"Ratio": "Chrysalis / Pallas (trimmed)", "Value": share(chrysalis.trimmed, pallas.trimmed).text}
    ]


@needs_report
def test_key_deltas_come_out_as_printed() -> None:
    averages = {key: derive(raw).average for key, raw in raw_results().items()}
    for heading, ours, theirs in (
        ("Perf Branch vs Main", "Chrysalis (perf branch)", "Chrysalis (main)"),
        ("Current Main vs OLD", "Chrysalis (main)", "Chrysalis-OLD"),
    ):
        (table,) = tables(heading)
        for row in table:
            change = delta(averages[ours, row["Mode"]], averages[theirs, row["Mode"]])
            assert [cell.text for cell in change] == [row["Delta blk/s"], row["Relative"]], (heading, row["Mode"])


@needs_report
def test_deltas_in_the_text_come_out_as_printed() -> None:
    iterations = {row["Iteration"]: row for row in tables("Serializer Optimization Iterations")[0]}
    summary = re.findall(
        r"(\w) vs (\w) \(`([\w-]+)`\): `(\S+) blk/s` \(`([^`]+%)`", section("Serializer Optimization Iterations")
    )
    assert len(summary) == 3
    for ours, theirs, mode, difference, relative in summary:
        head = f"{mode} avg blk/s"
        change = delta(float(iterations[ours][head]), float(iterations[theirs][head]))
        assert [cell.text for cell in change] == [difference, relative]
    takeaway = re.findall(r"`([\d.]+) -> ([\d.]+)`, `([^`]+)`", section("Latest Validation Run"))
    assert len(takeaway) == 2
    for before, after, relative in takeaway:
        assert delta(float(after), float(before))[1].text == relative
    shares = re.findall(r"`([\d.]+) / ([\d.]+) = ([\d.]+%)`", section("Serializer Optimization Iterations"))
    assert len(shares) == 2
    for ours, theirs, printed in shares:
        assert share(float(ours), float(theirs)).text == printed


# Where the report is at odds with itself, or with what can be derived from its raw runs.


@needs_report
def test_average_times_do_not_follow_from_the_rates_but_from_times_of_whole_tenths() -> None:
    wrong = {}
    rows = [(f"{row['Target']}, {row['Mode']}", rates(row), row["Avg time"]) for row in tables("Latest Snapshot")[0]]
    rows += [(f"{name}, {row['Avg blk/s']} blk/s", raw, row["Avg time"]) for name, raw, row, _ in results()]
    for cell, raw, printed in rows:
        assert average_time(seconds(raw)).text == printed
        exact = average_time([BLOCKS / one for one in raw]).text
        if exact != printed:
            wrong[cell] = (exact, printed)
    assert wrong == {
        "Pallas (fresh), with-deser": ("3.28s", "3.30s"),
        "Chrysalis (current, confirm set), with-deser": ("7.41s", "7.40s"),
        "Pallas (fresh), no-deser": ("3.15s", "3.17s"),
        "Chrysalis (current, confirm set), no-deser": ("3.59s", "3.60s"),
        "Pallas (reference), 3024.5 blk/s": ("3.31s", "3.30s"),
        "Chrysalis (main), 1274.6 blk/s": ("7.85s", "7.83s"),
        "Chrysalis (perf branch), 1221.5 blk/s": ("8.19s", "8.17s"),
        "Pallas (reference), 3190.1 blk/s": ("3.14s", "3.17s"),
        "Chrysalis (perf branch), 2805.9 blk/s": ("3.56s", "3.57s"),
    }


@needs_report
def test_no_one_size_of_the_blocks_explains_the_throughput_of_pallas_and_chrysalis() -> None:
    ranges: dict[str, tuple[float, float]] = {}
    rows = [(row["Target"], rates(row), row["Avg MB/s"]) for row in tables("Latest Snapshot")[0]]
    rows += [(name, raw, row["Avg MB/s"]) for name, raw, row, _ in results()]
    for name, raw, printed in rows:
        who = "Pallas" if name.startswith("Pallas") else "Chrysalis"
        low, high = ((float(printed) + off) * MIB / np.mean(raw) for off in (-0.005, 0.005))
        before = ranges.get(who, (0, np.inf))
        ranges[who] = max(before[0], float(low)), min(before[1], float(high))
    # Bytes a block that give every printed cell: Pallas 2383.5 to 2383.8, Chrysalis 2387.8 to 2389.6. The same 10,000
    # blocks can't have both sizes: the two programs count different bytes, five a block apart.
    assert ranges["Pallas"][0] < PALLAS_BYTES < ranges["Pallas"][1] < 2_384
    assert 2_387 < ranges["Chrysalis"][0] < CHRYSALIS_BYTES < ranges["Chrysalis"][1]
    assert ranges["Pallas"][1] < ranges["Chrysalis"][0]


@needs_report
def test_the_quick_read_does_not_give_the_latest_figures() -> None:
    with_deser, no_deser = re.findall(r"(\d+)%", section("Quick Read"))
    latest = [row["vs Pallas"] for row in tables("Latest Validation Run")[0] if row["Target"] == "Chrysalis"]
    # It says "the latest serializer work" but gives the shares of the snapshot before it: 44.2 % and 87.8 %.
    assert (with_deser, no_deser) == ("44", "88")
    assert latest == ["45.4%", "87.0%"]


@needs_report
def test_one_pallas_run_is_printed_in_two_sets_of_raw_runs() -> None:
    validation = rates(tables("Latest Validation Run")[0][0])
    raw = raw_results()["Pallas (reference)", "with-deser"]
    # 2996.1 leads both sets, measured at different times; the other four runs differ. One of the two may be a copy.
    assert set(validation) & set(raw) == {2996.1}


@needs_report
def test_halves_are_rounded_down_where_binary_fractions_fall_short_of_them() -> None:
    _, raw = re.findall(r"Raw runs \(blk/s\):\n`([^`]*)`", section("No-Deser Stability Check"))
    figures = derive([float(rate) for rate in raw.split(",")])
    # By hand: median (3130.7 + 3133.0) / 2 = 3131.85, trimmed mean 25047.6 / 8 = 3130.95. On paper 3131.9 and 3131.0.
    assert (shown(figures)["median"], shown(figures)["trimmed"]) == ("3131.8", "3130.9")


@needs_report
def test_iterations_a_to_c_have_no_raw_runs_to_derive_them_from() -> None:
    text = REPORT.read_text(encoding="utf-8")
    averages = {
        shown(derive(rates(row)))["average"]
        for heading in ("Latest Validation Run", "Latest Snapshot", "Raw Runs")
        for row in tables(heading)[0]
    }
    without = [
        (row["Iteration"], row[head])
        for row in tables("Serializer Optimization Iterations")[0]
        for head in ("with-deser avg blk/s", "no-deser avg blk/s")
        if row[head] not in averages
    ]
    assert without == [
        ("A", "1200.3"),
        ("A", "2793.7"),
        ("B", "1235.3"),
        ("B", "2750.2"),
        ("C", "1323.4"),
        ("C", "2790.8"),
    ]
    assert text.count("1200.3") == 1


# From runs.


def texts(table: PublishedTable) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def test_tables_of_runs(tmp_path: Path) -> None:
    # 10,000 blocks of 2,319 bytes. a: 1,000 and 2,000 and 2,500 blocks/s take 10, 5 and 4 s: 6.33 s on average.
    # Mean 1833.3; deviations -833.3, 166.7, 666.7: population variance 388,888.9, so 623.6. b: 500 throughout, 20 s.
    a = write_run(tmp_path / "a", "a", {"decode, sequential": [1_000, 2_000, 2_500]})
    b = write_run(tmp_path / "b", "b", {"decode, sequential": [500, 500, 500], "raw, sequential": [4_000]})
    snapshot, decode, raw, deltas = published_report([{"a": a}, {"b": b}]).tables
    assert snapshot.columns == [
        *("Target", "Mode", "Run1 blk/s", "Run2 blk/s", "Run3 blk/s", "Avg blk/s", "Min-Max blk/s", "StdDev"),
        *("Avg MB/s", "Avg time", "vs a"),
    ]
    assert BYTES_A_BLOCK == 2_319
    # 2,319 * 1833.33 / 2^20 = 4.05; 2,319 * 500 / 2^20 = 1.11; 2,319 * 4,000 / 2^20 = 8.85. 500 / 1833.3 = 27.3 %.
    assert texts(snapshot) == [
        [
            *("a", "decode, sequential", "1000.0", "2000.0", "2500.0"),
            *("1833.3", "1000.0-2500.0", "623.6", "4.05", "6.33s", "100.0%"),
        ],
        [
            *("b", "decode, sequential", "500.0", "500.0", "500.0"),
            *("500.0", "500.0-500.0", "0.0", "1.11", "20.00s", "27.3%"),
        ],
        ["b", "raw, sequential", "4000.0", "", "", "4000.0", "4000.0-4000.0", "0.0", "8.85", "2.50s", "-"],
    ]
    assert decode.title == "Stability check: decode, sequential"
    assert decode.columns == ["Metric", "a", "b"]
    assert texts(decode) == [
        ["Mean blk/s (raw 3x)", "1833.3", "500.0"],
        ["Median blk/s", "2000.0", "500.0"],
        ["StdDev blk/s (raw 3x)", "623.6", "0.0"],
        ["Min-Max blk/s", "1000.0-2500.0", "500.0-500.0"],
        ["Trimmed mean blk/s (exclude min/max)", "2000.0", "500.0"],
        ["Ratio to a (trimmed)", "100.0%", "25.0%"],
    ]
    assert raw.columns == ["Metric", "b"]
    assert texts(deltas) == [["b", "decode, sequential", "-1333.3", "-72.7%"]]
    # What is behind the cells is unrounded: 500 / 1833.333... is 3 / 11; the smallest and the largest are two numbers.
    numbers = dict(zip(snapshot.columns, snapshot.rows[1], strict=True))
    assert numbers["vs a"].value == pytest.approx(300 / 11, rel=1e-12)
    assert numbers["Avg MB/s"].value == pytest.approx(500 * 2_319 / MIB, rel=1e-12)
    assert (numbers["Target"].value, numbers["Min-Max blk/s"].value) == (None, None)
    assert [cell.value for cell in deltas.rows[0][2:]] == pytest.approx([-4000 / 3, -800 / 11], rel=1e-12)


def test_warm_up_is_left_out_and_rounds_are_in_order(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a", "a", {"raw, sequential": [3_000, 1_000, 2_000]}, rounds=[3, 1, 2])
    snapshot, _ = published_report([{"a": run}]).tables
    assert texts(snapshot)[0][2:5] == ["1000.0", "2000.0", "3000.0"]
