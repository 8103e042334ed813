"""Programs that break the contract, and programs that lie, are distinguished from those that do the work."""

import os
import re
import shlex
import sys
import time
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from slotmark import _core, open_run
from slotmark.benches.chainsync import targets
from slotmark.benches.chainsync.bench import _proof
from slotmark.benches.chainsync.invocation import Job, invoke
from slotmark.benches.chainsync.server import ReplayServer
from slotmark.benches.chainsync.session import conduct
from slotmark.benches.chainsync.setting import Setting
from slotmark.benches.chainsync.targets import Program
from slotmark.errors import ProofError, TargetError

from ..conftest import run_arguments, slotmark
from .conftest import BLOCKS, schedule
from .programs import BAD, HEAD, LAUNCHES, LIAR, escapes, liar, program

RAW = Setting("raw", 1)


WHY = {
    "signals its group": "was killed by signal 15",
    "complains without end": "printed more than 64 MiB to standard error",
    "says that more time went by": "it says that 1,000,000.000 s went by where 0.",
    "connects for longer than it lives": "it says that 1,000,000.000 s went by where",
    "is over before done": " before ",
}
"""Messages about some of them; the output of the last two was taken, and kept."""


@pytest.mark.parametrize("how", BAD)
def test_a_broken_contract_is_named_and_the_process_is_gone(
    how: str, server: ReplayServer, window: "_core.Window", floor: Program, tmp_path: Path
) -> None:
    bad = program(tmp_path, how, BAD[how])
    job = msgspec.structs.replace(schedule(window, floor, bad, settings=(RAW,)).job(RAW, server), timeout_s=3)
    began = time.monotonic()
    with pytest.raises(TargetError) as error:
        invoke(bad, job, server.cpu_ns, server.check)
    assert str(error.value).startswith(f"{how} (raw, sequential): ")
    assert "\n" not in str(error.value)
    assert WHY.get(how, "") in str(error.value)
    server.check()
    assert time.monotonic() - began < 60  # it was stopped; far above the time limit of 3 s


def test_what_a_launcher_starts_counts_as_the_target(
    server: ReplayServer, window: "_core.Window", floor: Program, tmp_path: Path
) -> None:
    launcher = program(tmp_path, "launcher", LAUNCHES)
    job = schedule(window, floor, launcher, settings=(RAW,)).job(RAW, server)
    ran = invoke(launcher, job, server.cpu_ns, server.check)
    assert ran.cpu_ns >= 300_000_000
    assert ran.peak_bytes >= 64_000_000


# Uses 0.3 s of CPU time before it is ready; its first block is there 15 ms after its first request, its last one 65 ms after it.
BUSY_BEFORE = """
until = time.process_time() + 0.3
while time.process_time() < until:
    pass
ready()
time.sleep(0.1)
began = time.monotonic_ns() - 70_000_000
say("started", at_ns=began); say("first", at_ns=began + 15_000_000)
say("progress", blocks=blocks - 1, at_ns=began + 60_000_000); say("done", blocks=blocks, bytes=1, at_ns=began + 65_000_000)
sys.stdin.read()
"""


def test_what_was_before_the_start_signal_counts_neither_for_the_client_nor_for_the_server(tmp_path: Path) -> None:
    before = program(tmp_path, "before", BUSY_BEFORE)
    job = Job(
        setting=RAW,
        address=str(tmp_path / "none.socket"),
        magic=2,
        start="origin",
        blocks=5,
        progress_every=4,
        cores=frozenset(),
        timeout_s=60,
    )
    server_ns = iter([7_000_000_000, 7_000_250_000])
    ran = invoke(before, job, lambda: next(server_ns), lambda: None)
    assert ran.server_cpu_ns == 250_000
    assert ran.cpu_ns < 200_000_000
    assert ran.startup_ns > 300_000_000
    assert (ran.elapsed_ns, ran.first.at_ns - ran.started.at_ns) == (65_000_000, 15_000_000)
    assert [one.blocks for one in ran.progress] == [4]
    for answers in ([None, 5], [5, None]):
        unknown = iter(answers)
        assert invoke(before, job, lambda them=unknown: next(them), lambda: None).server_cpu_ns is None


def test_what_a_target_leaves_in_a_session_of_its_own_is_ended(
    server: ReplayServer, window: "_core.Window", floor: Program, tmp_path: Path
) -> None:
    bad = program(tmp_path, "escapes", escapes(tmp_path / "pid") + "ready(); sys.exit(7)")
    with pytest.raises(
        TargetError, match="exited 7 before `done`"
    ):  # not when its time is over: the pipe is still open
        invoke(bad, schedule(window, floor, bad, settings=(RAW,)).job(RAW, server), server.cpu_ns, server.check)
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text()}").exists()
    server.check()


@pytest.mark.parametrize(
    ("forever", "then", "wrong"),
    [
        ("time.sleep(600)", "", ""),
        ("time.sleep(600)", "time.sleep(600)", "took longer than 3 s and was stopped"),
        ("os.write(1, b'x' * 65536)", "", "printed more than 1 MiB and was stopped"),
        ("os.write(2, b'x' * 65536)", "time.sleep(600)", "printed more than 1 MiB and was stopped"),
    ],
    ids=["holds the pipe", "never ends", "prints without end", "complains without end"],
)
def test_describe_ends_also_where_a_child_in_a_session_of_its_own_lives_on(
    forever: str, then: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(targets, "DESCRIBE_S", 3)
    escaped = tmp_path / "pid"
    body = HEAD.replace(
        'if sys.argv[1] == "describe":', f'if sys.argv[1] == "describe":\n    exec({escapes(escaped, forever)!r})'
    )
    body = body.replace("    sys.exit(0)", f"    sys.stdout.flush()\n    {then or 'pass'}\n    sys.exit(0)")
    (tmp_path / "target.py").write_text(body)
    command = (sys.executable, str(tmp_path / "target.py"))
    began = time.monotonic()
    if wrong:
        with pytest.raises(TargetError, match=wrong):
            targets.describe("bad", command)
    else:
        assert targets.describe("bad", command).name == "bad"
    assert time.monotonic() - began < 60  # far above the limit of 3 s
    assert not Path(f"/proc/{escaped.read_text()}").exists()


def test_a_target_that_fails_in_one_mode_costs_only_that_mode(
    server: ReplayServer, window: "_core.Window", floor: Program, native: Program, tmp_path: Path
) -> None:
    # Does all but `headers`, and fails at that with far more words than anybody reads.
    body = "\nif args['--mode'] == 'headers': ready(); say('error', message='word ' * 6000); sys.exit(1)\n"
    proxy = f"os.execv({native.command[0]!r}, [{native.command[0]!r}, *sys.argv[1:]])"
    picky = program(tmp_path, "picky", body + proxy)
    picky = msgspec.structs.replace(picky, description=native.description)
    settings = (Setting("raw", 5), Setting("headers", 5))
    measured, failures = conduct(
        schedule(window, floor, picky, native, settings=settings, rounds=2),
        server,
        {},
        lambda *_: None,  # pyright: ignore[reportArgumentType]
    )
    (failure,) = failures
    assert (failure.case.program, failure.case.setting) == ("picky", Setting("headers", 5))
    assert str(failure.error).startswith("picky (headers, 5 in flight): word word")
    assert len(str(failure.error)) < 2_200  # the last line whole, at most 2,000 characters of it
    counts = Counter((one.case.program, one.case.setting.mode) for one in measured)
    assert counts == {
        ("floor", "raw"): 3,
        ("floor", "headers"): 3,
        ("native", "raw"): 3,
        ("native", "headers"): 3,
        ("picky", "raw"): 3,
    }


def test_a_failed_mode_is_a_row_of_what_was_measured(small_chain: Path, native: Program, tmp_path: Path) -> None:
    path = native.command[0]
    file = tmp_path / "picky.py"
    file.write_text(
        "import os, sys\n"
        f"if '--mode' in sys.argv and 'raw' in sys.argv: sys.exit(3)\nos.execv({path!r}, [{path!r}, *sys.argv[1:]])\n"
    )
    out = tmp_path / "runs"
    options = ["--mode", "raw,decode", "--depth", "1", "--rounds", "1", "--blocks", "50", "-o", str(out)]
    target = f"native,picky={shlex.join([sys.executable, str(file)])}"
    made = slotmark(
        "chainsync", "run", "--chain", small_chain, "--target", target, *options, env={**os.environ, "COLUMNS": "200"}
    )
    assert made.returncode == 2, made.stderr
    rows = [line.split() for line in made.stdout.splitlines()]
    (decoded, failed) = [row for row in rows if row[:1] == ["picky"]]
    assert failed[1] == "failed"
    assert set(failed[2:]) == {"-"}
    assert "failed" not in decoded
    (last,) = made.stderr.strip().splitlines()[-1:]
    assert last.startswith("slotmark: picky (raw, sequential): exited 3")
    assert (out / "picky").is_dir()


@pytest.mark.parametrize("after", [0, 1, 250, BLOCKS - 1])
def test_a_wrong_digest_fails_the_session_and_names_the_block(
    after: int,
    server: ReplayServer,
    window: "_core.Window",
    small_chain: Path,
    floor: Program,
    native: Program,
    tmp_path: Path,
) -> None:
    lying = liar(tmp_path, native, after)
    setting = Setting("decode", 1)
    proofs = {"decode": _proof(str(small_chain), window, "decode")}
    point = _core.digests(str(small_chain), window.start, BLOCKS, "decode", 1)[after][2]
    with pytest.raises(ProofError, match=rf"liar \(decode, sequential\).*block {after} of the window \({point}\)"):
        conduct(schedule(window, floor, lying, settings=(setting,)), server, proofs, lambda *_: None)  # pyright: ignore[reportArgumentType]


def test_a_wrong_digest_is_the_reason_also_where_the_search_for_its_block_fails(
    server: ReplayServer, window: "_core.Window", small_chain: Path, floor: Program, native: Program, tmp_path: Path
) -> None:
    setting = Setting("decode", 1)
    proofs = {"decode": _proof(str(small_chain), window, "decode")}
    body = LIAR.replace("NATIVE", repr(native.command[0])).replace("FROM", "0")
    lying = program(tmp_path, "liar", 'if args["--progress-every"] == "1": sys.exit(3)\n' + body)
    with pytest.raises(
        ProofError, match=r"its digest is not that of the blocks it was given: .* \(liar .* exited 3 before"
    ):
        conduct(schedule(window, floor, lying, settings=(setting,)), server, proofs, lambda *_: None)  # pyright: ignore[reportArgumentType]


CHANGES = {
    "other bytes": ('record["bytes"] *= 2', "bytes, but the blocks have {bytes:,} bytes"),
    "another last block": (
        'record["hash"] = "ff" * 32',
        "as the last, but the blocks have {bytes:,} bytes, and {last} as the last",
    ),
    "progress that goes back": (
        'record["blocks"] -= 300 * (record["event"] == "progress" and record["blocks"] == 300)',
        "its progress records count 100, 200, 0, 400, 500 blocks",
    ),
    "more than there are": (
        'record["blocks"] += 1000 * (record["event"] == "progress")',
        "its progress records count 1100, 1200, 1300, 1400, 1500 blocks, which don't ascend up to 500",
    ),
    "more behind the end": (
        'print("was it right?") if record["event"] == "done" and print(json.dumps(record)) is None else None',
        "it printed `was it right?",
    ),
}
"""Changes to what a client says whose digest is right, and what is said of them."""


@pytest.mark.parametrize("what", CHANGES)
def test_a_client_that_says_what_is_not_so_is_not_kept(
    what: str,
    server: ReplayServer,
    window: "_core.Window",
    small_chain: Path,
    floor: Program,
    native: Program,
    tmp_path: Path,
) -> None:
    setting = Setting("decode", 1)
    proofs = {"decode": _proof(str(small_chain), window, "decode")}
    body = LIAR.replace("NATIVE", repr(native.command[0])).replace("FROM", "0")
    change, why = CHANGES[what]
    lying = program(tmp_path, "liar", body.replace('record["digest"] = record["digest"][::-1]', change))
    with pytest.raises(TargetError, match=re.escape(why.format(bytes=window.bytes, last=window.last))):
        conduct(schedule(window, floor, lying, settings=(setting,)), server, proofs, lambda *_: None)  # pyright: ignore[reportArgumentType]


def test_the_throughput_is_of_the_bytes_that_the_floor_counted(
    small_chain: Path, native: Program, floor: Program, tmp_path: Path
) -> None:
    body = LIAR.replace("NATIVE", repr(native.command[0])).replace("FROM", "0")
    lying = program(tmp_path, "liar", body.replace('record["digest"] = record["digest"][::-1]', 'record["bytes"] *= 3'))
    file = Path(lying.command[1])
    file.write_text(
        file.read_text(encoding="utf-8").replace('"raw": 10, ', '"headers": 10, "raw": 10, '), encoding="utf-8"
    )
    out, target = tmp_path / "runs", f"liar={shlex.join(lying.command)}"
    made = slotmark(*run_arguments(small_chain, out, "--target", target, "--mode", "headers", "--depth", "1"))
    assert made.returncode == 0, made.stderr
    counted = {name: set(open_run(out / name).table("invocations")["bytes"].to_pylist()) for name in ("liar", "floor")}
    assert counted["liar"] == counted["floor"]
