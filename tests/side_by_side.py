"""Which tests one process runs, where several run them side by side."""

from pathlib import Path

from xdist.scheduler import LoadScopeScheduling

REPO = Path(__file__).resolve().parents[1]
LIVE = "live clusters"
"""The tests of files that run live clusters: their nodes would meet at the same ports."""


class ByFile(LoadScopeScheduling):
    """Gives a file's tests to one process, because they share its fixtures, and all tests of live clusters to one."""

    def _split_scope(self, nodeid: str) -> str:
        return scope(nodeid.partition("::")[0])


def scope(file: str) -> str:
    """What a file's tests are run with.

    Args:
        file: Its path from the repository's root, as pytest names it.
    """
    runs_live = file.startswith("tests/cluster/live/") or any(
        word in (REPO / file).read_text(encoding="utf-8") for word in ('"cluster", "run"', 'run_demo("live"')
    )
    return LIVE if runs_live else file
