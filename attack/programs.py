"""The attacks that are written in Rust, beside what they attack: they need no process per input."""

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from attack.outcome import Tried

REPOSITORY = Path(__file__).resolve().parents[1]
CHECKED = ("chain", "tracelog", "wire")
"""The crates whose arithmetic is checked in these programs, so that an overflow is a failure."""
_COUNTS = re.compile(r"^.+: (\d+) tried, (\d+) failed", re.MULTILINE)


def log_lines(seed: int, tries: int) -> Iterator[Tried]:
    """Damages log lines and gives them to the line parser."""
    for number, inputs in _batches(tries, 1_000_000):
        yield _run("fuzz_lines", ["--inputs", inputs, "--seed", seed + number])


def wire_inputs(seed: int, tries: int) -> Iterator[Tried]:
    """Sends a server what no client should send."""
    for number, inputs in _batches(tries, 20_000):
        yield _run("attack", ["--inputs", inputs, "--chains", 0, "--seed", seed + number])


def chain_folders(seed: int, tries: int) -> Iterator[Tried]:
    """Damages the bytes of a chain folder and reads it in every way."""
    for number, inputs in _batches(tries, 500):
        yield _run("attack", ["--inputs", 0, "--chains", inputs, "--seed", seed + number])


def build() -> None:
    """Builds the programs."""
    checks = [f"profile.release.package.slotmark-{name}.overflow-checks=true" for name in CHECKED]
    options = [*(word for check in checks for word in ("--config", check)), "--quiet", "--release", "--locked"]
    for crate, example in (("tracelog", "fuzz_lines"), ("wire", "attack")):
        command = ["cargo", "build", *options, "-p", f"slotmark-{crate}", "--example", example]
        subprocess.run(command, cwd=REPOSITORY, check=True)


def _batches(tries: int, most: int) -> Iterator[tuple[int, int]]:
    for number, begin in enumerate(range(0, tries, most)):
        yield number, min(most, tries - begin)


def _run(example: str, arguments: Sequence[str | int]) -> Tried:
    built = Path(os.environ.get("CARGO_TARGET_DIR") or REPOSITORY / "target") / "release" / "examples" / example
    done = subprocess.run([built, *map(str, arguments)], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    tried = [tuple(map(int, counts)) for counts in _COUNTS.findall(done.stdout)]
    failed = sum(failed for _, failed in tried)
    if not tried or (done.returncode != 0) != (failed > 0):
        return Tried(1, [f"{example} ended with {done.returncode}: {done.stderr.strip()[-1_000:]}"])
    said = done.stderr.strip().splitlines()
    return Tried(
        sum(count for count, _ in tried), [said[place] if place < len(said) else example for place in range(failed)]
    )
