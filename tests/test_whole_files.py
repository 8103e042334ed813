"""Files that two commands write at once: those of one of them, never a mixture."""

import os
from pathlib import Path

import pytest

from slotmark.whole_files import written_whole


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_second_writer_is_refused_and_the_first_one_keeps_its_files(tmp_path: Path) -> None:
    files = [tmp_path / "a", tmp_path / "b"]
    with written_whole(*files) as first:
        for partial in first:
            partial.write_text("first")
        for others in ([files[0]], [tmp_path / "c", files[1]]):
            with pytest.raises(OSError, match="another command is writing it"), written_whole(*others):
                pass
    assert [file.read_text() for file in files] == ["first", "first"]
    assert names(tmp_path) == ["a", "b"]


def test_who_comes_when_a_file_is_just_renamed_writes_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second writer that has opened the place of the first before its renaming must not write into what is renamed."""
    file = tmp_path / "a"
    opened, flags = os.open, []

    def renamed_after_opening(path: Path, how: int, mode: int) -> int:
        held = opened(path, how, mode)
        if not flags:
            flags.append(how)
            Path(path).rename(file)
        return held

    monkeypatch.setattr(os, "open", renamed_after_opening)
    with written_whole(file) as [partial]:
        partial.write_text("second")
        assert file.read_text() == ""
    assert file.read_text() == "second"
    assert names(tmp_path) == ["a"]


def test_an_error_leaves_nothing_and_what_was_killed_is_written_over(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("older")
    file.with_name(".a.partial").write_text("of a command that was killed, and longer")
    with pytest.raises(KeyError), written_whole(file) as [partial]:
        partial.write_text("half")
        raise KeyError
    assert file.read_text() == "older"
    assert names(tmp_path) == ["a"]

    file.with_name(".a.partial").write_text("of a command that was killed, and longer")
    with written_whole(file) as [partial]:
        partial.write_text("new")
    assert file.read_text() == "new"
    assert names(tmp_path) == ["a"]


def test_a_device_or_a_pipe_is_not_replaced(tmp_path: Path) -> None:
    pipe, link, to_file = tmp_path / "pipe", tmp_path / "link", tmp_path / "to file"
    os.mkfifo(pipe)
    link.symlink_to("/dev/null")
    (tmp_path / "file").write_text("older")
    to_file.symlink_to(tmp_path / "file")
    for special in (pipe, link):
        with (
            pytest.raises(OSError, match="it is a device or a pipe, not a file"),
            written_whole(tmp_path / "a", special),
        ):
            pass
    assert pipe.is_fifo()
    assert link.is_symlink()
    with written_whole(to_file) as [partial]:
        partial.write_text("new")
    assert (tmp_path / "file").read_text() == "older"
    assert to_file.read_text() == "new"
    assert names(tmp_path) == ["file", "link", "pipe", "to file"]


@pytest.mark.parametrize("name", ["null", "stdout"])
def test_nothing_is_put_into_dev(name: str) -> None:
    place = Path("/dev", name)
    before = place.lstat().st_ino
    with pytest.raises(OSError, match="it is a device or a pipe, not a file"), written_whole(place):
        raise AssertionError("root would replace it")
    assert place.lstat().st_ino == before
