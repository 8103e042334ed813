"""A run folder is whole or it isn't there."""

import json
import resource
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from slotmark.errors import RunError
from slotmark.run import (
    MachineFacts,
    Manifest,
    RunWriter,
    Target,
    check_run,
    machine_facts,
    machine_warnings,
    open_run,
    open_runs,
)
from tests.made_up_runs import bare_manifest

TABLE = pa.table({"a": [1, 2, 3]})


def manifest() -> Manifest:
    return bare_manifest(
        "x",
        "chainsync",
        Target("x", "1"),
        session="s",
        machine=machine_facts(),
        origin="measured",
    )


def write(folder: Path) -> Path:
    with RunWriter(folder) as writer:
        writer.table("numbers", TABLE)
        writer.finish(manifest())
    return folder


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    run = open_run(write(tmp_path / "run"))
    assert run.table("numbers").equals(TABLE)
    (part,) = run.manifest.parts
    assert (part.table, part.file, part.rows) == ("numbers", "numbers.parquet", 3)
    assert part.digest.startswith("blake3:")
    assert run.manifest == msgspec.structs.replace(
        manifest(), tables={"numbers": 3}, parts=[part], machine=run.manifest.machine
    )
    assert check_run(run.path) == 1
    assert [child.name for child in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_unfinished_run_leaves_nothing(error: type[BaseException], tmp_path: Path) -> None:
    with pytest.raises(error), RunWriter(tmp_path / "run") as writer:
        writer.table("numbers", TABLE)
        raise error
    assert not list(tmp_path.iterdir())


def test_a_signal_while_the_folder_is_made_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that ends at once, with the exception still in its hands, never forgot the folder, which stayed."""
    writer = RunWriter(tmp_path / "run")

    def interrupted(folder: Path) -> None:
        assert folder.parent.is_dir()
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "mkdir", interrupted)
    with pytest.raises(KeyboardInterrupt), writer:
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_nothing_and_one_line(tmp_path: Path) -> None:
    # A limit on the size of files is the full disk that needs no mount: writes fail in the same way.
    code = (
        "import sys; from pathlib import Path; import pyarrow as pa; from slotmark.run import RunWriter\n"
        "from slotmark.errors import RunError\n"
        "try:\n"
        "    with RunWriter(Path(sys.argv[1])) as writer:\n"
        "        writer.table('numbers', pa.table({'a': [str(n * 7919) for n in range(200_000)]}))\n"
        "except RunError as error:\n"
        "    print(error)\n"
    )

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    done = subprocess.run(
        [sys.executable, "-B", "-c", code, str(tmp_path / "run")],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limit,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{tmp_path / 'run'}: can't write table 'numbers'")
    assert not list(tmp_path.iterdir())


KILLED = (
    "import os, signal, sys; from pathlib import Path; import pyarrow as pa; from slotmark.run import RunWriter\n"
    "with RunWriter(Path(sys.argv[1])) as writer:\n"
    "    writer.table('numbers', pa.table({'a': [1]}))\n"
    "    print('written', flush=True)\n"
    "    sys.stdin.read()\n"
)


def test_what_a_killed_process_left_is_removed_by_the_next_and_said(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".other.partial-7").mkdir()  # of another run
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path / "run")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as writing:
        assert writing.stdout is not None
        assert writing.stdout.readline() == b"written\n"
        (left,) = tmp_path.glob(".run.partial-*")
        (tmp_path / ".run.partial-1").mkdir()  # as older versions left it, with the id of a process that lives
        # While it lives its folder is let be, though both write to the same place.
        write(tmp_path / "run").rename(tmp_path / "first")
        assert left.is_dir()
        assert f"removed {tmp_path / '.run.partial-1'}" in capfd.readouterr().err
        writing.kill()
    assert left.is_dir()
    write(tmp_path / "run")
    assert capfd.readouterr().err == (
        f"slotmark: removed {left}, which a process that was stopped had left unfinished\n"
    )
    assert sorted(child.name for child in tmp_path.iterdir()) == [".other.partial-7", "first", "run"]
    assert sorted(child.name for child in (tmp_path / "run").iterdir()) == ["run.json", "tables"]


def test_two_processes_may_write_to_the_same_place_and_one_wins(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "run") as first, RunWriter(tmp_path / "run") as second:
        first.table("numbers", TABLE)
        second.table("numbers", TABLE)
        first.finish(manifest())
        with pytest.raises(RunError, match="never overwritten"):
            second.finish(manifest())
    assert open_run(tmp_path / "run").table("numbers").equals(TABLE)
    assert [child.name for child in tmp_path.iterdir()] == ["run"]


def test_a_run_is_not_overwritten(tmp_path: Path) -> None:
    write(tmp_path / "run")
    with pytest.raises(RunError, match="never overwritten"):
        write(tmp_path / "run")


def test_damage_is_named(tmp_path: Path) -> None:
    folder = write(tmp_path / "run")
    with pytest.raises(RunError, match="no such run folder"):
        open_run(tmp_path / "nowhere")
    with pytest.raises(RunError, match=r"no run\.json\. Name one of those inside it: run"):
        open_run(tmp_path)
    with pytest.raises(RunError, match="no table 'others', only numbers"):
        open_run(folder).table("others")
    text = (folder / "run.json").read_text()
    for schema, remedy in ((99, "Use the slotmark that wrote it"), (1, "Make the run again")):
        (folder / "run.json").write_text(text.replace('"schema": 2', f'"schema": {schema}'))
        with pytest.raises(RunError, match=rf"version {schema}, but this slotmark reads version 2\. {remedy}\.$"):
            open_run(folder)
    (folder / "run.json").write_text(text[: len(text) // 2])
    with pytest.raises(RunError, match="no manifest"):
        open_run(folder)
    (folder / "run.json").write_text(text.replace('"numbers": 3', '"numbers": 4'))
    with pytest.raises(RunError, match=r"3 rows, but run\.json says 4"):
        open_run(folder)
    (folder / "run.json").write_text(text)
    parquet = folder / "tables" / "numbers.parquet"
    whole = parquet.read_bytes()
    parquet.write_bytes(whole[:-10])
    with pytest.raises(RunError, match=r"numbers\.parquet: .* bytes, but run\.json says"):
        open_run(folder)
    parquet.unlink()
    with pytest.raises(RunError, match="it is gone"):
        open_run(folder)


def in_parts(folder: Path) -> Path:
    """A run whose table has three files."""
    with RunWriter(folder) as writer:
        inside = writer.tables_folder / "numbers"
        inside.mkdir()
        for place in range(3):
            pq.write_table(TABLE, inside / f"part-{place}.parquet")
        writer.add("numbers", 9)
        writer.finish(manifest())
    return folder


def test_a_part_that_is_gone_cut_or_another_is_named(tmp_path: Path) -> None:
    folder = in_parts(tmp_path / "run")
    assert open_run(folder).table("numbers").num_rows == 9
    part = folder / "tables" / "numbers" / "part-1.parquet"
    whole = part.read_bytes()
    part.unlink()
    with pytest.raises(RunError, match=r"part-1\.parquet: the manifest lists this file but it is gone"):
        open_run(folder)
    pq.write_table(pa.table({"a": [1, 2]}), part)
    with pytest.raises(RunError, match=r"part-1\.parquet: .* run\.json says"):
        open_run(folder)
    # One byte inside a page: the size and the footer are as before, only the digest tells.
    place = whole.index((2).to_bytes(8, "little"))
    part.write_bytes(whole[:place] + b"\x07" + whole[place + 1 :])
    assert open_run(folder).name == "run"
    with pytest.raises(RunError, match=r"part-1\.parquet: its digest isn't the one in run\.json"):
        check_run(folder)


def test_a_part_that_nobody_listed_is_not_read(tmp_path: Path) -> None:
    folder = in_parts(tmp_path / "run")
    pq.write_table(TABLE, folder / "tables" / "numbers" / "part-9.parquet")
    assert open_run(folder).table("numbers").num_rows == 9


def test_factors_that_are_none_are_no_factors() -> None:
    """A manifest comes from a stranger."""
    made = [msgspec.structs.replace(manifest(), parameters={"target factors": one}) for one in ({"ghc": 9}, "ghc", 3)]
    assert [one.factors for one in made] == [{"ghc": "9"}, {}, {}]


def test_a_table_without_files_is_refused(tmp_path: Path) -> None:
    folder = in_parts(tmp_path / "run")
    manifest_ = json.loads((folder / "run.json").read_text())
    del manifest_["parts"]
    (folder / "run.json").write_text(json.dumps(manifest_))
    with pytest.raises(RunError, match="lists no file of table 'numbers'"):
        open_run(folder)


@pytest.mark.parametrize(
    "name",
    [
        "x\" AS SELECT 1; COPY (SELECT 'a') TO 'victim.py'; CREATE VIEW \"y",
        "../../outside",
        "num*",
        "",
        "Numbers",
        "a/b",
    ],
)
def test_a_name_that_is_no_plain_word_is_refused(name: str, tmp_path: Path) -> None:
    folder = write(tmp_path / "run")
    manifest_ = json.loads((folder / "run.json").read_text())
    for key in ("tables", "parts"):
        changed = json.loads(json.dumps(manifest_))
        if key == "tables":
            changed["tables"][name] = 3
        else:
            changed["parts"][0]["table"] = name
        (folder / "run.json").write_text(json.dumps(changed))
        with pytest.raises(RunError, match="is no name of a table"):
            open_run(folder)


@pytest.mark.parametrize(
    "file", ["../run.json", "/etc/passwd", "numbers/part-*.parquet", "numbers/../x.parquet", "other.parquet"]
)
def test_a_file_outside_its_place_is_refused(file: str, tmp_path: Path) -> None:
    folder = write(tmp_path / "run")
    manifest_ = json.loads((folder / "run.json").read_text())
    manifest_["parts"][0]["file"] = file
    (folder / "run.json").write_text(json.dumps(manifest_))
    with pytest.raises(RunError, match="is no place of a file of 'numbers'"):
        open_run(folder)


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path / "run")
    parquet = folder / "tables" / "numbers.parquet"
    parquet.rename(tmp_path / "elsewhere.parquet")
    parquet.symlink_to(tmp_path / "elsewhere.parquet")
    with pytest.raises(RunError, match="leads out of the run folder"):
        open_run(folder)


def test_a_machine_with_other_work_is_warned_of() -> None:
    facts = msgspec.structs.replace(machine_facts(), cores=4, load=2.0)
    assert not machine_warnings(facts)
    (warning,) = machine_warnings(msgspec.structs.replace(facts, load=2.01))
    assert (warning.kind, "2.01 on 4 cores" in warning.text) == ("machine_loaded", True)


def test_machine_facts_are_this_machine() -> None:
    facts = machine_facts()
    assert isinstance(facts, MachineFacts)
    assert facts.cores >= 1
    assert facts.memory_bytes > 1 << 28
    assert facts.kernel.startswith("Linux")


def test_a_folder_of_runs_stands_for_all_of_them_in_the_order_of_people(tmp_path: Path) -> None:
    for name in ("seed-10", "seed-9", "b", ".seed-11.partial-0"):
        write(tmp_path / "runs" / name)
    assert [run.name for run in open_runs(tmp_path / "runs")] == ["b", "seed-9", "seed-10"]
    assert [run.name for run in open_runs(tmp_path / "runs" / "b")] == ["b"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        RunError, match=r"it has no run\.json\. Name one; of a folder of logs, `slotmark ingest` makes one\.$"
    ):
        open_runs(tmp_path / "empty")
