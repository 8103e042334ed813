"""The attacks that are written in Rust, beside what they attack: they need no process per input."""

import os
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

from attack.control import Attack
from attack.ground import Fault, Ground
from attack.outcome import Tried

REPOSITORY = Path(__file__).resolve().parents[1]
CHECKED = ("chain", "server", "tracelog", "wire")
"""The crates whose arithmetic is checked in these programs, so that an overflow is a failure."""
_COUNTS = re.compile(r"^.+: (\d+) tried, (\d+) failed", re.MULTILINE)


def log_lines(ground: Ground, seed: int, tries: int) -> Iterator[Tried]:
    """Damages log lines and gives them to the line parser."""
    for number, inputs in _batches(tries, 1_000_000):
        yield _run(ground, "fuzz_lines", ["--inputs", inputs, "--seed", seed + number])


def wire_inputs(ground: Ground, seed: int, tries: int) -> Iterator[Tried]:
    """Sends a server what no client should send."""
    for number, inputs in _batches(tries, 20_000):
        yield _run(ground, "attack", ["--inputs", inputs, "--chains", 0, "--seed", seed + number])


def chain_folders(ground: Ground, seed: int, tries: int) -> Iterator[Tried]:
    """Damages the bytes of a chain folder and reads it in every way."""
    for number, inputs in _batches(tries, 500):
        yield _run(ground, "attack", ["--inputs", 0, "--chains", inputs, "--seed", seed + number])


@cache
def build() -> None:
    """Builds the programs, once."""
    checks = [f"profile.release.package.slotmark-{name}.overflow-checks=true" for name in CHECKED]
    options = [*(word for check in checks for word in ("--config", check)), "--quiet", "--release", "--locked"]
    for crate, example in (("tracelog", "fuzz_lines"), ("server", "attack")):
        command = ["cargo", "build", *options, "-p", f"slotmark-{crate}", "--example", example]
        subprocess.run(command, cwd=REPOSITORY, check=True)


def _batches(tries: int, most: int) -> Iterator[tuple[int, int]]:
    for number, begin in enumerate(range(0, tries, most)):
        yield number, min(most, tries - begin)


def _unharmed(example: str, *arguments: str | int) -> Callable[[Ground], str]:
    """Returns a function that gives the fault with inputs that are left as they are, each of which must pass with the expected result."""

    def unharmed(ground: Ground) -> str:
        tried = _run(ground, example, [*arguments, "--unharmed", 1])
        return tried.failures[0] if tried.failures else ""

    return unharmed


def _run(ground: Ground, example: str, arguments: Sequence[str | int]) -> Tried:
    build()
    planted = ["--plant", ground.fault.planted] if ground.fault else []
    built = Path(os.environ.get("CARGO_TARGET_DIR") or REPOSITORY / "target") / "release" / "examples" / example
    done = subprocess.run(
        [built, *map(str, arguments), *planted], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    tried = [tuple(map(int, counts)) for counts in _COUNTS.findall(done.stdout)]
    failed = sum(failed for _, failed in tried)
    if not tried or (done.returncode != 0) != (failed > 0):
        return Tried(1, [f"{example} ended with {done.returncode}: {done.stderr.strip()[-1_000:]}"])
    said = done.stderr.strip().splitlines()
    return Tried(
        sum(count for count, _ in tried), [said[place] if place < len(said) else example for place in range(failed)]
    )


LINES = Attack(
    "mutated log lines",
    8_000_000,
    0.05,
    log_lines,
    _unharmed("fuzz_lines"),
    (
        Fault("the parser panics at a line without an end", "panics", "planted"),
        Fault("the parser reads a line without an end", "reads-cut-lines", "read: "),
        Fault("the parser reads what is no JSON", "reads-no-json", "read: "),
        Fault("the parser refuses every line", "refuses", "refused: "),
        Fault("the parser takes a line for another", "remembers", "read otherwise after others"),
    ),
    inputs=20_000,
)
WIRE = Attack(
    "fuzzed wire inputs",
    400_000,
    0.1,
    wire_inputs,
    _unharmed("attack", "--inputs", 400, "--chains", 0),
    (
        Fault("a connection is kept open", "stays", "ended"),
        Fault("a thread of the server panics", "panics", "planted"),
        Fault("the server ends", "ends", "serves false"),
    ),
    inputs=400,
)
CHAINS = Attack(
    "damaged chain folders",
    3_000,
    0.05,
    chain_folders,
    _unharmed("attack", "--inputs", 0, "--chains", 1),
    (
        Fault("blocks that aren't the chain's pass", "takes-any-block", "blocks passed"),
        Fault("a reader panics at a damaged block", "panics", "a panic"),
        Fault("a reader refuses every chain", "refuses", "refused"),
    ),
    inputs=100,
)
