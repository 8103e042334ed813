"""Commands in little room: of columns, files and memory. What they need is named in one line."""

import os
import re
import resource
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import duckdb
import pytest

import slotmark as slotmark_package
from slotmark.errors import PlatformError
from slotmark.measure.limits import Limits
from slotmark.measure.limits import limited as limited_memory
from slotmark.metrics.analysis import Analysis
from slotmark.run import open_run
from slotmark.threads import threads_left, threads_needed
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
        timeout=240,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": os.environ.get("PYTHONPATH", ""), **variables},
        preexec_fn=limit,
        capture_output=True,
        text=True,
        check=False,
    )


def limited(kind: int, most: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))


LEAST_COLUMNS = 40
"""A word that is longer is broken in narrow terminals."""


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("chain") / "chain"
    done = slotmark("chain", "synth", "--workload", "preview-like", "--blocks", "20", "-o", made)
    assert done.returncode == 0, done.stderr
    return made


@pytest.mark.parametrize(
    "words",
    [
        "compare {a} {b}",
        "show {a}",
        "plan {a} {b}",
        "explain {a} {b}",
        "spread {a},{b} --of ours",
        "samples {a} adopted_by_096",
        "simulate --profiles",
        "simulate value-only-10.5 --show",
        "chainsync targets",
        "chain info {chain}",
    ],
)
def test_no_word_is_cut_whatever_the_terminals_width(words: str, pair: Pair, chain: Path) -> None:
    """`compare` cut intervals at 40 columns, so that +30.5 was +30."""
    command = words.format(a=pair[0], b=pair[1], chain=chain).split()
    wide, narrow = (slotmark(*command, env={**os.environ, "COLUMNS": str(columns)}) for columns in (10_000, 1))
    assert wide.returncode == narrow.returncode in (0, 1, 3), narrow.stderr
    known = wide.stdout.split()
    cut = {word.rstrip(",") for word in narrow.stdout.split()} - {word.rstrip(",") for word in known} - {"continued"}
    longer = [word for word in known if len(word) > LEAST_COLUMNS]
    assert len(known) > 9
    assert [word for word in cut if word.strip("─-") and not any(word in one for one in longer)] == []
    assert len(wide.stdout.splitlines()) <= len(narrow.stdout.splitlines()) < 1_200


def test_tables_of_a_chain_have_words_in_a_terminal_of_one_column(tmp_path: Path) -> None:
    """They had no letter; and a name in brackets was taken for markup."""
    made = slotmark("chain", "synth", "--workload", "preview-like", "--blocks", "20", "-o", "[b]chain", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    done = slotmark("chain", "info", "[b]chain", cwd=tmp_path, env={**os.environ, "COLUMNS": "1"})
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["chain", "[b]chain"] in lines
    assert ["chunks", "1"] in lines


def test_a_home_and_a_temporary_folder_are_not_needed(pair: Pair, tmp_path: Path) -> None:
    usual = compared(pair)
    assert usual.returncode in (0, 1, 3), usual.stderr
    for variables in ({"HOME": str(tmp_path / "none"), "TMPDIR": str(tmp_path / "none")}, {"HOME": ""}):
        assert compared(pair, variables=variables).stdout == usual.stdout


NOWHERE_TO_WRITE = """
top=$1; shift
mount --bind "$top" "$top"
for place in /tmp /var/tmp "$top/here"; do
  if [ -d "$place" ]; then mount --rbind "$place" "$place" && mount -o remount,bind,ro "$place"; fi
done
cd "$top/here" && exec "$@"
"""
"""Runs a command where the machine's temporary folders and the current one can't be written to."""


@pytest.mark.parametrize(
    "words",
    [
        "compare {a} {b}",
        "show {a}",
        "explain {a} {b}",
        "simulate value-only-10.5 --slots 240 --direct -o {out}",
        "predict value-only-10.5 --set slots=240 --seeds 2",
        "chainsync run --chain {chain} --target native --rounds 1 -o {out}",
        "ledger run --backend memory --chain {chain} --blocks 10 --rounds 1 -o {out}",
    ],
)
def test_no_temporary_folder_at_all_is_named(words: str, pair: Pair, chain: Path, tmp_path: Path) -> None:
    """These ended with a traceback. Linux's capability to mount is needed, or a namespace of users that gives it."""
    here = tmp_path / "here"
    here.mkdir()
    inside = [
        "unshare",
        "--mount",
        *([] if os.geteuid() == 0 else ["--map-root-user"]),
        "sh",
        "-ec",
        NOWHERE_TO_WRITE,
        "sh",
        tmp_path,
    ]
    variables = {name: value for name, value in os.environ.items() if name not in ("TMPDIR", "TEMP", "TMP")}
    tried = subprocess.run([*inside, "true"], env=variables, capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"no folder can be mounted here: {tried.stderr.strip()}")
    command = words.format(a=pair[0], b=pair[1], chain=chain, out=tmp_path / "out").split()
    done = subprocess.run(
        [*inside, sys.executable, "-m", "slotmark", *command],
        env=variables,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 2
    assert remarks(done.stderr)[-1] == (
        "slotmark: no folder for temporary files can be written to: neither TMPDIR, /tmp, /var/tmp nor this one. "
        "Set TMPDIR to a folder that can, or make room."
    )
    assert [path.name for path in tmp_path.iterdir()] == ["here"]


def without_a_place(source: str) -> list[str]:
    """The calls by which a module makes files or folders for a while where Python chooses."""
    return re.findall(r"tempfile\.\w+\((?![^)]*\bdir=)[^)]*\)", source)


def test_what_is_made_for_a_while_has_one_home() -> None:
    """Three commands had calls of their own, and ended with a traceback where no folder can be written to."""
    package = Path(slotmark_package.__path__[0])
    modules = [path for path in package.rglob("*.py") if path.name != "temporary.py"]
    assert {str(path): found for path in modules if (found := without_a_place(path.read_text(encoding="utf-8")))} == {}
    assert without_a_place('with tempfile.TemporaryDirectory(prefix="x") as folder:') != []


def test_a_limit_on_open_files_is_named(pair: Pair) -> None:
    done = compared(pair, limited(resource.RLIMIT_NOFILE, 13))
    assert done.returncode == 2
    (line,) = remarks(done.stderr)
    assert "more files than this process may open (13). Raise the limit, as with `ulimit -n 1024`." in line


@pytest.mark.parametrize("mib", [100, 300, 360, 700, 840, 980, 1_130])
def test_too_little_memory_is_named_and_ends(pair: Pair, mib: int) -> None:
    """With 980 and 1,130 MiB OpenBLAS asked for its block for ever, with 700 and 840 DuckDB crashed, with 360 an import had no exception."""
    done = compared(pair, limited(resource.RLIMIT_AS, mib << 20))
    assert (done.returncode, remarks(done.stderr)) == (
        2,
        [
            "slotmark: there is not enough memory. End other programs, or raise the limit of this one (`ulimit -v`, or its container's)."
        ],
    )


def test_a_limit_on_addresses_that_leaves_enough_of_them_changes_nothing(pair: Pair) -> None:
    assert compared(pair, limited(resource.RLIMIT_AS, 3 << 30)).stdout == compared(pair).stdout


@pytest.mark.parametrize("said", ["Failed to allocate block of 262144 bytes (bad allocation)", "Allocation failure"])
def test_what_the_database_could_not_allocate_is_no_fault_of_the_run(pair: Pair, said: str) -> None:
    """The errors with which `compare` ended under `ulimit -v 2000000`, where it asked for the run to be made again."""
    with Analysis(open_run(pair[0])) as analysis, pytest.raises(MemoryError):
        analysis._run(lambda: raises(said), "'chain'")


def raises(said: str) -> None:
    raise duckdb.OutOfMemoryException(f"Out of Memory Error: {said}")


@pytest.fixture
def group() -> Iterator[Path]:
    """A group of processes whose number can be limited, as a container's is."""
    for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines():
        _, folder, kind, options, *_ = line.split(" ")
        made = Path(folder) / f"slotmark-{secrets.token_hex(8)}"
        if (kind == "cgroup" and "pids" in options.split(",")) or kind == "cgroup2":
            try:
                made.mkdir()
            except OSError:
                continue
            if (made / "pids.max").exists():
                yield made
                made.rmdir()
                return
            made.rmdir()
    pytest.skip("no group with a limit on processes can be made here")


def entering(group: Path) -> Callable[[], None]:
    def enter() -> None:
        (group / "cgroup.procs").write_text("0")

    return enter


@pytest.mark.parametrize("most", [1, 2, 5, 20])
def test_a_limit_on_processes_is_named(pair: Pair, group: Path, most: int) -> None:
    """With 1 OpenBLAS ended `compare` as if by Ctrl-C, with 2 and 20 it was memory that was short; `ingest` and `ledger run` panicked with 5."""
    (group / "pids.max").write_text(str(most))
    done = compared(pair, entering(group))
    assert done.returncode == 2
    assert remarks(done.stderr) == [
        f"slotmark: this process can start {most - 1} threads and processes, and needs {threads_needed()}. "
        "Raise the limit (`ulimit -u`, or its container's)."
    ]


def test_a_limit_on_processes_that_leaves_enough_of_them_changes_nothing(pair: Pair, group: Path) -> None:
    (group / "pids.max").write_text(str(threads_needed() + 1))
    assert compared(pair, entering(group)).stdout == compared(pair).stdout


def test_threads_that_were_tried_have_ended() -> None:
    assert [threads_left(3) for _ in range(2)] == [3, 3]


def test_a_command_that_the_kernel_ends_for_its_memory_leaves_what_the_next_one_removes(
    pair: Pair, tmp_path: Path
) -> None:
    """As in a container. A limit on addresses, as of `ulimit -v`, is another: there a command gets an error, and names it."""
    try:
        group = limited_memory(Limits(memory_bytes=48 << 20), "--memory-limit")
    except PlatformError as error:
        pytest.skip(str(error))
    words = [sys.executable, "-m", "slotmark", "compare", *map(str, pair), "-o", "report"]
    here, variables = tmp_path / "here", {**os.environ, "TMPDIR": str(tmp_path)}
    here.mkdir()
    with group() as into:
        killed = subprocess.run(
            [*into.words, *words], cwd=here, env=variables, capture_output=True, timeout=240, check=False
        )
    assert killed.returncode == -9
    assert not (here / "report").exists()
    done = subprocess.run(words, cwd=here, env=variables, capture_output=True, timeout=240, check=False)
    assert done.returncode in (0, 1, 3), done.stderr
    assert [path.name for path in here.iterdir()] == ["report"]
