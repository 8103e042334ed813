"""Every target, in every mode that it says it can do, against the server: the digest must be ours."""

from pathlib import Path

import pytest

from slotmark import _core
from slotmark.benches.chainsync.invocation import invoke
from slotmark.benches.chainsync.server import ReplayServer
from slotmark.benches.chainsync.setting import MODES, Mode, Setting
from slotmark.benches.chainsync.targets import FLOOR, Program, built_ins, resolve
from slotmark.errors import TargetError

from .conftest import BLOCKS, built, plan


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", sorted(built_ins()))
def test_a_target_does_the_work(
    name: str, mode: Mode, server: ReplayServer, window: "_core.Window", small_chain: Path, floor: Program
) -> None:
    program = built(name)
    deepest = program.description.modes.get(mode, 0)
    if not deepest:
        pytest.skip(f"{name} doesn't offer mode {mode}")
    (_, digest, last) = _core.digests(str(small_chain), window["start"], BLOCKS, mode, BLOCKS)[-1]
    for depth in sorted({1, min(deepest, 7), min(deepest, 100)}):
        setting = Setting(mode, depth)
        one = plan(window, floor, program, settings=(setting,))
        result = invoke(program, one.job(setting, server), server.cpu_ns, server.check)
        assert result.done.blocks == BLOCKS
        assert result.done.digest == (None if name == FLOOR else digest)
        if mode != "headers" and name != "yaci":  # which hides the bytes of what it parsed
            assert result.done.bytes == window["bytes"]
        if result.done.slot is not None:
            assert f"{result.done.slot}.{result.done.hash}" == last
        if name != FLOOR:
            assert [record.blocks for record in result.progress] == [100, 200, 300, 400, 500]
        assert result.cpu_ns > 0
        assert result.peak_bytes > 0
        assert result.server_cpu_ns is not None
        assert result.server_cpu_ns > 0


@pytest.mark.parametrize("name", sorted(built_ins()))
def test_a_target_says_why_it_could_not_connect(
    name: str, window: "_core.Window", floor: Program, tmp_path: Path
) -> None:
    program = built(name)

    class Nobody:
        def address(self, setting: Setting) -> str:
            return "127.0.0.1:9" if setting.node_to_node else str(tmp_path / "nobody.socket")

    setting = Setting(next(iter(program.description.modes)), 1)
    job = plan(window, floor, program, settings=(setting,)).job(setting, Nobody())  # pyright: ignore[reportArgumentType]
    with pytest.raises(TargetError, match=rf"^{name} \(.*\): \S+"):
        invoke(program, job, lambda: None, lambda: None)


@pytest.mark.parametrize("name", sorted(set(built_ins()) - {FLOOR}))
def test_a_target_says_that_its_start_is_not_on_the_chain(
    name: str, server: ReplayServer, window: "_core.Window", floor: Program
) -> None:
    program = built(name)
    setting = Setting(next(iter(program.description.modes)), 1)
    nowhere: _core.Window = {**window, "start": f"5.{'ab' * 32}"}
    with pytest.raises(TargetError, match=rf"^{name} \(.*\): .*(?i:inter|not found|does not have the point)"):
        invoke(
            program,
            plan(nowhere, floor, program, settings=(setting,)).job(setting, server),
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
