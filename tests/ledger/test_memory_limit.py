"""`slotmark ledger run --memory-limit`: processes in groups with limited memory, which are gone afterwards however the run ends."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from slotmark import open_run
from slotmark.benches.ledger.engine import program
from slotmark.errors import PlatformError, TargetError
from slotmark.measure.limits import Limits, limited
from tests.conftest import REPO, slotmark
from tests.waiting import until

LIMIT = 44_000_000
PATIENCE_S = 120

# Names its group's folder and limit, in either version; then runs its command, and writes nothing to {out}.
TOLD = """
sed -n 's/^[0-9]*:memory:/v1 /p; s/^0::/v2 /p' /proc/self/cgroup >"$0"
echo $$ >"$0.started"
%s
"""
HOARD = f"exec {sys.executable} -c 'held = bytearray(400 << 20)'"


@pytest.fixture(scope="module", autouse=True)
def _limits() -> None:
    try:
        program()
        limited(Limits(memory_bytes=LIMIT), "--memory-limit")
    except (TargetError, PlatformError) as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A chain whose set of unspent outputs is larger than the limit on disk."""
    folder = tmp_path_factory.mktemp("chains") / "large-set"
    made = slotmark("chain", "synth", "--workload", "value-only", "--blocks", "4", "--utxo", "100000", "-o", folder)
    assert made.returncode == 0, made.stderr
    return folder


def arguments(chain: Path, out: Path, *more: str) -> list[str]:
    genesis = chain / "genesis" / "shelley-genesis.json"
    words = ["ledger", "run", "--chain", str(chain), "--genesis", str(genesis), "-o", str(out), "--rounds", "1"]
    return [*words, *more]


def telling(folder: Path, then: str) -> tuple[str, Path]:
    """A target that names its group before it does something, and the file for the name."""
    notes, script = folder / "notes", folder / "target.sh"
    script.write_text(f"{TOLD % then}\n")
    return f"noting=sh -c '. {script}' {notes} {{out}}", notes


def group(notes: Path) -> Path:
    """The folder of the group that a target was in."""
    found = dict(line.split(" ", 1) for line in notes.read_text().splitlines())
    kind, options = ("cgroup", "memory") if "slotmark-" in found.get("v1", "") else ("cgroup2", "")
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, folder, its_kind, its_options, *_ = line.split(" ")
        if its_kind == kind and (not options or options in its_options.split(",")):
            return Path(folder + found["v1" if options else "v2"])
    raise AssertionError(found)


@pytest.fixture
def on_disk() -> Iterator[Path]:
    """A folder on the repository's disk: ``tmp_path`` may be in memory."""
    (REPO / ".build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=REPO / ".build") as folder:
        yield Path(folder)


def test_a_set_on_disk_is_read_from_the_disk_where_the_limit_is_below_its_size(chain: Path, on_disk: Path) -> None:
    runs = {}
    for name, more in (("free", ()), ("limited", ("--memory-limit", "44MB"))):
        made = slotmark(*arguments(chain, on_disk / name, "--backend", "lmdb", *more))
        assert made.returncode == 0, made.stderr
        runs[name] = open_run(on_disk / name / "lmdb")
    read, disk = (
        {name: run.table("processes")[column][0].as_py() for name, run in runs.items()}
        for column in ("read_bytes", "disk_bytes")
    )
    assert disk["limited"] > LIMIT
    assert read["limited"] > read["free"] + 1_000_000
    limits = {name: run.manifest.parameters["memory limit"] for name, run in runs.items()}
    assert limits == {"free": "none", "limited": "44,000,000 bytes"}
    compared = slotmark("compare", on_disk / "free" / "lmdb", on_disk / "limited" / "lmdb", "-o", on_disk / "out")
    assert compared.returncode == 0, compared.stderr
    report = (on_disk / "out" / "report.json").read_text()
    assert "Parameter 'memory limit' differs: none for the baseline, 44,000,000 bytes here" in report


def test_a_process_that_needs_more_is_named_and_its_group_goes(chain: Path, tmp_path: Path) -> None:
    target, notes = telling(tmp_path, HOARD)
    made = slotmark(*arguments(chain, tmp_path / "runs", "--target", target, "--memory-limit", "44MB"))
    assert made.returncode == 2
    why = "noting: was killed by signal 9, as by the kernel where --memory-limit is less than it needs; it printed nothing."
    assert made.stderr.splitlines()[-1].startswith(f"slotmark: {why}")
    assert not group(notes).exists()
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_group_goes_however_the_run_is_ended(how: signal.Signals, chain: Path, tmp_path: Path) -> None:
    # What a target starts and leaves behind is in the group too.
    target, notes = telling(tmp_path, "setsid sleep 1000 & exec sleep 1000")
    words = arguments(chain, tmp_path / "runs", "--target", target, "--memory-limit", "44MB")
    with subprocess.Popen(
        [sys.executable, "-m", "slotmark", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as session:
        started = Path(f"{notes}.started")
        until(lambda: started.exists() and started.read_text().endswith("\n"), PATIENCE_S)
        folder = group(notes)
        if os.geteuid() == 0:
            assert started.read_text().strip() in (folder / "cgroup.procs").read_text().split()
        session.send_signal(how)
        session.wait(PATIENCE_S)
    until(lambda: not folder.exists(), PATIENCE_S)


# A machine whose groups can't be seen; what is in $1 is where they would be.
HIDDEN = 'mount -t tmpfs none /sys/fs/cgroup || exit 77; eval "$1"; shift; exec "$@"'


def hidden(prepare: str, words: list[str], path: str) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", HIDDEN, "sh", prepare, sys.executable, "-m", "slotmark", *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": path},
        timeout=240,
    )
    if done.returncode in (1, 77) and "slotmark" not in done.stderr:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    return done


def test_where_there_is_no_way_one_line_tells_the_remedy(chain: Path, tmp_path: Path) -> None:
    words = arguments(chain, tmp_path / "runs", "--backend", "memory", "--memory-limit", "44MB")
    done = hidden(":", words, "/usr/sbin:/usr/bin:/sbin:/bin")
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("slotmark: --memory-limit: no group of processes with limited memory can be made here (")
    assert "systemd-run" in line
    assert "Mount the groups so that root may write to them" in line
    assert "Run slotmark as root" not in line
    assert not (tmp_path / "runs").exists()


# Does what systemd-run does with a scope: it becomes the command. The limit is where the kernel would show it.
SYSTEMD_RUN = """#!/bin/sh
echo "$*" >>"$(dirname "$0")/words"
for word; do shift; [ "$word" = -- ] && exec "$@"; done
"""
SYSTEMCTL = """#!/bin/sh
echo "$*" >>"$(dirname "$0")/ended"
"""


@pytest.mark.parametrize("kept", ["43999232", "max"])
def test_elsewhere_systemd_makes_the_group_and_is_not_trusted_to_have_limited_it(
    kept: str, chain: Path, tmp_path: Path
) -> None:
    mounts = [line.split(" ") for line in Path("/proc/self/mounts").read_text().splitlines()]
    roots = [folder for _, folder, kind, *_ in mounts if kind == "cgroup2"]
    if not roots:
        pytest.skip("no cgroup v2 is mounted here")
    own = dict(line.split("::") for line in Path("/proc/self/cgroup").read_text().splitlines() if "::" in line)["0"]
    folder = f"{roots[0]}/{own}"
    for name, script in (("systemd-run", SYSTEMD_RUN), ("systemctl", SYSTEMCTL)):
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    # A folder without a group's files can be made there; it is no group.
    prepare = f"mkdir -p {folder}; echo {kept} >{folder}/memory.max; mount -o remount,ro /sys/fs/cgroup"
    words = arguments(chain, tmp_path / "runs", "--backend", "memory", "--memory-limit", "44MB")
    done = hidden(prepare, words, f"{tmp_path}:/usr/sbin:/usr/bin:/sbin:/bin")
    if kept == "max":
        assert done.returncode == 2
        assert "systemd-run: the limit is max" in done.stderr.splitlines()[-1]
        return
    assert done.returncode == 0, done.stderr
    asked = (
        r"--scope --quiet --collect --slice=(slotmark[0-9a-f]{16}\.slice) -p MemoryMax=44000000 -p MemorySwapMax=0 -- "
    )
    tried, used = (re.match(asked, line) for line in (tmp_path / "words").read_text().splitlines())
    assert tried
    assert used
    assert used.string[used.end() :].startswith(f"{program()} --chain")
    ended = [f"{how} {one[1]}" for one in (tried, used) for how in ("kill --signal=KILL", "stop")]
    assert (tmp_path / "ended").read_text().splitlines() == ended
    assert open_run(tmp_path / "runs" / "memory").manifest.parameters["memory limit"] == "44,000,000 bytes"


@pytest.mark.parametrize("size", ["40", "40M", "-1MB", "1kB", "9us", "99999999999TB"])
def test_sizes_that_make_no_sense_are_refused(size: str, chain: Path, tmp_path: Path) -> None:
    made = slotmark(*arguments(chain, tmp_path / "runs", "--backend", "memory", f"--memory-limit={size}"))
    assert made.returncode == 2
    (line,) = made.stderr.splitlines()
    assert line.startswith(f"slotmark: --memory-limit '{size}': expected ")
    assert not (tmp_path / "runs").exists()


def test_a_limit_of_a_matrix_is_a_part_of_what_its_runs_are_of(chain: Path, tmp_path: Path) -> None:
    matrix = tmp_path / "matrix.toml"
    text = f'rounds = 1\n[[target]]\nname = "disk"\nbackend = "lmdb"\n[[fragment]]\nname = "all"\nchain = {json.dumps(str(chain))}\n'
    seen = []
    for limit in ('memory_limit = "100MB"\n', "", 'memory_limit = "100MB"\n'):
        matrix.write_text(limit + text)
        made = slotmark("ledger", "run", matrix)
        assert made.returncode == 0, made.stderr
        seen.append("1 to measure, 0 there" in made.stderr)
    assert seen == [True, True, False]
    matrix.write_text('memory_limit = "100"\n' + text)
    refused = slotmark("ledger", "run", matrix)
    assert refused.returncode == 2
    assert refused.stderr.startswith(f"slotmark: {matrix}: memory_limit '100': expected ")
