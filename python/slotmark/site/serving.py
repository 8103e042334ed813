"""A site's files, served to browsers of this machine alone."""

import functools
import http.server
from pathlib import Path


class _Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files, and prints nothing."""

    def log_message(self, format: str, *args: object) -> None:
        """Prints nothing."""


def site_server(folder: Path, port: int) -> http.server.ThreadingHTTPServer:
    """A server of a folder's files, which listens already. OSError where the port can't be listened at.

    Args:
        folder: The folder.
        port: The port; 0 for a free one.
    """
    return http.server.ThreadingHTTPServer(
        ("127.0.0.1", port), functools.partial(_Quiet, directory=str(folder.resolve()))
    )
