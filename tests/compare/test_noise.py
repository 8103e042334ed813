"""Statements about a machine's noise, on processes whose noise is known."""

import math
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from slotmark.benches.ledger.runs import UNKNOWN
from slotmark.compare.run_to_run.noise import (
    CONFIDENCE,
    Noise,
    beforehand,
    read_noise,
    spread_of,
    state_file,
    write_noise,
)
from slotmark.errors import ComparisonError
from slotmark.numbers import percent
from slotmark.run import Run, RunWriter, Target
from slotmark.statistics.planning import detectable_between
from tests.compare.planted_blocks import NOISES, estimated, recorded
from tests.made_up_runs import MACHINE, bare_manifest

QUANTITIES = ("typical block", "all blocks together")


def noise_against_itself(kind: str, draws: np.random.Generator, processes: int) -> Noise:
    """As measured by so many made-up processes per side of one target."""
    found = estimated(*recorded(draws, NOISES[kind], processes=processes))
    return noise(
        processes,
        [
            spread_of(quantity, one.error_of_runs or 0.0, one.error_of_blocks, processes)
            for quantity, one in zip(QUANTITIES, found, strict=True)
        ],
    )


def noise(processes: int, spreads: list) -> Noise:
    return Noise(
        bench="ledger",
        metric="Total time",
        machine=UNKNOWN,
        target="memory",
        workload={"blocks": "122"},
        processes=processes,
        measured="2026-11-22T08:00:00",
        slotmark="0",
        spreads=spreads,
    )


@pytest.mark.parametrize("processes", [3, 10])
def test_the_range_holds_the_smallest_change_as_often_as_is_stated(processes: int) -> None:
    draws = np.random.default_rng([8, processes])
    truth = math.expm1(detectable_between(0.01 * math.sqrt(2 / 5), 5))
    trials, held = 400, np.zeros(2)
    for _ in range(trials):
        found = noise_against_itself("both", draws, processes)
        ranges = [found.detectable(spread, 5) for spread in found.spreads]
        held += [one.low <= truth <= one.high for one in ranges]
    # The standard error of a share of 90 % over 400 trials is 1.5 %.
    assert held / trials == pytest.approx([CONFIDENCE] * 2, abs=0.045)


@pytest.mark.parametrize("kind", ["blocks", "processes", "both"])
@pytest.mark.parametrize("processes", [3, 10])
def test_the_smallest_change_is_found_four_times_in_five_and_half_of_it_is_not(kind: str, processes: int) -> None:
    draws = np.random.default_rng([9, processes])
    trials, found = 200, np.zeros((2, 2))
    for _ in range(trials):
        known = noise_against_itself(kind, draws, 10)
        changes = [known.detectable(spread, processes).estimate for spread in known.spreads]
        for row, share in enumerate((1, 0.5)):
            baseline, candidate = recorded(draws, NOISES[kind], processes=processes)
            for place, change in enumerate(changes):
                found[row, place] += estimated(baseline, candidate * (1 + share * change))[place].p < 0.05
    # The standard error of 80 % over 200 trials is 2.8 %. Ten processes don't tell the noise exactly, which costs some power; where only
    # blocks are noisy, tests are a little more careful than is known beforehand.
    assert found[0] / trials == pytest.approx([0.8, 0.8], abs=0.11)
    assert (found[1] / trials < 0.5).all()


def test_more_processes_tell_smaller_changes_and_no_noise_tells_all() -> None:
    quiet = noise(10, [spread_of("typical block", 0.0, 0.0, 10)])
    assert quiet.detectable(quiet.spreads[0], 3).high == 0
    loud = noise(10, [spread_of("typical block", 0.01, 0.001, 10)])
    changes = [loud.detectable(loud.spreads[0], processes) for processes in (3, 5, 10)]
    assert [one.estimate for one in changes] == sorted((one.estimate for one in changes), reverse=True)
    assert all(one.low < one.estimate < one.high for one in changes)


def test_the_part_of_blocks_becomes_less_with_processes_too() -> None:
    """Four times the processes that the noise was measured with: half of the error that blocks have there."""
    of_blocks = noise(10, [spread_of("typical block", 0.0, 0.002, 10)])
    found = of_blocks.detectable(of_blocks.spreads[0], 40)
    assert found.estimate == pytest.approx(math.expm1(detectable_between(0.001, 40)))


def of_processes(folder: Path, processes: int, blocks: str = "122") -> Run:
    """A run of so many processes on the noise's machine."""
    facts = {"workload": {"blocks": blocks}, "machine": MACHINE}
    with RunWriter(folder) as writer:
        writer.table("processes", pa.table({"process": np.arange(processes)}))
        return writer.finish(bare_manifest(folder.name, "ledger", Target("memory", "1", "Rust", "", ""), **facts))


def test_what_is_told_beforehand_is_of_the_side_with_fewer_processes(tmp_path: Path) -> None:
    file, known = tmp_path / "noise.json", noise(10, [spread_of("typical block", 0.01, 0.0, 10)])
    write_noise(msgspec.structs.replace(known, machine=MACHINE), file)
    two, three, five = (of_processes(tmp_path / str(count), count) for count in (2, 3, 5))
    # Two runs of a side have the processes of both.
    for sides, least in (([[five], [three]], 3), ([[three], [five]], 3), ([[two, three], [five]], 5)):
        (told,) = beforehand(sides, file)
        change = percent(known.detectable(known.spreads[0], least).estimate)
        assert told.startswith("by this machine's noise (memory over 122 blocks; 2026-11-22), ")
        assert (
            f"with {least} processes per side, changes of total time below {change} (typical block) are missed" in told
        )
    # Of two processes nothing is told: there is no verdict.
    assert list(beforehand([[two], [five]], file)) == []
    (told,) = beforehand([[of_processes(tmp_path / "more", 3, "244")], [five]], file)
    assert "(memory over 122 blocks, other work than these runs'; 2026-11-22)" in told


def test_a_file_that_is_written_is_read(tmp_path: Path) -> None:
    written = noise(10, [spread_of("typical block", 0.01, 0.001, 10)])
    write_noise(written, tmp_path / "new" / "noise.json")
    assert read_noise(tmp_path / "new" / "noise.json", "") == written
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["noise.json"]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"schema": 2}, "schema 2, this slotmark reads 1"),
        ({"processes": 2}, "Expected `int` >= 3"),
        ({"spreads": []}, "length >= 1"),
        ({"spreads": [{"quantity": "x", "deviation": -0.1, "error_of_blocks": 0}]}, "Expected `float` >= 0"),
        ({"spreads": [{"quantity": "x", "deviation": 1e300, "error_of_blocks": 0}]}, "Expected `float` <= 10"),
        ({"more": 1}, "unknown field `more`"),
        ({"machine": None}, "Expected `object`, got `null`"),
    ],
)
def test_a_file_that_holds_no_noise_is_refused(changed: dict, why: str, tmp_path: Path) -> None:
    file = tmp_path / "noise.json"
    whole = msgspec.to_builtins(noise(10, [spread_of("typical block", 0.01, 0.001, 10)]))
    file.write_bytes(msgspec.json.encode({**whole, **changed}))
    with pytest.raises(ComparisonError, match=why) as caught:
        read_noise(file, "slotmark ledger noise --chain DIR")
    assert str(caught.value).startswith(f"{file}: ")
    assert "slotmark ledger noise" in str(caught.value)


def test_the_name_of_a_machine_is_no_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    named = msgspec.structs.replace(UNKNOWN, hostname_hash="0123456789ab")
    assert state_file("ledger", named) == tmp_path / "slotmark" / "noise-ledger-0123456789ab.json"
    for other in ("../../0123456789ab", "unknown", "0123456789ab\n"):
        assert state_file("ledger", msgspec.structs.replace(UNKNOWN, hostname_hash=other)) is None
    monkeypatch.setenv("XDG_STATE_HOME", "somewhere")
    kept = state_file("ledger", named)
    assert kept is not None
    assert kept.is_relative_to(Path.home() / ".local" / "state")
