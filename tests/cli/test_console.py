"""Output beside results: a name from a stranger is text, whatever is in it."""

import io
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from slotmark.cli.console import LINE_EVERY_S, ProgressLines, talk
from slotmark.metrics import catalogue
from slotmark.numbers import duration


def said(talking: Callable[[], None]) -> str:
    """The remarks that were printed."""
    talk.console.file, file = io.StringIO(), talk.console.file
    try:
        talking()
        return talk.console.file.getvalue()
    finally:
        talk.console.file = file


def test_names_are_never_markup_and_never_steer_the_terminal() -> None:
    text = "no log of [/x], node-[red]b and \x1b[2Jc, \x9b31m :smile:"
    assert (
        said(lambda: talk.remark(text))
        == "no log of [/x], node-[red]b and \N{REPLACEMENT CHARACTER}[2Jc, \N{REPLACEMENT CHARACTER}31m :smile:\n"
    )
    assert (
        said(lambda: talk.remark("one\nslotmark: two\u2028three"))
        == "one slotmark: two\N{REPLACEMENT CHARACTER}three\n"
    )


def test_a_warning_is_a_line_with_what_it_is_about() -> None:
    of_bench = catalogue("cluster")
    found = [of_bench.warning("node_died", "node-1", words="it exited 1"), of_bench.warning("no_workload")]
    of_node, of_run = said(lambda: talk.warnings(found)).splitlines()
    assert of_node.startswith("! node-1: The node ended by itself (it exited 1).")
    assert of_run == f"! {found[1].text}"


def test_progress_without_a_terminal_is_a_line_every_few_seconds() -> None:
    now, said = [100.0], list[str]()
    lines = ProgressLines("MB", said.append, lambda: now[0])
    for done in range(0, 1_300, 100):
        lines.step(done, 1_200, "reading")
        now[0] += LINE_EVERY_S / 2
    assert said == [
        "reading: 200 of 1,200 MB, about 25 s left",
        "reading: 400 of 1,200 MB, about 20 s left",
        "reading: 600 of 1,200 MB, about 15 s left",
        "reading: 800 of 1,200 MB, about 10 s left",
        "reading: 1,000 of 1,200 MB, about 5 s left",
        "reading: 1,200 of 1,200 MB",
    ]
    assert [duration(seconds) for seconds in (8.2, 170, 9_000, 26 * 86_400)] == ["8 s", "3 min", "2.5 h", "26 days"]


def test_a_long_command_without_a_terminal_prints_lines(tmp_path: Path) -> None:
    """A real one: what it simulates takes far longer than the time between two lines, and is stopped at the first."""
    command = [sys.executable, "-m", "slotmark", "predict", "value-only-10.5", "--set", "run.slots=200000000"]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, cwd=tmp_path, text=True
    ) as predict:
        assert predict.stderr is not None
        line = predict.stderr.readline()
        predict.send_signal(signal.SIGINT)
        predict.communicate()
    assert re.fullmatch(r"predicting: [\d,]+ of [\d,]+ slots(, about .* left)?\n", line)
