"""Writes the comment and the check of a pull request, from run folders that a job without any rights has measured.

It is started by the event workflow_run, with a token that may comment. Everything in the artifact is a stranger's: it is unpacked within bounds, read by `slotmark comment`, which has
no token, and shown as text. The pull request's number and commit are those of the event, and of GitHub's answers.
"""

import argparse
import errno
import http.client
import itertools
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

MOST_PACKED, MOST_UNPACKED, MOST_FILES = 256 << 20, 1 << 30, 10_000
"""Bytes of an artifact, of its files together, and how many of them there may be."""

MOST_JSON = 32 << 20
"""Bytes of an answer."""

TIMEOUT_S = 600
"""For the comparison."""

RIGHTS = "The job needs the rights actions: read, checks: write, contents: read and pull-requests: write."

CONCLUSION = {0: "success", 1: "failure", 3: "neutral"}
"""Conclusion of the check, by the exit code of `slotmark comment`; any other code is neutral too: a machine's fault is nobody's regression."""


class Refused(Exception):  # noqa: N818 - what it says is no error of ours
    """An artifact that can't be compared; the message has no word of the artifact."""


class Unanswered(Exception):  # noqa: N818 - likewise
    """A request without the answer that is needed.

    Args:
        request: The request, in words.
        reason: The reason.
        status: The status of the answer; 0 where there is none.
    """

    def __init__(self, request: str, reason: object, status: int = 0) -> None:
        remedy = RIGHTS if status in (401, 403, 404) else "Run this job again."
        super().__init__(f"{request}: {f'{status}, ' if status else ''}{reason}. {remedy}")
        self.status = status


class Change(NamedTuple):
    """A change that was measured.

    Attributes:
        run: Number of the workflow run.
        commit: The head's.
        pull: Number of the pull request; None where it is closed, or has a newer commit.
    """

    run: int
    commit: str
    pull: int | None


class GitHub:
    """The interface of one repository.

    Args:
        url: Of the interface.
        repository: As ``owner/name``.
        token: May comment and write checks.
    """

    def __init__(self, url: str, repository: str, token: str) -> None:
        if not re.fullmatch(r"[\w.-]+/[\w.-]+", repository):
            raise SystemExit(f"GITHUB_REPOSITORY is '{repository}', and is to be OWNER/NAME.")
        self._at, self._token = f"{url.rstrip('/')}/repos/{repository}", token

    def pieces(self, method: str, path: str, body: Any = None) -> Iterator[bytes]:
        """An answer as it comes; a redirection, as to where artifacts lie, gets no token. Unanswered without one. What fails where pieces are taken isn't the request's."""
        request = urllib.request.Request(
            f"{self._at}/{path}", method=method, data=None if body is None else json.dumps(body).encode()
        )
        request.add_header("Accept", "application/vnd.github+json")
        request.add_header("X-GitHub-Api-Version", "2022-11-28")
        request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                while piece := answer.read(1 << 20):
                    yield piece
        except urllib.error.HTTPError as error:
            raise Unanswered(f"{method} {path}", _message(error), error.code) from error
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            raise Unanswered(f"{method} {path}", getattr(reason, "strerror", None) or reason) from error

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        """An answer out of JSON; None for an empty one."""
        text = b"".join(itertools.islice(self.pieces(method, path, body), MOST_JSON >> 20))
        try:
            return json.loads(text) if text else None
        except ValueError as error:
            raise Unanswered(f"{method} {path}", "the answer isn't JSON") from error

    def each(self, path: str) -> Iterator[Any]:
        """The entries of all pages of a list."""
        for page in range(1, 101):
            entries = self("GET", f"{path}{'&' if '?' in path else '?'}per_page=100&page={page}")
            yield from entries
            if len(entries) < 100:
                return


def _message(error: urllib.error.HTTPError) -> str:
    """The reason that GitHub gives for an error, or HTTP's."""
    try:
        return str(json.loads(error.read(1 << 16))["message"]).rstrip(".")
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        return error.reason


def change_of(event: Any, api: GitHub) -> Change:
    """Returns the change that was measured, by the event. Of a fork the event has no number: it is that of the open pull request with this head."""
    run = event["workflow_run"]
    commit, number = str(run["head_sha"]), int(run["id"])
    if run["event"] != "pull_request" or not re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", commit):
        raise SystemExit("This event is of no pull request: nothing is written.")
    source = run["head_repository"]
    if source is None:  # the fork is gone
        return Change(number, commit, None)
    head = urllib.parse.quote(f"{source['owner']['login']}:{run['head_branch']}", safe="")
    for pull in api.each(f"pulls?state=open&head={head}"):
        if pull["head"]["sha"] == commit and (pull["head"]["repo"] or {}).get("id") == source["id"]:
            return Change(number, commit, int(pull["number"]))
    return Change(number, commit, None)


def fetched(api: GitHub, run: int, name: str, place: Path) -> Path:
    """The newest artifact of a workflow run, in a file: each time that jobs are run again adds one of the same name. Refused where there is none, or it is too large."""
    named = urllib.parse.quote(name, safe="")
    every = api("GET", f"actions/runs/{run}/artifacts?name={named}&per_page=100")["artifacts"]
    found = [int(one["id"]) for one in every if not one["expired"]]
    if not found and every:
        raise Refused("The runs are no longer kept. Run the job that measures again.")
    if not found:
        raise Refused("There are no runs to compare: the job that measures ended without them. Its log has the reason.")
    packed = place / "artifact.zip"
    with _room(place), packed.open("wb") as file:
        left = MOST_PACKED
        for piece in api.pieces("GET", f"actions/artifacts/{max(found)}/zip"):
            left -= len(piece)
            if left < 0:
                raise Refused(f"The artifact has more than {MOST_PACKED >> 20} MiB. Upload the two run folders alone.")
            file.write(piece)
    return packed


def unpacked(packed: Path, place: Path) -> None:
    """Unpacks the folders ``base`` and ``head``, and nothing else. Refused where the file is damaged, too large, or has names that are none of a run folder."""
    try:
        with _room(place), zipfile.ZipFile(packed) as archive:
            entries = [one for one in archive.infolist() if not one.is_dir()]
            if len(entries) > MOST_FILES or sum(one.file_size for one in entries) > MOST_UNPACKED:
                raise Refused(f"The artifact unpacks to more than {MOST_FILES:,} files or {MOST_UNPACKED >> 20:,} MiB.")
            left = MOST_UNPACKED
            for entry in entries:
                path = _place(entry, place)
                path.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(entry) as content, path.open("xb") as file:
                    while piece := content.read(1 << 20):
                        left -= len(piece)
                        if left < 0:
                            raise Refused("The artifact unpacks to more than its directory states.")
                        file.write(piece)
    except (
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        OSError,
        EOFError,
        NotImplementedError,
        RuntimeError,
        ValueError,
        zlib.error,
    ) as error:
        raise Refused("The artifact is damaged, or isn't a plain archive of two run folders.") from error


@contextmanager
def _room(place: Path) -> Iterator[None]:
    """Names the disk of this job's machine where it has no room, or can't be written."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO):
            raise
        raise Refused(
            f"The machine of this job can't keep the artifact in {place.parent} ({os.strerror(error.errno)}). Make room, or set TMPDIR to another folder."
        ) from error


def _place(entry: zipfile.ZipInfo, place: Path) -> Path:
    parts = PurePosixPath(entry.filename).parts
    kind = stat.S_IFMT(entry.external_attr >> 16)
    plain = all(re.fullmatch(r"[\w.=-]{1,200}", part, re.ASCII) and part.strip(".") for part in parts)
    if not (1 < len(parts) <= 8 and parts[0] in ("base", "head") and plain and kind in (0, stat.S_IFREG)):
        raise Refused("The artifact holds something else than the folders base and head with files of plain names.")
    return place.joinpath(*parts)


def compared(place: Path, asked: argparse.Namespace, *options: str) -> tuple[int, str]:
    """The exit code and the output of `slotmark comment`, which gets no token. Refused where it can't compare."""
    variables = {
        name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR", "PYTHONPATH") if name in os.environ
    }
    command = [
        "slotmark",
        "comment",
        str(place / "base"),
        str(place / "head"),
        "--policy",
        str(Path(asked.policy).resolve()),
    ]
    command += ["--name", asked.name, "--base-note", asked.base_note, *options]
    try:
        done = subprocess.run(command, cwd=place, env=variables, capture_output=True, timeout=TIMEOUT_S, check=False)
    except FileNotFoundError as error:
        raise Refused(
            "slotmark isn't installed in this job. Install it before this step, in a folder of PATH."
        ) from error
    except subprocess.TimeoutExpired as error:
        raise Refused(f"The comparison took more than {TIMEOUT_S} s. Upload smaller runs.") from error
    shown = done.stdout.decode(errors="replace")
    if done.returncode not in CONCLUSION or not shown.startswith(mark_of(asked.name) if not options else ""):
        sys.stderr.write(f"{done.stderr[-2_000:].decode(errors='replace')}\n")
        raise Refused("The runs can't be compared. The log of this job has the reason.")
    return done.returncode, shown


def mark_of(name: str) -> str:
    """The first line of the comment, by which it is found: that of `slotmark comment`."""
    return f"<!-- slotmark comment: {name} -->"


def own(api: GitHub, pull: int, mark: str, author: str) -> list[int]:
    """The comments that begin with the mark and are the author's, the oldest first: anybody can write the mark."""
    found = api.each(f"issues/{pull}/comments")
    return sorted(
        int(one["id"])
        for one in found
        if (one["user"] or {}).get("login") == author and str(one["body"]).startswith(mark)  # who left has no user
    )


def written(api: GitHub, pull: int, mark: str, author: str, body: str) -> None:
    """Writes the comment in the place of the one before it. Where two jobs write at once, both leave the oldest."""
    there = own(api, pull, mark, author)
    if not there:
        added = int(api("POST", f"issues/{pull}/comments", {"body": body})["id"])
        there = sorted({added, *own(api, pull, mark, author)})  # lists may lag behind
    oldest, *others = there
    api("PATCH", f"issues/comments/{oldest}", {"body": body})
    for other in others:
        try:
            api("DELETE", f"issues/comments/{other}")
        except Unanswered as error:
            if error.status != 404:  # the other job was first
                raise


def main() -> None:
    """Reads the event, compares, writes the comment and the check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policy", required=True)
    parser.add_argument("--name", default="slotmark")
    parser.add_argument("--artifact", default="slotmark-runs")
    parser.add_argument("--author", default="github-actions[bot]")
    parser.add_argument("--base-note", default="")
    parser.add_argument("--quiet-unless", default="", choices=("", "hold", "change"))
    asked = parser.parse_args()
    api = GitHub(os.environ["GITHUB_API_URL"], os.environ["GITHUB_REPOSITORY"], os.environ["GITHUB_TOKEN"])
    change = change_of(json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_bytes()), api)
    mark = mark_of(asked.name)
    place = Path(tempfile.mkdtemp())
    try:
        unpacked(fetched(api, change.run, asked.artifact, place), place)
        code, text = compared(place, asked)
        conclusion, quiet = CONCLUSION[code], False
        if asked.quiet_unless:
            quiet = not compared(place, asked, "--quiet-unless", asked.quiet_unless)[1]
    except Refused as error:
        conclusion, text, quiet = "neutral", f"{mark}\n\n# NEUTRAL: nothing was compared\n\n{error}\n", True
    finally:
        shutil.rmtree(place, ignore_errors=True)
    answer = re.search(r"(?m)^# (SHIP|HOLD|RUN AGAIN|NEUTRAL)\b", text)
    check = {"title": answer[1] if answer else "NO DECISION", "summary": text}
    api(
        "POST",
        "check-runs",
        {
            "name": asked.name,
            "head_sha": change.commit,
            "status": "completed",
            "conclusion": conclusion,
            "output": check,
        },
    )
    if change.pull and not (quiet and not own(api, change.pull, mark, asked.author)):
        written(api, change.pull, mark, asked.author, text)


if __name__ == "__main__":
    try:
        main()
    except Unanswered as error:
        raise SystemExit(str(error)) from None
