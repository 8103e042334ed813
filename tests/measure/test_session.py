"""The rounds of a session that is cut."""

import resource
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from slotmark.benches.ledger.session import Measured, Round, part_name
from slotmark.cli.session import report_failures
from slotmark.errors import RunError, TargetError
from slotmark.measure import session
from slotmark.measure.session import Turns, conduct
from slotmark.run import machine_facts, utc_now


def finished(number: int) -> Round:
    return Round(number=number, part=0, measured=[], failures=[])


def test_a_round_that_finds_no_room_does_not_count_as_kept(tmp_path: Path) -> None:
    if not Path("/dev/full").is_char_device():
        pytest.skip("this system has no device /dev/full")
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
    assert remarks == ["1 of 3 rounds are finished and kept: the same command with --resume continues"]

    (tmp_path / "whole").replace(tmp_path / session.FILE)
    with session.open_session(tmp_path, head, Round, rounds=3, resume=True, on_remark=remarks.append) as again:
        assert again.rounds == [finished(1)]
    assert remarks[1:] == ["resumed after round 1 of 3"]


def test_the_file_of_a_process_follows_from_its_place_and_not_from_a_path_in_the_resume_file() -> None:
    facts: dict[str, object] = {"file": "", "format": "", "blocks": 1, "facts": {}, "unknown": [], "at_odds": 0.0}
    process = {**facts, "missing": 0, "workload": {}}
    place = {"case": "../x", "round": 1, "order": 3, "at": "", "load": 0.0, "part": "../../stolen.parquet"}
    line = msgspec.json.encode({**place, "result": process})
    assert part_name(msgspec.json.decode(line, type=Measured).order) == "3.parquet"
    with pytest.raises(msgspec.ValidationError, match="order"):
        msgspec.json.decode(line.replace(b'"order":3', b'"order":"../3"'), type=Measured)


def taking_turns(
    rounds: int, *, fails: Callable[[str, int], bool] = lambda *_: False, warm_up: bool = False
) -> Turns[str, str]:
    """Four cases, of which the fourth is needed; a result has its case, round and place."""

    def measure(case: str, number: int, order: int) -> str:
        if fails(case, number):
            raise TargetError(f"{case} failed")
        return f"{case} {number} {order}"

    return Turns(
        cases=["a", "b", "c", "needed"],
        measure=measure,
        rounds=rounds,
        seed=5,
        warm_up=warm_up,
        needed=lambda case: case == "needed",
        figure=lambda result: f" = {result}",
    )


@pytest.mark.parametrize("warm_up", [False, True])
@pytest.mark.parametrize("cut_after", [1, 2, 3])
def test_a_session_that_was_cut_goes_on_with_the_order_of_one_that_was_not(cut_after: int, warm_up: bool) -> None:
    def in_short(measured: Sequence[session.Measured[str, str]]) -> list[tuple[str, int, int, str]]:
        return [(one.case, one.round, one.order, one.result) for one in measured]

    rounds: list[session.Round[str, str]] = []
    whole, _ = conduct(taking_turns(4, warm_up=warm_up), lambda *_: None, (), rounds.append)
    steps: list[str] = []
    resumed: list[session.Round[str, str]] = []
    again, _ = conduct(
        taking_turns(4, warm_up=warm_up), lambda _, __, what: steps.append(what), rounds[:cut_after], resumed.append
    )
    assert in_short(again) == in_short(whole)
    assert [one.order for one in whole] == list(range(4 * len(rounds)))
    assert len({tuple(one.case for one in of.measured) for of in rounds}) > 1
    assert [one.part for one in resumed] == [1] * (len(rounds) - cut_after)
    assert sum("warm-up again" in step for step in steps) == (8 if warm_up else 0)
    assert steps[-1] == f"round 4 of 4: {whole[-1].case} = {whole[-1].result}"


def test_a_case_that_fails_is_left_out_also_where_the_session_is_resumed() -> None:
    calls: list[tuple[str, int]] = []

    def fails(case: str, number: int) -> bool:
        calls.append((case, number))
        return case == "b" and number == 2

    rounds: list[session.Round[str, str]] = []
    measured, (failure,) = conduct(taking_turns(3, fails=fails), lambda *_: None, (), rounds.append)
    assert (failure.case, str(failure.error)) == ("b", "b failed")
    assert {one.case for one in measured} == {"a", "c", "needed"}
    assert ("b", 3) not in calls
    again, (same,) = conduct(taking_turns(3), lambda *_: None, rounds[:2])
    assert (same.case, str(same.error)) == ("b", "b failed")
    assert [one.result for one in again] == [one.result for one in measured]


@pytest.mark.parametrize("failing", [{"needed"}, {"a", "b", "c"}])
def test_a_session_ends_where_what_is_needed_fails_or_all_else(failing: set[str]) -> None:
    with pytest.raises(TargetError, match="failed"):
        conduct(taking_turns(3, fails=lambda case, _: case in failing), lambda *_: None)


def test_two_sessions_are_never_in_one_folder(tmp_path: Path) -> None:
    """The second appended its rounds to the file of the first, and the first that ended removed what was kept of both."""

    def session_of(rounds: list[int], out: Path) -> list[str]:
        head, remarks = session.new_session(machine_facts(), utc_now(), {}), list[str]()
        with session.open_session(out, head, Round, rounds=3, resume=False, on_remark=remarks.append) as kept:
            for number in rounds:
                kept.keep(finished(number))
            with pytest.raises(RunError, match="another session is going on in this folder"):
                session_of([], out)
            kept.remove()
        return remarks

    assert session_of([], tmp_path / "out") == []
    assert not (tmp_path / "out").exists()  # nothing was kept, so nothing is left
    tmp_path.joinpath("out").mkdir()
    assert session_of([1, 2], tmp_path / "out") == []
    assert tmp_path.joinpath("out").is_dir()


@pytest.mark.parametrize("room", ["for a part of the first line", "for a round and a part of the next"])
def test_a_line_that_is_written_in_part_is_taken_away_again(room: str, tmp_path: Path) -> None:
    head, before = session.new_session(machine_facts(), utc_now(), {}), 1 if "next" in room else 0
    whole = b""
    usual, on_signal = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with (
            pytest.raises(RunError, match="Make room, and continue with --resume"),
            session.open_session(tmp_path, head, Round, rounds=3, resume=False, on_remark=lambda _: None) as kept,
        ):
            for number in range(1, before + 1):
                kept.keep(finished(number))
            whole = kept.path.read_bytes() if before else b""
            resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) + 20, usual[1]))
            kept.keep(finished(before + 1))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
        signal.signal(signal.SIGXFSZ, on_signal)
    assert (kept.path.read_bytes() if kept.path.exists() else b"") == whole
    assert kept.path.exists() == bool(before)


@pytest.mark.parametrize("error", ["a: boom went the client", "a: boom went the client.", "a: boom went the client:"])
def test_the_last_failure_is_a_sentence_of_its_own(error: str) -> None:
    with pytest.raises(TargetError) as raised:
        report_failures([error])
    assert str(raised.value) == "a: boom went the client. What did not fail was kept."
