"""Packages of slotmark import one another in one direction: the rule of ARCHITECTURE.md."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "python" / "slotmark"

FOR_ALL = {
    "_core",
    "addresses",
    "threads",
    "cores",
    "errors",
    "warnings",
    "numbers",
    "options",
    "words",
    "cleaning",
    "verdict",
    "temporary",
    "texts",
    "places",
    "store_answers",
    "stores",
    "stopping",
    "whole_files",
    "versions",
    "statistics",
}
"""Modules that every package may import."""

MAY_IMPORT = {
    "run": set[str](),
    "measure": {"run"},
    "engine": set[str](),
    "metrics": {"run"},
    "benches": {"run", "measure", "engine", "metrics"},
    "compare": {"run", "metrics"},
    "published": {"run", "metrics", "compare"},
    "history": {"run", "engine", "metrics", "compare"},
    "report": {"run", "metrics", "compare", "published", "history"},
    "site": {"run", "metrics", "compare", "published", "history", "report"},
    "statistics": set[str](),
    "cli": {"run", "measure", "engine", "metrics", "benches", "compare", "published", "history", "report", "site"},
}
"""Packages that each package may import besides: none to the right of it."""


def imported(text: str) -> Iterator[str]:
    """The packages and modules directly below slotmark that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module == "slotmark":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("slotmark."):
            yield str(node.module).split(".")[1]
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[1] for alias in node.names if alias.name.startswith("slotmark."))


def test_every_package_has_its_rule() -> None:
    assert {folder.name for folder in SOURCE.iterdir() if (folder / "__init__.py").is_file()} == set(MAY_IMPORT)


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_a_package_imports_only_what_is_before_it(package: str) -> None:
    modules = list((SOURCE / package).rglob("*.py"))
    assert modules
    wrong = {
        f"{module.relative_to(SOURCE)}: {name}"
        for module in modules
        for name in imported(module.read_text(encoding="utf-8"))
        if name not in FOR_ALL | MAY_IMPORT[package] | {package}
    }
    assert not wrong


@pytest.mark.parametrize("module", sorted(FOR_ALL - {"_core", "statistics"}))
def test_what_every_package_may_import_imports_no_package(module: str) -> None:
    text = (SOURCE / f"{module}.py").read_text(encoding="utf-8")
    assert not set(imported(text)) - FOR_ALL


def test_a_bench_imports_no_other_bench() -> None:
    benches = [folder.name for folder in (SOURCE / "benches").iterdir() if (folder / "__init__.py").is_file()]
    assert len(benches) > 1
    for bench in benches:
        for module in (SOURCE / "benches" / bench).rglob("*.py"):
            text = module.read_text(encoding="utf-8")
            assert not [other for other in benches if other != bench and f"slotmark.benches.{other}" in text], module


def test_imports_are_found_in_every_form() -> None:
    forms = (
        "from slotmark import run\nimport slotmark.report.build as b\ndef f():\n    from slotmark.cli.live import run\n"
    )
    assert list(imported(forms)) == ["run", "report", "cli"]


def test_what_every_bench_needs_of_a_run_knows_nothing_of_steps() -> None:
    """Steps, timelines and stages by place are data of the catalogues that have them, read by what explains a difference."""
    text = (SOURCE / "metrics" / "analysis.py").read_text(encoding="utf-8")
    types = {name for name in vars(import_module("slotmark.metrics.steps")) if name[0].isupper()}
    assert len(types) == 4
    assert not {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)} & types


INSIDE = {
    "compare": {
        "results": {"run_to_run"},  # the table of `spread` is what was found and what is kept
        "matching": {"results"},
        "run_to_run": {"results"},
        "deciding": {"results"},
        "attribution": {"results"},
        "estimators": {"results", "matching", "run_to_run"},
    },
    "benches.cluster": {
        "ingesting": set[str](),
        "simulating": {"ingesting"},
        "live": {"ingesting", "simulating"},
    },
    "benches.ledger": {"recordings": set[str]()},
}
"""Packages inside a package, and those beside them that each may import. Modules beside them may import all, and put them together."""


@pytest.mark.parametrize(("package", "inner"), [(package, inner) for package in INSIDE for inner in INSIDE[package]])
def test_a_package_inside_another_imports_only_what_it_may(package: str, inner: str) -> None:
    folder = SOURCE / package.replace(".", "/")
    packages = {path.parent.name for path in folder.glob("*/__init__.py")}
    assert packages == INSIDE[package].keys()
    line = re.compile(rf"^ *(?:from|import) slotmark\.{re.escape(package)}(?:\.| import )(\w+)", re.MULTILINE)
    found = {
        name for module in (folder / inner).rglob("*.py") for name in line.findall(module.read_text(encoding="utf-8"))
    }
    assert found
    assert found & packages - {inner} <= INSIDE[package][inner]


RESULTS = ("slotmark.compare.result", "slotmark.compare.run_to_run.spread_table")
"""The modules of `compare` besides its `results` that a report, or another result, may import."""


def of_compare(module: Path) -> set[str]:
    """The modules of `compare` that a module imports from."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    names = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return {one for one in names if one.startswith("slotmark.compare") and ".results." not in one} - {*RESULTS}


def test_results_and_reports_import_no_analysis() -> None:
    """The words on a method are its estimator's."""
    results = [*(SOURCE / "compare" / "results").glob("*.py"), SOURCE / "compare" / "result.py"]
    reports = list((SOURCE / "report").rglob("*.py"))
    assert len(results) > 6
    assert len(reports) > 40
    found = {str(one.relative_to(SOURCE)): names for one in [*results, *reports] if (names := of_compare(one))}
    assert found == {
        "compare/results/rows.py": {"slotmark.compare.traits"},
        "report/sections/method.py": {"slotmark.compare.estimators"},
    }
    assert of_compare(SOURCE / "compare" / "plan.py"), "what computes is found"
