"""Nothing right of `run` names a bench, a metric, or a column by which the tables of one are read."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import slotmark
from slotmark.metrics import catalogue

PACKAGE = Path(slotmark.__path__[0])
BENCHES = sorted(file.parent.name for file in (PACKAGE / "metrics").glob("*/catalogue.toml"))
ROOMS = [*(PACKAGE / "metrics").glob("*.py"), *(PACKAGE / "compare").rglob("*.py"), *(PACKAGE / "report").rglob("*.py")]

OURS = frozenset({"blocks", "processes", "ledger", "prediction", "run", "number", "round", "published", "report"})
"""Words of slotmark's own, of its charts or of its statistics, that a table, a column or a bench has too."""

KNOWN = {"report/charts/blocks.py": {"slot"}}
"""What is still named, by file: the charts of repeated costs are drawn by slot."""


def names() -> set[str]:
    """The names of benches, of their metrics, and of the key columns of those."""
    entries = [catalogue(bench) for bench in BENCHES]
    metrics = {metric.id for one in entries for metric in one.metrics}
    columns = {column for one in entries for metric in one.metrics for column in metric.grain} | {
        column for one in entries for column in (one.members.column, *one.keys, *one.words)
    }
    return {*BENCHES, *metrics, *columns} - {""}


def texts(source: str) -> Iterator[tuple[int, str]]:
    """Every text of a module but its docstrings, with its line."""
    tree = ast.parse(source)
    documented = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
            yield node.lineno, node.value


def named(source: str) -> set[str]:
    """The names of benches, metrics and columns that a module has as texts."""
    return {text for _, text in texts(source)} & names()


@pytest.mark.parametrize("file", ROOMS, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_rooms_right_of_run_name_nothing_of_a_bench(file: Path) -> None:
    allowed = KNOWN.get(str(file.relative_to(PACKAGE)), set()) | OURS
    assert named(file.read_text(encoding="utf-8")) <= allowed


@pytest.mark.parametrize("name", ["cluster", "adopted_by_096", "host", "block_no"])
def test_a_name_that_is_planted_is_found(name: str) -> None:
    source = (PACKAGE / "compare" / "summary.py").read_text(encoding="utf-8")
    assert not named(source)
    assert named(f'{source}\nPLANTED = "{name}"\n') == {name}
