"""The rounds of a session that is cut."""

from pathlib import Path

import msgspec
import pytest

from slotmark.benches.ledger.session import Measured, Round
from slotmark.errors import RunError
from slotmark.measure import session
from slotmark.run import machine_facts, utc_now


def finished(number: int) -> Round:
    return Round(number=number, part=0, measured=[], failures=[])


def test_a_round_that_finds_no_room_does_not_count_as_kept(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    head = session.new_session(machine_facts(), utc_now(), {})
    remarks: list[str] = []
    with (
        pytest.raises(RunError, match="No space left on device"),
        session.open_session(tmp_path, head, Round, rounds=3, resume=False, on_remark=remarks.append) as kept,
    ):
        kept.keep(finished(1))
        kept.path.rename(tmp_path / "whole")
        kept.path.symlink_to("/dev/full")
        kept.keep(finished(2))
    assert remarks == ["1 of 3 rounds are finished and kept: the same with --resume goes on"]

    (tmp_path / "whole").replace(tmp_path / session.FILE)
    with session.open_session(tmp_path, head, Round, rounds=3, resume=True, on_remark=remarks.append) as again:
        assert again.rounds == [finished(1)]
    assert remarks[1:] == ["resumed after round 1 of 3"]


def test_the_file_of_a_process_follows_from_its_place_and_not_from_a_path_in_the_resume_file() -> None:
    facts: dict[str, object] = {"file": "", "format": "", "blocks": 1, "facts": {}, "unknown": [], "at_odds": 0.0}
    process = {**facts, "missing": 0, "workload": {}, "place": 3}
    line = msgspec.json.encode({"program": "x", "round": 1, "process": process, "part": "../../stolen.parquet"})
    assert msgspec.json.decode(line, type=Measured).part == "3.parquet"
    with pytest.raises(msgspec.ValidationError, match="place"):
        msgspec.json.decode(line.replace(b'"place":3', b'"place":"../3"'), type=Measured)
