"""The examples of the documentation do what the page says.

A fenced block marked ``console`` holds commands behind ``$ ``, a block marked ``pycon`` holds Python behind ``>>> ``. Both are run
in the order of the page, in a folder of the page's own. Output that a page shows must appear, where ``...`` stands for anything;
of a command without shown output only success counts. A block whose first line is ``# file: NAME`` is written there. Other blocks
are not run.
"""

import doctest
import importlib
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

import slotmark as package
from tests.chainsync.conftest import built
from tests.conftest import REPO, slotmark
from tests.ledger.recordings import points, tab_separated, written
from tests.made_up_runs import write_run

PAGES = sorted([*REPO.glob("*.md"), *(REPO / "docs").glob("*.md"), *(REPO / "examples").glob("*/*.md")])

NEEDED: dict[str, Sequence[str]] = {
    "docs/chainsync.md": ["chain"],
    "docs/history.md": ["runs"],
    "docs/ledger.md": ["recordings"],
    "docs/python.md": ["runs"],
    "docs/report-json.md": ["runs"],
}
"""Files that a page takes to be there: the chain of its reader, the files of db-analyser, run folders."""

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_BLOCK = re.compile(r"^```(?:(console|pycon)|\w+\n# file: (\S+))\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Step:
    """A command of a page with the output that the page shows, a block of Python, or the text of a file with its name."""

    def __init__(self, kind: str, line: int, text: str, shown: str = "") -> None:
        self.kind, self.line, self.text, self.shown = kind, line, text, shown


def steps(page: str) -> Iterator[Step]:
    """The steps of a page, in order."""
    for block in _BLOCK.finditer(page):
        kind, file, text = block.groups()
        line = page.count("\n", 0, block.start()) + 2
        if file is not None:
            yield Step("file", line, text, file)
            continue
        if kind == "pycon":
            yield Step(kind, line, text)
            continue
        step = None
        for place, row in enumerate(text.splitlines()):
            if row.startswith("$ "):
                if step is not None:
                    yield step
                step = Step(kind, line + place, row[2:])
            elif step is None:
                raise AssertionError(f"line {line + place}: a console block begins with a command")
            elif row.startswith("> ") and not step.shown:
                step.text += "\n" + row[2:]
            else:
                step.shown += row + "\n"
        if step is not None:
            yield step


def examples() -> list[Path]:
    return [page for page in PAGES if _BLOCK.search(page.read_text(encoding="utf-8"))]


@pytest.fixture(scope="session")
def things(tmp_path_factory: pytest.TempPathFactory, small_chain: Path) -> Path:
    """Everything that pages take to be there, in a folder each."""
    folder = tmp_path_factory.mktemp("things")
    shutil.copytree(small_chain, folder / "chain" / "chain")
    for number in range(3):
        for target, scale in (("base", 1.0), ("split", 1.1)):
            recorded = points(40, seed=10 * number + int(10 * scale), scale=scale)
            written(folder / "recordings", f"{target}-{number + 1}.csv", tab_separated(recorded))
    for target, rate in (("pallas", 31_000.0), ("native", 68_000.0)):
        rates = [rate * (1 + 0.01 * (round_no % 3)) for round_no in range(10)]
        write_run(folder / "runs" / "runs" / target, target, {"decode, sequential": rates})
    done = slotmark("simulate", "value-only-10.5", *SMALL, "--direct", "-o", folder / "runs" / "runs" / "10.5")
    assert done.returncode == 0, done.stderr
    return folder


SMALL = [
    *("--slots", "700", "--set", "epoch_slots=100"),
    *("--set", "network.hosts=8", "--set", "network.pools=8"),
]
"""A cluster that is simulated in a moment."""


@pytest.fixture
def workplace(things: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Sequence[str]], Path]:
    """Makes a folder with some of the things the current one, and ``slotmark`` a command in it."""

    def made(needed: Sequence[str]) -> Path:
        here, programs = tmp_path / "here", tmp_path / "bin"
        for folder in (here, programs):
            folder.mkdir()
        for name in needed:
            shutil.copytree(things / name, here, dirs_exist_ok=True)
        for name, arguments in (("slotmark", "-m slotmark "), ("python", "")):
            program = programs / name
            program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments}"$@"\n', encoding="utf-8")
            program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setenv("COLUMNS", "100")
        monkeypatch.chdir(here)
        return here

    return made


def test_no_file_that_pages_name_is_both_a_policy_and_a_release() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    text += (REPO / "python/slotmark/cli/__init__.py").read_text(encoding="utf-8")
    policies = set(re.findall(r"--policy (\S+\.toml)", text))
    releases = set(re.findall(r"slotmark release (?:decide |plan )?(\S+\.toml)", text))
    assert policies
    assert releases
    assert not policies & releases


@pytest.mark.timeout(900)  # a busy machine is slow
@pytest.mark.parametrize("page", examples(), ids=lambda page: str(page.relative_to(REPO)))
def test_the_examples_of_a_page(page: Path, workplace: Callable[[Sequence[str]], Path]) -> None:
    text = page.read_text(encoding="utf-8")
    if "slotmark chainsync run" in "\n".join(step.text for step in steps(text)):
        for target in ("native", "floor"):
            built(target)
    folder = workplace(NEEDED.get(str(page.relative_to(REPO)), []))
    names: dict[str, object] = {}
    for step in steps(text):
        where = f"{page.relative_to(REPO)}:{step.line}"
        if step.kind == "file":
            file = folder / step.shown
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(step.text, encoding="utf-8")
            continue
        if step.kind == "pycon":
            said = failures_of(doctest.DocTestParser().get_doctest(step.text, names, where, where, step.line), names)
            assert not said, said
            continue
        done = subprocess.run(
            ["bash", "-c", step.text], cwd=folder, capture_output=True, text=True, timeout=800, check=False
        )
        assert done.returncode == 0, f"{where}: {step.text}\n{done.stdout}{done.stderr}"
        if step.shown:
            right = doctest.OutputChecker().check_output(step.shown, done.stdout, FLAGS)
            assert right, f"{where}: {step.text}\nshown:\n{step.shown}\nprinted:\n{done.stdout}"


def documented() -> list[str]:
    """The modules of slotmark with an example in a docstring."""
    found = []
    for module in pkgutil.walk_packages(package.__path__, "slotmark."):
        spec = module.module_finder.find_spec(module.name, None)
        if spec and spec.origin and spec.origin.endswith(".py") and ">>>" in Path(spec.origin).read_text("utf-8"):
            found.append(module.name)
    return found


@pytest.mark.parametrize("module", documented())
def test_the_examples_of_docstrings(module: str, workplace: Callable[[Sequence[str]], Path]) -> None:
    workplace(["runs"])
    found = [test for test in doctest.DocTestFinder().find(importlib.import_module(module)) if test.examples]
    assert found
    for test in found:
        said = failures_of(test, test.globs)
        assert not said, said


def failures_of(test: doctest.DocTest, names: dict[str, object]) -> str:
    """Failures of a test of Python examples; its names are kept for what follows on the page."""
    said: list[str] = []
    test.globs = names
    doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(test, out=said.append, clear_globs=False)
    return "".join(said)


def test_an_example_that_is_wrong_is_noticed() -> None:
    page = "```console\n$ echo one\n> echo two\none\n...\n$ true\n```\n\n```pycon\n>>> 1 + 1\n3\n```\n"
    first, second, third = steps(page)
    assert (first.text, first.shown, first.line) == ("echo one\necho two", "one\n...\n", 2)
    assert (second.text, second.shown) == ("true", "")
    assert "Expected" in failures_of(doctest.DocTestParser().get_doctest(third.text, {}, "page", "page", 0), {})
    assert not doctest.OutputChecker().check_output(first.shown, "two\n", FLAGS)
