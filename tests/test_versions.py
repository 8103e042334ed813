"""The commit that runs record, and what finding it leaves in a checkout."""

import os
import subprocess
from pathlib import Path

import pytest

from slotmark import versions


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout of one commit with one file, as that of slotmark."""
    here = tmp_path / "checkout"
    here.mkdir()
    module = here / "versions.py"
    module.write_text("# a module\n")
    for command in (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "--message", "first")):
        who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
        subprocess.run(["git", *who, *command], cwd=here, check=True)
    monkeypatch.setattr(versions, "__file__", str(module))
    return here


def commit_now() -> str:
    return versions.slotmark_commit.__wrapped__()


def test_the_commit_and_whether_the_checkout_was_changed(checkout: Path) -> None:
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=checkout, capture_output=True, text=True, check=True)
    commit = head.stdout[:12]
    assert commit_now() == commit
    (checkout / "untracked").write_text("of no matter")
    os.utime(checkout / "versions.py", (0, 0))
    assert commit_now() == commit
    (checkout / "versions.py").write_text("# another\n")
    assert commit_now() == f"{commit}+"


def test_nothing_is_written_into_the_checkout(checkout: Path) -> None:
    index = checkout / ".git" / "index"
    os.utime(checkout / "versions.py", (0, 0))  # git would note the new time there, under a lock
    before = index.read_bytes()
    commit_now()
    assert index.read_bytes() == before


def test_there_is_none_outside_of_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "__file__", str(tmp_path / "versions.py"))
    assert commit_now() == ""
