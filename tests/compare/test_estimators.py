"""A new estimator is one file: put into a copy of the package, it is found by its name, asked by the decision, and shown in the report."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import slotmark
from slotmark.compare.estimators import ESTIMATORS
from slotmark.compare.traits import traits_of, unit_of
from slotmark.errors import ComparisonError
from tests.conftest import REPO

FIRINGS = '''"""The middle of each side's firings, by which nobody else compares."""

import numpy as np

from slotmark.compare.estimators.interface import Entry, Estimate, Task, measured_of_means
from slotmark.compare.results.rows import Basis
from slotmark.compare.summary import summarise
from slotmark.compare.traits import Traits, Unit, pair_degrees
from slotmark.statistics.interval import Interval

TRAITS = Traits(means_of_runs=True, units=(Unit(over="firings", of_runs=True, degrees=pair_degrees, together="from firings in one oven"),))


def estimate(task: Task) -> Estimate:
    entries = []
    for metric in task.in_turn():
        samples = [analysis.samples(metric.id) for (analysis,) in task.analyses]
        base, *others = (float(np.median(one.values(""))) for one in samples)
        count = samples[0].values("").size
        entries.append(
            Entry(
                metric=metric,
                quantity="mean",
                summaries=[summarise(one.of(""), task.how.confidence) for one in samples],
                measured=[
                    measured_of_means(
                        metric,
                        base,
                        (found := Interval(other - base, 0.98 * (other - base), 1.02 * (other - base))),
                        found,
                        p=1e-9,
                        paired=True,
                        shown="",
                        basis=Basis("firings", (count, count), (count, count)),
                    )
                    for other in others
                ],
            )
        )
    return Estimate(entries=entries)


def method(comparison):
    return "The middles of firings were compared."
'''

CATALOGUE = """
estimator = "firings"

[[metric]]
id = "heat"
name = "Heat"
unit = "K"
better = "lower"
rank = "decisive"
grain = ["round"]
relation = "invocations"
value = "CAST(blocks AS DOUBLE) * 1e9 / elapsed_ns"
where = "NOT warmup"
definition = "How hot it was."
"""

SCRIPT = """
import sys
from pathlib import Path

from slotmark.compare import compare
from slotmark.compare.deciding.policy import policy_text
from slotmark.metrics import register
from slotmark.report import comparison_document
from slotmark.report.renderers.html import html
from slotmark.report.renderers.markdown import markdown
from tests.made_up_runs import write_run

folder = Path(sys.argv[1])
register("ovens", folder / "ovens")
runs = [
    write_run(folder / name, name, {"decode, sequential": [heat] * 6}, bench="ovens")
    for name, heat in (("old", 1000.0), ("new", 1100.0))
]
compared = compare(runs)
print(markdown(comparison_document(compared)), html(comparison_document(compared)))
print("ANSWER", compared.decision.answer, compared.decision.run_to_run)
print(policy_text("ovens"))
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The output of a copy of slotmark that has one file more."""
    folder = tmp_path_factory.mktemp("one-more")
    package = folder / "python" / "slotmark"
    shutil.copytree(slotmark.__path__[0], package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "compare" / "estimators" / "firings.py").write_text(FIRINGS, encoding="utf-8")
    (folder / "ovens").mkdir()
    (folder / "ovens" / "catalogue.toml").write_text(CATALOGUE, encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, folder],
        env={"PYTHONPATH": f"{package.parent}:{REPO}", "PATH": "/usr/bin:/bin"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_a_new_estimator_is_one_file_from_samples_to_the_report(said: str) -> None:
    assert "firings" not in ESTIMATORS, "it is in the copy alone"
    assert "The middles of firings were compared." in said
    assert "over 6 firings" in said
    assert "+10" in said


def test_what_others_ask_of_it_is_read_off_its_file(said: str) -> None:
    assert "ANSWER hold from firings in one oven" in said
    assert 'conditional = "undecided"' in said, "policies are written for means of runs"
    assert "assume_spread" in said


def test_every_estimator_states_its_traits_and_what_is_not_stated_is_none() -> None:
    assert {name: traits_of(name) for name in ESTIMATORS} == {name: one.TRAITS for name, one in ESTIMATORS.items()}
    with pytest.raises(ComparisonError, match="'firings'"):
        traits_of("firings")
    assert not unit_of("blocks").of_runs
    assert unit_of("paired rounds").of_runs


def test_no_other_module_compares_names_of_estimators() -> None:
    package = Path(slotmark.__path__[0])
    files = [*(package / "compare").glob("*.py"), *(package / "report").rglob("*.py"), *(package / "cli").rglob("*.py")]
    assert len(files) > 60
    for file in files:
        assert not re.search(r'estimator [!=]= "', file.read_text(encoding="utf-8")), file
