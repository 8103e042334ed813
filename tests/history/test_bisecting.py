"""The search for a commit by runs of levels that are made up: its steps, its words and its outcome."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

from slotmark.cli import app
from slotmark.errors import ComparisonError, TargetError
from slotmark.history.bisecting import Bisection, Search, asked, known_to_differ
from slotmark.measure.searching import Made, Request, Step, left_out, search
from slotmark.report.renderers.markdown import markdown
from slotmark.report.sections.bisection import bisection_document, title
from slotmark.run import Run
from tests.history.made import METRIC, made

COMMITS = ["good", "like-good", "slower", "bad"]
LEVELS = [1000, 1000, 920, 920]
TURNS = [0, 3] * 6


def runs_of(folder: Path, places: Sequence[int], levels: Sequence[float] = LEVELS) -> dict[int, Run]:
    """A run of each of these commits, by its number."""
    return {number: made(folder, number, levels[place]) for number, place in enumerate(places, start=1)}


def searched(folder: Path, places: Sequence[int], by: str) -> tuple[Search, Bisection]:
    """The search after runs of these commits, in this order, and its outcome."""
    found = Search(METRIC, "", COMMITS, 0.95, 1)
    found.next(list(enumerate(places, start=1)), runs_of(folder, places), {})
    return found, found.outcome(by, 60.0)


def test_the_good_and_the_bad_commit_take_turns_first(tmp_path: Path) -> None:
    found, runs = Search(METRIC, "", COMMITS, 0.95, 1), runs_of(tmp_path, TURNS)
    steps = [found.next(list(enumerate(TURNS[:count], start=1)), runs, {}) for count in range(7)]
    assert [one.place for one in steps] == TURNS[:7]
    assert steps[0].words == "the good and the bad commit are measured in turns first"
    # Three rounds, and with so large a difference five are enough: ten runs less these six.
    levels = np.array([one.levels for one in found.outcome("", 0.0).commits[::3]])
    change = np.exp(np.log(levels[1] / levels[0]).mean()) - 1
    assert steps[6].words == (
        f"the bad commit differs from the good one by {100 * change:.3g} % in 3 rounds, not yet beyond chance; about 4 more runs until it is"
    )
    assert steps[6].more == 4


def test_the_effect_is_that_of_all_runs_on_both_sides_of_the_commit(tmp_path: Path) -> None:
    places = [*TURNS, 1, 1, 2, 2]
    search_, found = searched(tmp_path, places, "")
    assert (found.state, found.answer, found.runs) == ("found", ["slower"], 16)
    levels = [np.log([level for one in found.commits[begin : begin + 2] for level in one.levels]) for begin in (0, 2)]
    assert [of.size for of in levels] == [8, 8]
    expected = stats.ttest_ind(levels[1], levels[0]).confidence_interval(0.95)
    assert found.effect is not None
    assert found.effect.estimate == pytest.approx(np.exp(levels[1].mean() - levels[0].mean()))
    assert (found.effect.low, found.effect.high) == pytest.approx((np.exp(expected.low), np.exp(expected.high)))
    assert [one.probability is not None and one.probability > 0.9 for one in found.commits] == [
        False,
        False,
        True,
        False,
    ]
    assert search_.next(list(enumerate(places, start=1)), runs_of(tmp_path / "again", places), {}).place is None
    assert "| slower | first bad |" in markdown(bisection_document(found))


def test_a_search_that_the_budget_ended_has_no_first_bad_commit(tmp_path: Path) -> None:
    search_, found = searched(tmp_path, [*TURNS, 1, 2], "the budget")
    assert (found.state, found.answer) == ("open", ["slower"])
    assert title(found).startswith("NOT KNOWN: slower changed blocks_per_s with a probability of ")
    assert "first bad" not in markdown(bisection_document(found))
    # One run of the commit and of the one before it may be a spike: each is run once more.
    runs = runs_of(tmp_path / "again", [*TURNS, 1, 2, 1])
    assert [search_.next(list(enumerate([*TURNS, 1, 2, *more], start=1)), runs, {}).place for more in ([], [1])] == [
        1,
        2,
    ]
    _, found = searched(tmp_path / "few", TURNS[:4], "the budget")
    assert (found.state, found.answer, found.effect) == ("alike", [], None)
    assert title(found) == "NOT KNOWN: good and bad aren't shown to differ in blocks_per_s"


def test_a_search_that_the_budget_ended_has_the_exit_code_of_run_again(tmp_path: Path) -> None:
    """Also where one commit is more probable than others by then: 14 runs are there at once, and the next one hangs until the budget's end."""
    runs_of(tmp_path / "made", [*TURNS, 1, 2])
    commits = tmp_path / "commits.txt"
    commits.write_text("\n".join(COMMITS), encoding="utf-8")
    script = tmp_path / "measure.sh"
    script.write_text(
        f'[ -d {tmp_path}/made/run-$2 ] || sleep 300\ncp -r {tmp_path}/made/run-$2 "$3"\n', encoding="utf-8"
    )
    options = [
        "--good",
        "good",
        "--bad",
        "bad",
        "--commits",
        str(commits),
        "--budget",
        "4s",
        "-o",
        str(tmp_path / "out"),
    ]
    command = ["--run", f"sh {script} {{commit}} {{round}} {{out}}"]
    done = CliRunner().invoke(app, ["store", "bisect", METRIC, *options, *command])
    assert done.exit_code == 3, done.output
    assert "NOT KNOWN: " in done.output


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("mean", "known"), [(4.5, True), (3.0, False)])
def test_the_ends_are_known_to_differ_at_99_percent_over_all_looks(mean: float, known: bool, sign: int) -> None:
    """Six differences of a mean plus or minus 1: t is the root of 5 times the mean, 10.1 and 6.7, where the limit is 8.2, and at 95 % would be 4.8."""
    levels = [level for half in (1, -1, 1, -1, 1, -1) for level in (0.0, sign * (mean + half))]
    assert known_to_differ(TURNS, levels, 3) == known
    # Five rounds need 22.4; and a commit between the two doesn't count.
    assert not known_to_differ(TURNS[:10], levels[:10], 3)
    assert not known_to_differ([place and 2 for place in TURNS], levels, 3)
    assert asked(0.95) == pytest.approx(0.975)


def test_runs_of_other_work_and_one_that_is_there_twice_are_refused(tmp_path: Path) -> None:
    first = made(tmp_path, 1, 1000.0)
    for other, why in (
        (made(tmp_path / "other", 2, 1000.0, blocks=5_000), "not the bench, the work or the kind of machine"),
        (made(tmp_path / "same", 1, 1000.0), "the same tables as run 1"),
    ):
        with pytest.raises(ComparisonError, match=why):
            Search(METRIC, "", COMMITS, 0.95, 1).next([(1, 0), (2, 3)], {1: first, 2: other}, {})


def test_a_commit_that_ran_once_is_not_left_out_when_it_fails_later() -> None:
    made_ = [
        Made(1, 0, 1.0, 1, "no room"),
        Made(2, 0, 1.0, 2),
        Made(3, 0, 1.0, 2, "killed"),
        Made(4, 0, 1.0, 1, "again"),
    ]
    assert left_out(made_) == {1: "no room"}


@pytest.mark.parametrize(("place", "option"), [(0, "--good"), (3, "--bad")])
def test_no_search_goes_on_without_one_of_its_ends(tmp_path: Path, place: int, option: str) -> None:
    request = Request(
        command=["false", "{commit}", "{out}"],
        commits=COMMITS,
        out=tmp_path / "runs",
        budget_s=60.0,
        resume=False,
        settings={},
    )
    with pytest.raises(TargetError, match=f"^{option} {COMMITS[place]}: "):
        search(request, lambda _made, _runs: Step(place, ""), lambda _: None, lambda _: None)
