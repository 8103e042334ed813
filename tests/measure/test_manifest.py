"""Run folders of a session: all of them or none, and tables that are in files already."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from slotmark.errors import RunError
from slotmark.measure.manifest import NewRun, write_runs
from slotmark.measure.session import Head
from slotmark.run import Target, check_run, machine_facts

HEAD = Head(session="20261201T000000-1", machine=machine_facts(), started="2026-12-01T00:00:00.000+00:00", asked={})


def new_run(folder: Path, files: list[Path]) -> NewRun:
    return NewRun(
        folder=folder,
        head=HEAD,
        bench="chainsync",
        target=Target(folder.name, "1"),
        workload={"blocks": "3"},
        parameters={"seed": 1},
        tables={"rows": pa.table({"number": [7]}), "blocks": files},
        sources=[],
        versions={"target x": "1"},
        warnings=[],
    )


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    """Files whose names are in another order than their rows."""
    files = [tmp_path / name for name in ("9.parquet", "10.parquet", "2.parquet")]
    for number, file in enumerate(files):
        pq.write_table(pa.table({"slot": [number, number + 10]}), file)
    return files


def test_a_table_in_files_is_in_the_run_in_their_order_and_the_files_stay(parts: list[Path], tmp_path: Path) -> None:
    before = [file.read_bytes() for file in parts]
    (run,) = write_runs([new_run(tmp_path / "a", parts)])
    assert run.table("blocks").column("slot").to_pylist() == [0, 10, 1, 11, 2, 12]
    assert run.manifest.tables == {"rows": 1, "blocks": 6}
    assert (run.manifest.id, run.manifest.session) == ("20261201T000000-1-a", "20261201T000000-1")
    assert check_run(run.path) == 4
    assert [file.read_bytes() for file in parts] == before


@pytest.mark.parametrize("harm", ["a folder is there", "a file is gone"])
def test_either_all_runs_are_there_or_none(harm: str, parts: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    of_second = parts
    if harm == "a folder is there":
        (out / "b").mkdir(parents=True)
    else:
        of_second = [*parts, tmp_path / "gone.parquet"]
    with pytest.raises(
        RunError, match="already there" if harm == "a folder is there" else "can't write table 'blocks'"
    ):
        write_runs([new_run(out / "a", parts), new_run(out / "b", of_second)])
    assert [path.name for path in out.iterdir()] == (["b"] if harm == "a folder is there" else [])


def test_a_run_that_its_session_wrote_before_it_was_cut_stays_and_the_others_are_written(
    parts: list[Path], tmp_path: Path
) -> None:
    (first,) = write_runs([new_run(tmp_path / "a", parts)])
    before = (first.path / "run.json").read_bytes()
    runs = write_runs([new_run(tmp_path / "a", [tmp_path / "gone.parquet"]), new_run(tmp_path / "b", parts)])
    assert [run.path.name for run in runs] == ["a", "b"]
    assert (first.path / "run.json").read_bytes() == before
    other = msgspec.structs.replace(
        new_run(tmp_path / "a", parts), head=msgspec.structs.replace(HEAD, session="20261201T000000-2")
    )
    with pytest.raises(RunError, match="already there"):
        write_runs([other])


def test_no_run_is_there_where_another_writer_takes_the_place_of_one(parts: list[Path], tmp_path: Path) -> None:
    def runs() -> Iterator[NewRun]:
        yield new_run(tmp_path / "a", parts)
        yield new_run(tmp_path / "b", parts)
        (tmp_path / "b" / "theirs").mkdir(parents=True)

    with pytest.raises(RunError, match="b: already there"):
        write_runs(runs())
    assert not (tmp_path / "a").exists()
    assert [path.name for path in (tmp_path / "b").iterdir()] == ["theirs"]
    assert not list(tmp_path.glob(".*"))
