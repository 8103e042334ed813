"""The commands for GitLab, Buildkite and Hydra in docs/pull-requests.md, in a shell as the runner starts one; those for GitLab against a server of its interface."""

import json
import os
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from shutil import which
from typing import Any, ClassVar
from urllib.parse import urlsplit

import pytest

from tests.conftest import REPO
from tests.made_up_runs import write_run

MARK = "<!-- slotmark comment: slotmark -->"
RATES = [1000.0, 1010.0, 990.0, 1005.0, 995.0, 1002.0]
OURS, STRANGER = 5, 6


class Handler(BaseHTTPRequestHandler):
    """Notes of one merge request: each is changed by its author alone."""

    notes: ClassVar[dict[int, dict[str, Any]]] = {}

    def _do(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "null")
        self._send(*self._answer(urlsplit(self.path).path.removeprefix("/api/v4/"), body))

    do_GET = do_POST = do_PUT = _do  # noqa: N815 - the library's names

    def _answer(self, place: str, body: Any) -> tuple[int, Any]:
        if self.headers.get("PRIVATE-TOKEN") != "the-token":
            return 401, {}
        if place == "user":
            return 200, {"id": OURS}
        found = re.fullmatch(r"projects/3/merge_requests/7/notes(?:/(\d+))?", place)
        if found is None:
            return 404, {}
        if self.command == "GET":
            return 200, [self.notes[number] for number in sorted(self.notes, reverse=True)]
        number = int(found[1] or max(self.notes, default=0) + 1)
        if self.notes.get(number, {"author": {"id": OURS}})["author"]["id"] != OURS:
            return 403, {}
        if not body["body"]:
            return 400, {}
        self.notes[number] = {"id": number, "author": {"id": OURS}, "body": body["body"]}
        return 200, self.notes[number]

    def _send(self, status: int, answer: Any) -> None:
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Prints nothing."""


@pytest.mark.skipif(not (which("curl") and which("jq")), reason="the commands need curl and jq")
def test_the_commands_write_one_note_and_leave_those_of_others(tmp_path: Path) -> None:
    for name, factor in (("base", 1.0), ("head", 0.8)):
        write_run(tmp_path / "runs" / name, "client", {"decode, sequential": [rate * factor for rate in RATES]})
    (tmp_path / "ci.toml").write_text("[metrics]\n")
    program = tmp_path / "bin" / "slotmark"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m slotmark "$@"\n')
    program.chmod(0o755)
    page = (REPO / "docs" / "pull-requests.md").read_text(encoding="utf-8")
    section = page.partition("## GitLab\n")[2].partition("\n## ")[0]
    commands = "\n".join(line[4:] for line in section.splitlines() if line.startswith("    "))
    Handler.notes = {1: {"id": 1, "author": {"id": STRANGER}, "body": f"{MARK} of a stranger"}}
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    variables = {
        **os.environ,
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "CI_API_V4_URL": f"http://127.0.0.1:{server.server_port}/api/v4",
        "CI_PROJECT_ID": "3",
        "CI_MERGE_REQUEST_IID": "7",
        "GITLAB_TOKEN": "the-token",
    }
    try:
        for place, code, line in (("runs", 1, "# HOLD head: worse in"), ("elsewhere", 2, "# NEUTRAL: nothing was")):
            (tmp_path / "runs").rename(tmp_path / place)
            done = subprocess.run(
                ["sh", "-e", "-c", commands], cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
            )
            assert done.returncode == code, done.stderr
            stranger, ours = Handler.notes.values()
            assert stranger["body"] == f"{MARK} of a stranger"
            assert ours["body"].startswith(f"{MARK}\n\n{line}")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def commands_for(system: str) -> str:
    """The commands of a section of docs/pull-requests.md."""
    page = (REPO / "docs" / "pull-requests.md").read_text(encoding="utf-8")
    section = page.partition(f"## {system}\n")[2].partition("\n## ")[0]
    return "\n".join(line[4:] for line in section.splitlines() if line.startswith("    "))


def run_with(tmp_path: Path, commands: str, **programs: str) -> int:
    """The exit code of commands in a shell with these programs before others."""
    for name, line in programs.items():
        program = tmp_path / name.replace("_", "-")
        program.write_text(f"#!/bin/sh\n{line}\n")
        program.chmod(0o755)
    variables = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "out": str(tmp_path / "out")}
    return subprocess.run(["sh", "-e", "-c", commands], cwd=tmp_path, env=variables, check=False).returncode


def test_the_commands_for_buildkite_annotate_also_where_nothing_was_compared(tmp_path: Path) -> None:
    (tmp_path / "ci.toml").write_text("[metrics]\n")
    slotmark = f'exec "{sys.executable}" -m slotmark "$@"'
    code = run_with(tmp_path, commands_for("Buildkite"), slotmark=slotmark, buildkite_agent="cat >annotation.md")
    assert code == 2
    assert (tmp_path / "annotation.md").read_text().startswith("# NEUTRAL: nothing was compared\n")


@pytest.mark.parametrize("code", [0, 1, 2, 3])
def test_the_commands_for_buildkite_end_with_the_code_also_in_its_pipeline_file(tmp_path: Path, code: int) -> None:
    """Buildkite replaces variables of a pipeline's file before there is a shell: `${code:-0}` was 0, and a HOLD passed."""
    commands = commands_for("Buildkite")
    assert not re.search(r"\$\{?[A-Za-z]", commands)
    assert run_with(tmp_path, commands, slotmark=f"echo x; exit {code}", buildkite_agent="cat >annotation.md") == code


@pytest.mark.parametrize("code", [0, 1, 2, 3])
def test_the_commands_for_hydra_fail_where_a_change_holds(tmp_path: Path, code: int) -> None:
    """Nix replaces what is in braces: `${code:-0}` is a text to it, `code:-0`, so that each build failed."""
    commands = commands_for("Hydra")
    own = {"${base}": "base", "${head}": "head", "${./ci.toml}": "ci.toml"}
    assert set(re.findall(r"\$\{[^}]*\}", commands)) == own.keys()
    for named, value in own.items():
        commands = commands.replace(named, value)
    assert run_with(tmp_path, commands, slotmark=f"exit {code}") == 0
    assert (tmp_path / "out" / "nix-support" / "failed").exists() is (code in (1, 2))
