"""What-if answers: the same every time, in the right direction, over the range that was asked for; and the derived profiles."""

import json
import subprocess
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotmark.benches.cluster.simulating.predict import predict_change, predict_sweep, written_together
from slotmark.benches.cluster.simulating.settings import moved_with
from slotmark.benches.cluster.simulating.simulate import (
    DERIVED,
    END_TO_END_ROWS,
    Tables,
    _averaged,
    load_profile,
    predict,
    shipped_profiles,
)
from slotmark.benches.cluster.simulating.simulate import Row as TableRow
from slotmark.benches.cluster.sweep import Spacing, parse_sweep
from slotmark.compare import Comparison, Row, Summary, Swept, alone, compare, show_run
from slotmark.engine import Piece
from slotmark.errors import RunError, SimulationError
from slotmark.metrics import samples
from slotmark.numbers import number
from slotmark.report import comparison_document, run_document, write_report
from slotmark.report.build import MANY_PARTS
from slotmark.report.document import Table
from slotmark.report.renderers.markdown import markdown
from slotmark.run import Run, Target, check_run, open_run
from tests.conftest import quietly

Command = Callable[..., "subprocess.CompletedProcess[str]"]

SHORT = ("run.slots=20000",)
"""Half an epoch of analysed slots: the report leaves out the first two."""

SMALL = ("hosts=6", "pools=6", "run.slots=700", "genesis.epoch_slots=100")


def changed(folder: Path, settings: Sequence[str], seeds: Sequence[int]) -> list[Run]:
    return predict_change("value-only-10.5", settings, seeds, folder, quietly)


def swept(folder: Path, text: str, steps: int, seeds: Sequence[int]) -> list[Run]:
    return predict_sweep("value-only-10.5", parse_sweep(text), steps, SHORT, seeds, folder, quietly)


def row(comparison: Comparison, name: str) -> Row:
    (found,) = (one for one in comparison.rows if one.metric.name == name)
    return found


def levels(comparison: Comparison, name: str) -> list[Summary]:
    return [one for one in row(comparison, name).summaries if one is not None]


def test_the_same_seeds_predict_the_same_and_others_do_not(tmp_path: Path) -> None:
    first, again, other = (
        compare(changed(tmp_path / name, [*SHORT, "ledger_tick=30ms"], seeds))
        for name, seeds in (("first", [1, 2]), ("again", [1, 2]), ("other", [3, 4]))
    )
    assert first == again
    assert (
        comparison_document(first).title
        == comparison_document(again).title
        == "Simulated: ledger_tick=30ms against unchanged"
    )
    assert levels(first, "0.95 adoption") != levels(other, "0.95 adoption")


def test_a_longer_ledger_tick_never_makes_adoption_earlier(tmp_path: Path) -> None:
    comparison = compare(swept(tmp_path, "ledger_tick=10ms..60ms", 4, [1, 2]))
    (detail,) = (one for one in comparison.details if isinstance(one, Swept))
    assert detail.parameter == "forging.ledger_tick.mean"
    for metric in END_TO_END_ROWS:
        means = [one.mean for one in levels(comparison, metric)]
        assert means == sorted(means), metric
        assert means[-1] - means[0] == pytest.approx(0.050, abs=0.01), metric


def test_a_change_is_compared_with_the_unchanged_profile_seed_by_seed(tmp_path: Path) -> None:
    runs = changed(tmp_path, [*SHORT, "ledger_tick=31.26ms"], [1, 2, 3])
    unchanged, with_change = runs
    assert unchanged.manifest.parameters["settings"] == list(SHORT)
    assert with_change.manifest.target.name == "ledger_tick=31.26ms"
    comparison = compare(runs)
    assert [warning.kind for warning in comparison.all_warnings] == []
    for one in comparison.rows:
        (difference,) = one.differences
        ours, theirs = one.summaries
        assert difference is not None
        assert difference.delta is not None
        assert ours is not None
        assert theirs is not None
        assert difference.delta.estimate == pytest.approx(theirs.mean - ours.mean)
    announced = row(comparison, "Slot start to announced")
    (difference,), (base, _) = announced.differences, announced.summaries
    assert difference is not None
    assert difference.delta is not None
    assert base is not None
    assert difference.delta.estimate == pytest.approx(0.010, abs=0.001)
    # Paired by seed, the difference is known far better than either level.
    assert difference.delta.high - difference.delta.low < 4.3 * 2 * (base.standard_error or 0) * 0.8
    assert difference.delta.low < 0.010 < difference.delta.high


def test_how_long_to_run_alone_is_nothing_to_compare(tmp_path: Path) -> None:
    (run,) = changed(tmp_path, SHORT, [1])
    comparison = alone(open_run(run.path))
    assert comparison.candidates == []
    (level,) = levels(comparison, "0.95 adoption")
    assert level.standard_error is None
    document = comparison_document(comparison)
    assert document.title == "Simulated: value-only-10.5"
    assert f"95 adoption: {number(level.mean * 1e3)} ms." in markdown(document)


def test_when_95_percent_have_a_block_lies_between_the_published_centiles(tmp_path: Path) -> None:
    comparison = compare(changed(tmp_path, [*SHORT, "hosts=100", "pools=100"], [1]))
    means = [levels(comparison, f"{centile} adoption")[1].mean for centile in ("0.94", "0.95", "0.96")]
    assert means[0] < means[1] < means[2]


def test_larger_blocks_take_their_load_along_and_arrive_later(tmp_path: Path) -> None:
    runs = swept(tmp_path / "swept", "block_size=22kB..180kB", 3, [1])
    steps = [run.manifest.parameters["sweep"] for run in runs]
    assert [(step["value"], step["unit"]) for step in steps] == [(22.0, "kB"), (63.0, "kB"), (180.0, "kB")]
    means = [one.mean for one in levels(compare(runs), "0.95 adoption")]
    assert means == sorted(means)
    blocks = [run.manifest.parameters["blocks"] for run in runs]
    assert min(blocks) > 0.9 * max(blocks)
    moved = dict(setting.split("=") for setting in runs[0].manifest.parameters["moved along"])
    assert moved["workload.tps"] == "2.925"  # 39 for 160
    _, fixed = changed(tmp_path / "fixed", [*SHORT, "block_size=80kB", "tps=12"], [1])
    names = [setting.partition("=")[0] for setting in fixed.manifest.parameters["moved along"]]
    assert names == ["workload.refill_tps", "workload.tx_count", "genesis.max_block_body_size"]


def test_a_load_is_transactions_by_their_bytes_and_lasts_as_long(tmp_path: Path) -> None:
    """The profile's transactions have 556 bytes, and its load is 8 per second."""
    runs = predict_sweep(
        "value-only-5", parse_sweep("load=2.224kB/s..8.896kB/s"), 2, [], [1, 2], tmp_path / "load", quietly
    )
    steps = [run.manifest.parameters["sweep"] for run in runs]
    assert [(step["parameter"], step["value"], step["unit"]) for step in steps] == [
        ("workload.load", 2.224, "kB/s"),
        ("workload.load", 8.896, "kB/s"),
    ]
    assert {step["own"] for step in steps} == {"4.448kB/s"}
    assert [run.manifest.parameters["moved along"] for run in runs] == [
        ["workload.tx_count=12000"],
        ["workload.tx_count=48000"],
    ]
    for run, settings in zip(runs, (["tps=4", "tx_count=12000"], ["tps=16", "tx_count=48000"]), strict=True):
        alike = predict_change("value-only-5", settings, [1, 2], tmp_path / settings[0], quietly)[1]
        assert alike.table("seeds").equals(run.table("seeds"))
    light, heavy = (one.mean for one in levels(compare(runs), "Fetch duration"))
    assert light < heavy


SMALL_FULL = """extends = "value-only-10.5"
name = "small"
description = "8 hosts, of which blocks that are full are analysed"
run.slots = 1500
genesis.epoch_slots = 300
network = { hosts = 8, pools = 8 }
"""


def test_fewer_full_blocks_are_warned_of_and_filters_hold_for_both_sides(tmp_path: Path) -> None:
    """At half the load adoption is faster, and over full blocks alone it isn't: these are others then, more of them at the ends of epochs."""
    file = tmp_path / "small.toml"
    file.write_text(SMALL_FULL, encoding="utf-8")
    seeds = [1, 2, 3]

    def differ(name: str, *settings: str) -> tuple[list[str], float]:
        comparison = compare(predict_change(file, settings, seeds, tmp_path / name, quietly))
        was, now = (one.mean for one in levels(comparison, "0.80 adoption"))
        return [warning.text for warning in comparison.all_warnings if warning.kind == "other_blocks"], now / was

    (said,), over_full = differ("full", "tps=6")
    assert "blocks on the chain are analysed" in said
    assert over_full > 0.99
    said_of_all, over_all = differ("all", "tps=6", "published.min_fullness=0")
    assert (said_of_all, over_all < 0.97) == ([], True)
    assert differ("tick", "ledger_tick=30ms")[0] == []
    (alone_,) = predict_change(file, ["published.min_fullness=0"], seeds, tmp_path / "alone", quietly)
    assert alone_.manifest.parameters["blocks"] > 0
    sweep = parse_sweep("load=3kB/s..8kB/s")
    low, high = predict_sweep(file, sweep, 2, [], seeds, tmp_path / "swept", quietly)
    assert [[one.kind for one in run.manifest.warnings] for run in (low, high)] == [[], ["other_blocks"]]


def test_filters_that_are_set_hold_for_both_sides_and_are_no_part_of_what_changed(tmp_path: Path) -> None:
    """They were in the name of the changed side, and one that is the profile's own already was left out beside another profile."""
    base, half = tmp_path / "small.toml", tmp_path / "half.toml"
    base.write_text(SMALL_FULL, encoding="utf-8")
    half.write_text(
        f"{SMALL_FULL.replace('small', 'half')}workload.tps = 6\npublished.min_fullness = 0\n", encoding="utf-8"
    )
    settings = ["slots=1000", "min_fullness=0.0", "first_epoch=0"]
    for name, runs in {
        "half": predict_change(half, settings, [1], tmp_path / "against", quietly, against=base),
        "tps=6": predict_change(base, [*settings, "tps=6"], [1], tmp_path / "set", quietly),
    }.items():
        was, now = (one.manifest for one in runs)
        assert now.target.name == name
        assert now.workload["changed"] == ("workload.tps=6.0" if name == "half" else name)
        assert was.parameters["blocks"] == now.parameters["blocks"], "blocks of any size on both sides"


def test_a_shipped_profile_has_its_whole_name_beside_another(tmp_path: Path) -> None:
    """The dot of its version is none before a file's extension: value-only-10.5 was value-only-10."""
    runs = predict_change("value-only-10.5", SHORT, [1], tmp_path, quietly, against="value-only-10.2")
    assert [run.manifest.target.name for run in runs] == ["value-only-10.2", "value-only-10.5"]


@pytest.mark.parametrize(
    ("sweep", "spacing", "steps", "expected"),
    [
        ("a=22kB..180kB", Spacing.auto, 7, [22, 31, 44, 63, 89, 127, 180]),
        ("a=22kB..180kB", Spacing.linear, 3, [22, 100, 180]),
        ("a=10ms..30ms", Spacing.auto, 5, [10, 15, 20, 25, 30]),
        ("a=10ms..20ms", Spacing.geometric, 3, [10, 14.1, 20]),
        ("a=0..0.02", Spacing.auto, 3, [0, 0.01, 0.02]),
        ("a=500us..2ms", Spacing.auto, 3, [500, 1000, 2000]),
        ("a=5..6ms", Spacing.auto, 2, [5, 6]),
        ("load=150kB/s..350kB/s", Spacing.auto, 5, [150, 200, 250, 300, 350]),
    ],
)
def test_the_steps_of_a_sweep_are_as_asked(sweep: str, spacing: Spacing, steps: int, expected: list[float]) -> None:
    assert parse_sweep(sweep, spacing).values(steps) == pytest.approx(expected)


@given(
    low=st.floats(0.001, 1e6), times=st.floats(1.001, 1e4), steps=st.integers(2, 60), spacing=st.sampled_from(Spacing)
)
def test_any_sweep_has_as_many_rising_values_as_asked_between_its_own_ends(
    low: float, times: float, steps: int, spacing: Spacing
) -> None:
    sweep = parse_sweep(f"a={low!r}ms..{low * times!r}ms", spacing)
    values = sweep.values(steps)
    assert len(values) == steps
    assert (values[0], values[-1]) == (low, low * times)
    assert values == sorted(values)


def test_a_parameter_of_whole_numbers_gets_whole_steps(tmp_path: Path) -> None:
    steps = [run.manifest.parameters["sweep"] for run in swept(tmp_path, "concurrency=1..3", 7, [1])]
    assert {step["parameter"] for step in steps} == {"peer.concurrency"}
    assert [step["value"] for step in steps] == [1, 2, 3]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--sweep", "block_sise=22kB..180kB"], "block_sise"),
        (["--sweep", "block_size=22kB"], "PARAM=LOW..HIGH"),
        (["--sweep", "block_size=180kB..22kB"], "low end below the high end"),
        (["--sweep", "block_size=22kB..180ms"], "units of one kind"),
        (["--sweep", "block_size=22ms..180ms"], "workload.block_size"),
        (["--sweep", "loss=0..2"], "network.loss = 2"),
        (["--sweep", "mean=1ms..2ms"], "may mean"),
        (["--sweep", "block_size=22kB..180kB", "--steps", "1"], "--steps"),
        (["--set", "ledger_tick=33kB"], "forging.ledger_tick"),
        (["--set", "load=33kB"], "`33kB` is not a load; write a number and one of B/s, kB/s, MB/s."),
        (["--sweep", "load=2kB/s..3kB/s", "--set", "tps=4"], "both change workload.tps"),
        (["--sweep", "load=2kB/s..3MB"], "units of one kind"),
        (["--set", "run.slots=100"], "no block to analyse"),
        (["--seeds", "0"], "--seeds"),
    ],
)
def test_what_cannot_be_predicted_gets_one_line(
    arguments: list[str], said: str, command: Command, tmp_path: Path
) -> None:
    ended = command("predict", "value-only-10.5", *arguments, cwd=tmp_path)
    error = ended.stderr.strip()
    assert ended.returncode == 2, error
    assert said in error
    assert len(error.splitlines()) == 1, error


def test_a_profile_that_is_not_there_is_refused_with_those_that_are(command: Command, tmp_path: Path) -> None:
    load = ["--sweep", "load=150kB/s..350kB/s", "--steps", "5", "--seeds", "100"]
    ended = command("predict", "leios-mini", *load, "--shard", "3/40", "-o", "sweep", cwd=tmp_path)
    assert ended.returncode == 2
    (line,) = ended.stderr.splitlines()
    assert line.startswith("slotmark: leios-mini: no such profile. ")
    assert line.endswith(f"one of {', '.join(shipped_profiles())}.")
    assert not (tmp_path / "sweep").exists()


def test_what_progress_raises_ends_all_simulations(tmp_path: Path) -> None:
    def interrupted(done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        predict_change("value-only-10.5", ["run.slots=2000000"], [1, 2, 3, 4], tmp_path / "runs", interrupted)
    assert not (tmp_path / "runs").exists()


def test_a_sweep_is_written_as_a_report_with_charts(tmp_path: Path) -> None:
    comparison = compare(swept(tmp_path / "runs", "adopt=50ms..90ms", 3, [1, 2]))
    document = comparison_document(comparison)
    tables = [block for section in document.sections for block in section.blocks if isinstance(block, Table)]
    assert ["50", "70", "90"] in [[line[0].text for line in table.rows] for table in tables]
    page, paper, text, data, *_ = write_report(document, comparison, tmp_path / "report")
    assert paper.read_bytes().startswith(b"%PDF")
    assert "0.95 adoption" in page.read_text()
    assert "| 70 |" in text.read_text()
    as_data = json.loads(data.read_text())
    (detail,) = (one for one in as_data["details"] if one["type"] == "swept")
    assert (detail["type"], detail["parameter"], detail["values"]) == ("swept", "peer.adopt.mean", [50, 70, 90])
    (found,) = (one for one in as_data["rows"] if one["metric"]["id"] == "adopted_by_100")
    assert [one["mean"] for one in found["summaries"]] == [one.mean for one in levels(comparison, "1.00 adoption")]


def test_all_simulations_of_a_sweep_are_one_run_with_a_row_each(tmp_path: Path) -> None:
    runs = predict_sweep(
        "value-only-10.5", parse_sweep("adopt=50ms..90ms"), 2, SMALL, [1, 2], tmp_path / "runs", quietly
    )
    together = written_together(runs, tmp_path / "all")
    table = open_run(together.path).table("simulations")
    assert table.select(["variant", "seed"]).to_pylist() == [
        {"variant": f"adopt={value}ms", "seed": seed} for value in (50, 90) for seed in (1, 2)
    ]
    expected = {
        (run.name, seed): value for run in runs for (seed,), value in samples(run, "adopted_by_095").of("").items()
    }
    found = samples(together, "adopted_by_095")
    names = {f"adopt={value}ms": run.name for value, run in zip((50, 90), runs, strict=True)}
    assert {(names[part], seed): value for part in found.parts for (seed,), value in found.of(part).items()} == expected
    assert check_run(together.path) == 1
    with pytest.raises(RunError, match="already there"):
        written_together(runs, tmp_path / "all")


MADE_UP = {"Ledger ticking": 0.02, "0.95 adoption": 1.0, "0.96 adoption": 1.0, "Block size": 90_000.0}
"""Rows of made-up simulations by the unchanged profile with seed 0; those published for value-only-10.5 are 0.02126 s, none, 0.99935 s and 88,962 B."""


def made_up(pieces: Sequence[Piece[Tables]], merge: Callable[[Sequence[Tables]], Any], *_: object) -> Any:
    """An engine that simulates nothing: seed N has N % more of each row, a ledger tick of 30 ms 10 % more yet."""

    def of(profile: str, seed: int) -> Tables:
        ticks = tomllib.loads(profile)["forging"]["ledger_tick"]["mean"] == "30ms"
        times = (1 + seed / 100) * (1.1 if ticks else 1)
        rows = tuple(
            TableRow(name, value * times, 0.1, None if name == "0.95 adoption" else PUBLISHED[name])
            for name, value in MADE_UP.items()
        )
        return Tables(blocks=100 * seed + ticks, rejected=20, orphaned=3, rows=rows)

    return merge([of(*piece.inputs) for piece in pieces])


PUBLISHED = tomllib.loads(load_profile("value-only-10.5"))["published"]["rows"]


def test_each_seed_has_its_row_and_the_model_s_error_is_that_of_their_mean(tmp_path: Path) -> None:
    seeds = [2, 4, 9]
    base, changed_ = predict_change(
        "value-only-10.5", ["ledger_tick=30ms"], seeds, tmp_path / "runs", quietly, engine=cast("Any", made_up)
    )
    for run, ticks in ((base, 0), (changed_, 1)):
        table = run.table("seeds").to_pydict()
        assert table.pop("seed") == seeds
        assert table.pop("blocks") == [200 + ticks, 400 + ticks, 900 + ticks]
        assert set(table) == {*MADE_UP}
        for name, value in MADE_UP.items():
            assert table[name] == pytest.approx([value * (1.1 if ticks else 1) * share for share in (1.02, 1.04, 1.09)])
        assert run.manifest.parameters["blocks"] == 1_500 + 3 * ticks
    # The mean seed has 5 % more than the first numbers.
    assert base.manifest.parameters["model error"] == {
        "of": "value-only-10.5",
        "rows": {
            "Ledger ticking": pytest.approx(0.021 / 0.02126 - 1, abs=1e-5),
            "0.96 adoption": pytest.approx(1.05 / 0.99935 - 1, abs=1e-5),
            "Block size": pytest.approx(94_500 / 88_962 - 1, abs=1e-5),
            "0.95 adoption": pytest.approx(1.05 / 0.99935 - 1, abs=1e-5),
        },
        "equal_to": {"0.95 adoption": "0.96 adoption"},
    }
    assert "model error" not in changed_.manifest.parameters
    together = written_together([base, changed_], tmp_path / "all").manifest.parameters
    assert (together["variants"], together["simulations"], together["blocks"]) == (2, 6, 3_003)
    assert together["model error"] == base.manifest.parameters["model error"]


USUAL_LOAD = {
    "workload.tx_size": "500B",
    "workload.block_size": "90000B",
    "workload.tps": 12.0,
    "workload.refill_tps": 40.0,
    "workload.tx_count": 768_000,
    "genesis.max_block_body_size": "90112B",
}
"""A full block has 180 transactions."""


@pytest.mark.parametrize(
    ("now", "settings", "moved"),
    [
        (
            {"workload.block_size": "45000B"},
            ["block_size=45000B"],
            [
                "workload.tps=6.0",
                "workload.refill_tps=20.0",
                "workload.tx_count=384000",
                "genesis.max_block_body_size=45056B",
            ],
        ),
        # Twice as many transactions of half the size: a body has as many bytes as before.
        (
            {"workload.tx_size": "250B"},
            ["tx_size=250B"],
            ["workload.tps=24.0", "workload.refill_tps=80.0", "workload.tx_count=1536000"],
        ),
        # 257 of them are 89,950 bytes.
        (
            {"workload.tx_size": "350B"},
            ["tx_size=350B"],
            [
                "workload.tps=17.1333",
                "workload.refill_tps=57.1111",
                "workload.tx_count=1096533",
                "genesis.max_block_body_size=90062B",
            ],
        ),
        (
            {"workload.block_size": "45000B"},
            ["block_size=45000B", "tps=12"],
            ["workload.refill_tps=20.0", "workload.tx_count=384000", "genesis.max_block_body_size=45056B"],
        ),
        # Half the load for as long.
        ({"workload.tps": 6.0}, ["load=3kB/s"], ["workload.tx_count=384000"]),
        ({"workload.tps": 6.0}, ["tps=6"], []),
    ],
    ids=["smaller blocks", "smaller transactions", "a rest", "a rate that is set", "a load", "a rate alone"],
)
def test_what_fills_a_block_moves_with_its_size(now: dict[str, Any], settings: list[str], moved: list[str]) -> None:
    assert moved_with(USUAL_LOAD, {**USUAL_LOAD, **now}, settings) == tuple(moved)


def test_tables_of_several_seeds_are_sums_of_counts_and_means_of_rows() -> None:
    def one(number: int, value: float | None) -> Tables:
        return Tables(
            blocks=number,
            rejected=10 * number,
            orphaned=100 * number,
            rows=(TableRow("0.96 adoption", value, 9.0, 0.5),),
        )

    found = _averaged([one(1, 1.0), one(2, None), one(4, 3.0)])
    assert (found.blocks, found.rejected, found.orphaned) == (7, 70, 700)
    # Means of 1 and 3, whose standard deviation is the root of 2.
    (row_,) = found.rows
    assert (row_.predicted, row_.standard_error, row_.published) == (2.0, pytest.approx(1.0), 0.5)
    assert row_.relative_error == 3.0


@pytest.mark.parametrize("variants", [3, MANY_PARTS + 1])
def test_a_run_of_many_variants_is_shown_with_a_line_each(variants: int, tmp_path: Path) -> None:
    run, _ = predict_sweep("value-only-10.5", parse_sweep("adopt=5ms..9ms"), 2, SMALL, [1], tmp_path / "runs", quietly)
    named = [msgspec.structs.replace(run.manifest, target=Target(f"a={number}", "")) for number in range(variants)]
    together = written_together([Run(run.place, one) for one in named], tmp_path / "all")
    (table,) = [one for one in run_document(show_run(together)).sections[-1].blocks if isinstance(one, Table)]
    heads, parts = [column.title for column in table.columns], [line[0].text for line in table.rows]
    each = [f"a={number}" for number in range(variants)]
    if variants > MANY_PARTS:
        assert (parts, heads[:2], heads[-1]) == (each, ["part", "n"], "1.00 adopted, ms")
    else:
        assert (sorted(set(parts)), heads[:2]) == (each, ["part", "metric"])


STAGES = {
    ("forging", "started"): "Started forge loop iteration",
    ("forging", "block_context"): "Acquired block context",
    ("forging", "ledger_state"): "Acquired ledger state",
    ("forging", "ledger_view"): "Acquired ledger view",
    ("forging", "leadership"): "Leadership check duration",
    ("forging", "ledger_tick"): "Ledger ticking",
    ("forging", "mempool_snapshot"): "Mempool snapshotting",
    ("forging", "forge"): "Leadership to forged",
    ("forging", "forged_to_announced"): "Forged to announced",
    ("forging", "self_adopt"): "Forged to self-adopted",
    ("peer", "notice_to_fetch"): "Notice to fetch request",
    ("peer", "fetched_to_announced"): "Fetched to announced",
    ("peer", "adopt"): "Fetched to adopted",
}


def profile(name: str) -> dict[str, Any]:
    return tomllib.loads(load_profile(name))


@pytest.mark.parametrize("name", DERIVED)
def test_a_derived_profile_is_its_version_scaled_by_what_10_5_shows(name: str) -> None:
    wanted = "value-only" if name.startswith("value-only") else "plutus-loop"
    other = "plutus-loop" if wanted == "value-only" else "value-only"
    derived, own = profile(name), profile(name.replace(wanted, other))
    here, there = profile(f"{wanted}-10.5"), profile(f"{other}-10.5")
    assert "derived, not published" in derived["description"]
    assert not derived["published"]["rows"]
    assert derived["target"] == own["target"]
    assert derived["workload"] == here["workload"]
    assert derived["network"] == own["network"] == here["network"]
    for (table, stage), row in STAGES.items():
        rows = [each["published"]["rows"][row] for each in (own, here, there)]
        expected_ms = 1e3 * rows[0] * rows[1] / rows[2]
        if stage == "notice_to_fetch" and wanted == "value-only":
            expected_ms -= 0.16
        written = derived[table][stage]["mean"]
        mean_ms = (
            float(written.removesuffix("us")) / 1e3 if written.endswith("us") else float(written.removesuffix("ms"))
        )
        assert mean_ms == pytest.approx(expected_ms, rel=0.006), stage


def test_a_sweep_needs_two_steps() -> None:
    with pytest.raises(SimulationError, match="--steps 1"):
        parse_sweep("a=1..2").values(1)


def test_a_partial_file_stands_beside_its_base(tmp_path: Path, command: Command) -> None:
    file = tmp_path / "slower.toml"
    file.write_text('name = "slower"\n[forging]\nledger_tick = { mean = "31.26ms" }\n')
    runs = predict_change(file, SHORT, [1, 2], tmp_path / "runs", quietly, against="value-only-10.5")
    same = changed(tmp_path / "same", [*SHORT, "ledger_tick=31.26ms"], [1, 2])
    assert [run.manifest.target.name for run in runs] == ["value-only-10.5", "slower"]
    assert all(mine.table("seeds").equals(theirs.table("seeds")) for mine, theirs in zip(runs, same, strict=True))
    document = comparison_document(compare(runs))
    assert document.title == "Simulated: slower against value-only-10.5"
    assert "changed forging.ledger_tick.mean=31.26ms" in document.subtitle
    alone = command("predict", file)
    assert alone.returncode == 2
    assert "needs a base: `extends`, or --against PROFILE" in alone.stderr
    nothing = command("predict", "value-only-10.5", "--against", "value-only-10.5")
    assert nothing.returncode == 2
    assert "changes nothing of it" in nothing.stderr


def test_titles_say_what_was_changed_and_lists_can_be(tmp_path: Path) -> None:
    _, now = changed(tmp_path / "rtt", [*SHORT, "rtt[eu-central-1,us-east-1].mean*=1.5"], [1])
    assert now.manifest.workload["changed"] == "rtt[eu-central-1,us-east-1].mean*=1.5"
    document = comparison_document(compare(changed(tmp_path / "hosts", [*SHORT, "hosts=100", "pools=100"], [1])))
    assert "changed hosts=100, pools=100" in document.subtitle
    document = comparison_document(compare(swept(tmp_path / "sweep", "network.rtt[3].mean=50ms..90ms", 2, [1])))
    assert document.title == "Simulated: network.rtt[3].mean from 50ms to 90ms"


def test_the_models_own_error_stands_beside_the_interval(tmp_path: Path) -> None:
    runs = changed(tmp_path, ["run.slots=40000", "ledger_tick=30ms"], [1])
    tables = predict(load_profile("value-only-10.5", ["run.slots=40000"]), [1], quietly)
    expected = tables.row("0.96 adoption").relative_error
    assert runs[0].manifest.parameters["model error"]["rows"]["0.96 adoption"] == pytest.approx(expected, abs=1e-5)
    assert "model error" not in runs[1].manifest.parameters
    text = markdown(comparison_document(compare(runs)))
    assert "model's error" in text
    assert "The model's own error in the rows of" in text
    derived = predict_change("value-only-10.5.4", [*SHORT, "ledger_tick=30ms"], [1], tmp_path / "derived", quietly)
    assert "model's error" not in markdown(comparison_document(compare(derived)))


def test_the_models_own_error_stands_below_a_sweep_also_of_the_centile_that_was_not_published(tmp_path: Path) -> None:
    """With 52 hosts, 0.95 adoption is the 50th host's, as the published 0.96 is. No step of a sweep is the published profile."""
    runs = swept(tmp_path, "ledger_tick=10ms..30ms", 2, [1])
    expected = predict(load_profile("value-only-10.5", SHORT), [1], quietly).row("0.96 adoption").relative_error
    error, other = (run.manifest.parameters["model error"] for run in runs)
    assert error == other
    assert error["of"] == "value-only-10.5"
    assert error["equal_to"] == {"0.95 adoption": "0.96 adoption"}
    assert error["rows"]["0.95 adoption"] == error["rows"]["0.96 adoption"] == pytest.approx(expected, abs=1e-5)
    text = markdown(comparison_document(compare(runs)))
    (line,) = (line for line in text.splitlines() if line.startswith("| model's error |"))
    assert f"| {100 * error['rows']['0.95 adoption']:+.2g} % |" in line  # two digits, as it is printed
    assert "what is predicted of value-only-10.5 against what was published" in text
    assert "95 adoption wasn't published: its error is that of 0.96 adoption" in text
    derived = predict_sweep(
        "value-only-10.5.4", parse_sweep("ledger_tick=10ms..30ms"), 2, SHORT, [1], tmp_path / "derived", quietly
    )
    assert "model error" not in derived[0].manifest.parameters
    assert "model's error" not in markdown(comparison_document(compare(derived)))


def test_a_sweep_of_several_entries_is_named_as_it_was_asked(tmp_path: Path) -> None:
    runs = predict_sweep(
        "value-only-5", parse_sweep("rtt[us-east-1].mean=10ms..20ms"), 2, ["run.slots=200"], [1], tmp_path, quietly
    )
    step = runs[0].manifest.parameters["sweep"]
    assert (step["parameter"], step["own"]) == ("rtt[us-east-1].mean", "250us, 90.2ms, 200ms")
    assert runs[0].manifest.workload["changed"] == "run.slots=200, rtt[us-east-1].mean from 10ms to 20ms"
    (one, *_) = predict_sweep(
        "value-only-5", parse_sweep("rtt[1].mean=10ms..20ms"), 2, [], [1], tmp_path / "one", quietly
    )
    assert one.manifest.parameters["sweep"]["parameter"] == "network.rtt[1].mean"


def test_larger_transactions_take_as_many_fewer(tmp_path: Path) -> None:
    _, larger = predict_change("value-only-5", ["run.slots=200", "tx_size=1112B"], [1], tmp_path, quietly)
    moved = dict(one.split("=") for one in larger.manifest.parameters["moved along"])
    assert moved["workload.tps"] == "3.86207"  # 14 for 29
    assert "genesis.max_block_body_size" not in moved  # a full block has as many bytes as before
