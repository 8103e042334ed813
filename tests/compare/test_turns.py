"""Sides that did not take turns get no verdict, and those that did get theirs: real run folders, and the order that they record."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from benchmarks.ledger.made_up_runs import made_up_run

from slotmark.benches.ledger.tables import PROCESSES
from slotmark.compare import compare
from slotmark.compare.result import Comparison
from slotmark.compare.results.rows import Difference
from slotmark.run import Run, RunWriter

EVENLY = [0, 4, 8], [1, 2, 3, 5, 6, 7, 9, 10, 11, 12]
ROUNDS = [0, 3, 4], [1, 2, 5]
ONE_AFTER_THE_OTHER = [0, 1, 2], list(range(3, 13))
IN_THE_MIDDLE = [5, 6, 7], [0, 1, 2, 3, 4, 8, 9, 10, 11, 12]


def recorded(
    folder: Path, places: Sequence[int], *, ratio: float = 1.0, by: str = "place", session: str = "made-up"
) -> Run:
    """A run whose processes ran at these places of the session, which is kept as such, as starts, or not."""
    plain = made_up_run(folder / "plain", ratio, processes=len(places), blocks=122, seed=len(places), factors={})
    rows = [
        {
            "run": run,
            "file": "",
            "format": "",
            "blocks": 122,
            "place": place if by == "place" else None,
            "started": f"2026-11-{1 + place:02}T10:00:00Z" if by == "started" else None,
        }
        for run, place in enumerate(places, start=1)
    ]
    with RunWriter(folder / "run") as writer:
        writer.table("blocks", plain.table("blocks"))
        writer.table("processes", pa.Table.from_pylist(rows, schema=PROCESSES))
        return writer.finish(msgspec.structs.replace(plain.manifest, session=session, tables={}))


def typical(found: Comparison) -> Difference:
    row = next(row for row in found.rows if row.metric.id == "total_us" and row.quantity == "typical block")
    (one,) = row.differences
    assert one is not None
    return one


@pytest.mark.parametrize("by", ["place", "started"])
@pytest.mark.parametrize("places", [EVENLY, ROUNDS], ids=["evenly", "rounds"])
def test_sides_that_took_turns_get_their_verdict(places: tuple[list[int], list[int]], by: str, tmp_path: Path) -> None:
    runs = [
        recorded(tmp_path / name, its, ratio=ratio, by=by)
        for name, its, ratio in zip("ab", places, (1.0, 1.5), strict=True)
    ]
    found = compare(runs, repetitions=300)
    assert typical(found).verdict == "worse"
    assert "not_interleaved" not in {one.kind for one in found.all_warnings}


@pytest.mark.parametrize("by", ["place", "started"])
@pytest.mark.parametrize("places", [ONE_AFTER_THE_OTHER, IN_THE_MIDDLE], ids=["one after the other", "in the middle"])
def test_sides_that_did_not_take_turns_get_none_and_the_line_says_what_to_do(
    places: tuple[list[int], list[int]], by: str, tmp_path: Path
) -> None:
    runs = [
        recorded(tmp_path / name, its, ratio=ratio, by=by)
        for name, its, ratio in zip("ab", places, (1.0, 1.5), strict=True)
    ]
    found = compare(runs, repetitions=300)
    one = typical(found)
    assert one.verdict == "undecided"
    assert one.p_adjusted is None
    assert one.reason.startswith("no verdict possible: processes of the two did not take turns, by the order")
    assert one.ratio is not None
    assert one.ratio.low < 1.5 < one.ratio.high
    (warning,) = (warning for warning in found.all_warnings if warning.kind == "not_interleaved")
    assert "record them in turns and import them with one --session" in warning.text
    assert found.decision is not None
    assert found.decision.line.startswith("RUN AGAIN")
    assert "not_interleaved" in found.decision.line


@pytest.mark.parametrize(
    ("places", "in_turns"),
    [(([0, 2], [1, 3]), True), (([0, 3], [1, 2]), True), (([0, 1], [2, 3]), False), (([1, 3], [0, 2, 4]), True)],
)
def test_two_rounds_are_in_turns_unless_one_side_came_first(
    places: tuple[list[int], list[int]], in_turns: bool, tmp_path: Path
) -> None:
    runs = [
        recorded(tmp_path / name, its, ratio=ratio) for name, its, ratio in zip("ab", places, (1.0, 1.1), strict=True)
    ]
    found = compare(runs, repetitions=300)
    assert ("not_interleaved" not in {one.kind for one in found.all_warnings}) is in_turns


def test_without_a_session_in_common_there_is_no_verdict_and_with_one_its_word_is_taken(tmp_path: Path) -> None:
    unknown = [
        recorded(tmp_path / name, its, ratio=ratio, by="nothing")
        for name, its, ratio in zip("ab", ROUNDS, (1.0, 1.5), strict=True)
    ]
    assert typical(compare(unknown, repetitions=300)).verdict == "worse"
    elsewhere = recorded(tmp_path / "c", ROUNDS[1], ratio=1.5, by="nothing", session="tuesday")
    found = typical(compare([unknown[0], elsewhere], repetitions=300))
    assert found.verdict == "undecided"
    assert "nothing shows that processes of the two took turns" in found.reason


def test_a_machine_that_drifts_is_told_as_a_difference_where_the_order_is_not_looked_at(tmp_path: Path) -> None:
    """The positive control: the same costs without their order, as before, get a false verdict."""
    drift = 0.002 * np.arange(13)
    runs = []
    for name, places in zip("ab", ONE_AFTER_THE_OTHER, strict=True):
        for by in ("place", "nothing"):
            plain = recorded(tmp_path / name / by, places, by=by)
            table = plain.table("blocks")
            draws = np.random.default_rng(places)
            base = np.random.default_rng(1).choice([12_500.0, 32_000.0, 450_000.0], 122)
            noise = draws.normal(0, 0.0005, (len(places), 1)) + draws.normal(0, 0.005, (len(places), 122))
            cost = base * np.exp(drift[places][:, np.newaxis] + noise)
            field = table.schema.get_field_index("total_us")
            drifting = table.set_column(field, table.schema.field(field), pa.array(cost.ravel().astype(np.int64)))
            with RunWriter(tmp_path / name / by / "drifting") as writer:
                writer.table("blocks", drifting)
                writer.table("processes", plain.table("processes"))
                runs.append(writer.finish(msgspec.structs.replace(plain.manifest, tables={})))
    ordered, silent = [compare([runs[place], runs[2 + place]], repetitions=300) for place in (0, 1)]
    assert typical(silent).verdict == "worse"
    assert typical(ordered).verdict == "undecided"
