"""The demos, in a small form."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.live.machine import skip_without_programs
from tests.conftest import REPO


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment in which the demos call the slotmark that is tested."""
    command = tmp_path / "slotmark"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m slotmark "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return {**os.environ, "SLOTMARK": str(command)}


def run_demo(name: str, environment: dict[str, str], folder: Path, *arguments: str | Path) -> str:
    """The output of a demo that must succeed."""
    done = subprocess.run(
        [REPO / "examples" / name / "run.sh", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.timeout(900)  # a busy machine is slow
def test_the_cluster_demo_goes_from_logs_to_a_report(environment: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "demo"
    printed = run_demo("cluster", environment, tmp_path, "600", out)
    title, *_ = printed.splitlines()
    assert re.match(r"(SHIP|RUN AGAIN) 10\.5\.0 \(3 runs\) \(simulated\): ", title)
    assert "\nSimulated: 10.5.0 (3 runs) against 10.2 (3 runs); cluster bench" in printed
    assert sorted(file.name for file in (out / "report").iterdir()) == [
        "report-short.md",
        "report-sources.csv",
        "report.html",
        "report.json",
        "report.md",
        "report.pdf",
    ]
    assert not (out / "logs").exists()


@pytest.mark.timeout(900)
def test_the_live_demo_finds_the_delay_that_it_plants(environment: dict[str, str], tmp_path: Path) -> None:
    skip_without_programs()
    out = tmp_path / "demo"
    printed = run_demo("live", environment, tmp_path, "15", out, "loopback")
    line = printed.splitlines()[-2]  # a busy machine may make it worse in more
    assert line.startswith("HOLD delayed: worse in ")
    assert "Adoption by a host" in line
    report = json.loads((out / "report" / "report.json").read_text(encoding="utf-8"))
    (adopted,) = (row for row in report["rows"] if row["metric"]["name"] == "Fetched to adopted")
    usual, delayed = (side["minimum"] for side in adopted["summaries"])
    assert usual < 0.04 <= delayed


@pytest.mark.timeout(900)
def test_the_ledger_demo_goes_from_a_chain_to_a_decision_about_stores(
    environment: dict[str, str], tmp_path: Path
) -> None:
    skip_without_programs()
    printed = run_demo("ledger", environment, tmp_path, "20", tmp_path / "demo")
    # A busy machine's figures decide less; an idle one holds both.
    assert re.match(r"(HOLD|RUN AGAIN) .*Input resolution, typical block", printed.splitlines()[-2])


@pytest.mark.timeout(900)
def test_the_history_demo_finds_what_is_planted(environment: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "a folder with spaces"
    printed = run_demo("history", environment, tmp_path, "3", out)
    # The ledger of 1.6.0 ticks 10 ms slower, and blocks are adopted 15 ms sooner from 1.11.0 on.
    assert re.search(r"FOUND: 1\.[5-7]\.0 changed slot_to_announced, with a probability of 9", printed)
    done = subprocess.run(
        [environment["SLOTMARK"], "history", "--changes", "--json", "--store", out / "store"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    sizes = {
        (one["metric"], one["version"]): one["after"] / one["before"] for one in json.loads(done.stdout)["changes"]
    }
    assert sizes["forge_ticked", "1.6.0"] == pytest.approx(1.5, abs=0.1)
    assert sizes["peer_adopted", "1.11.0"] == pytest.approx(55 / 70, abs=0.05)
    comment = (out / "comment.md").read_text(encoding="utf-8").splitlines()
    assert comment[0] == "<!-- slotmark comment: slotmark -->"
    assert re.match(r"# (HOLD|RUN AGAIN) 1\.6\.0 \(3 runs\) \(simulated\): ", comment[2])
    first = (out / "public" / "index.html").read_text(encoding="utf-8")
    assert "60 runs, " in first
    # No change is reported of the new machine, on which all takes half as long.
    changes = first[: first.index("</section>")]
    assert "2026-03-15" in changes and "2026-10-01" not in changes


def test_the_demos_are_what_make_runs() -> None:
    makefile = (REPO / "Makefile").read_text(encoding="utf-8")
    for name in ("cluster", "live", "chainsync", "ledger", "history"):
        script = f"examples/{name}/run.sh"
        assert f"\t{script}\n" in makefile
        assert os.access(REPO / script, os.X_OK)
        assert script in (REPO / "examples" / name / "README.md").read_text(encoding="utf-8")


def test_the_first_demo_builds_pythons_module_and_no_program() -> None:
    printed = {
        goal: subprocess.run(["make", "--dry-run", goal], cwd=REPO, capture_output=True, text=True, check=True).stdout
        for goal in ("demo", "demo-ledger")
    }
    assert "cargo build" in printed["demo-ledger"]
    assert "cargo build" not in printed["demo"]
    assert "examples/cluster/run.sh" in printed["demo"]


def test_the_release_of_published_reports_is_decided_in_one_line(
    environment: dict[str, str], tmp_path: Path, shared: Path
) -> None:
    out = tmp_path / "demo"
    printed = run_demo("release", environment, tmp_path, shared / "published" / "releases", out)
    line = printed.splitlines()[-2]
    assert line.startswith(
        "RUN AGAIN 10.6.2, by the published reports: value-only: no verdict on Slot start to announced"
    )
    assert "; Plutus: no verdict on " in line
    report = json.loads((out / "report" / "report.json").read_text(encoding="utf-8"))
    rests = {one["name"]: one["comparison"]["decision"]["run_to_run"] for one in report["comparisons"]}
    assert rests == dict.fromkeys(("value-only", "Plutus"), "assumed: reference-52, 10 pairs")
    assert "How long a run of value-only and Plutus takes is not known" in " ".join(printed.split())
    # The control: adoption that is worse by half in one of the reports holds the release.
    worse = json.loads((shared / "published" / "releases" / "release-10.6.2.plutus.json").read_text(encoding="utf-8"))
    for row in worse["sections"]["End-to-end propagation"]:
        if row["metric"] in ("0.50 adoption", "0.96 adoption"):
            row["values"][1] = f"{1.5 * float(row['values'][0]):.4f}"
    archive = tmp_path / "archive"
    archive.mkdir()
    (archive / "release-10.6.2.plutus.json").write_text(json.dumps(worse), encoding="utf-8")
    planted = out / "runs" / "plutus-10.6.2"
    shutil.rmtree(planted)
    for words in (
        ["published", "import", archive / "release-10.6.2.plutus.json", "10.6.2", "-o", planted],
        ["release", out / "release.toml"],
    ):
        done = subprocess.run(
            [environment["SLOTMARK"], *words], env=environment, capture_output=True, text=True, check=False
        )
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith("HOLD 10.6.2, by the published reports: Plutus: worse in ")
