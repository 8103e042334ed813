"""Commands in little room: of columns, files and memory. What they need is named in one line."""

import resource
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.conftest import remarks, slotmark

Pair = tuple[Path, Path]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    folder = tmp_path_factory.mktemp("pair")
    settings = ("--set", "genesis.epoch_slots=40", "--set", "network.hosts=16", "--set", "network.pools=16")
    for seed in ("1", "2"):
        made = slotmark(
            "simulate", "value-only-10.5", *settings, "--slots", "240", "--seed", seed, "--direct", "-o", folder / seed
        )
        assert made.returncode == 0, made.stderr
    return folder / "1", folder / "2"


def compared(
    pair: Pair, limit: Callable[[], None] | None = None, variables: Mapping[str, str] = {}
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "slotmark", "compare", *map(str, pair)],
        env={"PATH": "/usr/bin:/bin", **variables},
        preexec_fn=limit,
        capture_output=True,
        text=True,
        check=False,
    )


def limited(kind: int, most: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))


@pytest.mark.parametrize("columns", [1, 40, 10_000])
def test_words_stay_whole_whatever_the_terminals_width(pair: Pair, columns: int) -> None:
    done = compared(pair, variables={"COLUMNS": str(columns)})
    assert done.returncode in (0, 1, 3), done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) < 1_200
    assert any("Forge" in line for line in lines)


def test_a_home_and_a_temporary_folder_are_not_needed(pair: Pair, tmp_path: Path) -> None:
    usual = compared(pair)
    assert usual.returncode in (0, 1, 3), usual.stderr
    for variables in ({"HOME": str(tmp_path / "none"), "TMPDIR": str(tmp_path / "none")}, {"HOME": ""}):
        assert compared(pair, variables=variables).stdout == usual.stdout


def test_a_limit_on_open_files_is_named(pair: Pair) -> None:
    done = compared(pair, limited(resource.RLIMIT_NOFILE, 13))
    assert done.returncode == 2
    (line,) = remarks(done.stderr)
    assert "more files than this process may open (13). Raise the limit, as with `ulimit -n 1024`." in line


def test_too_little_memory_is_named(pair: Pair) -> None:
    done = compared(pair, limited(resource.RLIMIT_AS, 300 << 20))
    assert (done.returncode, done.stderr) == (
        2,
        "slotmark: there is not enough memory. End other programs, or raise the limit of this one (`ulimit -v`, or its container's).\n",
    )
