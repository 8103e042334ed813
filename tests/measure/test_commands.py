"""Rounds by two commands: real programs, real folders."""

from pathlib import Path

import numpy as np
import pytest

from slotmark.compare.looks import checking, in_words, look, rounds_needed
from slotmark.errors import ArgumentError, ComparisonError, RunError, TargetError
from slotmark.measure.by_command import words_of
from slotmark.measure.commands import Ended, Groups, Look, Request, make_rounds
from slotmark.measure.session import FILE
from slotmark.metrics import register
from slotmark.run import check_run, open_runs
from tests.compare.planted_rounds import drawn, made_worse
from tests.compare.planted_runs import BENCH, FOLDER, write_runs
from tests.made_up_runs import write_run

ROUNDS = 8


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of two builds, of which the second is worse by 4 %: base-1 to base-8, new-1 to new-8."""
    register(BENCH, FOLDER)
    folder = tmp_path_factory.mktemp("kept")
    blocks = np.linspace(0.9, 1.1, 40)
    for build, side in zip(("base", "new"), made_worse(drawn(0.002, [7, 1], ROUNDS + 1), 0.04), strict=True):
        write_runs(folder, build, [np.exp(run)[:, np.newaxis] * blocks for run in side])
    return folder


class Rounds:
    """Sessions in one folder, with what was said."""

    def __init__(self, kept: Path, out: Path) -> None:
        self.out = out
        self.base, self.new = (f"cp -r {kept}/{build}-{{round}} {{out}}" for build in ("base", "new"))
        self.remarks: list[str] = []
        self.looks = 0

    def __call__(
        self,
        a: str = "",
        b: str = "",
        *,
        budget_s: float = 60.0,
        most: int | None = None,
        resume: bool = False,
        seed: int = 1,
    ) -> Ended:
        request = Request(
            commands={"a": words_of("--run-a", a or self.base), "b": words_of("--run-b", b or self.new)},
            out=self.out,
            budget_s=budget_s,
            rounds_at_most=most,
            resume=resume,
            seed=seed,
        )
        return make_rounds(request, self._look, lambda _: None, self.remarks.append, checking(lambda _: None))

    def _look(self, groups: Groups) -> Look:
        self.looks += 1
        _, decision = look(groups)
        more = rounds_needed(decision)
        return Look(more == 0, in_words(decision), more)


@pytest.fixture
def rounds(kept: Path, tmp_path: Path) -> Rounds:
    return Rounds(kept, tmp_path / "out")


def script(tmp_path: Path, text: str) -> str:
    """A command that runs a shell script of the user's, with the round and the folder."""
    file = tmp_path / "make run.sh"
    file.write_text(text, encoding="utf-8")
    return f"sh '{file}' {{round}} {{out}}"


def test_rounds_are_made_until_all_decisive_metrics_are_decided(rounds: Rounds) -> None:
    ended = rounds()
    assert ended.decided
    assert 5 <= len(ended.rounds) <= 7
    assert rounds.remarks[0].endswith("verdicts begin with 4") or "no verdict yet on" in rounds.remarks[0]
    assert rounds.remarks[-1].endswith("all decisive metrics are decided")
    assert {tuple(one.runs) for one in ended.rounds} == {("a", "b"), ("b", "a")}, "an order is drawn for each round"
    sides = [open_runs(rounds.out / side) for side in "ab"]
    assert [[run.manifest.round for run in side] for side in sides] == [[*range(1, len(ended.rounds) + 1)]] * 2
    assert len({run.manifest.session for side in sides for run in side}) == 1
    assert all(check_run(run.place) for side in sides for run in side)
    assert not (rounds.out / FILE).exists()
    with pytest.raises(RunError, match="already there"):
        rounds()


def test_a_session_that_ends_without_a_decision_goes_on(rounds: Rounds, kept: Path, tmp_path: Path) -> None:
    first = rounds(most=3)
    assert (first.decided, first.by, len(first.rounds)) == (False, "--rounds-at-most 3", 3)
    with pytest.raises(ArgumentError, match="not the session that was cut: --run-b was"):
        rounds(b=rounds.base, resume=True)
    again = rounds(resume=True)
    assert again.decided
    assert [one.number for one in again.rounds] == [*range(1, len(again.rounds) + 1)]
    assert [one.part for one in again.rounds] == [0] * 3 + [1] * (len(again.rounds) - 3)
    at_once = Rounds(kept, tmp_path / "at once")()
    assert [one.runs for one in at_once.rounds] == [one.runs for one in again.rounds], "the same order"


def test_the_budget_is_that_of_all_parts(rounds: Rounds, tmp_path: Path) -> None:
    slow = script(tmp_path, f'sleep 0.4; cp -r "{Path(rounds.new.split()[2]).parent}/new-$1" "$2"')
    ended = rounds(b=slow, budget_s=1.3)
    assert not ended.decided
    assert 1 <= len(ended.rounds) <= 3
    assert ended.by.startswith("the budget: ")
    before = len(ended.rounds)
    assert len(rounds(b=slow, budget_s=1.3, resume=True).rounds) == before, "what is used stays used"


def test_a_round_that_fails_is_named_and_not_made_again(rounds: Rounds, tmp_path: Path) -> None:
    source = Path(rounds.new.split()[2]).parent
    flaky = script(tmp_path, f'test "$1" != 2 || {{ echo no luck >&2; exit 7; }}; cp -r "{source}/new-$1" "$2"')
    ended = rounds(b=flaky)
    assert ended.decided
    second = ended.rounds[1]
    assert "exited 7: no luck" in second.failed["b"]
    assert [remark for remark in rounds.remarks if remark.startswith("round 2: --run-b failed")]
    assert not (rounds.out / "b" / "round-2").exists()
    compared, _ = look([open_runs(rounds.out / side) for side in "ab"])
    assert "round_left_out" in {one.kind for one in compared.warnings}


def test_two_rounds_that_fail_end_the_session_which_can_be_resumed(rounds: Rounds, tmp_path: Path) -> None:
    source = Path(rounds.new.split()[2]).parent
    failing = script(tmp_path, f'test "$1" = 1 -o -e "{tmp_path}/mended" || exit 7; cp -r "{source}/new-$1" "$2"')
    with pytest.raises(TargetError, match="rounds 2 and 3 failed, one after the other; the last: --run-b: "):
        rounds(b=failing)
    assert rounds.remarks[-1] == "3 rounds finished and kept: the same command with --resume continues"
    (tmp_path / "mended").touch()
    ended = rounds(b=failing, resume=True)
    assert ended.decided
    assert [bool(one.failed) for one in ended.rounds[:4]] == [False, True, True, False]


def test_what_a_command_started_ends_with_the_budget(rounds: Rounds, tmp_path: Path) -> None:
    hanging = script(tmp_path, f'sleep 300 & echo $! > "{tmp_path}/pid"; sleep 300')
    with pytest.raises(TargetError, match="the budget ended before"):
        rounds(b=hanging, budget_s=1.0)
    pid = int((tmp_path / "pid").read_text())
    assert not Path(f"/proc/{pid}").exists()
    assert not rounds.out.exists()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("true {out}", "left no run: .*no such run folder"),
        ("mkdir {out}", "left no run: .*not a run folder"),
        ("ln -s {kept}/new-1 {out}", "left a link at"),
        ("false {out}", "`false .*` exited 1: it printed nothing"),
    ],
)
def test_a_first_round_without_a_run_leaves_nothing(command: str, said: str, rounds: Rounds, kept: Path) -> None:
    with pytest.raises(TargetError, match=f"--run-b: .*{said}"):
        rounds(b=command.replace("{kept}", str(kept)))
    assert not rounds.out.exists()
    assert (kept / "new-1" / "run.json").is_file()


def test_runs_that_cannot_be_compared_end_the_session_with_what_is_wrong(rounds: Rounds, tmp_path: Path) -> None:
    same = rounds.new.replace("{round}", "1")
    with pytest.raises(ComparisonError, match=r"same tables to the last byte.*Put \{round\} in"):
        rounds(b=same)
    assert not (rounds.out / "b" / "round-2").exists()
    assert (rounds.out / "b" / "round-1").exists()
    write_run(tmp_path / "client", "client", {"decode, sequential": [3_000.0] * 3})
    elsewhere = Rounds(tmp_path, tmp_path / "other")
    elsewhere.base = rounds.base
    with pytest.raises(ComparisonError, match=r"is a run of bench 'planted-runs', .* of 'chainsync'"):
        elsewhere(b=f"cp -r {tmp_path}/client {{out}}")
    with pytest.raises(ComparisonError, match="Metrics of bench 'chainsync' aren't compared by means of runs"):
        elsewhere(f"cp -r {tmp_path}/client {{out}}", f"cp -r {tmp_path}/client {{out}}")


def test_names_of_folders_are_data(kept: Path, tmp_path: Path) -> None:
    ended = Rounds(kept, tmp_path / "a {round} $(touch x) 'b")(most=2)
    assert [one.failed for one in ended.rounds] == [{}, {}]
    assert not Path("x").exists()


def test_a_file_of_a_session_that_names_other_sides_is_refused(rounds: Rounds) -> None:
    rounds(most=1)
    file = rounds.out / FILE
    file.write_bytes(
        file.read_bytes()
        .replace(b'"runs":["a","b"]', b'"runs":["../../x"]')
        .replace(b'"runs":["b","a"]', b'"runs":["../../x"]')
    )
    with pytest.raises(RunError, match="damaged"):
        rounds(resume=True)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("", "names no command"),
        ("cp -r x y", r"\{out\} isn't in it"),
        ("{out}", r"\{out\} isn't in it"),
        ("cp 'x {out}", "not the words of a command"),
        ("no-such-program {out}", "there is no program 'no-such-program'"),
    ],
)
def test_commands_that_make_no_sense_are_refused(command: str, said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        words_of("--run-a", command)
