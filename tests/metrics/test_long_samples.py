"""Samples that don't fit in memory give the results of those that do."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from slotmark.benches.cluster.simulating.direct import simulate_direct
from slotmark.benches.cluster.simulating.simulate import load_profile
from slotmark.compare import compare
from slotmark.compare.attribution import stage_cells
from slotmark.compare.shown import show_run
from slotmark.errors import RunError
from slotmark.metrics import analysis, catalogue, database
from slotmark.metrics.entries import KeyColumn
from slotmark.metrics.long_samples import LongSamples, long_samples
from slotmark.run import Run, open_run

SETTINGS = ("hosts=6", "pools=6", "run.slots=700", "genesis.epoch_slots=150")
METRIC = catalogue("cluster")["slot_started"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    folder = tmp_path_factory.mktemp("runs")
    profile = load_profile("value-only-10.5", SETTINGS)
    return [simulate_direct(profile, seed, folder / str(seed), lambda _done, _of: None)[0] for seed in (1, 2, 3)]


def apart(one: Any, other: Any, where: str = "") -> Iterator[str]:
    """The places where two results differ, but for what adding up numbers in another order costs."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for key in one:
            yield from apart(one[key], other[key], f"{where}/{key}")
    elif isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)) and len(one) == len(other):
        for place, pair in enumerate(zip(one, other, strict=True)):
            yield from apart(*pair, f"{where}/{place}")
    elif isinstance(one, float) and isinstance(other, float):
        if one != pytest.approx(other, rel=1e-9, abs=1e-12):
            yield f"{where}: {one} {other}"
    elif one != other:
        yield f"{where}: {one} {other}"


def results(runs: list[Run]) -> Any:
    opened = [open_run(run.path) for run in runs]
    return msgspec.to_builtins(
        [show_run(opened[0]), compare(opened[:2]), compare([opened[0], opened[1:]])], enc_hook=str
    )


def test_show_and_compare_are_the_same_for_runs_that_are_not_kept_in_memory(
    runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    within = results(runs)
    written: list[str] = []

    def long(metric: Any, *others: Any) -> LongSamples:
        written.append(metric.id)
        return long_samples(metric, *others)

    monkeypatch.setattr(database, "FEW_ROWS", 0)
    monkeypatch.setattr(analysis, "MOST_IN_MEMORY", 0)
    monkeypatch.setattr(analysis, "long_samples", long)
    monkeypatch.setattr(analysis, "LONG_ROWS", 0)
    monkeypatch.setattr(database, "MOST_ROWS_AT_ONCE", 0)
    monkeypatch.setattr(stage_cells, "MOST_LAID_OUT", 0)
    assert not list(apart(within, results(runs)))
    assert {"slot_started", "cpu_percent", "rss_mib", "peer_adopted", "adopted_by_096"} <= set(written)
    # What is compared is compared: a value that is changed is seen.
    monkeypatch.setattr(LongSamples, "chunks", lambda self, *_: iter([np.full(self.count, 2.0)]))
    assert list(apart(within, results(runs)))


def batches(*of: Sequence[tuple[str, int, float | None]]) -> Any:
    """Rows of `host`, `slot` and `value` as a database gives them; asked for in order, sorted."""

    def rows(sorted_: bool) -> Iterator[pa.RecordBatch]:
        every = [sorted(row for some in of for row in some)] if sorted_ else of
        for some in every:
            hosts = pa.DictionaryArray.from_arrays(
                pa.array(["ab".index(host) for host, *_ in some], pa.uint8()), ["a", "b"]
            )
            yield pa.record_batch(
                {
                    "slot": pa.array([slot for _, slot, _ in some], pa.int64()),
                    "host": hosts,
                    "value": pa.array([value for *_, value in some], pa.float64()),
                }
            )

    return rows


def written(*of: Sequence[tuple[str, int, float | None]]) -> LongSamples:
    return long_samples(METRIC, batches(*of), "runs/x", KeyColumn(), "host")


@pytest.mark.parametrize("turned", [False, True])
def test_sums_by_key_and_members(turned: bool) -> None:
    first, second = [("a", 5, 1.0), ("a", 7, 2.0), ("b", 5, 3.0)], [("b", 6, None), ("b", 900, 4.5)]
    found = written(second, first) if turned else written(first, second)
    assert (found.count, found.least, found.most, found.members) == (4, 1.0, 4.5, [2, 2])
    assert np.concatenate(list(found.chunks())).tolist() == [1.0, 2.0, 3.0, 4.5]
    assert [one.tolist() for one in found.of_members()] == [[1.0, 2.0], [3.0, 4.5]]
    by = found.keys["slot"]
    assert (by.values.tolist(), by.sums.tolist(), by.counts.tolist()) == ([5, 7, 900], [4.0, 2.0, 4.5], [2, 1, 1])


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([[("a", 5, 1.0)], [("a", 5, 2.0)]], "two samples"),
        ([[("a", 5, float("inf"))]], "is no number in host a, slot 5"),
        ([[("b", 5, 1.0)], [("a", 5, 1.0), ("b", 5, 1.0)]], "two samples"),
    ],
)
def test_what_no_run_has_is_refused(rows: list[Sequence[tuple[str, int, float | None]]], said: str) -> None:
    with pytest.raises(RunError, match=said):
        written(*rows)


def test_samples_of_a_metric_without_any() -> None:
    found = written([("a", 5, None)])
    assert (found.parts, found.any("")) == ([], False)


def test_a_statement_that_takes_more_than_the_databases_memory_is_told(
    runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "MEMORY_LIMIT", "2MiB")
    with pytest.raises(RunError, match=r"can't compute '\w+' in .* of memory .*Ingest shorter logs, and report this"):
        show_run(open_run(runs[0].path))
