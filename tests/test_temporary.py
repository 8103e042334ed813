"""Folders for a while are removed whatever comes."""

import shutil
from pathlib import Path

import pytest

from slotmark.temporary import temporary_folder


def test_a_signal_while_a_folder_is_removed_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    usual, calls = shutil.rmtree, list[object]()

    def interrupted_first(*given: object, **named: object) -> None:
        calls.append(given)
        if len(calls) == 1:
            raise KeyboardInterrupt
        usual(*given, **named)  # pyright: ignore[reportArgumentType,reportCallIssue]

    with pytest.raises(KeyboardInterrupt), temporary_folder() as folder:
        (Path(folder) / "file").write_text("x")
        monkeypatch.setattr(shutil, "rmtree", interrupted_first)
        monkeypatch.setattr("tempfile._rmtree", interrupted_first)
    assert len(calls) == 2
    assert not Path(folder).exists()
