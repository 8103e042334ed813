"""ARCHITECTURE.md keeps its word: every place has a short row of the map, and what a row names is there. tests/test_imports.py holds packages to its first rule."""

import re
from pathlib import Path

import pytest

from slotmark.metrics import benches, catalogue
from tests.conftest import REPO
from tests.test_imports import FOR_ALL, MAY_IMPORT

PAGE = (REPO / "ARCHITECTURE.md").read_text(encoding="utf-8")
SOURCE = REPO / "python" / "slotmark"
ROWS = dict(re.findall(r"^\| `([^`]+)` \| (.*) \|$", PAGE, re.MULTILINE))


def places() -> set[str]:
    """The packages and modules of slotmark, its benches, the crates, and the folders beside them that hold code."""
    packages = [
        path.parent for path in SOURCE.glob("*/**/__init__.py") if not (path.parent / "catalogue.toml").exists()
    ]
    modules = [path for path in SOURCE.glob("*.py") if path.name != "__init__.py"]
    crates = [path.parent for path in REPO.glob("crates/*/Cargo.toml")]
    return {str(path.relative_to(REPO)) for path in [*packages, *modules, *crates]} - {"python/slotmark/benches"}


def test_every_place_has_a_row_of_the_map() -> None:
    assert len(places()) > 30
    assert not places() - ROWS.keys()


@pytest.mark.parametrize("place", sorted(ROWS))
def test_what_a_row_names_is_there_and_it_is_short(place: str) -> None:
    named = re.findall(r"`([\w/]+\.py|[a-z_]+/)`", ROWS[place])
    assert (REPO / place).exists()
    assert not [name for name in named if not list((REPO / place).glob(f"**/{name}")) and not (REPO / name).exists()]
    assert len(ROWS[place]) <= 300, "what each file holds is its own first line"


def first_line(file: Path) -> str:
    text = file.read_text(encoding="utf-8").removeprefix("#![")
    return next((line for line in text.splitlines() if line.startswith(('"""', "//!"))), "")


def test_the_first_line_of_every_file_says_what_it_holds() -> None:
    files = [*SOURCE.rglob("*.py"), *REPO.glob("crates/*/src/**/*.rs")]
    assert len(files) > 600
    assert not [str(file.relative_to(REPO)) for file in files if not first_line(file).strip('"/! ')]


def test_who_may_import_what_is_what_the_first_page_says() -> None:
    rule = PAGE[PAGE.index("A package imports only from") : PAGE.index("`tests/test_imports.py` checks")]
    order, free = re.findall(r"in the order `([^`]+)`", rule)[0].split(", "), rule.split("`cli` imports all;")[1]
    for place, package in enumerate(order):
        assert MAY_IMPORT[package] <= set(order[:place]), package
    assert set(re.findall(r"`(\w+)`", free)) == FOR_ALL - {"_core"}
    assert MAY_IMPORT["cli"] == MAY_IMPORT.keys() - {"cli", "statistics"}
    assert MAY_IMPORT["benches"] == {"run", "measure", "engine", "metrics"}
    assert (MAY_IMPORT["measure"], MAY_IMPORT["engine"]) == ({"run"}, set())


def test_every_estimator_that_a_catalogue_names_is_described() -> None:
    described = PAGE[PAGE.index("4. An **estimator**") : PAGE.index("5. The **result**")]
    used = {metric.estimator for bench in benches() for metric in catalogue(bench).metrics}
    assert used <= set(re.findall(r"`(\w+)`", described))
    assert all(Path(SOURCE, "compare", "estimators", f"{name}.py").is_file() for name in used)


def test_two_relations_are_not_sql() -> None:
    assert "**Two relations aren't SQL.**" in PAGE
    assert sum(len(catalogue(bench).native) for bench in benches()) == 2
