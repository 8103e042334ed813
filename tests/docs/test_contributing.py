"""CONTRIBUTING.md keeps its word: what its examples add works with the files that it names, and those files are there.

Its examples of a profile, a renderer and a bench are run by test_examples.py.
"""

import re
import shutil
import tomllib
from pathlib import Path

import msgspec
import pytest

import slotmark.metrics
from slotmark.benches.chainsync.targets import Recipe, built_ins
from slotmark.compare import compare
from slotmark.metrics import catalogue, register
from slotmark.report import comparison_document
from slotmark.report.renderers.markdown import markdown
from tests.conftest import REPO
from tests.made_up_runs import write_run

PAGE = (REPO / "CONTRIBUTING.md").read_text(encoding="utf-8")


def example(title: str, language: str) -> str:
    """The first block of a language in a section."""
    section = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    (found, *_) = re.findall(rf"^```{language}\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    return found


def test_a_metric_needs_an_entry_of_the_catalogue_and_no_more(tmp_path: Path) -> None:
    bench, folder = "chainsync-with-one-more", tmp_path / "catalogue"
    shutil.copytree(Path(slotmark.metrics.__path__[0]) / "chainsync", folder)
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


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_file_that_is_named_is_there(page: str) -> None:
    text = (REPO / page).read_text(encoding="utf-8")
    named = re.findall(r"`((?:python|crates|tests|docs|targets|benchmarks|examples)/[\w./-]+)`", text)
    assert len(named) > 5
    made_up = ("NAME", "BENCH")
    assert not [name for name in named if not any(word in name for word in made_up) and not (REPO / name).exists()]
