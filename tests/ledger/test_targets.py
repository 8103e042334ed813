"""The words that start a target."""

from pathlib import Path

import pytest

from slotmark.benches.ledger.engine import program
from slotmark.benches.ledger.targets import Program, engines
from slotmark.errors import TargetError


def words(target: Program, prepared: Path | None) -> list[str]:
    """The words by which a target replays four blocks, its program left out."""
    places = {name: Path(name) for name in ("chain", "out", "state", "db")}
    return target.command(**places, blocks=4, prepared=prepared)[1:]


def test_our_engine_takes_what_was_prepared_in_the_place_of_its_genesis_and_no_other_target_does() -> None:
    try:
        program()
    except TargetError as error:
        pytest.skip(str(error))
    (engine,) = engines(["memory"], genesis=Path("--genesis"), blocks=4, flush_every=100)
    usual = ["--chain", "chain", "--out", "out", "--state", "state", "--backend", "memory", "--flush-every", "100"]
    assert words(engine, None) == [*usual, "--genesis", "--genesis", "--blocks", "4"]
    assert words(engine, Path("{chain}")) == [*usual, "--prepared", "{chain}", "--blocks", "4"]
    (without,) = engines(["memory"], genesis=None, blocks=None, flush_every=100)
    assert words(without, Path("prepared")) == words(without, None) == usual
    (unchecked,) = engines(["memory"], genesis=None, blocks=None, flush_every=100, reapply=True)
    assert words(unchecked, None) == [*usual, "--reapply"]
    (idle,) = engines(["memory"], genesis=None, blocks=None, flush_every=100, pause_us=1500)
    assert words(idle, None) == [*usual, "--pause-us", "1500"]
    other = Program("base", ("replay", "--genesis", "{prepared}", "{chain}", "{out}"))
    assert words(other, Path("prepared")) == ["--genesis", "{prepared}", "chain", "out"]
