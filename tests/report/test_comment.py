"""`slotmark comment`: the decision first, changes both ways, neutral on unlike machines, and nobody's names as markup."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest
from markdown_it import MarkdownIt

from slotmark.compare import compare
from slotmark.report import comment_document
from slotmark.report.renderers.markdown import short_markdown
from slotmark.run import open_run
from tests.conftest import slotmark
from tests.made_up_runs import MACHINE, write_run

SETTINGS = ("decode, sequential", "decode, 100 in flight")
RATES = [1000.0, 1010.0, 990.0, 1005.0, 995.0, 1002.0, 998.0, 1004.0, 996.0, 1001.0]
POLICY = "[metrics]\n"
NASTY = "<script>alert(1)</script> @everyone #12 `x` | [a](http://evil.example) ![b](//e.x/p.png) !7 ~bug &1 $3 %4 GH-5 /close https://evil.example www.evil.example"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a base; of heads that are slower and smaller, the same, and of another machine; and of a policy."""
    folder = tmp_path_factory.mktemp("comment")
    for name, factor, memory in (("base", 1.0, 24.0), ("slow", 2 / 3, 20.0), ("same", 1.0, 24.0)):
        own = [rate * factor * (1 + 0.001 * ((7 * place + len(name)) % 5 - 2)) for place, rate in enumerate(RATES)]
        write_run(folder / name, "client", dict.fromkeys(SETTINGS, own), peak_memory_mb=memory)
    other = msgspec.structs.replace(MACHINE, cpu="Another CPU", hostname_hash="ffff")
    write_run(folder / "other", "client", dict.fromkeys(SETTINGS, RATES), session="s2", machine=other)
    slower = [rate * 2 / 3 for rate in RATES]
    write_run(folder / "slow-other", "client", dict.fromkeys(SETTINGS, slower), session="s2", machine=other)
    (folder / "ci.toml").write_text(POLICY)
    return folder


def comment(folder: Path, head: str, *options: str) -> subprocess.CompletedProcess[str]:
    return slotmark("comment", "base", head, "--policy", "ci.toml", *options, cwd=folder)


def test_it_begins_with_the_decision_and_has_changes_both_ways(runs: Path) -> None:
    done = comment(runs, "slow", "--base-note", "newest run of main on this kind of machine", "--name", "clients")
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "<!-- slotmark comment: clients -->"
    assert lines[2].startswith("# HOLD slow: worse in Blocks per second")
    shown = done.stdout
    assert "- ▼ 2 worse: blocks per second, decode, 100 in flight (-33.3 %), blocks" in shown
    assert "- ▲ 2 better: peak memory, decode, 100 in flight (-16.7 %), peak" in shown
    assert "- ? 0 undecided: none" in shown
    # Base, commit, day, runs, machine, how the base was chosen, and its age.
    assert "- base: client, version 1.0.0, commit 0123456789ab, 2026-11-21, 1 run; Test CPU" in shown
    assert "2 cores, 8 GiB, Linux 6\n" in shown
    assert "- baseline base: newest run of main on this kind of machine; measured in one session with slow" in shown
    decisive = next(line for line in lines if line.startswith("| **Blocks per second, decode, sequential** |"))
    cells = [cell.strip() for cell in decisive.strip("|").split("|")]
    assert cells[1:] == ["1,002 → 667.7 blocks/s", "-33.3 %", cells[3], "± 2 %", "≥ 981.9 blocks/s", "▼ worse"]
    assert shown.index("**Blocks per second") < shown.index("<details><summary>Other metrics</summary>")
    assert shown.count("<details>") == shown.count("</details>") >= 2


def test_nothing_is_printed_where_there_is_nothing_to_say(runs: Path) -> None:
    assert comment(runs, "same", "--quiet-unless", "hold").stdout == ""
    assert comment(runs, "same", "--quiet-unless", "change").stdout == ""
    assert "HOLD" in comment(runs, "slow", "--quiet-unless", "hold").stdout
    done = comment(runs, "same")
    assert (done.returncode, done.stdout.splitlines()[2][:6]) == (0, "# SHIP")
    # What became better is a change, and ships.
    better = slotmark("comment", "slow", "same", "--policy", "ci.toml", "--quiet-unless", "change", cwd=runs)
    assert (better.returncode, better.stdout.splitlines()[2][:6]) == (0, "# SHIP")


def test_unlike_machines_are_neutral_and_said_in_words(runs: Path) -> None:
    done = comment(runs, "other", "--quiet-unless", "change")
    assert done.returncode == 3
    head = done.stdout[: done.stdout.index("<details>")]
    assert "# NEUTRAL other: not measured on the machine of base" in head
    assert "The machines differ in processor (Test CPU \\@ 3.00GHz, Another CPU)." in head
    assert "Measure the base again on a machine of the candidate's kind" in head
    assert "SHIP" not in done.stdout
    assert "**Blocks per second" not in head
    assert comment(runs, "other", "--quiet-unless", "hold").stdout == ""
    # That it is slower there is no HOLD either; without a policy nothing was asked.
    slower = comment(runs, "slow-other")
    assert (slower.returncode, "# NEUTRAL slow-other: " in slower.stdout) == (3, True)
    assert comment(runs, "slow-other", "--quiet-unless", "hold").stdout == ""
    assert slotmark("comment", "base", "slow-other", cwd=runs).returncode == 0
    # A machine of the same kind is no other machine.
    twin = msgspec.structs.replace(MACHINE, hostname_hash="ffff", load=1.0, kernel="Linux 6.12.3")
    assert twin.kind == MACHINE.kind


def test_plain_text_has_no_markup(runs: Path) -> None:
    done = comment(runs, "slow", "--format", "plain")
    assert done.returncode == 1
    assert done.stdout.startswith("HOLD slow: worse in")
    assert "▲ 2 better: peak memory" in done.stdout
    assert not re.search(r"<|\x1b|\*\*|\|\s*---", done.stdout)


def test_what_is_wrong_ends_in_one_line(runs: Path) -> None:
    for arguments in (("base",), ("base", "same", "slow"), ("base", "missing"), ("base", "same", "--name", "--> @all")):
        done = slotmark("comment", *arguments, cwd=runs)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr


def texts(tokens: Any) -> list[str]:
    """The texts that a reader's page has, each by itself as GitHub looks at them for mentions, links and references."""
    return [one.content for token in tokens for one in token.children or [] if one.type == "text"]


def test_no_name_of_a_run_is_markup_a_mention_or_a_reference(tmp_path: Path) -> None:
    machine = msgspec.structs.replace(MACHINE, cpu=NASTY)
    runs = []
    for name, factor in (("base", 1.0), ("head", 0.8)):
        rates = {f"decode, {NASTY}": [rate * factor for rate in RATES]}
        runs.append(write_run(tmp_path / name, NASTY, rates, version=NASTY, machine=machine, session="s" + name))
    written = short_markdown(comment_document(compare(runs), NASTY), mark="<!-- slotmark comment: x -->")
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(written)
    inline = [one for token in tokens for one in token.children or []]
    assert not [one for one in inline if one.type in ("link_open", "image", "code_inline", "s_open")]
    markup = [one.content for one in (*tokens, *inline) if one.type in ("html_block", "html_inline")]
    ours = r"(?:<!-- slotmark comment: x -->|<!-- -->|<details><summary>.*|</details>)\s*"
    assert not [one for one in markup if not re.fullmatch(ours, one)]
    shown = texts(tokens)
    assert any("script" in one for one in shown)
    linked = re.compile(r"@\w|#\d|GH-\d|://\w|www\.\w", re.IGNORECASE)
    assert not [one for one in shown if linked.search(one)]
    # GitLab looks at the text before it is parsed: a backslash keeps each of its references text, and no line is a command.
    unescaped = re.sub(r"\\.", "", re.sub(r"<!--.*?-->", "", written))
    assert not re.search(r"[@#!~$]\w|&\d|%\w", re.sub(r"&(?:lt|gt|amp);", "", unescaped))
    assert not re.search(r"(?m)^\s*/", written)
    assert texts(MarkdownIt("commonmark").parse("@all"))  # what is looked for is found where it is
    assert linked.search("@all")


def test_a_damaged_run_is_refused(runs: Path, tmp_path: Path) -> None:
    head = shutil.copytree(runs / "same", tmp_path / "head")
    (head / "run.json").write_text("{")
    done = slotmark("comment", runs / "base", head)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert open_run(runs / "same")
