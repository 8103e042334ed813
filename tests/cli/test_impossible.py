"""Names that no file can have, loops of links, and numbers that nothing can count to: one line each, and exit code 2."""

from pathlib import Path

import pytest

from tests.conftest import slotmark

LONG = "y" * 300
SIMULATE = ("simulate", "value-only-10.5", "--slots", "20")


@pytest.mark.parametrize(
    "words",
    [
        ("show", LONG),
        ("check", LONG),
        (*SIMULATE, "--direct", "-o", LONG),
        ("copy", "loop", LONG),
        ("ingest", "loop", "-o", "o"),
        (*SIMULATE, "--direct", "-o", "o", "--seed", "99999999999999999999999"),
        (*SIMULATE, "-o", "o", "--repeat", "99999999999"),
        (*SIMULATE, "-o", "o", "--set", "tps=inf"),
        (*SIMULATE, "--show", "--json"),
        (*SIMULATE, "-o", "o", "--json"),
        ("predict", "value-only-5", "--seeds", "99999999999"),
        ("ingest", ".", "-o", "o", "--threads", "100000"),
        ("ledger", "stores", "--seed", "99999999999999999999999", "-o", "o"),
    ],
    ids=lambda words: " ".join(words)[:60],
)
def test_it_is_refused_in_one_line_and_nothing_is_left(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "loop").symlink_to("loop")
    ended = slotmark(*words, cwd=tmp_path)
    assert ended.returncode == 2, ended.stderr
    assert ended.stderr.startswith("slotmark: ")
    assert ended.stderr.count("\n") == 1
    assert [one.name for one in tmp_path.iterdir()] == ["loop"]


def test_a_loop_inside_a_run_folder_is_refused_in_one_line(tmp_path: Path) -> None:
    made = slotmark(*SIMULATE, "--direct", "-o", tmp_path / "run", timeout=120)
    assert made.returncode == 0, made.stderr
    (tmp_path / "run" / "tables").rename(tmp_path / "tables")
    (tmp_path / "run" / "tables").symlink_to("tables")
    ended = slotmark("show", tmp_path / "run")
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert "tables" in ended.stderr


def test_nothing_is_written_into_a_run(tmp_path: Path) -> None:
    made = slotmark(*SIMULATE, "--direct", "-o", "run", cwd=tmp_path, timeout=120)
    assert made.returncode == 0, made.stderr
    before = sorted((tmp_path / "run").rglob("*"))
    for words in (
        ("copy", "run", "run/copy"),
        (*SIMULATE, "--direct", "-o", "run/tables/other"),
        ("copy", "run", "run"),
    ):
        ended = slotmark(*words, cwd=tmp_path, timeout=120)
        assert (ended.returncode, ended.stderr.count("\n")) == (2, 1), ended.stderr
    assert "inside the run" in slotmark("copy", "run", "run/copy", cwd=tmp_path).stderr
    assert sorted((tmp_path / "run").rglob("*")) == before
    assert slotmark("copy", "run", "other", cwd=tmp_path).returncode == 0


def test_no_report_is_written_into_a_run_folder(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    ended = slotmark("compare", "a", "b", "-o", "run", cwd=tmp_path)
    assert (ended.returncode, "-o run: a run folder" in ended.stderr) == (2, True), ended.stderr
