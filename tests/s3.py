"""A real S3 server on this machine for tests, and a proxy before it that does what networks and stores do."""

import contextlib
import hashlib
import hmac
import http.client
import os
import re
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from slotmark import stores

REPO = Path(__file__).resolve().parents[1]
BUILT = REPO / ".build" / "s3" / "versitygw"
ACCESS, SECRET = "test-access", "canary-9f3b61d27c"
BUCKET = "runs"


class S3:
    """A server with one bucket, whose objects are files below a folder."""

    def __init__(self, folder: Path, *wrapped: str) -> None:
        self.folder = folder / "data"
        if not wrapped:
            (self.folder / BUCKET).mkdir(parents=True)
            (folder / "sidecar").mkdir()
        self.port = free_port()
        command = [BUILT, "--port", f"127.0.0.1:{self.port}", "--access", ACCESS, "--secret", SECRET, "posix"]
        self._process = subprocess.Popen(
            [*wrapped, *map(str, command), "--sidecar", str(folder / "sidecar"), str(self.folder)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for(self.port)

    def environment(self, port: int = 0, secret: str = SECRET) -> dict[str, str]:
        """The environment with which a command reaches it, or a proxy before it."""
        mine = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        return {
            **mine,
            "AWS_ACCESS_KEY_ID": ACCESS,
            "AWS_SECRET_ACCESS_KEY": secret,
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT": f"http://127.0.0.1:{port or self.port}",
            "AWS_ALLOW_HTTP": "true",
        }

    def put_raw(self, key: str) -> int:
        """Writes an empty object under a name as it is, also one that ends with a slash, which no library of ours writes. The status of the answer."""
        day, path = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()), f"/{BUCKET}/{key}"
        host, scope = f"127.0.0.1:{self.port}", f"{day[:8]}/us-east-1/s3/aws4_request"
        names, empty = "host;x-amz-content-sha256;x-amz-date", hashlib.sha256(b"").hexdigest()
        asked = f"PUT\n{path}\n\nhost:{host}\nx-amz-content-sha256:{empty}\nx-amz-date:{day}\n\n{names}\n{empty}"
        signed = f"AWS4-HMAC-SHA256\n{day}\n{scope}\n{hashlib.sha256(asked.encode()).hexdigest()}"
        signature = f"AWS4{SECRET}".encode()
        for word in (*scope.split("/"), signed):
            signature = hmac.digest(signature, word.encode(), "sha256")
        headers = {
            "X-Amz-Content-Sha256": empty,
            "X-Amz-Date": day,
            "Authorization": f"AWS4-HMAC-SHA256 Credential={ACCESS}/{scope}, SignedHeaders={names}, Signature={signature.hex()}",
        }
        connection = http.client.HTTPConnection(host, timeout=60)
        with contextlib.closing(connection):
            connection.request("PUT", path, b"", headers)
            return connection.getresponse().status

    def names(self, below: str = "") -> list[str]:
        """The objects that are there, and what is kept of uploads that aren't finished, as the server keeps them."""
        top = self.folder / BUCKET / below
        return sorted(str(one.relative_to(top)) for one in top.rglob("*") if one.is_file())

    def processor_s(self) -> float:
        """The processor time that it has used, in seconds."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        """Ends it."""
        self._process.terminate()
        self._process.wait(timeout=20)


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_for(port: int) -> None:
    """Waits until something listens."""
    for _ in range(200):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise AssertionError(f"nothing listens on port {port}")


@contextlib.contextmanager
def s3_server(folder: Path, *wrapped: str) -> Iterator[S3]:
    """A server; the test is skipped where it isn't built."""
    if not BUILT.is_file():
        pytest.skip("the S3 server isn't built: make s3-server does it, with Go")
    server = S3(folder, *wrapped)
    try:
        yield server
    finally:
        server.stop()


Answer = tuple[int, list[tuple[str, str]], bytes]


class Fault:
    """A fault in the answers to some requests.

    Args:
        what: Does something with a request; gives its answer, or None where the connection is cut.
        method: Of the requests that are meant.
        path: A pattern that is found in their path.
        times: How many of them; -1 for all.
        conditional: Whether only those are meant that have If-None-Match.
    """

    def __init__(
        self,
        what: "Callable[[Proxied], Answer | None]",
        method: str = "",
        path: str = "",
        times: int = -1,
        *,
        conditional: bool = False,
    ) -> None:
        self.what, self.method, self.path, self.times, self.conditional = (
            what,
            method,
            re.compile(path),
            times,
            conditional,
        )
        self.met = 0

    def takes(self, request: "Proxied") -> bool:
        """Returns whether it is done to this request."""
        return (
            self.times != self.met
            and request.command == (self.method or request.command)
            and bool(self.path.search(request.path))
            and (not self.conditional or "If-None-Match" in request.headers)
        )


class Proxied(BaseHTTPRequestHandler):
    """A request that is passed on as it is, signature and all."""

    protocol_version = "HTTP/1.1"
    server: "Proxy"  # pyright: ignore[reportIncompatibleVariableOverride]
    body = b""

    def passed_on(self) -> Answer:
        """The answer of the server behind."""
        behind = http.client.HTTPConnection("127.0.0.1", self.server.behind, timeout=60)
        behind.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            behind.putheader(name, value)
        behind.endheaders(self.body or None)
        found = behind.getresponse()
        content = found.read()
        headers = [
            (name, value)
            for name, value in found.getheaders()
            if name.lower() not in ("transfer-encoding", "connection")
        ]
        behind.close()
        return found.status, headers, content

    def _done(self) -> None:
        self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        proxy = self.server
        with proxy.lock:
            fault = next((one for one in proxy.faults if one.takes(self)), None)
            if fault:
                fault.met += 1
        answer = fault.what(self) if fault else self.passed_on()
        if answer is None:
            self.close_connection = True
            return
        status, headers, content = answer
        with proxy.lock:
            proxy.asked.append(f"{self.command} {self.path}")
            if self.command == "GET" and status in (200, 206) and "list-type" not in self.path:
                proxy.sent_bytes += len(content)
        self.answer(status, headers, content)

    def answer(self, status: int, headers: list[tuple[str, str]], content: bytes, sent: int | None = None) -> None:
        """Sends an answer, or the beginning of it."""
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() != "content-length":
                self.send_header(name, value)
        length = next((value for name, value in headers if name.lower() == "content-length"), str(len(content)))
        self.send_header("Content-Length", length if self.command == "HEAD" else str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content[:sent])

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _done  # noqa: N815 - the library's names

    def log_message(self, format: str, *args: object) -> None:
        """Prints nothing."""


class Proxy(ThreadingHTTPServer):
    """A proxy before a server on this machine.

    Attributes:
        faults: The first that takes a request is done to it.
        asked: Requests that were answered.
        sent_bytes: Bytes of objects in answers.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, behind: int, faults: list[Fault]) -> None:
        super().__init__(("127.0.0.1", 0), Proxied)
        self.behind, self.faults = behind, faults
        self.asked: list[str] = []
        self.sent_bytes = 0
        self.lock = threading.Lock()

    @property
    def port(self) -> int:
        """The port that it listens at."""
        return self.server_address[1]

    def handle_error(self, request: object, client_address: object) -> None:
        """Prints nothing: clients that are killed leave."""


@contextlib.contextmanager
def proxy(behind: int, *faults: Fault) -> Iterator[Proxy]:
    """A proxy that does faults to requests."""
    server = Proxy(behind, list(faults))
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def refused(status: int, code: str) -> Callable[[Proxied], Answer]:
    """An answer of a store that refuses."""
    text = f'<?xml version="1.0" encoding="UTF-8"?><Error><Code>{code}</Code><Message>{SECRET}</Message></Error>'
    return lambda _request: (status, [("Content-Type", "application/xml")], text.encode())


def lost(request: Proxied) -> None:
    """The request is done, and its answer never comes."""
    request.passed_on()


def cut(request: Proxied) -> None:
    """The answer ends in its middle."""
    status, headers, content = request.passed_on()
    request.answer(status, headers, content, len(content) // 2)


def slowly(request: Proxied) -> None:
    """The answer comes in small pieces."""
    status, headers, content = request.passed_on()
    request.answer(status, headers, content, 0)
    step = max(1, len(content) // 20)
    for start in range(0, len(content), step):
        request.wfile.write(content[start : start + step])
        request.wfile.flush()
        time.sleep(0.01)


def changed(old: bytes, new: bytes) -> Callable[[Proxied], Answer]:
    """The answer with other bytes in it."""

    def done(request: Proxied) -> Answer:
        status, headers, content = request.passed_on()
        return status, headers, content.replace(old, new)

    return done


def on_small_disk(folder: Path, size: str) -> list[str]:
    """The words that start a program with a small disk at a folder; the test is skipped where that isn't allowed."""
    unshare = shutil.which("unshare")
    tried = unshare and subprocess.run(
        [unshare, "-rm", "mount", "-t", "tmpfs", "none", str(folder)], capture_output=True, check=False
    )
    if not unshare or not tried or tried.returncode:
        pytest.skip("no small disk can be mounted here: unshare -rm is refused")
    script = f'mount -t tmpfs -o size={size} none "$0" && mkdir "$0"/data "$0"/data/{BUCKET} "$0"/sidecar && exec "$@"'
    return [unshare, "-rm", "sh", "-c", script, str(folder)]


@contextlib.contextmanager
def reaching(server: S3, port: int = 0, secret: str = SECRET) -> Iterator[None]:
    """Has this process reach a server, or a proxy before it."""
    before = dict(os.environ)
    try:
        os.environ.update(server.environment(port, secret))
        stores.client.cache_clear()
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        stores.client.cache_clear()


@contextlib.contextmanager
def through(server: S3, *faults: Fault) -> Iterator[None]:
    """Has this process reach a server by a proxy; each of the faults is met."""
    with proxy(server.port, *faults) as between, reaching(server, between.port):
        yield
    assert all(fault.met for fault in faults)


SLOW_DOWN = refused(503, "SlowDown")
"""The answer of a store that is asked too often."""
