"""The rounds of a session that is cut."""

from pathlib import Path

import pytest

from slotmark.benches import unfinished
from slotmark.benches.ledger.session import Round
from slotmark.errors import RunError
from slotmark.run import machine_facts, utc_now


def finished(number: int) -> Round:
    return Round(number=number, part=0, measured=[], failures=[])


def test_a_round_that_finds_no_room_does_not_count_as_kept(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    head = unfinished.new_session(machine_facts(), utc_now(), {})
    remarks: list[str] = []
    with (
        pytest.raises(RunError, match="No space left on device"),
        unfinished.session(tmp_path, head, Round, rounds=3, resume=False, on_remark=remarks.append) as kept,
    ):
        kept.keep(finished(1))
        kept.path.rename(tmp_path / "whole")
        kept.path.symlink_to("/dev/full")
        kept.keep(finished(2))
    assert remarks == ["1 of 3 rounds are finished and kept: the same with --resume goes on"]

    (tmp_path / "whole").replace(tmp_path / unfinished.FILE)
    with unfinished.session(tmp_path, head, Round, rounds=3, resume=True, on_remark=remarks.append) as again:
        assert again.rounds == [finished(1)]
    assert remarks[1:] == ["resumed after round 1 of 3"]
