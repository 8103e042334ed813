"""A server with the parts of GitHub's interface that a comment and a check need: what is written stays, pages have a hundred entries."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

AUTHOR = "github-actions[bot]"


class Repository:
    """One repository, as the server holds it.

    Attributes:
        comments: Of pull request 7, by number.
        pulls: Open pull requests, as GitHub lists them.
        checks: Check runs that were written.
        artifact: The archive of workflow run 99; None where it uploaded none.
        before: How many archives its jobs uploaded before they were run again.
        expired: Whether these archives are no longer kept.
        failing: The status that each request with this method and path gets.
        wrong: What was asked for and isn't right, in words.
        lagging: Whether a list of comments lacks those that were added.
        meeting: Where two jobs wait for each other before a comment is added; None for no wait.
    """

    def __init__(self, commit: str) -> None:
        self.comments: dict[int, dict[str, Any]] = {}
        self.pulls = [{"number": 7, "head": {"sha": commit, "repo": {"id": 42}}}]
        self.checks: list[Any] = []
        self.artifact: bytes | None = None
        self.before = 0
        self.expired = False
        self.failing: dict[tuple[str, str], int] = {}
        self.wrong: list[str] = []
        self.lagging = False
        self.meeting: threading.Barrier | None = None
        self.lock = threading.Lock()

    def add(self, body: str, author: str | None = AUTHOR) -> dict[str, Any]:
        """Adds a comment; of an author who left, GitHub names none."""
        with self.lock:
            number = max(self.comments, default=100) + 1
            self.comments[number] = {"id": number, "user": author and {"login": author}, "body": body}
            return self.comments[number]

    def answer(self, method: str, path: str, query: dict[str, list[str]], body: Any) -> tuple[int, Any]:
        """The status and the answer of a request."""
        if status := self.failing.get((method, path)):
            return status, {"message": "Resource not accessible by integration"}
        if method == "GET" and path == "pulls":
            asked = query["head"] == ["stranger:fix/`#1 $(x)`"] and query["state"] == ["open"]
            return 200, self.pulls if asked else []
        if method == "GET" and path == "actions/runs/99/artifacts":
            there = self.artifact is not None and query["name"] == ["slotmark-runs"]
            ids = [5, *range(5 - self.before, 5)] if there else []
            return 200, {"artifacts": [{"id": one, "expired": self.expired} for one in ids]}
        if method == "GET" and path == "issues/7/comments":
            page = int(query["page"][0])
            there = [] if self.lagging else list(self.comments.values())
            return 200, there[100 * (page - 1) : 100 * page]
        if method == "POST" and path == "issues/7/comments":
            if self.meeting:
                self.meeting.wait(timeout=200)
            return 201, self.add(body["body"])
        if method == "POST" and path == "check-runs":
            self.checks.append(body)
            return 201, {}
        if (match := re.fullmatch(r"issues/comments/(\d+)", path)) and int(match[1]) in self.comments:
            if method == "PATCH":
                self.comments[int(match[1])]["body"] = body["body"]
                return 200, {}
            if method == "DELETE":
                del self.comments[int(match[1])]
                return 204, None
        return 404, {"message": "Not Found"}


@contextmanager
def github(held: Repository) -> Iterator[str]:
    """Serves the repository ``owner/name``; yields the interface's address."""

    class Handler(BaseHTTPRequestHandler):
        def _do(self) -> None:
            address = urlsplit(self.path)
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "null")
            if address.path == "/artifact":  # where artifacts lie is another service, which must not get the token
                if self.headers.get("Authorization"):
                    held.wrong.append("a token went to where artifacts lie")
                self._send(200, held.artifact or b"")
                return
            if self.headers.get("Authorization") != "Bearer the-token":
                held.wrong.append(f"{self.path}: without the token")
            place = address.path.removeprefix("/repos/owner/name/")
            if place == "actions/artifacts/5/zip" and (self.command, place) not in held.failing:
                self.send_response(302)
                self.send_header("Location", "/artifact")
                self.end_headers()
                return
            status, answer = held.answer(self.command, place, parse_qs(address.query), body)
            self._send(status, b"" if answer is None else json.dumps(answer).encode())

        do_GET = do_POST = do_PATCH = do_DELETE = _do  # noqa: N815

        def _send(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
