"""JSON lines by the contract of docs/replay.md: what is read of them, and what is refused with its line."""

import json
from pathlib import Path
from typing import Any

import pytest

from slotmark.benches.ledger.importing import Recording, import_recordings
from slotmark.benches.ledger.recordings.reading import read_file
from slotmark.compare import compare
from slotmark.compare.explain import explain
from slotmark.errors import ComparisonError, ImportFileError
from slotmark.history import Labels, make_store
from slotmark.run import Run

PROCESS: dict[str, Any] = {
    "record": "process",
    "contract": 1,
    "engine": "mine",
    "version": "2",
    "phases": ["decode", "apply"],
}
BLOCK: dict[str, Any] = {
    "record": "block",
    "slot": 20,
    "total_ns": 81_999,
    "decode_ns": 1_999,
    "apply_ns": 80_000,
    "inputs": 2,
}
END: dict[str, Any] = {"record": "end", "blocks": 2, "entries": 5, "peak_bytes": 7}


def written(folder: Path, *lines: dict[str, Any] | str, cut: int = 0) -> Path:
    path = folder / "lines.json"
    text = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
    path.write_text(text[: len(text) - cut], encoding="utf-8")
    return path


def test_what_is_known_is_kept_and_the_rest_is_named(tmp_path: Path) -> None:
    blocks = [BLOCK | {"colour": 1}, BLOCK | {"slot": 40, "colour": 2}]
    recorded = read_file(written(tmp_path, PROCESS, *blocks, END)).recorded
    assert {name: values.tolist() for name, values in recorded.columns.items()} == {
        "slot": [20, 40],
        "total_ns": [81_999, 81_999],
        "total_us": [81, 81],
        "decode_ns": [1_999, 1_999],
        "apply_ns": [80_000, 80_000],
        "inputs": [2, 2],
    }
    assert recorded.unknown == ("colour",)
    assert recorded.facts.engine == "mine 2"
    assert (recorded.facts.peak_bytes, recorded.facts.used.entries, recorded.facts.used.disk_bytes) == (7, 5, None)


def test_they_can_be_imported(tmp_path: Path) -> None:
    file = written(tmp_path, PROCESS, BLOCK, BLOCK | {"slot": 40}, END)
    (run,) = import_recordings([Recording(target="mine", files=[file], factors={}, out=tmp_path / "run")])
    assert run.manifest.workload["totals"] == "mine: decode, apply"
    assert run.table("blocks")["header_check_ns"].null_count == 2


def test_missing_inputs_are_counted_beyond_64_bits(tmp_path: Path) -> None:
    blocks = [BLOCK | {"slot": 20 * place, "missing": 1 << 62} for place in range(4)]
    file = written(tmp_path, PROCESS, *blocks, END | {"blocks": 4})
    (run,) = import_recordings([Recording(target="mine", files=[file], factors={}, out=tmp_path / "run")])
    assert "missing_inputs" in [one.kind for one in run.manifest.warnings]


@pytest.mark.parametrize(
    ("lines", "cut", "why"),
    [
        ([PROCESS | {"contract": 2}, BLOCK, BLOCK, END], 0, "line 1: contract 2, expected 1"),
        ([PROCESS, BLOCK, BLOCK | {"slot": 40}], 0, "line 3: no record `end` as the last line"),
        ([PROCESS, BLOCK, BLOCK | {"slot": 40}, END], 1, "line 4: no record `end`"),
        ([PROCESS, BLOCK, END], 0, "line 3: 2 blocks at the end of 1"),
        ([PROCESS, BLOCK, BLOCK | {"slot": 40, "read_ns": 1}, END], 0, "line 3: 'read_ns' isn't in every block"),
        ([PROCESS, BLOCK, BLOCK | {"slot": -1}, END], 0, "line 3: '-1' as 'slot' is no whole number"),
        ([PROCESS, BLOCK, BLOCK | {"apply_ns": 1.5}, END], 0, "line 3: '1.5' as 'apply_ns' is no whole number"),
        ([PROCESS, BLOCK, BLOCK | {"apply_ns": True}, END], 0, "line 3: 'True' as 'apply_ns' is no whole number"),
        ([PROCESS, BLOCK, BLOCK | {"total_ns": 1 << 63}, END], 0, "as 'total_ns' is no whole number"),
        ([PROCESS, BLOCK, BLOCK, END], 0, "line 3: slot 20 was there before, in line 2"),
        ([PROCESS, BLOCK, "{nonsense", END], 0, "line 3: not a JSON object"),
        ([PROCESS, BLOCK, "[1]", END], 0, "line 3: not a JSON object"),
        ([PROCESS, BLOCK, {"record": "other"}, END], 0, "line 3: not the record of a block"),
        ([PROCESS, BLOCK, BLOCK | {"slot": 40}, END | {"peak_bytes": "x"}], 0, "line 4: "),
        ([PROCESS, BLOCK, BLOCK | {"slot": 40}, END | {"peak_bytes": 1 << 63}], 0, "line 4: Expected `int` <="),
        ([PROCESS, BLOCK, BLOCK | {"slot": 40}, END | {"entries": 1 << 70}], 0, "line 4: Expected `int` <="),
        ([PROCESS, BLOCK, BLOCK | {"slot": 40}, END | {"entries": -1}], 0, "line 4: Expected `int` >= 0"),
        ([PROCESS, BLOCK, '{"slot":' + "9" * 5_000 + "}", END], 0, "line 3: not a JSON object"),
        ([PROCESS, BLOCK, '{"slot":' + "[" * 20_000 + "]" * 20_000 + "}", END], 0, "values inside of values"),
        (['{"record":' + "[" * 100_000, BLOCK, END], 0, "values inside of values"),
    ],
)
def test_what_the_contract_does_not_allow_is_refused(
    lines: list[dict[str, Any]], cut: int, why: str, tmp_path: Path
) -> None:
    with pytest.raises(ImportFileError) as refused:
        read_file(written(tmp_path, *lines, cut=cut))
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)


def _recorded(folder: Path, name: str, *ends: dict[str, Any], missing: int | None = None) -> Run:
    """A run of processes that ended with these, and did not find so many inputs in each block."""
    lookups = {} if missing is None else {"missing": missing}
    files = []
    for number, end in enumerate(ends):
        (folder / f"{name}-{number}").mkdir(parents=True)
        blocks = [
            BLOCK | lookups | {"slot": 20 * place, "total_ns": 90_000 + len(name) + 1_000 * number + 7_000 * place}
            for place in range(1, 13)
        ]
        files.append(written(folder / f"{name}-{number}", PROCESS, *blocks, END | {"blocks": 12} | end))
    (run,) = import_recordings([Recording(target=name, files=files, factors={}, out=folder / name)])
    return run


def test_processes_that_ended_with_another_set_are_not_compared(tmp_path: Path) -> None:
    base = _recorded(tmp_path, "base", {"digest": "ab" * 32}, {"digest": "ab" * 32})
    for name, end, what in (
        ("fewer", {"entries": 4, "digest": "ab" * 32}, "number of unspent outputs: 5 and 4"),
        ("others", {"digest": "cd" * 32}, "digest of unspent outputs: abababababababab and cdcdcdcdcdcdcdcd"),
    ):
        wrong = _recorded(tmp_path, name, end, end | {"peak_bytes": 8})
        refused = f"base and {name} did not end with the same {what}"
        with pytest.raises(ComparisonError, match=refused):
            compare([base, wrong])
        with pytest.raises(ComparisonError, match=refused):
            explain(base, wrong)
    silent = _recorded(tmp_path, "silent", {"entries": None}, {"entries": None})
    assert compare([base, silent]).candidates[0].name == "silent"


def test_processes_of_one_target_that_end_with_other_sets_are_warned_of_and_not_compared(tmp_path: Path) -> None:
    base = _recorded(tmp_path, "base", {"entries": 5}, {"entries": 6})
    (warning,) = (one for one in base.manifest.warnings if one.kind == "other_ends")
    assert "5, None; 6, None" in warning.text
    with pytest.raises(ComparisonError, match="processes of base did not end with the same"):
        compare([base, _recorded(tmp_path, "new", {}, {})])
    # Of a process that doesn't record its digest, nothing is known.
    some = _recorded(tmp_path, "some", {"digest": "ab" * 32}, {})
    assert "other_ends" not in {one.kind for one in some.manifest.warnings}


def test_processes_that_did_not_find_other_inputs_are_not_compared(tmp_path: Path) -> None:
    """An engine that loses outputs looks up in vain, and was SHIP for that; where both lack the same ones, as without a genesis, they did the same work."""
    base, lost, alike = (
        _recorded(tmp_path, name, {}, {"peak_bytes": 8}, missing=missing)
        for name, missing in (("base", 0), ("lost", 5), ("base-alike", 0))
    )
    refused = "base and lost did not end with the same number of inputs that were not found: 0 and 60"
    with pytest.raises(ComparisonError, match=refused):
        compare([base, lost])
    with pytest.raises(ComparisonError, match=refused):
        explain(base, lost)
    assert compare([base, alike]).candidates[0].name == "base-alike"
    assert compare([lost, _recorded(tmp_path, "lost-alike", {}, {"peak_bytes": 8}, missing=5)])
    # Of an engine that doesn't count them, nothing is known.
    assert compare([lost, _recorded(tmp_path, "silent", {}, {"peak_bytes": 8})])


def test_a_history_has_what_processes_ended_with_as_a_fact_that_explains_a_change(tmp_path: Path) -> None:
    """Runs of a history are never refused: a version that loses outputs was a sure improvement, with nothing beside it but its name."""
    store = make_store(tmp_path / "store")
    ends = [{"entries": 5, "digest": "ab" * 32}, {"entries": 3, "digest": "cd" * 32}, {"entries": None}]
    runs = [
        _recorded(tmp_path, name, end, end | {"peak_bytes": 8})
        for name, end in zip(("one", "other", "third"), ends, strict=True)
    ]
    store.add(runs, Labels(target="mine", machine="ours"))
    store.keep_index()
    facts = {row["name"]: {one["name"]: one["value"] for one in row["facts"]} for row in store.table().to_pylist()}
    found = [facts[run.manifest.id] for run in runs]
    assert [one.get("number of unspent outputs") for one in found] == ["5", "3", None]
    assert [one.get("digest of unspent outputs") for one in found] == ["ab" * 32, "cd" * 32, None]
