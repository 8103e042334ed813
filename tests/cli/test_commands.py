"""The command as its user types it: what it says to wrong arguments, how it ends, and what it serves."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from slotmark import open_run
from slotmark.metrics import samples
from tests.chainsync.conftest import built
from tests.conftest import run_arguments, slotmark
from tests.made_up_runs import write_run

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["comparee"], "comparee"),
        (["compare"], "BASELINE"),
        (["compare", "nowhere", "nowhere-else"], "nowhere: no such run folder."),
        (["compare", "nowhere", "nowhere-else", "--fail-on", "often"], "--fail-on"),
        (["compare", "a", "b", "--seed", "x"], "Invalid value for '--seed': 'x': expected a valid integer."),
        (["compare", "a", "b", "--seed", "-1"], "'--seed': '-1': expected a number greater than or equal to 0."),
        (["compare", "a", "b", "--style", "neat"], "'--style': 'neat' is not one of 'modern', 'org', 'typst'."),
        (
            ["compare", "a", "b", "--method", "published", "--style", "modern"],
            "--style modern: --method published prints as the established tool. Give org or typst, or leave it out.",
        ),
        (["compare", "a", "b", "--seed"], "Option '--seed' requires an argument. See `slotmark compare --help`."),
        (["store", "add", "store", "--to"], "'--to' requires an argument. See `slotmark store add --help`."),
        (["show", "/dev/null"], "/dev/null: a file; name the folder of a run."),
        (["compare", "a", "b", "-o", "/dev/null/report"], "-o /dev/null/report: /dev/null is no folder."),
        (["plan", "a", "-o", "/dev/null"], "-o /dev/null: /dev/null is no folder."),
        (["chain", "info", "nowhere"], "nowhere"),
        (["chain", "synth", "--workload", "cardboard", "--blocks", "1", "-o", "x"], "cardboard"),
        (["chain", "synth", "--workload", "mix:empty=0", "--blocks", "1", "-o", "x"], "'mix:empty=0' is no workload"),
        (["chain", "synth", "--workload", "mix:empty", "--blocks", "1", "-o", "x"], "'mix:empty' is no workload"),
        (["chainsync", "run", "--target", "pallas", "-o", "x"], "--chain"),
        (["chainsync", "run", "--chain", "nowhere", "--target", "floppy", "-o", "x"], "floppy"),
        (["chainsync", "run", "--chain", "nowhere", "--mode", "sideways", "-o", "x"], "--mode sideways"),
        (["chainsync", "serve", "--chain", "nowhere"], "--socket"),
        (["chainsync", "serve", "--chain", "nowhere", "--socket", "s", "--reply-delay", "soon"], "--reply-delay"),
        (["chain", "info", "nowhere", "--start", "densest"], "--start densest: which window is densest depends on its"),
        (["chainsync", "serve", "--chain", "c", "--socket", "s", "--start", "densest"], "depends on its length"),
        (["chainsync", "serve", "--chain", "c", "--socket", "s", "--blocks", "7"], "--blocks: goes with --start"),
        (
            [
                *("chainsync", "serve", "--chain", "c", "--socket", "s"),
                *("--pace", "1s", "--start", "origin", "--blocks", "7"),
            ],
            "with --pace none is prepared",
        ),
    ],
)
def test_wrong_arguments_get_one_line(arguments: list[str], said: str, command: Command, tmp_path: Path) -> None:
    ended = command(*arguments, cwd=tmp_path)
    assert ended.returncode == 2, ended.stderr
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not ended.stdout
    assert not list(tmp_path.iterdir())


def test_an_error_of_the_system_in_compiled_code_has_its_words_alone(command: Command) -> None:
    ended = command("chain", "synth", "--workload", "empty", "--blocks", "2", "-o", "/sys/x")
    assert ended.returncode == 2
    assert "/sys/x: can't be written (" in ended.stderr
    assert "os error" not in ended.stderr


def test_the_help_of_prune_says_what_is_kept(command: Command) -> None:
    assert "but for the newest of each kind" in " ".join(command("store", "prune", "--help").stdout.split())


@pytest.mark.parametrize("arguments", [["--help"], ["chainsync", "run", "--help"], ["--version"]])
def test_help_and_version(arguments: list[str], command: Command) -> None:
    ended = command(*arguments)
    assert ended.returncode == 0
    assert "slotmark" in ended.stdout


@pytest.mark.parametrize(
    ("rates", "fail_on", "code"),
    [
        ([900.0 + 2 * n for n in range(10)], ["--fail-on", "worse"], 1),
        ([900.0 + 2 * n for n in range(10)], [], 0),
        ([1000.0 + 2 * n for n in range(10)], ["--fail-on", "worse"], 0),
        ([1000.0 + 150 * (-1) ** n for n in range(10)], ["--fail-on", "undecided"], 3),
    ],
)
def test_the_gate_exits_by_the_verdict(
    rates: list[float], fail_on: list[str], code: int, command: Command, tmp_path: Path
) -> None:
    setting = "decode, sequential"
    ours = write_run(tmp_path / "base", "pallas", {setting: [1000.0 + 2 * n for n in range(10)]})
    theirs = write_run(tmp_path / "candidate", "native", {setting: rates})
    ended = command("compare", ours.path, theirs.path, *fail_on, cwd=tmp_path)
    assert ended.returncode == code, ended.stdout + ended.stderr


def test_a_fault_of_ours_has_an_exit_code_of_its_own_and_debug_keeps_that_of_others() -> None:
    planted = "import sys, slotmark.cli as cli; cli.app = lambda **_: 1 / 0; from slotmark.__main__ import main; main()"
    ended = subprocess.run([sys.executable, "-c", planted, "show", "x"], capture_output=True, text=True, check=False)
    assert (ended.returncode, "ZeroDivisionError" in ended.stderr) == (70, True), ended.stderr
    assert ended.stderr.endswith("slotmark: this is a fault of slotmark. Report it with the lines above.\n")
    refused = slotmark("--debug", "show", "none")
    assert (refused.returncode, refused.stderr.startswith("Traceback")) == (2, True)
    assert refused.stderr.splitlines()[-1] == slotmark("show", "none").stderr.rstrip("\n")


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_changes_no_exit_code(closed: str, tmp_path: Path) -> None:
    setting = "decode, sequential"
    write_run(tmp_path / "base", "pallas", {setting: [1000.0 + 2 * n for n in range(10)]})
    write_run(tmp_path / "slower", "native", {setting: [900.0 + 2 * n for n in range(10)]})
    for arguments, code in (("show base", 0), ("compare base slower --fail-on worse", 1), ("show nowhere", 2)):
        line = f'exec "$0" -m slotmark {arguments} {closed}'
        ended = subprocess.run(["sh", "-c", line, sys.executable], cwd=tmp_path, capture_output=True, check=False)
        assert ended.returncode == code, ended.stderr
        assert b"Traceback" not in ended.stdout + ended.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["base", "slower"]


def test_samples_whose_reader_leaves_end_with_0(tmp_path: Path) -> None:
    rates = [1000.0 + n for n in range(6000)]
    write_run(tmp_path / "run", "pallas", {"decode, sequential": rates})
    line = '"$0" -m slotmark samples run blocks_per_s | head -c 1; echo " ${PIPESTATUS[0]}"'
    ended = subprocess.run(
        ["bash", "-c", line, sys.executable], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.stdout.endswith(" 0\n")
    assert not ended.stderr


@pytest.fixture
def somebodys_node(small_chain: Path, tmp_path: Path) -> Iterator[tuple[Path, str, "subprocess.Popen[str]"]]:
    """A server that the session didn't start: where it listens, and its process."""
    socket = tmp_path / "node.socket"
    with subprocess.Popen(
        [
            *(sys.executable, "-m", "slotmark", "chainsync", "serve", "--chain", str(small_chain)),
            *("--socket", str(socket), "--listen", "127.0.0.1:0", "--until-stdin-ends", "--json"),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        address = json.loads(process.stdout.readline())["address"]
        yield socket, address, process
        process.stdin.close()
    assert process.returncode == 0
    assert not socket.exists()


def test_a_node_that_runs_already_takes_the_place_of_our_server(
    somebodys_node: tuple[Path, str, "subprocess.Popen[str]"], command: Command, tmp_path: Path
) -> None:
    built("native")
    built("floor")
    socket, address, _ = somebodys_node
    arguments = run_arguments(Path("unused"), tmp_path / "runs", "--target", "native", "--mode", "decode,headers")
    at = arguments.index("--chain")
    ended = command(
        *arguments[:at], *arguments[at + 2 :], "--node-socket", socket, "--node", address, "--start", "origin"
    )
    assert ended.returncode == 0, ended.stderr
    run = open_run(tmp_path / "runs" / "native")
    rate = samples(run, "blocks_per_s")
    assert {setting.split(",")[0] for setting in rate.parts} == {"decode", "headers"}
    assert not samples(run, "server_share").parts
    assert run.manifest.parameters["pinned"] in ("clients only", False)
    assert "other_node" in [one.kind for one in run.manifest.warnings]


def test_a_server_tells_its_cpu_time_when_asked(
    somebodys_node: tuple[Path, str, "subprocess.Popen[str]"],
) -> None:
    _, _, process = somebodys_node
    assert process.stdin is not None
    assert process.stdout is not None
    busy_ns: list[int] = []
    for _ in range(2):
        process.stdin.write("\n")
        process.stdin.flush()
        busy_ns.append(json.loads(process.stdout.readline())["busy_ns"])
    assert 0 < busy_ns[0] <= busy_ns[1]
