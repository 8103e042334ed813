"""Every target, in every mode that it says it can do, against the server: the digest must be ours."""

import os
import random
import select
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from slotmark import _core
from slotmark.benches.chainsync.bench import _able
from slotmark.benches.chainsync.invocation import invoke
from slotmark.benches.chainsync.request import _targets
from slotmark.benches.chainsync.server import ReplayServer
from slotmark.benches.chainsync.setting import MODES, Mode, Setting
from slotmark.benches.chainsync.targets import FLOOR, Description, Program, built_ins, resolve
from slotmark.errors import TargetError
from slotmark.run import open_run

from ..conftest import run_arguments, slotmark
from .conftest import BLOCKS, built, schedule


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", sorted(built_ins()))
def test_a_target_does_the_work(
    name: str, mode: Mode, server: ReplayServer, window: "_core.Window", small_chain: Path, floor: Program
) -> None:
    program = built(name)
    deepest = program.description.modes.get(mode, 0)
    if not deepest:
        pytest.skip(f"{name} doesn't offer mode {mode}")
    (_, digest, last) = _core.digests(str(small_chain), window.start, BLOCKS, mode, BLOCKS)[-1]
    for depth in sorted({1, min(deepest, 7), min(deepest, 100)}):
        setting = Setting(mode, depth)
        one = schedule(window, floor, program, settings=(setting,))
        result = invoke(program, one.job(setting, server), server.cpu_ns, server.check)
        assert result.done.blocks == BLOCKS
        assert result.done.digest == (None if name == FLOOR else digest)
        if mode != "headers" and name != "yaci":  # which hides the bytes of what it parsed
            assert result.done.bytes == window.bytes
        if result.done.slot is not None:
            assert f"{result.done.slot}.{result.done.hash}" == last
        if name != FLOOR:
            assert [record.blocks for record in result.progress] == [100, 200, 300, 400, 500]
        assert result.cpu_ns > 0
        assert result.peak_bytes > 0
        assert result.server_cpu_ns is not None
        assert result.server_cpu_ns > 0


class Pieces:
    """Forwards connections to an address, and what comes from there in pieces of 1 to 2,000 bytes."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._to = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._lengths = random.Random(1)
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> "Pieces":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def address(self, setting: Setting) -> str:
        assert setting.node_to_node
        host, port = self._listener.getsockname()
        return f"{host}:{port}"

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._forward, args=(client,), daemon=True).start()

    def _forward(self, client: socket.socket) -> None:
        # A client that has what it wants may leave what was sent to it.
        with suppress(ConnectionError), client, socket.create_connection(self._to) as server:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while ready := select.select([client, server], [], [])[0]:
                for end in ready:
                    got = end.recv(1 << 16)
                    if not got:
                        return
                    if end is client:
                        server.sendall(got)
                        continue
                    at = 0
                    while at < len(got):
                        piece = got[at : at + self._lengths.randint(1, 2_000)]
                        client.sendall(piece)
                        at += len(piece)
                        time.sleep(0.0002)  # so that the client reads it by itself


@pytest.mark.parametrize("mode", ["headers", "fetch"])
@pytest.mark.parametrize("name", sorted(set(built_ins()) - {FLOOR}))
def test_a_target_reads_bytes_in_whatever_pieces_they_come(
    name: str, mode: Mode, server: ReplayServer, window: "_core.Window", small_chain: Path, floor: Program
) -> None:
    program = built(name)
    if not (deepest := program.description.modes.get(mode, 0)):
        pytest.skip(f"{name} doesn't offer mode {mode}")
    (_, digest, _) = _core.digests(str(small_chain), window.start, BLOCKS, mode, BLOCKS)[-1]
    setting = Setting(mode, min(deepest, 100))
    one = schedule(window, floor, program, settings=(setting,))
    with Pieces(server.address(setting)) as pieces:
        result = invoke(program, one.job(setting, pieces), server.cpu_ns, server.check)  # pyright: ignore[reportArgumentType]
    assert result.done.digest == digest


@pytest.mark.parametrize("name", sorted(built_ins()))
def test_a_target_says_why_it_could_not_connect(
    name: str, window: "_core.Window", floor: Program, tmp_path: Path
) -> None:
    program = built(name)

    class Nobody:
        def address(self, setting: Setting) -> str:
            return "127.0.0.1:9" if setting.node_to_node else str(tmp_path / "nobody.socket")

    setting = Setting(next(iter(program.description.modes)), 1)
    job = schedule(window, floor, program, settings=(setting,)).job(setting, Nobody())  # pyright: ignore[reportArgumentType]
    with pytest.raises(TargetError, match=rf"^{name} \(.*\): \S+"):
        invoke(program, job, lambda: None, lambda: None)


@pytest.mark.parametrize("name", sorted(set(built_ins()) - {FLOOR}))
def test_a_target_says_that_its_start_is_not_on_the_chain(
    name: str, server: ReplayServer, window: "_core.Window", floor: Program
) -> None:
    program = built(name)
    setting = Setting(next(iter(program.description.modes)), 1)
    asked = msgspec.structs.replace(schedule(window, floor, program, settings=(setting,)), start=f"5.{'ab' * 32}")
    with pytest.raises(TargetError, match=rf"^{name} \(.*\): .*(?i:inter|not found|does not have the point)"):
        invoke(
            program,
            asked.job(setting, server),
            server.cpu_ns,
            server.check,
        )
    server.check()


def test_unknown_targets_are_refused_with_those_that_there_are() -> None:
    with pytest.raises(TargetError, match=r"no such target.*native"):
        resolve(["nativ"])
    built("native")
    with pytest.raises(TargetError, match="named twice"):
        resolve(["native", "native"])
    with pytest.raises(TargetError, match="can't start"):
        resolve(["mine=/nowhere/at/all"])
    with pytest.raises(TargetError, match="didn't print"):
        resolve(["mine=echo hello"])
    with pytest.raises(TargetError, match=r"No closing quotation\. Close every quote"):
        resolve(["mine=echo 'hello"])


def test_no_other_program_is_the_floor() -> None:
    with pytest.raises(TargetError, match="'floor' is slotmark's own client"):
        resolve([f"floor={built('native').command[0]}"])


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (["native, pallas"], ["native", "pallas"]),
        (["native,mine=python3 x.py"], ["native", "mine=python3 x.py"]),
        (["mine=client --modes raw,decode", "native"], ["mine=client --modes raw,decode", "native"]),
        (["mine=client --option=a,b=c"], ["mine=client --option=a,b=c"]),
        ([], []),
    ],
)
def test_targets_are_told_apart_by_commas_before_a_command(given: list[str], names: list[str]) -> None:
    assert _targets("--target", given) == names


def test_a_target_that_can_do_nothing_is_refused_where_it_was_named_and_left_out_where_not() -> None:
    raw_only = Program("raw-only", ("x",), Description(1, "raw-only", "0", {"raw": 10}))
    both = Program("both", ("x",), Description(1, "both", "0", {"raw": 10, "decode": 1}))
    settings = [Setting("decode", 1)]
    remarks: list[str] = []
    assert _able([raw_only, both], settings, False, remarks.append) == [both]
    assert remarks == ["raw-only can't do decode, sequential: left out"]
    with pytest.raises(
        TargetError, match=r"raw-only: can do none of decode, sequential\. It can do raw up to depth 10"
    ):
        _able([raw_only, both], settings, True, remarks.append)
    with pytest.raises(TargetError, match="no target that is built can do"):
        _able([raw_only], settings, False, remarks.append)


def test_blocks_that_nobody_asked_for_are_what_the_chain_has(small_chain: Path, tmp_path: Path) -> None:
    built("native")
    built("floor")
    arguments = run_arguments(small_chain, tmp_path / "runs", "--target", "native", "--mode", "raw", "--depth", "50")
    at = arguments.index("--blocks")
    made = slotmark(*arguments[:at], *arguments[at + 2 :])
    assert made.returncode == 0, made.stderr
    run = open_run(tmp_path / "runs" / "native")
    assert run.manifest.workload["blocks"] == "600"
    assert run.manifest.parameters["blocks"] == 600
    more = slotmark(*arguments[:at], "--blocks", "601", *arguments[at + 2 :])
    assert more.returncode == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'command = ["\xff"]', "can't decode"),
        (b"command = " + b"[" * 100_000, "nested too deep"),
        (b"command = " + b"1" * 5_000, "Exceeds the limit"),
        (b"command = []\nbuild = []\nneeds = []", "expected words in `command`"),
        (b'command = ["a\\u0000b"]\nbuild = []\nneeds = []', "expected words in `command`"),
        (b'command = ["./a"]\nbuild = [[]]\nneeds = []', "expected words in `command`"),
        (None, "Is a directory|a folder"),
    ],
    ids=["no text", "deep", "a long number", "no word", "a null character", "an empty step", "a folder"],
)
def test_a_file_of_a_target_that_says_nothing_useful_is_refused_in_a_line(
    content: bytes | None, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them ended with a traceback."""
    file = tmp_path / "other" / "target.toml"
    file.parent.mkdir()
    file.mkdir() if content is None else file.write_bytes(content)
    monkeypatch.setenv("SLOTMARK_TARGETS", str(tmp_path))
    with pytest.raises(TargetError, match=said) as error:
        built_ins()
    assert str(error.value).startswith(f"{file}: ")


def test_what_a_stranger_calls_a_target_is_printed_without_what_steers_a_terminal(tmp_path: Path) -> None:
    folder = tmp_path / "\x1b[2J"
    folder.mkdir()
    (folder / "target.toml").write_text(
        f'command = ["/{"a" * 300}/b"]\nbuild = []\nneeds = []\ndescription = "\\u001b[31m\\u202eA client."\n'
    )
    made = slotmark("chainsync", "targets", env={**os.environ, "SLOTMARK_TARGETS": str(tmp_path)})
    assert made.returncode == 0, made.stderr
    assert "\x1b" not in made.stdout
    assert "\u202e" not in made.stdout
    assert "A client." in made.stdout
    assert "not built" in made.stdout
