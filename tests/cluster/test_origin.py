"""The origin of figures (measured, simulated, imported) is in the manifest, and a reader sees it wherever figures are shown."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from slotmark.benches.cluster.metadata import read_metadata
from slotmark.compare import compare
from slotmark.report import comparison_document
from slotmark.report.document import Facts
from slotmark.run import open_run
from slotmark.versions import slotmark_version
from tests.cluster.test_planted_truth import made_up
from tests.conftest import slotmark
from tests.ledger.recordings import points, tab_separated, written
from tests.made_up_runs import write_run
from tests.report.test_pdf import words

Command = Callable[..., "subprocess.CompletedProcess[str]"]

SMALL = ("--slots", "700", "--set", "epoch_slots=100", "--set", "network.hosts=6", "--set", "network.pools=6")


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a simulated cluster as logs, as a run made of these, and another as a run without logs."""
    folder = tmp_path_factory.mktemp("simulated")
    for arguments in (
        ("simulate", "value-only-10.5", *SMALL, "-o", folder / "logs"),
        ("ingest", folder / "logs", "-o", folder / "ingested"),
        ("simulate", "value-only-10.5", *SMALL, "--seed", "2", "--direct", "-o", folder / "direct"),
    ):
        ended = slotmark(*arguments)
        assert ended.returncode == 0, ended.stderr
    return folder


def test_the_manifest_has_the_origin(simulated: Path, tmp_path: Path) -> None:
    assert open_run(simulated / "ingested").manifest.origin == "simulated"
    assert open_run(simulated / "direct").manifest.origin == "simulated"
    assert made_up(tmp_path, 3).manifest.origin == "measured"
    recorded = written(tmp_path, "base.csv", tab_separated(points(12)))
    ended = slotmark("ledger", "import", recorded, "-o", tmp_path / "imported")
    assert ended.returncode == 0, ended.stderr
    assert open_run(tmp_path / "imported").manifest.origin == "imported"


@pytest.mark.parametrize("method", ["slotmark", "published"])
def test_every_form_of_a_report_begins_with_it(simulated: Path, method: str, command: Command, tmp_path: Path) -> None:
    ended = command(
        *("compare", simulated / "ingested", simulated / "direct", "-o", tmp_path / "report"), "--method", method
    )
    assert ended.returncode == 0, ended.stderr
    text, page = ((tmp_path / "report" / name).read_text() for name in ("report.md", "report.html"))
    printed = words((tmp_path / "report/report.pdf").read_bytes())
    if method == "slotmark":  # the title is the decision; what was compared stands right below
        begin = r"(?:SHIP|HOLD|RUN AGAIN) \S+ \(simulated\): "
        below = r"[^\n<]*\n+(?:</?\w[^>]*>|\s)*Simulated: "
        assert re.match(begin, ended.stdout)
        title = ended.stdout.splitlines()[-1]  # what the terminal breaks in lines at its beginning
        assert " ".join(ended.stdout.split()).startswith(f"{' '.join(title.split())} Simulated: ")
        assert re.match(f"# {begin}{below}", text)
        assert re.search(f"<title>{begin}", page)
        assert re.search(rf"<h1[^>]*>{begin}[^<]*</h1>\s*<p[^>]*>Simulated: ", page)
        assert re.match(begin, printed)
        assert "Simulated: " in printed[: len(title) + 200]
    else:
        assert ended.stdout.startswith("Simulated: ")
        assert text.startswith("# Simulated: ")
        assert "<title>Simulated: " in page
        assert re.search(r"<h1>Simulated: ", page)
        assert printed.startswith("Simulated: ")
    as_data = json.loads((tmp_path / "report/report.json").read_text())
    manifests = (
        [as_data["baseline"]["manifest"], as_data["candidates"][0]["manifest"]]
        if method == "slotmark"
        else [manifest for side in as_data["sides"] for manifest in side["manifests"]]
    )
    assert [manifest["origin"] for manifest in manifests] == ["simulated"] * 2


def test_a_report_names_the_simulator_and_its_version_whether_or_not_the_profile_has_a_version(
    simulated: Path, tmp_path: Path
) -> None:
    by = f"simulated by slotmark {slotmark_version()}"
    runs = [simulated / "ingested", simulated / "direct"]
    for seed in ("1", "2"):
        ended = slotmark("simulate", "value-only-5", "--seed", seed, "--direct", "-o", tmp_path / seed)
        assert ended.returncode == 0, ended.stderr
        runs.append(tmp_path / seed)
    assert {open_run(run).manifest.versions["simulator"] for run in runs} == {f"slotmark {slotmark_version()}"}
    described, assumed = ([text for _, text in first_facts(*pair)] for pair in (runs[:2], runs[2:]))
    assert described
    assert assumed
    assert all(re.match(rf"10\.5\.0, version 10\.5\.0, {by}, commit ", text) for text in described), described
    assert all(text.startswith(f"slotmark-node, {by}, 2026-01-01, ") for text in assumed), assumed
    measured = [made_up(tmp_path, seed).path for seed in (3, 4)]
    assert not [text for _, text in first_facts(*measured) if "simulated" in text]


def test_metadata_of_another_simulator_may_lack_its_name(simulated: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(simulated / "logs", tmp_path / "logs")
    meta = json.loads((copied / "meta.json").read_text())
    for as_data in ({}, True, {"by": "other 3"}):
        meta["meta"]["simulated"] = as_data
        (copied / "meta.json").write_text(json.dumps(meta))
        found = read_metadata(copied, None)
        assert found.simulator == ("other 3" if as_data == {"by": "other 3"} else "")
    del meta["meta"]["simulated"]
    (copied / "meta.json").write_text(json.dumps(meta))
    assert read_metadata(copied, None).simulator is None


def first_facts(*runs: Path) -> list[tuple[str, str]]:
    """The text of the first screen about each side."""
    facts = comparison_document(compare([open_run(run) for run in runs])).sections[0].blocks[0]
    assert isinstance(facts, Facts)
    return list(facts.facts)


def test_show_and_predict_say_it(simulated: Path, command: Command) -> None:
    shown = command("show", simulated / "direct").stdout
    assert shown.startswith("Simulated: direct\n")
    assert "origin: simulated" in shown
    predicted = command("predict", "value-only-10.5", *("--set", "run.slots=20000"), "--seeds", "1").stdout
    assert predicted.startswith("Simulated: ")


def test_what_was_measured_beside_what_was_simulated_is_warned_of(tmp_path: Path) -> None:
    paths = [write_run(tmp_path / name, "client", {"decode, sequential": [1.0, 2.0]}).path for name in ("a", "b")]
    manifest = json.loads((paths[0] / "run.json").read_text()) | {"origin": "simulated"}
    (paths[0] / "run.json").write_text(json.dumps(manifest))
    comparison = compare([open_run(path) for path in paths])
    document = comparison_document(comparison)
    assert document.title.startswith("RUN AGAIN b (partly simulated): ")
    assert document.subtitle.startswith("Partly simulated: b against a; ")
    warnings = [warning.text for warning in comparison.all_warnings if warning.kind == "different"]
    assert any("simulated for the baseline, measured here" in text for text in warnings), warnings
