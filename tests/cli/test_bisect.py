"""`slotmark store bisect` as a user calls it: a real Git repository, a program that builds and measures."""

import json
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from slotmark.errors import ArgumentError
from slotmark.measure.commits import commits_of_file, commits_of_git
from slotmark.measure.session import FILE
from slotmark.run import open_run
from tests.conftest import REPO, slotmark

COMMITS = 10
CHANGED, BROKEN = 6, 4
"""The places of the commit that makes it slower, and of one that doesn't build."""

MEASURE = f"""
import subprocess, sys, time
from pathlib import Path

sys.path.insert(0, {str(REPO)!r})
repo, commit, out, number = sys.argv[1:]
file = subprocess.run(
    ["git", "-C", repo, "show", f"{{commit}}:level"], capture_output=True, text=True, check=True
).stdout.split()
if file[1] == "broken":
    sys.exit("it doesn't build")
held = Path(repo, "held")
if held.exists() and number == held.read_text():
    Path(repo, "hangs").touch()
    time.sleep(300)
from tests.history.made import made

made(Path(out).parent, int(number), float(file[0]), name=Path(out).name)
"""


def git(repo: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", repo, "-c", "user.name=a", "-c", "user.email=a@b", *words],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history in which commit 6 makes blocks 8 % slower, where runs vary by 0.4 %, and commit 4 doesn't build."""
    folder = tmp_path_factory.mktemp("repo")
    git(folder, "init", "-q", "-b", "main")
    for place in range(COMMITS):
        level = 1000 if place < CHANGED else 920
        (folder / "level").write_text(f"{level} {'broken' if place == BROKEN else 'builds'} {place}")
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", f"commit {place}")
    git(folder, "tag", "good", f"HEAD~{COMMITS - 1}")
    (folder / "measure.py").write_text(MEASURE, encoding="utf-8")
    return folder


def words(repo: Path, out: Path, *more: str) -> list[str]:
    run = f"{sys.executable} {repo}/measure.py {repo} {{commit}} {{out}} {{round}}"
    options = ["--good", "good", "--bad", "main", "--repo", str(repo), "--run", run, "--budget", "1h", "-o", str(out)]
    return ["store", "bisect", "blocks_per_s", *options, *more]


def test_the_commit_that_made_it_slower_is_found(repo: Path, tmp_path: Path) -> None:
    out = tmp_path / "runs"
    done = slotmark(*words(repo, out), timeout=300)
    assert done.returncode == 0, done.stderr
    hashes = git(repo, "rev-list", "--reverse", "main").split()
    last = done.stdout.splitlines()[-1]
    assert last.startswith(f"FOUND: {hashes[CHANGED][:12]} changed blocks_per_s, with a probability of ")
    assert "-8." in done.stdout or "-7.9" in done.stdout
    assert not (out / FILE).exists()
    made = len(list(out.iterdir()))
    assert 8 <= made <= 25
    assert {open_run(place).manifest.bench for place in out.iterdir()} == {"chainsync"}
    assert "slotmark: 9 commits after " in done.stderr


@pytest.mark.parametrize("place", [BROKEN])
def test_a_commit_that_does_not_build_is_left_out_and_named(repo: Path, tmp_path: Path, place: int) -> None:
    hashes = git(repo, "rev-list", "--reverse", "main").split()
    # The change now lies between the broken commit and the one after it: good is the one before.
    file = tmp_path / "commits.txt"
    file.write_text("\n".join([hashes[3], hashes[place], hashes[CHANGED], hashes[CHANGED + 1]]), encoding="utf-8")
    asked = words(repo, tmp_path / "runs", "--commits", str(file), "--json")
    asked[asked.index("--good") + 1], asked[asked.index("--bad") + 1] = hashes[3], hashes[CHANGED + 1]
    done = slotmark(*asked, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout[done.stdout.index("{") : done.stdout.rindex("}") + 1])
    assert found["state"] == "found"
    assert found["answer"] == [hashes[place], hashes[CHANGED]]
    assert found["probability"] > 0.95
    assert "it doesn't build" in found["commits"][1]["failed"]
    assert [one["commit"] for one in found["commits"]] == [
        hashes[3],
        hashes[place],
        hashes[CHANGED],
        hashes[CHANGED + 1],
    ]


def test_ctrl_c_keeps_finished_runs_and_resume_goes_on(repo: Path, tmp_path: Path) -> None:
    out = tmp_path / "runs"
    (repo / "held").write_text("4")
    process = subprocess.Popen(
        [sys.executable, "-m", "slotmark", *words(repo, out)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    until = time.monotonic() + 120
    while not (repo / "hangs").exists():
        assert time.monotonic() < until and process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    (repo / "held").unlink()
    (repo / "hangs").unlink()
    assert process.returncode == 130, said
    assert "3 rounds finished and kept: the same command with --resume continues" in said
    assert sorted(one.name for one in out.iterdir() if one.name != FILE) == ["run-1", "run-2", "run-3"]
    again = slotmark(*words(repo, out))
    assert again.returncode == 2
    assert "Go on with --resume" in again.stderr
    other = slotmark(*words(repo, out, "--resume", "--part", "decode, sequential"))
    assert other.returncode == 2
    assert "not the session that was cut: the metric was blocks_per_s" in other.stderr
    done = slotmark(*words(repo, out, "--resume"), timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("FOUND: ")
    assert not (out / FILE).exists()


def test_a_budget_that_ends_before_the_answer_is_told(repo: Path, tmp_path: Path) -> None:
    out = tmp_path / "runs"
    (repo / "held").write_text("1")
    asked = words(repo, out)
    asked[asked.index("--budget") + 1] = "2s"
    done = slotmark(*asked)
    (repo / "held").unlink()
    (repo / "hangs").unlink(missing_ok=True)
    assert done.returncode == 3, done.stderr
    assert done.stdout.splitlines()[-1].startswith("NOT KNOWN: ")
    assert "The same command with --resume and a larger --budget goes on." in " ".join(done.stdout.split())
    assert not list(out.glob("run-*"))


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"blocks_per_s": "blocks_per_sec"}, "no bench has such a metric. Did you mean 'blocks_per_s'?"),
        ({"--run": "true {out}"}, "{commit} isn't in it"),
        ({"--run": "true {commit}"}, "{out} isn't in it"),
        ({"--good": "main"}, "are one commit"),
        ({"--good": "main", "--bad": "good"}, "isn't before --bad"),
        ({"--good": "--output=x"}, "--good --output=x: no commit of the Git repository"),
        ({"--good": "no\nsuch"}, "no commit of the Git repository"),
        ({"--repo": "/"}, "no commit of the Git repository"),
        ({"--budget": "soon"}, "--budget"),
        ({"--budget": "0s"}, "--budget"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_line(
    repo: Path, tmp_path: Path, changed: dict[str, str], why: str
) -> None:
    asked = words(repo, tmp_path / "runs")
    for option, value in changed.items():
        asked[asked.index(option) + (1 if option.startswith("--") else 0)] = value
    asked = [
        f"{one}={asked[place + 1]}" if one == "--good" else one
        for place, one in enumerate(asked)
        if place == 0 or asked[place - 1] != "--good"
    ]
    done = slotmark(*asked)
    assert done.returncode == 2, done.stdout
    (line,) = [one for one in done.stderr.splitlines() if one.startswith("slotmark: ")]
    assert why in line
    assert not (tmp_path / "runs").exists()


def test_a_good_commit_of_another_history_and_a_shallow_clone_are_refused_in_a_line(repo: Path, tmp_path: Path) -> None:
    cloned, shallow = tmp_path / "cloned", tmp_path / "shallow"
    subprocess.run(["git", "clone", "-q", repo, cloned], check=True)
    git(cloned, "checkout", "-q", "--orphan", "other")
    git(cloned, "commit", "-q", "-m", "a beginning of its own")
    subprocess.run(["git", "clone", "-q", "--depth", "2", "--branch", "main", cloned.as_uri(), shallow], check=True)
    with pytest.raises(ArgumentError, match=r"no commit of .* `git fetch --unshallow`"):
        commits_of_git(shallow, "good", "main")
    git(shallow, "fetch", "-q", "--depth", "1", "origin", "tag", "good")
    with pytest.raises(ArgumentError, match=r"isn't before --bad"):
        commits_of_git(cloned, "other", "main")
    with pytest.raises(ArgumentError, match=r"git fetch --unshallow"):
        commits_of_git(shallow, "good", "main")
    assert len(commits_of_git(cloned, "good", "main")) == COMMITS


def test_a_long_file_of_commits_is_refused_at_once(tmp_path: Path) -> None:
    file = tmp_path / "commits.txt"
    file.write_text("\n".join(f"{number:x}" for number in range(150_000)))
    with pytest.raises(ArgumentError, match=r"100,000 commits lie between"):
        commits_of_file(file, "0", f"{99_999:x}")
    assert len(commits_of_file(file, "0", "ff")) == 256


def test_a_file_whose_commits_are_in_another_order_is_not_resumed(repo: Path, tmp_path: Path) -> None:
    """Runs are kept by the place of their commit: of another order they would be those of other commits."""
    hashes = git(repo, "rev-list", "--reverse", "main").split()
    file = tmp_path / "commits.txt"
    file.write_text("\n".join(hashes), encoding="utf-8")
    asked = words(repo, tmp_path / "runs", "--commits", str(file))
    asked[asked.index("--good") + 1], asked[asked.index("--bad") + 1] = hashes[0], hashes[BROKEN]
    cut = slotmark(*asked)
    assert cut.returncode == 2
    assert "1 round finished and kept" in cut.stderr  # the bad commit failed
    hashes[1], hashes[2] = hashes[2], hashes[1]
    file.write_text("\n".join(hashes), encoding="utf-8")
    other = slotmark(*asked, "--resume")
    assert other.returncode == 2
    assert "--resume: not the session that was cut: commits was " in other.stderr


def test_another_script_under_the_same_name_is_not_resumed(repo: Path, tmp_path: Path) -> None:
    """Runs that were measured in two ways differ by that, and a commit would be named for it."""
    asked, script = words(repo, tmp_path / "runs"), tmp_path / "measure.py"
    run = asked.index("--run") + 1
    script.write_text(
        f"import subprocess, sys\nsys.exit(subprocess.call({shlex.split(asked[run])[:-3]} + sys.argv[1:]))"
    )
    asked[run] = shlex.join([sys.executable, str(script), *shlex.split(asked[run])[-3:]])
    asked[asked.index("--bad") + 1] = git(repo, "rev-list", "--reverse", "main").split()[BROKEN]
    cut = slotmark(*asked)
    assert "1 round finished and kept" in cut.stderr  # the bad commit failed
    script.write_text(f"{script.read_text()}  # changed")
    other = slotmark(*asked, "--resume")
    assert other.returncode == 2
    assert "--resume: not the session that was cut: --run was " in other.stderr


@pytest.mark.parametrize("name", ["run-1.py", "run-2"])
def test_files_that_were_there_before_are_neither_removed_nor_taken_for_runs(
    repo: Path, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_text("mine")
    done = slotmark(*words(repo, tmp_path))
    assert done.returncode == 2, done.stderr
    assert f"{name}: already there, and a run is never overwritten." in done.stderr
    assert [one.name for one in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("a\nb\na", "a is there twice"),
        ("b\na", "doesn't come before"),
        ("a", "not in"),
        ("a\n--x\nb", "is no name of a commit"),
    ],
)
def test_a_file_of_commits_that_is_wrong_is_refused(repo: Path, tmp_path: Path, lines: str, why: str) -> None:
    file = tmp_path / "commits.txt"
    file.write_text(lines)
    asked = words(repo, tmp_path / "runs", "--commits", str(file))
    asked[asked.index("--good") + 1], asked[asked.index("--bad") + 1] = "a", "b"
    done = slotmark(*asked)
    assert done.returncode == 2
    assert why in done.stderr


def test_names_of_commits_are_data(repo: Path, tmp_path: Path) -> None:
    """They are one argument of the command each, whatever is in them."""
    names = ["good one", "$(touch x); `touch y`", "../../{out}", "<b>bold[/b]"]
    file = tmp_path / "commits.txt"
    file.write_text("\n".join(names), encoding="utf-8")
    script = tmp_path / "measure.py"
    script.write_text(
        "import sys\nfrom pathlib import Path\n"
        f"sys.path.insert(0, {str(REPO)!r})\n"
        "from tests.history.made import made\n"
        f"names = {names!r}\n"
        "commit, out, number = sys.argv[1:]\n"
        "made(Path(out).parent, int(number), 1000 if names.index(commit) < 2 else 900, name=Path(out).name)\n",
        encoding="utf-8",
    )
    asked = words(repo, tmp_path / "runs", "--commits", str(file))
    asked[asked.index("--good") + 1], asked[asked.index("--bad") + 1] = names[0], names[-1]
    asked[asked.index("--run") + 1] = f"{sys.executable} {script} {{commit}} {{out}} {{round}}"
    done = slotmark(*asked, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("FOUND: ../../{out} changed blocks_per_s")
    assert "<b>bold[/b]" in done.stdout
    assert not [*tmp_path.rglob("x"), *tmp_path.rglob("y")]


def test_a_good_commit_that_fails_ends_the_search(repo: Path, tmp_path: Path) -> None:
    hashes = git(repo, "rev-list", "--reverse", "main").split()
    asked = words(repo, tmp_path / "runs")
    asked[asked.index("--good") + 1] = hashes[BROKEN]
    done = slotmark(*asked)
    assert done.returncode == 2
    assert f"--good {hashes[BROKEN]}: " in done.stderr and "it doesn't build" in done.stderr
    assert not (tmp_path / "runs").exists()


SPOILT = """
import json, subprocess, sys
from pathlib import Path

commit, out, number = sys.argv[1:]
slower = [] if commit == "c0" else ["--set", "ledger_tick.mean=120ms"]
small = ["--slots", "700", "--set", "epoch_slots=100", "--set", "network.hosts=5", "--set", "network.pools=5"]
asked = ["value-only-10.5", *small, *slower, "--seed", number, "--direct", "-o", out]
subprocess.run([sys.executable, "-m", "slotmark", "simulate", *asked], check=True)
if commit == "c1":
    file = Path(out, "run.json")
    manifest = json.loads(file.read_text())
    died = {"kind": "node_died", "subject": "host-1", "text": "The node ended by itself.", "remedy": ""}
    file.write_text(json.dumps({**manifest, "warnings": [*manifest["warnings"], died]}))
"""


def test_runs_in_which_a_node_died_say_nothing_about_their_commit(tmp_path: Path) -> None:
    (tmp_path / "commits.txt").write_text("c0\nc1\nc2")
    (tmp_path / "measure.py").write_text(SPOILT)
    run = f"{sys.executable} {tmp_path}/measure.py {{commit}} {{out}} {{round}}"
    asked = ["--good", "c0", "--bad", "c2", "--commits", tmp_path / "commits.txt", "--run", run, "--budget", "1h"]
    done = slotmark("store", "bisect", "slot_to_announced", *asked, "-o", tmp_path / "runs", "--json", timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout[done.stdout.index("{") : done.stdout.rindex("}") + 1])
    assert found["answer"] == ["c1", "c2"]
    assert [len(one["levels"]) for one in found["commits"]][1] == 0
    assert "The node ended by itself" in found["commits"][1]["failed"]
