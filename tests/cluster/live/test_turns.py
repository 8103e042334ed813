"""`slotmark cluster run --rounds` over real processes: nodes take turns, a node that dies costs its round, and a session that was cut goes on."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from slotmark.benches.cluster.live.request import Named, Request, Session
from slotmark.benches.cluster.live.turns import _asked, runs_of
from slotmark.compare import compare
from slotmark.measure.session import FILE
from slotmark.run import Run, open_run
from tests.cluster.live.machine import PATIENCE_S, of_conductor, stand_in_recipe, until
from tests.conftest import slotmark
from tests.made_up_runs import MACHINE

HOSTS = 2
OPTIONS = ("--for", "5s", "--network", "loopback", "--no-workload", "--start-in", "2s", "--ready-within", "2min")


def command(bed: Path, out: Path, node: str, *more: str) -> list[str]:
    nodes = ["--node", f"old={node}", "--node", f"new={node}"]
    return ["cluster", "run", str(bed), *nodes, "-o", str(out), *OPTIONS, *more]


def started(bed: Path, out: Path, node: str, *more: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "slotmark", *command(bed, out, node, *more)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_rounds_and_time_are_usual_where_none_are_asked_for(tmp_path: Path) -> None:
    each = Request(bed=tmp_path, out=tmp_path, ready_within_s=1, grace_s=1)
    assert each.seconds == 600
    both = {"a": Named("x"), "b": Named("y")}
    for nodes, mixed, rounds, expected in [
        ({}, False, 0, 0),
        ({"a": Named("x"), "b": Named("y", "relay")}, False, 0, 0),
        (both, False, 0, 4),
        (both, True, 0, 4),
        (both, False, 7, 7),
    ]:
        assert Session(nodes=nodes, mixed=mixed, rounds=rounds, each=each).asked_rounds == expected


def test_the_order_turns_round_from_one_round_to_the_next_and_is_drawn_by_the_seed(tmp_path: Path) -> None:
    def order(seed: int) -> list[str]:
        each = Request(bed=tmp_path, seconds=1, out=tmp_path, ready_within_s=1, grace_s=1, seed=seed)
        session = Session(nodes={"a": Named("x"), "b": Named("y")}, rounds=4, each=each)
        return [run.out.name for number in range(1, 5) for run in runs_of(session, number)]

    orders = {"".join(name[0] for name in order(seed)) for seed in range(1, 20)}
    assert orders == {"abbaabba", "baabbaab"}
    assert order(1) == order(1)
    assert sorted(order(3)) == sorted(f"{name}-{number}" for name in "ab" for number in range(1, 5))


def test_a_session_survives_a_node_that_dies_and_a_signal(bed: Path, tmp_path: Path) -> None:
    node, out = str(stand_in_recipe(tmp_path, HOSTS)), tmp_path / "runs"
    with started(bed, out, node, "--rounds", "4") as conductor:
        try:
            place = out / "new-2.logs" / "node-1"
            until("round 2 runs", (place / "stdout").exists)
            log = out / "new-2.logs" / "node-0" / "stdout"
            until("it has blocks", lambda: log.read_text().count("AddedToCurrentChain") >= 2)
            (place / "die").touch()
            third = [out / f"{name}-3.logs" / "node-0" / "stdout" for name in ("old", "new")]
            until("round 3 runs", lambda: all(log.exists() for log in third))
        finally:
            conductor.send_signal(signal.SIGINT)
            _, said = conductor.communicate(timeout=PATIENCE_S)
    assert conductor.returncode == 130, said
    assert "Traceback" not in said
    assert "round 2: new failed, so its pair is not compared" in said
    assert "node-1 ended by itself" in said
    assert "2 of 4 rounds are finished and kept: the same command with --resume continues" in said
    assert not of_conductor(conductor.pid)
    assert (out / FILE).is_file()
    # Not the same session, and one that isn't to be resumed.
    other = slotmark(*command(bed, out, node, "--rounds", "5", "--resume"))
    assert other.returncode == 2
    assert "not the session that was cut: --rounds was 4, is 5" in other.stderr
    longer = slotmark(*command(bed, out, node, "--rounds", "4", "--for", "6s", "--resume"))
    assert longer.returncode == 2
    assert "--for was 5.0, is 6.0" in longer.stderr
    turned = command(bed, out, node, "--rounds", "4", "--resume")
    turned[4], turned[6] = turned[6], turned[4]
    swapped = slotmark(*turned)
    assert swapped.returncode == 2
    assert "the list of --node was old, new, is new, old" in swapped.stderr
    anew = slotmark(*command(bed, out, node, "--rounds", "4"))
    assert anew.returncode == 2
    assert "already there" in anew.stderr or "exists already" in anew.stderr
    resumed = slotmark(*command(bed, out, node, "--rounds", "4", "--resume"), timeout=600)
    assert resumed.returncode == 0, resumed.stderr
    assert "resumed after round 2 of 4" in resumed.stderr
    assert "of a round that is not whole; removed" in resumed.stderr
    assert "slotmark compare" in resumed.stderr.splitlines()[-1]
    assert not (out / FILE).exists()
    runs = {path: open_run(path) for path in resumed.stdout.splitlines()}
    sides = {name: of_side(list(runs.values()), name) for name in ("old", "new")}
    assert [run.manifest.round for run in sides["old"]] in (
        [1, 2, 3, 4],
        [1, 3, 4],
    )  # of a round that has failed, no more is made
    assert len({run.manifest.session for run in runs.values()}) == 1
    assert len({run.manifest.id for run in runs.values()}) == len(runs)
    comparison = compare([sides["old"], sides["new"]])
    (doubt,) = (one for one in comparison.warnings if one.kind == "round_left_out")
    assert "Round 2 is not compared" in doubt.text
    assert [side.name for side in comparison.sides] == ["old (3 runs)", "new (3 runs)"]
    over = {one.basis.over for row in comparison.rows for one in row.differences if one and one.basis}
    assert over == {"paired rounds"}


@pytest.mark.parametrize("here", [True, False])
def test_a_session_goes_on_only_with_the_limits_and_the_programs_that_it_was_cut_with(
    here: bool, tmp_path: Path
) -> None:
    """Without a session: not every machine can limit memory."""
    (tmp_path / "bed.json").touch()
    program = tmp_path / "node"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)

    def asked(**limits: Any) -> dict[str, str]:
        each = Request(bed=tmp_path, out=tmp_path, ready_within_s=1, grace_s=1, **limits)
        session = Session(nodes={"a": Named(f"{program} --fast"), "b": Named("cat", "relay")}, each=each)
        return dict(_asked(session, "loopback", {"node-0": MACHINE}, here=here))

    without = asked()
    assert f"{program} --fast" in without["node a"]
    assert without["node b"].endswith(" as relay")

    def differing(**limits: Any) -> dict[str, tuple[str, str]]:
        return {name: (without[name], now) for name, now in asked(**limits).items() if now != without[name]}

    assert differing() == {}
    assert differing(memory="300MiB") == {"--memory": ("the default", "300MiB")}
    assert differing(cpus=0.5) == {"--cpus": ("the default", "0.5")}
    program.write_text("#!/bin/sh\n# built anew\n")
    assert list(differing()) == (["node a"] if here else [])  # elsewhere its file is another machine's


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ('environment = { OPTIONS = "-N2" }', 'environment = { OPTIONS = "-N4" }'),
        ('producer = ["--forge"]', 'producer = ["--forge", "--fast"]'),
        ('prepare = ["./prepare"]', ""),
    ],
)
def test_a_session_goes_on_only_with_the_recipe_that_it_was_cut_with(line: str, changed: str, tmp_path: Path) -> None:
    """Variables, words of hosts with a pool and preparation are parts of what is measured, as the command is."""
    (tmp_path / "bed.json").touch()
    for name in ("node", "prepare"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o700)
    recipe = tmp_path / "node.toml"

    def asked(line: str) -> dict[str, str]:
        recipe.write_text(f'command = ["./node"]\ntip = "(?P<hash>x)(?P<slot>y)"\nready = "socket"\n{line}\n')
        each = Request(bed=tmp_path, out=tmp_path, ready_within_s=1, grace_s=1)
        session = Session(nodes={"a": Named(str(tmp_path)), "b": Named("cat")}, each=each)
        return dict(_asked(session, "loopback", {"node-0": MACHINE}, here=True))

    before = asked(line)
    assert asked(line) == before
    assert [name for name, now in asked(changed).items() if now != before[name]] == ["node a"]
    (tmp_path / "prepare").write_text("#!/bin/sh\n# built anew\n")
    assert (asked(line) != before) == ("prepare" in line)


def of_side(runs: list[Run], name: str) -> list[Run]:
    return [run for run in runs if run.manifest.target.name == name]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--node", "old=slotmark"), "'old' is there twice"),
        (("--node", ".x=slotmark"), "with a name that can be a folder's"),
        (("--node", f"{'x' * 250}=slotmark"), "with a name that can be a folder's"),
        (("--resume",), "--resume goes with --rounds"),
    ],
)
def test_a_session_that_makes_no_sense_is_refused_in_a_line(
    bed: Path, tmp_path: Path, more: tuple[str, ...], said: str
) -> None:
    node = str(stand_in_recipe(tmp_path, HOSTS))
    done = slotmark(*command(bed, tmp_path / "runs", node, *more))
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "runs").exists()


def test_a_first_run_that_fails_ends_the_session(bed: Path, tmp_path: Path) -> None:
    node = str(stand_in_recipe(tmp_path, HOSTS, "--mute"))
    done = slotmark(*command(bed, tmp_path / "runs", node, "--rounds", "2", "--ready-within", "1s"))
    assert done.returncode == 2
    assert "2 nodes don't answer" in done.stderr.splitlines()[-1]
    assert not list((tmp_path / "runs").glob("*/run.json"))
