"""A command that is stopped, from its first moment on: one line, its exit code, nothing left."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
    ids=str,
)
@pytest.mark.parametrize("after", ["typer", "slotmark.cli.chain", "slotmark._core"])
def test_a_command_that_is_stopped_ends_with_one_line(
    after: str, number: signal.Signals, code: int, tmp_path: Path
) -> None:
    # Python tells on standard error of each module that it has loaded: that is the clock here.
    command = [sys.executable, "-X", "importtime", "-m", "slotmark", "chain", "synth", "--workload", "preview-like"]
    with subprocess.Popen(
        [*command, "--blocks", "3000000", "-o", str(tmp_path / "chain")], stderr=subprocess.PIPE, text=True
    ) as synth:
        assert synth.stderr is not None
        for line in synth.stderr:
            if line.rpartition("|")[2].strip() == after:
                synth.send_signal(number)
                break
        said = [line for line in synth.stderr if not line.startswith("import time:")]
    assert synth.returncode == code, said
    assert said[-1] == "slotmark: interrupted; nothing was left half-written.\n"
    assert not any("Traceback" in line for line in said)
    assert not list(tmp_path.iterdir())
