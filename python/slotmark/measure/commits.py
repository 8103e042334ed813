"""Commits between a good and a bad one, in their order: of a Git repository, or of a file that names them."""

import subprocess
from collections import Counter
from pathlib import Path

from slotmark.cleaning import one_name
from slotmark.errors import ArgumentError
from slotmark.numbers import duration
from slotmark.texts import content_of

MOST = 10_000
"""Most commits that a search takes."""

_MOST_BYTES = 16 << 20
_WAIT_S = 60.0


def commits_of_git(repo: Path, good: str, bad: str) -> list[str]:
    """The commits from a good to a bad one by first parents, both included, as full hashes. ArgumentError where they aren't such, or Git can't be asked."""
    first, last = (_commit(repo, option, name) for option, name in (("--good", good), ("--bad", bad)))
    if first == last:
        raise ArgumentError(f"--good {one_name(good)} and --bad {one_name(bad)} are one commit. Name two.")
    listed = [
        line.split()
        for line in _git(repo, "rev-list", "--first-parent", "--reverse", "--parents", f"{first}..{last}").splitlines()
    ]
    # The oldest of them has no parent where the two have no common history, or where a shallow clone ends.
    if not listed or listed[0][1:2] != [first]:
        raise ArgumentError(
            f"--good {one_name(good)} isn't before --bad {one_name(bad)} on its line of first parents in {repo}. Name a commit that is; get a shallow clone's history with `git fetch --unshallow`."
        )
    return refused_many([first, *(commit for commit, *_ in listed)])


def commits_of_file(file: Path, good: str, bad: str) -> list[str]:
    """The commits from a good to a bad one, both included, of a file with one per line, the oldest first. ArgumentError where it has them not."""
    try:
        text = content_of(file, _MOST_BYTES).decode("utf-8")
        names = [line.strip() for line in text.splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(f"{file}: can't be read ({error}). Give a text file with one commit per line.") from error
    for name in names:
        if name.startswith("-") or one_name(name) != name:
            raise ArgumentError(f"{file}: {one_name(name)!r} is no name of a commit. Write one per line.")
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise ArgumentError(f"{file}: {twice} is there twice. Write each commit once, the oldest first.")
    for option, name in (("--good", good), ("--bad", bad)):
        if name not in names:
            raise ArgumentError(f"{option} {one_name(name)}: not in {file}. Name one of its {len(names):,} commits.")
    if names.index(good) >= names.index(bad):
        raise ArgumentError(f"--good {good} doesn't come before --bad {bad} in {file}. The oldest commit is first.")
    return refused_many(names[names.index(good) : names.index(bad) + 1])


def refused_many(commits: list[str]) -> list[str]:
    """The commits as they are; ArgumentError where there are more than a search takes."""
    if len(commits) > MOST:
        raise ArgumentError(
            f"{len(commits):,} commits lie between --good and --bad, {MOST:,} at most are searched. Name nearer ones."
        )
    return commits


def _commit(repo: Path, option: str, name: str) -> str:
    """The hash of a commit that was named."""
    try:
        return _git(repo, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}").strip()
    except _RefusedError as error:
        said = f" ({error})" if str(error) else ""
        raise ArgumentError(
            f"{option} {one_name(name)}: no commit of the Git repository {repo}{said}. Name one, or the repository with --repo.{_if_shallow(repo)}"
        ) from error


def _if_shallow(repo: Path) -> str:
    """The command that gets the rest of a shallow clone's history; empty for any other folder."""
    try:
        shallow = _git(repo, "rev-parse", "--is-shallow-repository").strip() == "true"
    except _RefusedError:
        return ""
    return " This clone is shallow: get its history with `git fetch --unshallow`." if shallow else ""


class _RefusedError(Exception):
    """Git has ended with an error; its first line."""


def _git(repo: Path, *words: str) -> str:
    """Returns the output of Git. _RefusedError where it ends with an error, ArgumentError where it isn't there."""
    try:
        done = subprocess.run(
            ["git", "-C", str(repo), *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_WAIT_S,
            check=False,
        )
    except FileNotFoundError as error:
        raise ArgumentError(
            "git isn't installed here. Install it, or name the commits in a file with --commits."
        ) from error
    except subprocess.TimeoutExpired as error:
        raise ArgumentError(f"{repo}: git didn't answer in {duration(_WAIT_S)}. Look at the repository.") from error
    if done.returncode:
        raise _RefusedError(one_name((done.stderr.strip().splitlines() or [""])[0]))
    return done.stdout
