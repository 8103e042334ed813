"""Parts of blocks: what costs for another reason is compared by itself too."""

from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from benchmarks.ledger.made_up_runs import made_up_run

from slotmark.errors import ComparisonError
from slotmark.metrics import Analysis, parts_of, samples
from slotmark.run import Run, RunWriter


def parts(*runs: Run) -> dict[str, np.ndarray]:
    with ExitStack() as stack:
        return parts_of([stack.enter_context(Analysis(run)) for run in runs])


def made(folder: Path, blocks: int = 400) -> Run:
    return made_up_run(folder, 1.0, processes=3, blocks=blocks, seed=1, factors={})


def changed(run: Run, path: Path, column: str, values: list[int | None]) -> Run:
    table = run.table("blocks")
    with RunWriter(path) as writer:
        for name in run.manifest.tables:
            same = table.set_column(table.schema.get_field_index(column), column, pa.array(values, pa.int64()))
            writer.table(name, same if name == "blocks" else run.table(name))
        return writer.finish(run.manifest)


def test_any_process_of_any_run_puts_a_block_in_a_part_and_no_process_out_of_it(tmp_path: Path) -> None:
    one = made(tmp_path / "one")
    collected = one.table("blocks")["major_gcs"].to_numpy().reshape(3, 400).any(axis=0)
    # Another run collects in its second process on 20 blocks where the first run doesn't.
    others = np.flatnonzero(~collected)[:20]
    counts = np.zeros((3, 400), dtype=int)
    counts[1, others] = 1
    other = changed(one, tmp_path / "other", "major_gcs", counts.ravel().tolist())
    expected = collected.copy()
    expected[others] = True
    found = parts(one, other)
    assert found["with a major GC"].tolist() == expected.tolist()
    assert found["without a major GC"].tolist() == (~expected).tolist()
    size = one.table("blocks")["block_bytes"].to_numpy()[:400]
    assert found["10 to 40 kB"].tolist() == ((size >= 10_000) & (size < 40_000)).tolist()
    assert (found["empty"] | found["not empty"]).all()


def test_every_part_by_hand(tmp_path: Path) -> None:
    run = made(tmp_path / "one")
    place = np.tile(np.arange(400), 3)
    columns: dict[str, list[int | None]] = {
        "era": [[0, 1, 2, 4, 5, 6, 7][one % 7] for one in place],
        "block_bytes": [[9_999, 10_000, 39_999, 40_000][one % 4] for one in place],
        "script_steps": [[None, 0, 5][one % 3] for one in place],
        "major_gcs": [int(one % 5 == 1) for one in place],
        "transactions": [int(one % 6 != 2) for one in place],
        "first_of_epoch": [int(one % 8 == 3) for one in place],
        "reward_pulse": [int(one % 9 == 4) for one in place],
    }
    for column, values in columns.items():
        run = changed(run, tmp_path / column, column, values)
    # Which blocks of so many.
    expected = {
        "with a major GC": (5, {1}),
        "without a major GC": (5, {0, 2, 3, 4}),
        "empty": (6, {2}),
        "not empty": (6, {0, 1, 3, 4, 5}),
        "with scripts": (3, {2}),
        "without scripts": (3, {0, 1}),
        "first of an epoch": (8, {3}),
        "with a pulse of rewards": (9, {4}),
        "Byron": (7, {0, 1}),
        "Shelley to Mary": (7, {2, 3}),
        "Alonzo": (7, {4}),
        "Babbage": (7, {5}),
        "Conway": (7, {6}),
        "below 10 kB": (4, {0}),
        "10 to 40 kB": (4, {1, 2}),
        "from 40 kB": (4, {3}),
    }
    found = parts(run)
    assert [*found] == [*expected]
    for name, (of, which) in expected.items():
        assert np.flatnonzero(found[name]).tolist() == [one for one in range(400) if one % of in which], name


def test_a_condition_that_cannot_be_told_everywhere_makes_no_part(tmp_path: Path) -> None:
    one = made(tmp_path / "one")
    counts: list[int | None] = one.table("blocks")["transactions"].to_pylist()
    other = changed(one, tmp_path / "other", "transactions", [*counts[:-1], None])
    assert {"empty", "not empty"} <= parts(one).keys()
    assert not {"empty", "not empty"} & parts(one, other).keys()
    assert "below 10 kB" in parts(one, other)


def test_parts_of_few_blocks_are_left_out(tmp_path: Path) -> None:
    one = made(tmp_path / "one")
    few = [1 if place % 400 < 9 else 0 for place in range(1200)]
    assert (
        not {"with a major GC", "without a major GC"}
        & parts(changed(one, tmp_path / "few", "major_gcs", list(few))).keys()
    )


def test_runs_over_other_blocks_have_no_parts_together(tmp_path: Path) -> None:
    with pytest.raises(ComparisonError, match="hold other blocks"):
        parts(made(tmp_path / "one"), made(tmp_path / "other", blocks=500))


def test_the_matrix_is_that_of_the_table(tmp_path: Path) -> None:
    run = made(tmp_path / "one")
    matrix = samples(run, "total_us").matrix()
    assert matrix.values.tolist() == run.table("blocks")["total_us"].to_numpy().reshape(3, 400).tolist()
    assert matrix.keys.tolist() == list(range(0, 8_000, 20))
