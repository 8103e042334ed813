"""The workflows for pull requests keep their rules; each rule finds a breach of it."""

import copy
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.actions.rules import broken
from tests.conftest import REPO

FILES = REPO / "examples" / "pull-requests"


def read() -> tuple[Any, Any, dict[str, Any]]:
    measuring, commenting = (yaml.safe_load((FILES / f"{name}.yaml").read_text()) for name in ("measure", "comment"))
    actions = {place: yaml.safe_load((REPO / place / "action.yml").read_text()) for place in (".", "actions/publish")}
    return measuring, commenting, actions


def test_both_workflows_keep_their_rules() -> None:
    assert broken(*read()) == []


def test_the_base_is_the_branch_that_the_change_was_merged_into(tmp_path: Path) -> None:
    """The event names the target branch as it was at the pull request's last push; GitHub checks out a merge with the branch as it is now."""
    measuring, _, _ = read()
    checkout, measure = job(measuring)["steps"]
    assert "ref" not in checkout["with"]  # what is checked out is the merge
    command = next(line for line in measure["with"]["run"].splitlines() if line.startswith("git "))
    work = tmp_path / "work"

    def git(*words: str, folder: Path = work) -> str:
        identity = ("-c", "user.name=x", "-c", "user.email=x@example.org")
        done = subprocess.run(["git", *identity, *words], cwd=folder, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    work.mkdir()
    git("init", "--quiet", "--initial-branch", "main")
    git("commit", "--quiet", "--allow-empty", "--message", "the start of the change")
    git("checkout", "--quiet", "-b", "change")
    git("commit", "--quiet", "--allow-empty", "--message", "the change")
    git("checkout", "--quiet", "main")
    git("commit", "--quiet", "--allow-empty", "--message", "merged since by others")
    git("checkout", "--quiet", "--detach", "main")
    git("merge", "--quiet", "--no-ff", "--message", "as GitHub merges", "change")
    subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=work, capture_output=True, check=True)
    assert git("log", "-1", "--format=%s", folder=tmp_path / "base") == "merged since by others"


def steps(workflow: Any) -> list[Any]:
    return next(iter(workflow["jobs"].values()))["steps"]


def job(workflow: Any) -> Any:
    return next(iter(workflow["jobs"].values()))


TAG, HEAD = "actions/checkout@v5", "${{ github.event.workflow_run.head_sha }}"
CACHE = "actions/cache@0400d5f644dc74513175e3cd8d07132dd4860809"
DOWNLOAD = "actions/download-artifact@634f93cb2916e3fdff6788551b99b062d0335ce0"
BREACHES: dict[str, tuple[str, Callable[[Any, Any, dict[str, Any]], Any]]] = {
    "a tag": ("pinned", lambda m, c, a: steps(m)[0].update(uses=TAG)),
    "a tag in an action": (
        "pinned",
        lambda m, c, a: a["."]["runs"]["steps"][-1].update(uses="actions/upload-artifact@v4"),
    ),
    "a kept token": ("token on the disk", lambda m, c, a: steps(c)[0]["with"].pop("persist-credentials")),
    "a title as code": (
        "in its text",
        lambda m, c, a: steps(m).append({"run": "echo ${{ github.event.pull_request.title }}"}),
    ),
    "a branch as code": ("in its text", lambda m, c, a: steps(c).append({"run": "echo ${{ github.head_ref }}"})),
    "an input as code": ("in its text", lambda m, c, a: a["."]["runs"]["steps"][1].update(run="${{ inputs.run }}")),
    "a secret": ("names a secret", lambda m, c, a: steps(m)[1].update(env={"KEY": "${{ secrets.KEY }}"})),
    "secrets inherited": ("names a secret", lambda m, c, a: job(c).update(secrets="inherit")),
    "an own machine": ("machine of one's own", lambda m, c, a: job(m).update({"runs-on": ["self-hosted", "linux"]})),
    "no limit of time": ("limit of time", lambda m, c, a: job(c).pop("timeout-minutes")),
    "pull_request_target": (
        "otherwise than by pull_request",
        lambda m, c, a: m.update({True: {"pull_request_target": None}}),
    ),
    "rights of measuring": ("more than read", lambda m, c, a: job(m).update(permissions={"contents": "write"})),
    "all rights by default": ("more than read", lambda m, c, a: m.pop("permissions")),
    "a token while measuring": (
        "hands on a token",
        lambda m, c, a: steps(m)[1].update(env={"T": "${{ github.token }}"}),
    ),
    "by pull_request": ("otherwise than by workflow_run", lambda m, c, a: c.update({True: {"pull_request": None}})),
    "writing to the store": ("more than read, comment", lambda m, c, a: job(c)["permissions"].update(contents="write")),
    "a cloud's identity": (
        "more than read, comment",
        lambda m, c, a: job(c)["permissions"].update({"id-token": "write"}),
    ),
    "two at once": ("two jobs", lambda m, c, a: job(c).pop("concurrency")),
    "one that is ended": ("two jobs", lambda m, c, a: job(c)["concurrency"].update({"cancel-in-progress": True})),
    "the head's code": ("something else", lambda m, c, a: steps(c)[0]["with"].update(ref=HEAD)),
    "the fork's code": ("something else", lambda m, c, a: steps(c)[0]["with"].update(repository="x/y")),
    "the head by git": (
        "pull request's code",
        lambda m, c, a: steps(c).append({"run": "git fetch origin refs/pull/1/head"}),
    ),
    "a cache": ("restores a cache", lambda m, c, a: steps(c).append({"uses": CACHE})),
    "a cache of another action": ("restores a cache", lambda m, c, a: steps(c)[1]["with"].update(cache="pip")),
    "an artifact without bounds": ("without bounds", lambda m, c, a: steps(c).append({"uses": DOWNLOAD})),
    "a variable out of data": (
        "later steps",
        lambda m, c, a: a["actions/publish"]["runs"]["steps"][1].update(run="cat number >>$GITHUB_ENV"),
    ),
}


@pytest.mark.parametrize("breach", BREACHES)
def test_a_breach_is_found(breach: str) -> None:
    measuring, commenting, actions = copy.deepcopy(read())
    words, plant = BREACHES[breach]
    plant(measuring, commenting, actions)
    found = broken(measuring, commenting, actions)
    assert len(found) == 1, found
    assert words in found[0]
