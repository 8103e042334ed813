"""Files that were prepared for all hosts go at the end of a run, whatever they are; where it can't be removed, the run stays good."""

from pathlib import Path

import pytest

from slotmark.benches.cluster.live.request import Request
from slotmark.benches.cluster.live.rundir import PREPARED, make_rundir, remove_prepared
from slotmark.errors import ArgumentError


@pytest.mark.parametrize("kind", ["file", "folder", "link to a folder", "link to nothing", "nothing"])
def test_what_was_prepared_is_removed_and_nothing_else(tmp_path: Path, kind: str) -> None:
    folder, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    (elsewhere / "kept").write_text("kept")
    match kind:
        case "file":
            (folder / PREPARED).write_text("base")
        case "folder":
            (folder / PREPARED).mkdir()
            (folder / PREPARED / "base").write_text("base")
        case "link to a folder":
            (folder / PREPARED).symlink_to(elsewhere)
        case "link to nothing":
            (folder / PREPARED).symlink_to(tmp_path / "missing")
        case _:
            pass
    remarks: list[str] = []
    remove_prepared(folder, remarks.append)
    assert (remarks, list(folder.iterdir())) == ([], [])
    assert (elsewhere / "kept").read_text() == "kept"


def test_what_can_not_be_removed_is_remarked(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    remarks: list[str] = []
    remove_prepared(tmp_path / "file", remarks.append)
    (remark,) = remarks
    assert remark.startswith(f"{tmp_path / 'file' / PREPARED} can't be removed (Not a directory)")


def test_a_place_where_no_folder_can_be_made_is_refused_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    request = Request(ready_within_s=1, grace_s=1, node="", bed=tmp_path / "bed", out=tmp_path / "file" / "run")
    with pytest.raises(ArgumentError, match=r"run\.logs can't be made \(Not a directory\)\. Choose another place\."):
        make_rundir(request, 0, "", loopback=True, quiet_slots=0)
