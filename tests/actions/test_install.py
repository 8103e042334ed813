"""The script by which the actions install slotmark: it has all programs that the example measures with, and leaves the job's own Python alone."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.conftest import REPO

MADE = ".venv/bin/slotmark"


def install(tmp_path: Path, *words: str, path: str = "/usr/bin:/bin") -> Path:
    """Runs the script in a checkout whose Makefile only names what it was to make; returns the file that GitHub reads folders of PATH from."""
    here, at = tmp_path / "checkout", tmp_path / "path"
    (here / "actions").mkdir(parents=True)
    (tmp_path / "temporary").mkdir()
    at.touch()
    shutil.copy(REPO / "actions" / "install.sh", here / "actions")
    program = f"mkdir -p .venv/bin && printf '\\043!/bin/sh\\necho $@\\n' >{MADE} && cp {MADE} .venv/bin/python && chmod +x .venv/bin/*"
    (here / "Makefile").write_text(f"build extension:\n\t{program}\n")
    variables = {"PATH": path, "RUNNER_TEMP": str(tmp_path / "temporary"), "GITHUB_PATH": str(at)}
    subprocess.run(["bash", str(here / "actions" / "install.sh"), *words], env=variables, check=True)
    return at


@pytest.mark.parametrize(("action", "made"), [(".", "build"), ("actions/publish", "extension")])
def test_an_action_makes_what_it_needs(tmp_path: Path, action: str, made: str) -> None:
    first = yaml.safe_load((REPO / action / "action.yml").read_text())["runs"]["steps"][0]
    words = first["run"].split('install.sh"')[1].split()
    (folder,) = install(tmp_path, *words).read_text().splitlines()
    assert [path.name for path in Path(folder).iterdir()] == ["slotmark"]  # no other python
    done = subprocess.run(["slotmark"], env={"PATH": f"{folder}:/usr/bin:/bin"}, capture_output=True, check=True)
    assert done.stdout.decode().strip() == made


def test_the_programs_that_measure_are_made() -> None:
    """`make build` makes the workspace: the chains, the servers, the clients and the replay."""
    kept = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    done = subprocess.run(
        ["make", "--dry-run", "-C", str(REPO), "build"], env=kept, capture_output=True, text=True, check=True
    )
    assert "cargo build --quiet --release --locked --workspace --lib --bins" in done.stdout


def test_a_slotmark_that_is_there_is_used(tmp_path: Path) -> None:
    there = tmp_path / "there" / "slotmark"
    there.parent.mkdir()
    there.write_text("#!/bin/sh\n")
    there.chmod(0o755)
    assert install(tmp_path, path=f"{there.parent}:/usr/bin:/bin").read_text() == ""
    assert not (tmp_path / "checkout" / ".venv").exists()
