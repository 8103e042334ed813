"""Rules of the two workflows that keep pull requests of strangers apart from what may write: what breaks one, in words."""

import re
from collections.abc import Iterator
from typing import Any

PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")
_OF_A_STRANGER = re.compile(r"\$\{\{[^}]*\bgithub\.(?:event|head_ref)\b[^}]*\}\}")
"""Values of the event, which in the text of a command would be code."""

_MAY = {"actions": "read", "checks": "write", "contents": "read", "pull-requests": "write"}
_CACHE = re.compile(r"(?:^|[/-])cache(?:[/@-]|$)")


def broken(measuring: Any, commenting: Any, actions: dict[str, Any]) -> list[str]:
    """Returns the rules that are broken, one sentence each; the actions are those of slotmark that the workflows use, by path."""
    return [
        *_of_both("measure", measuring),
        *_of_both("comment", commenting),
        *(one for name, action in actions.items() for one in _of_steps(name, action["runs"]["steps"])),
        *_of_measuring(measuring),
        *_of_commenting(commenting, actions),
    ]


def _steps(workflow: Any) -> list[Any]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield str(name)
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
    else:
        yield str(value)


def _triggers(workflow: Any) -> set[str]:
    found = workflow.get("on", workflow.get(True))  # YAML 1.1 reads the word on as true
    return set(found) if isinstance(found, dict | list) else {found}


def _of_both(name: str, workflow: Any) -> Iterator[str]:
    yield from _of_steps(name, _steps(workflow))
    if any("secrets." in text or "secrets[" in text for text in _texts(workflow)) or any(
        job.get("secrets") for job in workflow["jobs"].values()
    ):
        yield f"{name}: names a secret"
    if any("self-hosted" in text for job in workflow["jobs"].values() for text in _texts(job["runs-on"])):
        yield f"{name}: runs strangers' code on a machine of one's own"
    if not all(isinstance(job.get("timeout-minutes"), int) for job in workflow["jobs"].values()):
        yield f"{name}: a job has no limit of time"


def _of_steps(name: str, steps: list[Any]) -> Iterator[str]:
    for step in steps:
        uses = step.get("uses", "")
        if uses and not PINNED.fullmatch(uses):
            yield f"{name}: {uses} isn't pinned by a commit"
        if uses.startswith("actions/checkout@") and (step.get("with") or {}).get("persist-credentials") is not False:
            yield f"{name}: a checkout keeps its token on the disk"
        if _OF_A_STRANGER.search(step.get("run", "")) or "${{ inputs." in step.get("run", ""):
            yield f"{name}: a command has a value of the event or of an input in its text"


def _of_measuring(workflow: Any) -> Iterator[str]:
    if _triggers(workflow) != {"pull_request"}:
        yield "measure: starts otherwise than by pull_request"
    granted = [
        workflow.get("permissions"),
        *(job["permissions"] for job in workflow["jobs"].values() if "permissions" in job),
    ]
    if any(one not in ({"contents": "read"}, {}) for one in granted):
        yield "measure: may do more than read"
    if any(word in text for text in _texts(workflow) for word in ("github.token", "GITHUB_TOKEN")):
        yield "measure: hands on a token"


def _of_commenting(workflow: Any, actions: dict[str, Any]) -> Iterator[str]:
    if _triggers(workflow) != {"workflow_run"}:
        yield "comment: starts otherwise than by workflow_run"
    granted = [job.get("permissions", workflow.get("permissions")) for job in workflow["jobs"].values()]
    if workflow.get("permissions") != {} or any(
        one is None or not set(one.items()) <= set(_MAY.items()) for one in granted
    ):
        yield "comment: may do more than read, comment and write checks"
    if not all(
        "group" in job.get("concurrency", {}) and not job["concurrency"].get("cancel-in-progress")
        for job in workflow["jobs"].values()
    ):
        yield "comment: two jobs may write at once, or one is ended while it writes"
    for step in [*_steps(workflow), *actions["actions/publish"]["runs"]["steps"]]:
        uses, given, run = step.get("uses", ""), step.get("with") or {}, step.get("run", "")
        if uses.startswith("actions/checkout@") and {"ref", "repository"} & set(given):
            yield "comment: checks out something else than the default branch"
        if _CACHE.search(uses.partition("@")[0] + "@") or any("cache" in str(one) for one in given):
            yield "comment: restores a cache"
        if uses.startswith("actions/download-artifact@") or re.search(r"\bgh run download\b|\bunzip\b", run):
            yield "comment: unpacks an artifact without bounds"
        if re.search(
            r"\bgit (?:fetch|checkout|pull|clone|merge|worktree)\b|\bgh (?:pr checkout|repo clone)\b|refs/pull", run
        ):
            yield "comment: gets the pull request's code"
        if re.search(r"GITHUB_(?:ENV|PATH|OUTPUT)", run):
            yield "comment: hands on something to later steps"
