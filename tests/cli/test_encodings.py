"""Terminals and logs that can take only ASCII get all that is printed, in simpler signs or as escapes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.made_up_runs import write_run

NAME = "prüf-\N{GREEK SMALL LETTER LAMDA}"


def in_ascii(*arguments: str | Path, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Runs the command where nothing but ASCII can be printed; fails where anything else came, or a traceback."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONIOENCODING", "LANG", "LC_CTYPE")}
    ended = subprocess.run(
        [sys.executable, "-m", "slotmark", *map(str, arguments)],
        env={**kept, "LC_ALL": "C", "PYTHONUTF8": "0", **more},
        cwd=cwd,
        capture_output=True,
        encoding="ascii",
        timeout=240,
        check=False,
    )
    assert "Traceback" not in ended.stderr
    assert "UnicodeEncodeError" not in ended.stderr
    return ended


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for name, rate in (("base", 1_000.0), ("better", 1_500.0), ("worse", 500.0)):
        rates = [rate * (1 + 0.01 * (number % 3)) for number in range(10)]
        write_run(folder / name, f"{NAME}-{name}", {"decode, sequential": rates})
    return folder


@pytest.mark.parametrize("strict", [{}, {"PYTHONIOENCODING": "ascii:strict"}], ids=["locale", "strict"])
def test_verdicts_and_names_in_ascii(folder: Path, strict: dict[str, str]) -> None:
    ended = in_ascii("compare", "base", "better", "worse", "-o", f"report-{len(strict)}", cwd=folder, **strict)
    assert ended.returncode == 0, ended.stderr
    assert "^ better" in ended.stdout
    assert "v worse" in ended.stdout
    assert "pr\\xfcf-\\u03bb" in ended.stdout
    page = (folder / f"report-{len(strict)}" / "report.html").read_text(encoding="utf-8")
    assert f"{NAME}-worse" in page


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--help"], 0),
        (["compare", "--help"], 0),
        (["chainsync", "run", "--help"], 0),
        (["show", "worse"], 0),
        (["samples", "base", "blocks_per_s"], 0),
        (["check", "base"], 0),
        (["compare", "base", "worse", "--method", "published"], 0),
        (["compare", "base", "worse", "--fail-on", "worse"], 1),
        (["simulate", "--profiles"], 0),
        (["predict", "value-only-10.5", "--set", "run.slots=20000", "--set", "ledger_tick=30ms", "--seeds", "2"], 0),
        (["show", f"not-there-{NAME}"], 2),
        (["chain", "info", f"not-there-{NAME}"], 2),
        (["ingest", f"not-there-{NAME}", "-o", "x"], 2),
        (["ledger", "import", f"not-there-{NAME}", "-o", "x"], 2),
        (["simulate", NAME, "-o", "x"], 2),
    ],
    ids=lambda value: " ".join(value).encode("ascii", "replace").decode() if isinstance(value, list) else str(value),
)
def test_no_command_fails_for_want_of_a_letter(arguments: list[str], code: int, folder: Path) -> None:
    ended = in_ascii(*arguments, cwd=folder)
    assert ended.returncode == code, ended.stderr
    if code == 2:
        assert len(ended.stderr.strip().splitlines()) == 1
