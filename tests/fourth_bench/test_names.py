"""Nothing right of `run` names a bench, a metric, a column or a parameter by which runs of one are read, alone or within a sentence."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import slotmark
from slotmark.metrics import catalogue

PACKAGE = Path(slotmark.__path__[0])
BENCHES = sorted(file.parent.name for file in (PACKAGE / "metrics").glob("*/catalogue.toml"))
ROOMS = [*(PACKAGE / "metrics").glob("*.py"), *(PACKAGE / "compare").rglob("*.py"), *(PACKAGE / "report").rglob("*.py")]

OURS = frozenset(
    {
        "blocks",
        "processes",
        "prediction",
        "run",
        "number",
        "round",
        "published",
        "report",
        "seeds",
        "bytes",
        "workload",
    }
)
"""Words of slotmark's own, of its charts or of its statistics, that a table, a column or a bench has too: ``blocks`` is an estimator."""

WORDS = frozenset({"block", "changed", "follow", "from", "seed", "store", "replayed"})
"""Words of sentences that are the name of something besides: ``from`` is a fact of the workload of one bench, ``store`` a parameter of the runs of another."""

BY_CHANCE = {
    # The table `filters` is of any bench that has filters; a cluster's runs have a parameter of this name.
    "metrics/filters.py": {"tag"},
    # How many blocks of a kind changed, in the head of a column; a prediction's fact of this name has the settings that were changed.
    "report/sections/block_changes.py": {"changed"},
    # Where bars and areas begin, in a chart's own data; a follower's fact of this name has the point from which it followed.
    "report/charts": {"from"},
}
"""Words that are alone in a text and the name of something of a bench, which they don't mean there: by file or folder, with what they mean."""


def names() -> set[str]:
    """The names of benches, of their metrics, of the key columns of those, and of facts and parameters of runs."""
    entries = [catalogue(bench) for bench in BENCHES]
    metrics = {metric.id for one in entries for metric in one.metrics}
    columns = {column for one in entries for metric in one.metrics for column in metric.grain} | {
        column for one in entries for column in (one.members.column, *one.keys, *one.words)
    }
    facts = {fact for one in entries for fact in (*one.about, *one.free)}
    return {*BENCHES, *metrics, *columns, *facts} - {""}


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
    """The names of benches, metrics, columns and parameters that a module has as texts, or as words of its texts, in the plural too."""
    known = names()
    whole = {text for _, text in texts(source)} & known
    words = {word for _, text in texts(source) for word in re.findall(r"(?<![\w./-])\w+(?![\w/-])", text)}
    within = {name for name in known for word in words if word in (name, f"{name}s")} - WORDS
    return whole | within


def allowed_in(file: str) -> set[str]:
    """Names that a file may have."""
    return {*OURS, *(name for place, some in BY_CHANCE.items() if file.startswith(place) for name in some)}


@pytest.mark.parametrize("file", ROOMS, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_rooms_right_of_run_name_nothing_of_a_bench(file: Path) -> None:
    assert named(file.read_text(encoding="utf-8")) <= allowed_in(str(file.relative_to(PACKAGE)))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("cluster", "cluster"),
        ("adopted_by_096", "adopted_by_096"),
        ("host", "host"),
        ("block_no", "block_no"),
        ("model error", "model error"),
        ("Both had the same peers.", "peer"),
        ("No figure of adopted_by_096 is there.", "adopted_by_096"),
    ],
)
def test_a_name_that_is_planted_is_found(text: str, name: str) -> None:
    source = (PACKAGE / "compare" / "summary.py").read_text(encoding="utf-8")
    assert not named(source) - OURS
    assert named(f'{source}\nPLANTED = "{text}"\n') - OURS == {name}
