"""Releases: one answer and one error rate over several comparisons, and what a release file may not hold."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from slotmark.compare import compare
from slotmark.compare.deciding.policy import Policy
from slotmark.compare.release import plan_release, read_release, release
from slotmark.errors import ComparisonError
from slotmark.measure.shipped import root
from slotmark.report import release_document, release_plan_document
from slotmark.report.document import Forest, Table
from slotmark.report.renderers.html import html
from slotmark.report.renderers.markdown import markdown
from slotmark.run import open_run
from tests.chainsync.conftest import built
from tests.conftest import slotmark
from tests.made_up_runs import write_run

SETTING = "decode, sequential"
RATES = [1000.0 + 2 * n for n in (3, 7, 0, 9, 4, 1, 8, 2, 6, 5)]  # no rate resembles the one before it


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Path]:
    """Writes a run of one client in the folder of the release files, whose rates are the baseline's times a factor."""

    def written(name: str, factor: float = 1.0) -> Path:
        own = [rate * factor * (1 + 0.001 * ((7 * place + len(name)) % 5 - 2)) for place, rate in enumerate(RATES)]
        return write_run(tmp_path / name, "client", {SETTING: own}).path

    return written


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    """Writes a release file of comparisons, each with its name, baselines, candidates, and more lines."""

    def written(*comparisons: tuple[str, list[str], list[str], str], head: str = 'title = "2.0"') -> Path:
        parts = [head]
        for name, baseline, candidate, more in comparisons:
            parts.append(
                f'[[comparison]]\nname = {json.dumps(name)}\nbench = "chainsync"\nbaseline = {json.dumps(baseline)}\n'
                f"candidate = {json.dumps(candidate)}\n{more}"
            )
        path = tmp_path / "release.toml"
        path.write_text("\n\n".join(parts) + "\n")
        return path

    return written


def test_it_ships_where_every_required_comparison_does(made: Callable[..., Path], file: Callable[..., Path]) -> None:
    made("a")
    made("b")
    made("c")
    made("d")
    found = release(read_release(file(("reading", ["a"], ["b"], ""), ("writing", ["c"], ["d"], ""))))
    assert found.line == "SHIP 2.0: all 2 required comparisons ship"
    assert [one.answer for one in found.comparisons] == ["ship", "ship"]


def test_what_is_worse_in_one_comparison_holds_all_required_or_not(
    made: Callable[..., Path], file: Callable[..., Path]
) -> None:
    made("a")
    made("b")
    made("c")
    made("slow", 0.9)
    path = file(("reading", ["a"], ["b"], ""), ("writing", ["c"], ["slow"], ""), head='required = ["reading"]')
    found = release(read_release(path))
    assert found.title == "release"
    assert re.fullmatch(r"HOLD release: writing: worse in Blocks per second.* \(margin 2 %\)", found.line), found.line


def test_missing_runs_are_named_with_the_command_that_makes_them(
    made: Callable[..., Path], file: Callable[..., Path], tmp_path: Path
) -> None:
    made("a")
    made("b")
    path = file(
        ("reading", ["a"], ["b"], ""),
        ("writing", ["a"], ["c d"], 'make = "measure --into {run} && rm -r ."'),
        ("other", ["e"], ["f"], ""),
    )
    found = release(read_release(path))
    assert found.line == ("RUN AGAIN 2.0: writing: 1 run of the file is missing; other: 2 runs of the file are missing")
    (missing,) = found.comparisons[1].missing
    assert missing.side == "candidate"
    assert missing.command == f"measure --into '{tmp_path / 'c d'}' && rm -r ."
    assert made("a-still-there").exists(), "the command is shown, never run"
    assert found.comparisons[2].missing[0].command.startswith("slotmark chainsync run")
    assert "c d" in markdown(release_document(found))


@pytest.mark.parametrize("bench", ["chainsync", "ledger"])
def test_the_command_that_is_named_for_missing_runs_makes_both_sides(
    bench: str, small_chain: Path, tmp_path: Path, file: Callable[..., Path]
) -> None:
    program = tmp_path / "program"
    replay = root() / "target" / "release" / "slotmark-replay"
    lines = {
        "chainsync": f'{shlex.join(built("native").command)} "$@"',
        "ledger": f'{replay} --backend memory --state "$2.state" --chain "$1" --out "$2"',
    }
    program.write_text(f"#!/bin/sh\nexec {lines[bench]}\n")
    program.chmod(0o755)
    path = file(("all", ["runs/A"], ["runs/B"], ""))
    path.write_text(path.read_text().replace("chainsync", bench))
    (command,) = {missing.command for one in release(read_release(path)).comparisons for missing in one.missing}
    filled = {"CHAIN": str(small_chain), "RUNS": str(tmp_path / "runs"), "…": str(program)}
    words = shlex.split(re.sub("|".join(filled), lambda found: filled[found[0]], command))
    done = slotmark(*words[1:], "--rounds", "2")
    assert done.returncode == 0, done.stderr
    assert release(read_release(path)).comparisons[0].missing == []


def test_what_is_not_required_may_be_missing(made: Callable[..., Path], file: Callable[..., Path]) -> None:
    made("a")
    made("b")
    path = file(("reading", ["a"], ["b"], ""), ("writing", ["a"], ["c"], ""), head='required = ["reading"]')
    assert release(read_release(path)).line == (
        "SHIP release: the required comparison ships; writing without a verdict, not required"
    )


def test_nothing_ships_where_nothing_is_required(made: Callable[..., Path], file: Callable[..., Path]) -> None:
    """A file can't ask so little, but a caller in Python can."""
    made("a")
    made("b")
    asked = read_release(file(("reading", ["a"], ["b"], "")))
    nothing = [msgspec.structs.replace(one, required=False) for one in asked.comparisons]
    assert release(asked).answer == "ship"
    assert release(msgspec.structs.replace(asked, comparisons=nothing)).answer == "run again"


def test_a_required_run_that_is_missing_keeps_from_shipping_though_others_are_there(
    made: Callable[..., Path], file: Callable[..., Path]
) -> None:
    made("a")
    made("b")
    found = release(read_release(file(("reading", ["a"], ["b", "b2"], ""))))
    assert (found.answer, found.comparisons[0].why) == ("run again", "1 run of the file is missing")


def test_the_comparisons_share_the_error_rate(made: Callable[..., Path], file: Callable[..., Path]) -> None:
    runs = [made("a"), made("b", 0.999)]
    alone = compare([open_run(one) for one in runs], policy=Policy())
    path = file(("reading", ["a"], ["b"], ""), ("writing", ["x"], ["y"], ""), ("third", ["x"], ["y"], ""))
    shared = release(read_release(path)).comparisons[0].comparison
    assert shared is not None
    assert shared.comparisons == 3
    pairs = [
        (one.p_adjusted, other.p_adjusted)
        for before, after in zip(alone.rows, shared.rows, strict=True)
        for one, other in zip(before.differences, after.differences, strict=True)
        if one and other and one.p_adjusted is not None
    ]
    assert pairs
    assert all(after == pytest.approx(min(1.0, 3 * (before or 0))) for before, after in pairs)
    assert any((after or 0) < 1 for _, after in pairs)


def test_no_part_of_a_report_is_taken_for_that_of_another_comparison(
    made: Callable[..., Path], file: Callable[..., Path]
) -> None:
    made("a")
    made("b")
    made("c")
    made("d")
    found = release(read_release(file(("reading", ["a"], ["b"], ""), ("writing", ["c"], ["d"], ""))))
    document = release_document(found)
    titles = [section.title for section in document.sections]
    assert len(set(titles)) == len(titles)
    forests = [block for section in document.sections for block in section.blocks if isinstance(block, Forest)]
    assert len(forests) == 2
    links = [{mark.link for mark in forest.marks if mark.link} for forest in forests]
    assert links[0]
    assert not links[0] & links[1]
    there = {
        row[0].link
        for section in document.sections
        for block in section.blocks
        if isinstance(block, Table)
        for row in block.rows
        if row
    }
    assert links[0] | links[1] <= there, "each link leads somewhere"


def test_names_of_a_release_are_text_everywhere(made: Callable[..., Path], file: Callable[..., Path]) -> None:
    made("a")
    made("b")
    name = "<script>alert(1)</script>\nSHIP 9.9: all"
    path = file((name, ["a"], ["b"], 'make = "<img src=x>"'), ("x", ["a"], ["<b>"], 'make = "<img src=x> {run}"'))
    found = release(read_release(path))
    assert "\n" not in found.line
    page = html(release_document(found))
    assert "<script>alert(1)" not in page
    assert "<img src=x>" not in page


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "the release can't be read"),
        ("title = ", "no release ("),
        ('title = "x"', "no release ("),
        ("comparison = []", "no comparison"),
        ('[[comparison]]\nname = "x"\nbench = "chainsync"\nbaseline = ["a"]\ncandidate = ["b"]\ncolour = 1', "colour"),
        (
            '[[comparison]]\nname = "x"\nbench = "chainsink"\nbaseline = ["a"]\ncandidate = ["b"]',
            "Did you mean 'chainsync'?",
        ),
        (
            '[[comparison]]\nname = "x"\nbench = "chainsync"\nbaseline = []\ncandidate = ["b"]',
            "its baseline names no run",
        ),
        (
            '[[comparison]]\nname = "x"\nbench = "chainsync"\nbaseline = ["a"]\ncandidate = [""]',
            "its candidate names no run",
        ),
        (
            '[[comparison]]\nname = "x"\nbench = "chainsync"\nbaseline = ["a"]\ncandidate = ["./b/../a"]',
            "is on both sides",
        ),
        (
            'required = ["y"]\n[[comparison]]\nname = "x"\nbench = "chainsync"\nbaseline = ["a"]\ncandidate = ["b"]',
            "'y' is required",
        ),
        (
            'required = []\n[[comparison]]\nname = "x"\nbench = "chainsync"\nbaseline = ["a"]\ncandidate = ["b"]',
            "required = [] asks for no comparison",
        ),
        (
            '[[comparison]]\nname = " "\nbench = "chainsync"\nbaseline = ["a"]\ncandidate = ["b"]',
            "Give each a name of its own",
        ),
        (
            '[[comparison]]\nname = "x"\nbench = "chainsync"\nbaseline = ["a"]\ncandidate = ["b"]\npolicy = "none.toml"',
            "none.toml",
        ),
        (
            '[[comparison]]\nname = "x"\nbench = "chainsync"\nbaseline = ["a"]\ncandidate = ["b"]\nrun_to_run = "spread.toml"',
            "spread.toml",
        ),
        (
            '[[comparison]]\nname = "x"\nbench = "chainsync"\nbaseline = ["a\\u0000"]\ncandidate = ["b"]',
            "comparison 'x': 'a�' is no path of this machine",
        ),
        (
            '[[comparison]]\nname = "x"\nbench = "chainsync"\nbaseline = ["a"]\ncandidate = ["b"]\npolicy = "p\\u0000"',
            "is no path of this machine",
        ),
        (
            '[[comparison]]\nname = "x"\nbench = "chainsync"\nbaseline = ["a"]\ncandidate = ["s3://bucket/b"]',
            "'s3://bucket/b' is no path of this machine",
        ),
        (
            '[[comparison]]\nname = "x"\nbench = "chainsync"\nbaseline = ["a"]\ncandidate = ["b"]\nrun_to_run = "https://host/x?token=pass77"',
            "comparison 'x': https://host/x: a URL with '?' or '#'",
        ),
        (
            '[[comparison]]\nname = "x"\nbench = "chainsync"\nbaseline = ["s3://me:pass77@bucket/a"]\ncandidate = ["b"]',
            "comparison 'x': s3://…@bucket: a URL with a user or password",
        ),
        (
            '[[comparison]]\nname = "x"\nbench = "chainsync"\nbaseline = ["a"]\ncandidate = ["b"]\n[comparison.workload]\nblocks = "9"',
            "its blocks is '10,000'",
        ),
        (
            '[[comparison]]\nname = "x"\nbench = "chainsync"\nbaseline = ["a"]\ncandidate = ["b"]\n[comparison.workload]\nera = "9"',
            "its era is not recorded, but comparison 'x' asks for '9'",
        ),
        (
            '[[comparison]]\nname = "x"\nbench = "ledger"\nbaseline = ["a"]\ncandidate = ["b"]',
            "a run of bench 'chainsync'",
        ),
        (
            '[[comparison]]\nname = "x"\nbench = "chainsync"\nbaseline = ["a"]\ncandidate = ["b"]\n'
            '[[comparison]]\nname = "y"\nbench = "chainsync"\nbaseline = ["b"]\ncandidate = ["c"]\n'
            '[[comparison]]\nname = "z"\nbench = "chainsync"\nbaseline = ["c"]\ncandidate = ["a"]',
            "also a candidate against itself",
        ),
    ],
)
def test_a_release_that_makes_no_sense_is_refused_in_one_line(
    text: str | None, said: str, made: Callable[..., Path], tmp_path: Path
) -> None:
    made("a")
    made("b")
    path = tmp_path / "release.toml"
    if text is not None:
        path.write_text(text)
    ended = slotmark("release", str(path), "-o", str(tmp_path / "out"))
    assert ended.returncode == 2, ended.stdout
    assert said in ended.stderr
    assert "pass77" not in ended.stderr
    assert len(ended.stderr.splitlines()) == 1, ended.stderr
    assert not (tmp_path / "out").exists()


def test_a_folder_that_links_to_itself_is_refused(file: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(ComparisonError, match="can't be"):
        release(read_release(file(("x", ["a"], ["c"], ""))))


def test_the_command_ends_with_the_line_and_by_the_answer(
    made: Callable[..., Path], file: Callable[..., Path], tmp_path: Path
) -> None:
    made("a")
    made("b")
    made("slow", 0.9)
    for candidate, code, answer in (("b", 0, "SHIP"), ("slow", 1, "HOLD"), ("none", 3, "RUN AGAIN")):
        ended = slotmark("release", str(file(("reading", ["a"], [candidate], ""))), "-o", str(tmp_path / "out"))
        assert ended.returncode == code, ended.stderr
        assert ended.stdout.splitlines()[-1].startswith(f"{answer} 2.0: ")
    assert sorted(one.name for one in (tmp_path / "out").iterdir()) == [
        "report-short.md",
        "report-sources.csv",
        "report.html",
        "report.json",
        "report.md",
        "report.pdf",
    ]
    decided = json.loads(slotmark("release", "decide", str(file(("reading", ["a"], ["slow"], ""))), "--json").stdout)
    assert (decided["answer"], decided["comparisons"][0]["comparison"]["comparisons"]) == ("hold", 1)


def test_a_plan_counts_what_is_there(made: Callable[..., Path], file: Callable[..., Path]) -> None:
    made("a")
    made("b")
    path = file(("reading", ["a"], ["b", "c"], ""), ("writing", ["x"], ["y"], ""))
    costs = plan_release(read_release(path)).costs
    assert [(one.there, len(one.missing), one.run_s, one.left_s) for one in costs] == [
        ({"baseline": 1, "candidate": 1}, 1, 300.0, 300.0),
        ({"baseline": 0, "candidate": 0}, 2, None, None),
    ]
    ended = slotmark("release", "plan", str(path))
    assert ended.returncode == 0, ended.stderr
    assert "Still to run, one after the other: 5 min." in ended.stdout


def test_a_plan_says_why_the_time_of_a_run_is_not_known(made: Callable[..., Path], file: Callable[..., Path]) -> None:
    for name in ("a", "b"):
        run_json = made(name) / "run.json"
        manifest = json.loads(run_json.read_text(encoding="utf-8"))
        run_json.write_text(json.dumps({**manifest, "origin": "simulated"}), encoding="utf-8")
    planned = plan_release(read_release(file(("reading", ["a"], ["b"], ""), ("writing", ["x"], ["y"], ""))))
    assert [one.run_s for one in planned.costs] == [None, None]
    text = markdown(release_plan_document(planned))
    assert "How long a run of reading takes is not known: its runs don't record it, as simulated ones." in text
    assert "How long a run of writing takes is not known: there is no such run yet." in text


def test_a_folder_of_runs_is_one_entry_and_leaves_nothing_to_run(
    made: Callable[..., Path], file: Callable[..., Path]
) -> None:
    for name in ("many/a", "many/b", "many/c", "d"):
        made(name)
    (cost,) = plan_release(read_release(file(("reading", ["many"], ["d"], "")))).costs
    assert (cost.there, cost.left_s) == ({"baseline": 3, "candidate": 1}, 0.0)
