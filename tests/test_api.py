"""The Python API beyond its documentation's examples."""

import subprocess
import sys
from pathlib import Path

import pytest

import slotmark
from slotmark.benches.cluster.simulating.direct import simulate_direct
from slotmark.benches.cluster.simulating.simulate import load_profile
from slotmark.compare import compare
from tests.made_up_runs import write_run


def test_compare_is_the_same_function_whatever_was_imported_before(tmp_path: Path) -> None:
    paths = [
        write_run(tmp_path / name, name, {"decode, sequential": [rate + n for n in range(8)]}).path
        for name, rate in (("a", 100.0), ("b", 200.0))
    ]
    expected = compare([slotmark.open_run(path) for path in paths], seed=3)
    assert slotmark.compare(*paths, seed=3) == expected
    assert slotmark.compare([paths[0]], slotmark.open_run(paths[1]), seed=3) == expected
    script = "import sys, slotmark; print(slotmark.compare(*sys.argv[1:]))"
    said = subprocess.run([sys.executable, "-c", script, *paths], capture_output=True, text=True, check=True).stdout
    assert said.startswith("<Comparison of b with a: 1 better")
    with pytest.raises(slotmark.SlotmarkError, match="no such run folder"):
        slotmark.compare(paths[0], tmp_path / "nowhere")
    for empty in (([], paths[1]), (paths[0], [])):
        with pytest.raises(slotmark.SlotmarkError, match="A side has no run"):
            slotmark.compare(*empty)
    with pytest.raises(slotmark.SlotmarkError, match="The seed is -1, but it's 0 or more"):
        slotmark.compare(*paths, seed=-1)


def test_completion_finds_what_the_package_has() -> None:
    assert set(slotmark.__all__) <= set(dir(slotmark))
    script = "import slotmark; print(*dir(slotmark))"  # where nothing was loaded before
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert {"compare", "open_run", "SlotmarkError"} <= set(said)


def test_samples_have_slot_and_hash_beside_a_blocks_number(tmp_path: Path) -> None:
    profile = load_profile("value-only-10.5", ["run.slots=700", "epoch_slots=100", "hosts=6", "pools=6"])
    made, _ = simulate_direct(profile, 1, tmp_path / "run", lambda _done, _total: None)
    run = slotmark.open_run(made.path)
    blocks = {row["block_no"]: row for row in run.samples("peer_fetched").rows.to_pylist()}
    truth = {row["block"]: row for row in run.table("truth_blocks").to_pylist()}
    assert len(blocks) > 5
    for number, row in blocks.items():
        assert list(row) == ["block_no", "slot", "hash", "forger", "host", "value"]
        assert truth[row["hash"]]["slot"] == row["slot"]
        assert number == row["block_no"]
    assert run.samples("slot_started").rows.column_names == ["slot", "host", "value"]
    assert (
        repr(run.samples("slot_started"))
        == f"<Samples of slot_started, s: {run.samples('slot_started').rows.num_rows:,}>"
    )


def test_runs_and_comparisons_take_filters_and_show_themselves_in_notebooks(tmp_path: Path) -> None:
    settings = ["run.slots=700", "epoch_slots=100", "hosts=6", "pools=6"]
    paths = []
    for seed in (1, 2):
        made, _ = simulate_direct(
            load_profile("value-only-10.5", settings), seed, tmp_path / f"<b>{seed}", lambda *_: None
        )
        paths.append(made.path)
    everything = slotmark.open_run(paths[0], filters=["none"]).samples("slot_started").rows.num_rows
    later = slotmark.open_run(paths[0], filters=["EpochGEq 3"]).samples("slot_started").rows.num_rows
    assert 0 < later < everything
    with pytest.raises(slotmark.SlotmarkError, match="EpochGE"):
        slotmark.open_run(paths[0], filters=["EpochGE 3"])
    shown = slotmark.open_run(paths[0])._repr_html_()
    assert shown.startswith("<table>")
    assert "<b>" not in shown
    assert "&lt;b&gt;1" in shown
    result = slotmark.compare(*paths, filters=["none"], seed=3)
    assert result.baseline.filters == []
    assert result.decision is not None
    assert "<td>undecided</td>" in result._repr_html_()
    with pytest.raises(TypeError, match="unexpected keyword argument 'seeds'"):
        slotmark.compare(*paths, seeds=3)  # pyright: ignore[reportCallIssue]
