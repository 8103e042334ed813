"""The action that comments on pull requests: one comment, the check, and artifacts of strangers, against a server of GitHub's interface."""

import argparse
import importlib
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml
from attack.tampering import change_bytes, change_value

from tests.actions.github import AUTHOR, Repository, github
from tests.conftest import REPO
from tests.made_up_runs import write_run

COMMIT = "0123456789abcdef0123456789abcdef01234567"
RATES = [1000.0, 1010.0, 990.0, 1005.0, 995.0, 1002.0]
MARK = "<!-- slotmark comment: slotmark -->"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the runs base and head, where head is slower, and of same, which isn't; and of a program slotmark."""
    folder = tmp_path_factory.mktemp("pull")
    for name, factor in (("base", 1.0), ("head", 0.8), ("same", 1.0)):
        write_run(folder / name, "client", {"decode, sequential": [rate * factor for rate in RATES]})
    program = folder / "bin" / "slotmark"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nenv >"{folder}/seen"\nexec "{sys.executable}" -m slotmark "$@"\n')
    program.chmod(0o755)
    return folder


def packed(base: Path, head: Path) -> bytes:
    """An artifact as the action of measuring uploads it."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for side, run in (("base", base), ("head", head)):
            for path in sorted(path for path in run.rglob("*") if path.is_file()):
                archive.write(path, f"{side}/{path.relative_to(run)}")
    return written.getvalue()


@pytest.fixture
def held(runs: Path) -> Repository:
    """A repository with a pull request of a fork whose runs were uploaded."""
    held = Repository(COMMIT)
    held.artifact = packed(runs / "base", runs / "head")
    return held


@pytest.fixture
def publish(runs: Path, tmp_path: Path, held: Repository) -> Iterator[Callable[..., subprocess.CompletedProcess[str]]]:
    """Runs the step of the action as GitHub does, with inputs in the place of its defaults."""
    event = {
        "workflow_run": {
            "id": 99,
            "event": "pull_request",
            "head_sha": COMMIT,
            "head_branch": "fix/`#1 $(x)`",
            "head_repository": {"id": 42, "owner": {"login": "stranger"}},
            "pull_requests": [],
        }
    }
    (tmp_path / "event.json").write_text(json.dumps(event))
    (tmp_path / "ci.toml").write_text("[metrics]\n")
    action = yaml.safe_load((REPO / "actions" / "publish" / "action.yml").read_text())
    step = action["runs"]["steps"][1]
    with github(held) as url:

        def call(**inputs: str) -> subprocess.CompletedProcess[str]:
            given = (
                {name: one.get("default", "") for name, one in action["inputs"].items()}
                | {"policy": "ci.toml"}
                | inputs
            )
            known = {f"inputs.{name}": value for name, value in given.items()} | {"github.token": "the-token"}
            variables = {
                name: re.sub(r"\$\{\{ (.*?) \}\}", lambda one: known[one[1]], text)
                for name, text in step["env"].items()
            }
            place = Path(tempfile.mkdtemp(dir=tmp_path))
            fixed = {
                "GITHUB_API_URL": url,
                "GITHUB_REPOSITORY": "owner/name",
                "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
                "GITHUB_ACTION_PATH": str(REPO / "actions" / "publish"),
                "PATH": f"{runs / 'bin'}{os.pathsep}{os.environ['PATH']}",
                "TMPDIR": str(place),
            }
            done = subprocess.run(
                ["bash", "-e", "-o", "pipefail", "-c", step["run"]],
                cwd=tmp_path,
                env={**os.environ, **fixed, **variables},
                capture_output=True,
                text=True,
                timeout=240,
                check=False,
            )
            place.rmdir()  # nothing is left in it
            assert held.wrong == []
            return done

        yield call


def test_one_comment_is_written_and_edited(
    publish: Callable[..., subprocess.CompletedProcess[str]], held: Repository, runs: Path
) -> None:
    for number in range(120):  # others' comments, of which one pretends
        held.add(MARK if number == 5 else "Nice.", "stranger")
    done = publish()
    assert done.returncode == 0, done.stderr
    [ours] = [one for one in held.comments.values() if one["user"]["login"] == AUTHOR]
    assert ours["body"].startswith(f"{MARK}\n\n# HOLD head: worse in Blocks per second")
    [check] = held.checks
    assert (check["head_sha"], check["conclusion"], check["output"]["title"]) == (COMMIT, "failure", "HOLD")
    assert check["output"]["summary"] == ours["body"]
    # The comparison had no token.
    assert "the-token" not in (runs / "seen").read_text()
    held.artifact = packed(runs / "base", runs / "same")
    held.add(f"{MARK}\n\nof a job at the same time")
    assert publish(**{"quiet-unless": "hold"}).returncode == 0
    [again] = [one for one in held.comments.values() if one["user"]["login"] == AUTHOR]
    assert again["id"] == ours["id"]
    assert "# SHIP head" in again["body"]  # which was HOLD, and isn't left standing
    assert held.checks[1]["conclusion"] == "success"
    assert [one["body"] for one in held.comments.values() if one["user"]["login"] == "stranger"].count(MARK) == 1


def test_of_jobs_that_were_run_again_the_newest_artifact_counts(
    publish: Callable[..., subprocess.CompletedProcess[str]], held: Repository
) -> None:
    """GitHub keeps the artifacts of each attempt under one name."""
    held.before = 1
    done = publish()
    assert done.returncode == 0, done.stderr
    [check] = held.checks
    assert (check["conclusion"], check["output"]["title"]) == ("failure", "HOLD")


def test_two_jobs_at_once_leave_one_comment(
    publish: Callable[..., subprocess.CompletedProcess[str]], held: Repository
) -> None:
    held.meeting = threading.Barrier(2)  # both have seen that there is none
    with ThreadPoolExecutor(2) as jobs:
        done = [job.result() for job in [jobs.submit(publish) for _ in range(2)]]
    assert [one.returncode for one in done] == [0, 0], [one.stderr for one in done]
    assert list(held.comments) == [101]
    assert len(held.checks) == 2


def test_nothing_is_written_where_there_is_nothing_to_say(
    publish: Callable[..., subprocess.CompletedProcess[str]], held: Repository, runs: Path
) -> None:
    held.artifact = packed(runs / "base", runs / "same")
    assert publish(**{"quiet-unless": "hold"}).returncode == 0
    assert not held.comments
    held.pulls[0]["head"]["sha"] = COMMIT[::-1]  # pushed since: the next run comments
    held.artifact = None
    assert publish().returncode == 0
    assert not held.comments
    assert [one["conclusion"] for one in held.checks] == ["success", "neutral"]
    assert "There are no runs to compare" in held.checks[1]["output"]["summary"]


def entry(name: str, content: bytes = b"x", mode: int = 0) -> bytes:
    """An archive with one file."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        info = zipfile.ZipInfo(name)
        info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, mode << 16
        archive.writestr(info, content)
    return written.getvalue()


HOSTILE = {
    "a way out": entry("base/../../out"),
    "an absolute name": entry("/etc/cron.d/x"),
    "a name of another system": entry("base\\..\\x"),
    "a link": entry("base/run.json", b"/etc/passwd", 0o120777),
    "a device": entry("base/run.json", b"", 0o020666),
    "a third folder": entry("ci.toml"),
    "markup in a name": entry("base/<img src=x>"),
    "a bomb": entry("base/run.json", bytes((1 << 30) + 1)),
    "no archive": b"PK\x03\x04 nothing",
    "nothing": b"",
}


def test_archives_that_are_no_runs_are_refused_and_leave_nothing(
    publish: Callable[..., subprocess.CompletedProcess[str]], held: Repository, tmp_path: Path
) -> None:
    before = sorted(tmp_path.rglob("*"))
    for what, held.artifact in HOSTILE.items():
        done = publish()
        assert done.returncode == 0, f"{what}: {done.stderr}"
        check = held.checks[-1]
        assert (check["conclusion"], check["output"]["title"]) == ("neutral", "NEUTRAL"), what
        assert re.search(r"archive|unpacks|folders", check["output"]["summary"]), what
    assert not held.comments
    assert len(held.checks) == len(HOSTILE)
    assert sorted(tmp_path.rglob("*")) == before


def test_runs_that_strangers_changed_are_compared_or_neutral(
    publish: Callable[..., subprocess.CompletedProcess[str]], held: Repository, runs: Path, tmp_path: Path
) -> None:
    refused = 0
    for number in (0, 1, 5, 8, 19, 24):  # of these seeds, some runs are refused
        head = shutil.copytree(runs / "head", tmp_path / f"head-{number}")
        change_value(head / "run.json", random.Random(number))
        if number == 24:
            change_bytes(head / "tables" / "invocations.parquet", random.Random(number))
        held.artifact = packed(runs / "base", head)
        shutil.rmtree(head)
        done = publish()
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        check = held.checks[-1]
        assert check["conclusion"] in ("success", "failure", "neutral")
        summary = check["output"]["summary"]
        assert len(summary) < 60_000
        assert not re.search(r"<script|(?<!\\)@\w|^/|\x1b", summary, re.MULTILINE)
        refused += "nothing was compared" in summary
    assert 0 < refused < 5
    assert len([one for one in held.comments.values() if one["user"]["login"] == AUTHOR]) <= 1


def test_a_crash_is_no_regression(
    publish: Callable[..., subprocess.CompletedProcess[str]], held: Repository, runs: Path
) -> None:
    program = runs / "bin" / "slotmark"
    kept = program.read_text()
    program.write_text("#!/bin/sh\necho Traceback >&2\nexit 1\n")  # as Python ends where nobody caught an error
    done = publish()
    program.write_text(kept)
    assert (done.returncode, done.stderr.strip()) == (0, "Traceback")
    assert held.checks[0]["conclusion"] == "neutral"
    assert "can't be compared" in held.checks[0]["output"]["summary"]


def test_the_check_is_written_whatever_comments_there_are(
    publish: Callable[..., subprocess.CompletedProcess[str]], held: Repository
) -> None:
    held.artifact = None
    held.add(f"{MARK} of somebody who left", None)
    held.add(f"{MARK} of ours")
    done = publish()
    assert done.returncode == 0, done.stderr
    assert "There are no runs to compare" in held.comments[102]["body"]
    held.failing["GET", "issues/7/comments"] = 502
    assert publish().returncode == 1
    assert [one["conclusion"] for one in held.checks] == ["neutral", "neutral"]


def test_a_request_that_github_refuses_is_one_line(
    publish: Callable[..., subprocess.CompletedProcess[str]], held: Repository
) -> None:
    packed_runs, held.artifact = held.artifact, None
    held.add(MARK)
    for request, status, remedy in (
        (("GET", "pulls"), 502, "Run this job again."),
        (("GET", "actions/artifacts/5/zip"), 404, "rights actions: read"),
        (("POST", "check-runs"), 403, "checks: write"),
        (("PATCH", "issues/comments/101"), 403, "pull-requests: write"),
    ):
        held.failing = {request: status}
        held.artifact = packed_runs if "zip" in request[1] else None  # no other request needs a comparison
        done = publish()
        assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
        assert done.stderr.startswith(" ".join(request))
        assert f"{status}, Resource not accessible by integration. " in done.stderr
        assert remedy in done.stderr
    assert held.comments[101]["body"] == MARK


def test_a_comment_that_no_list_has_yet_is_written(
    publish: Callable[..., subprocess.CompletedProcess[str]], held: Repository
) -> None:
    held.lagging = True
    done = publish()
    assert done.returncode == 0, done.stderr
    assert held.comments[101]["body"].startswith(MARK)


def test_a_full_disk_is_named(
    publish: Callable[..., subprocess.CompletedProcess[str]],
    held: Repository,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was told as a request without an answer, and no check was written."""
    (tmp_path / "small").write_text("ulimit -f 1\n")
    monkeypatch.setenv("BASH_ENV", str(tmp_path / "small"))
    done = publish()
    assert done.returncode == 0, done.stderr
    [check] = held.checks
    assert check["conclusion"] == "neutral"
    assert f"can't keep the artifact in {tmp_path}" in check["output"]["summary"]
    assert "(File too large). Make room, or set TMPDIR to another folder." in check["output"]["summary"]


def test_a_job_without_slotmark_has_a_line_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(REPO / "actions" / "publish")
    monkeypatch.setenv("PATH", str(tmp_path))
    publish = importlib.import_module("publish")
    asked = argparse.Namespace(policy="ci.toml", name="slotmark", base_note="")
    with pytest.raises(publish.Refused, match=r"slotmark isn't installed in this job\. Install it"):
        publish.compared(tmp_path, asked)


def test_runs_that_are_no_longer_kept_have_a_line_of_their_own(
    publish: Callable[..., subprocess.CompletedProcess[str]], held: Repository
) -> None:
    held.expired = True
    assert publish().returncode == 0
    assert "no longer kept" in held.checks[0]["output"]["summary"]


def test_a_fork_that_is_gone_and_an_event_of_no_pull_request(
    publish: Callable[..., subprocess.CompletedProcess[str]], held: Repository, tmp_path: Path
) -> None:
    event = json.loads((tmp_path / "event.json").read_text())
    event["workflow_run"]["head_repository"] = None
    (tmp_path / "event.json").write_text(json.dumps(event))
    held.artifact = None
    assert publish().returncode == 0
    event["workflow_run"]["event"] = "push"
    (tmp_path / "event.json").write_text(json.dumps(event))
    done = publish()
    assert (done.returncode, len(held.checks), len(held.comments)) == (1, 1, 0)
    assert "no pull request" in done.stderr
