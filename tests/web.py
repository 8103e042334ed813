"""A web server on this machine that gives files of a folder, whole or by ranges."""

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@contextlib.contextmanager
def serving(folder: Path, *, ranges: bool = True, status: int = 200) -> Iterator[int]:
    """Serves a folder; gives the port. Without ranges, each answer has the whole file; with another status than 200, none does."""

    class Files(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            file = folder / self.path.strip("/")
            content = file.read_bytes() if file.is_file() else b"an index" if file == folder else None
            if content is None or status != 200:
                self._answer(404 if status == 200 else status, b"")
                return
            asked = self.headers.get("Range", "") if ranges else ""
            if not asked:
                self._answer(200, content)
                return
            first, _, last = asked.removeprefix("bytes=").partition("-")
            start = int(first) if first else max(0, len(content) - int(last))
            end = min(len(content), int(last) + 1) if first and last else len(content)
            self._answer(206, content[start:end], f"bytes {start}-{end - 1}/{len(content)}")

        do_HEAD = do_GET  # noqa: N815 - the library's name

        def _answer(self, status: int, content: bytes, span: str = "") -> None:
            self.send_response_only(status)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Last-Modified", "Thu, 26 Nov 2026 00:00:00 GMT")
            if span:
                self.send_header("Content-Range", span)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Prints nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Files)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
