"""`slotmark check` of several runs: each is looked at, up to the first that differs."""

import json
from pathlib import Path

import pytest

from tests.conftest import slotmark
from tests.made_up_runs import write_run


@pytest.mark.parametrize("damaged", [None, 0, 1, 2])
def test_it_fails_at_the_first_run_that_differs_wherever_it_stands(damaged: int | None, tmp_path: Path) -> None:
    runs = [write_run(tmp_path / name, name, {"raw, sequential": [1.0, 2.0]}).path for name in ("a", "b", "c")]
    if damaged is not None:
        file = runs[damaged] / "tables" / "invocations.parquet"
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
    ended = slotmark("check", *runs, "--json")
    fine = runs if damaged is None else runs[:damaged]
    # The tables `invocations` and `windows` are a file each.
    assert [json.loads(line) for line in ended.stdout.splitlines()] == [{"run": str(run), "files": 2} for run in fine]
    if damaged is None:
        assert (ended.returncode, ended.stderr) == (0, "")
    else:
        assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
        assert ended.stderr.startswith(f"slotmark: {runs[damaged]}")
