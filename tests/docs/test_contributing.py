"""CONTRIBUTING.md keeps its word: what its examples add works with the files that it names, and those files are there.

Its examples of a profile, a renderer and a bench are run by test_examples.py.
"""

import re
import shutil
import sys
import tomllib
from pathlib import Path

import msgspec
import pytest

from slotmark import metrics
from slotmark.benches.chainsync.targets import Recipe, built_ins
from slotmark.compare import compare
from slotmark.metrics import catalogue, register
from slotmark.report import comparison_document
from slotmark.report.renderers.markdown import markdown
from slotmark.run import open_run
from tests.cluster.live.machine import STAND_IN
from tests.conftest import REPO, slotmark
from tests.made_up_runs import write_run

PAGE = (REPO / "CONTRIBUTING.md").read_text(encoding="utf-8")


def example(title: str, language: str) -> str:
    """The first block of a language in a section."""
    section = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    (found, *_) = re.findall(rf"^```{language}\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    return found


def test_a_metric_needs_an_entry_of_the_catalogue_and_no_more(tmp_path: Path) -> None:
    bench, folder = "chainsync-with-one-more", tmp_path / "catalogue"
    shutil.copytree(Path(metrics.__path__[0]) / "chainsync", folder)
    with (folder / "catalogue.toml").open("a", encoding="utf-8") as file:
        file.write("\n" + example("A metric", "toml"))
    register(bench, folder)
    added = catalogue(bench).metrics[-1]
    assert added.id not in [metric.id for metric in catalogue("chainsync").metrics]
    runs = [
        write_run(tmp_path / name, name, {"decode, sequential": [rate] * 6}, server_share=0.25, bench=bench)
        for name, rate in (("one", 1_000.0), ("two", 2_000.0))
    ]
    result = compare(runs)
    (row,) = [row for row in result.rows if row.metric == added]
    medians = [summary.median for summary in row.summaries if summary]
    assert medians == pytest.approx([250.0, 125.0])
    assert row.differences[0] is not None
    assert row.differences[0].verdict is None
    text = markdown(comparison_document(result))
    assert added.name in text
    assert added.definition in text


def test_a_message_of_the_example_is_not_there_yet_and_its_row_is() -> None:
    entry = example("A message", "rust")
    (name,) = re.findall(r"^(\w+) \{", entry, re.MULTILINE)
    (row,) = re.findall(r"row: (\w+) ", entry)
    table = (REPO / "crates" / "tracelog" / "src" / "messages" / "mod.rs").read_text(encoding="utf-8")
    entries = set(re.findall(r"^    (\w+) \{$", table, re.MULTILINE))
    assert len(entries) > 20
    assert name not in entries
    assert re.search(rf"row: {row} ", table)
    readers = set(re.findall(r": (\w+)\(", entry))
    assert readers
    assert readers <= set(re.findall(r": (\w+)\(", table))
    assert not [text for text in re.findall(r'"([^"]+)"', entry) if text != "slot" and f'"{text}"' in table]


def test_the_lines_of_the_dialect_are_those_of_its_file() -> None:
    file = (REPO / "crates" / "tracelog" / "src" / "dialects" / "dingo.rs").read_text(encoding="utf-8")
    lines = [line for line in example("A log dialect", "rust").splitlines() if not line.startswith("//")]
    assert len(lines) > 1
    assert not set(lines) - {line.strip() for line in file.splitlines()}


def test_a_target_of_the_example_is_described_as_the_built_in_ones() -> None:
    recipe = msgspec.convert(tomllib.loads(example("A client", "toml")), Recipe)
    assert recipe.command[0].startswith("target/")
    assert [program.recipe.needs for program in built_ins().values() if program.recipe.needs == recipe.needs]


def test_a_node_needs_its_folder_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program behind the example's words is a stand-in, which logs as cardano-node does."""
    nodes, programs, bed = tmp_path / "nodes", tmp_path / "programs", tmp_path / "bed"
    shutil.copytree(REPO / "nodes", nodes)
    (nodes / "mine").mkdir()
    (nodes / "mine" / "node.toml").write_text(example("A node", "toml"), encoding="utf-8")
    programs.mkdir()
    program = programs / "mine-node"
    program.write_text(
        f'#!/bin/sh\nif [ "$1" = --version ]; then echo mine-node 3.1; else exec {sys.executable} {STAND_IN} --hosts 2 "$@"; fi\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("SLOTMARK_NODES", str(nodes))
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    assert slotmark("cluster", "create", "value-only-5", "--hosts", "2", "-o", bed).returncode == 0
    usual = ("--for", "5s", "--network", "loopback", "--no-workload", "--start-in", "2s", "--ready-within", "2min")
    made = slotmark("cluster", "run", bed, "--node", "mine", "-o", tmp_path / "run", *usual)
    assert made.returncode == 0, made.stderr
    manifest = open_run(tmp_path / "run").manifest
    assert (manifest.target.name, manifest.target.version) == ("mine", "3.1")
    assert manifest.tables["block_events"] > 0
    assert manifest.tables["rejected"] == 0


def test_every_node_is_named_in_the_help_and_in_its_page() -> None:
    names = {file.parent.name for file in (REPO / "nodes").glob("*/node.toml")}
    assert len(names) >= 5
    shown = slotmark("cluster", "run", "--help").stdout
    page = (REPO / "docs" / "live.md").read_text(encoding="utf-8")
    assert not {name for name in names if name not in shown}
    assert not {name for name in names if f"`{name}`" not in page}


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_file_that_is_named_is_there(page: str) -> None:
    text = (REPO / page).read_text(encoding="utf-8")
    named = re.findall(r"`((?:python|crates|tests|docs|targets|benchmarks|examples)/[\w./-]+)`", text)
    assert len(named) > 5
    made_up = ("NAME", "BENCH")
    assert not [name for name in named if not any(word in name for word in made_up) and not (REPO / name).exists()]
