"""A program's last words keep the line that has the reason, however much was printed before it; and what programs leave running is ended."""

import os
import subprocess
from pathlib import Path

from slotmark.measure.process import last_words, nothing_left


def test_the_last_line_is_whole_and_before_it_stands_what_fits() -> None:
    reason = "panic: " + "the store can't be opened, " * 20 + "no space left on device"
    words = last_words(
        "\n".join([*("a line that is of no use " * 4 for _ in range(9)), "shutting down", reason, "", " "])
    )
    assert words.endswith(reason)
    assert words == reason  # longer than what may stand before it
    short = "Error: no space left on device"
    words = last_words(f"{'x' * 400}\nopening the store\n{short}\n")
    assert words == f"opening the store | {short}"
    assert last_words("".join(f"{number}\n" for number in range(9))) == "4 | 5 | 6 | 7 | 8"


def test_a_last_line_without_end_keeps_its_beginning_and_its_end() -> None:
    words = last_words("fatal: " + "x" * 1_000_000 + " no space left on device")
    assert len(words) < 2_100
    assert words.startswith("fatal: xxx")
    assert words.endswith("x no space left on device")


def test_nothing_printed_is_nothing_said() -> None:
    assert last_words(f"  {os.linesep}\t\n") == last_words("") == ""


def test_what_a_program_left_running_is_ended_also_after_a_block_inside_the_block() -> None:
    with nothing_left():
        with nothing_left():
            pass
        left = ["/bin/sh", "-c", "setsid sleep 1000 >&- 2>&- & echo $!"]
        pid = int(subprocess.run(left, capture_output=True, text=True, check=True).stdout)
        assert Path(f"/proc/{pid}").exists()
    assert not Path(f"/proc/{pid}").exists()
