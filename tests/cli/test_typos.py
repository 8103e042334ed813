"""A name that is nearly right gets the one that was meant; a folder that is the wrong kind gets what to do."""

import os
from pathlib import Path

import pytest

from slotmark.cli.reports import paths_of
from slotmark.run import open_run
from tests.conftest import slotmark
from tests.made_up_runs import write_run

RATES = {"decode, sequential": [1_000.0, 1_010.0, 1_020.0]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for name in ("a", "b"):
        write_run(folder / name, name, RATES)
    (folder / "gate.toml").write_text('block_per_s = "3%"\n')
    return folder


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["samples", "a", "blocks_per_second"], "'blocks_per_s'"),
        (["samples", "a", "strech"], "'stretches'"),
        (["compare", "a", "b", "--margin", "cpu_us_per_blok=3%"], "'cpu_us_per_block'"),
        (["compare", "a", "b", "--gate", "gate.toml"], "'blocks_per_s'"),
        (["compare", "a", "b", "--fail-onn", "worse"], "--fail-on"),
        (["comparee", "a", "b"], "'compare'"),
        (["predict", "valueonly-10.5"], "'value-only-10.5'"),
        (["simulate", "plutus-lop-10.5", "-o", "x"], "'plutus-loop-10.5'"),
        (["chainsync", "targets", "--build", "nativ"], "'native'"),
        (["predict", "value-only-10.5", "--set", "ledger_tik=3ms"], "'ledger_tick.mean'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_a_typo_gets_the_name_that_was_meant(arguments: list[str], meant: str, folder: Path) -> None:
    ended = slotmark(*arguments, cwd=folder)
    assert ended.returncode == 2
    assert f"Did you mean {meant}?" in ended.stderr


def test_nothing_is_meant_by_a_name_like_no_other(folder: Path) -> None:
    assert "Did you mean" not in slotmark("samples", "a", "zzz", cwd=folder).stderr


def test_nothing_is_meant_by_a_parameter_that_is_right_with_a_value_that_is_not(folder: Path) -> None:
    ended = slotmark("predict", "value-only-5", "--set", "genesis.protocol_version=12", cwd=folder)
    assert ended.returncode == 2
    assert ended.stderr.rstrip().endswith("genesis.protocol_version = 12: expected 10 to 11.")


def test_a_run_folder_is_no_folder_of_logs(folder: Path) -> None:
    ended = slotmark("ingest", "a", "-o", "new", cwd=folder)
    assert ended.returncode == 2
    assert "a: a run folder already, not logs" in ended.stderr
    assert "slotmark show a" in ended.stderr
    assert not (folder / "new").exists()


def test_show_is_one_table_in_the_units_of_compare_without_what_only_slotmark_reads(folder: Path) -> None:
    shown = slotmark("show", "a", cwd=folder, env={**os.environ, "COLUMNS": "200"}).stdout
    manifest = open_run(folder / "a").manifest
    facts = dict(line.split(": ", 1) for line in shown.split("metric", 1)[0].splitlines() if ": " in line)
    assert facts["rounds"] == "3"
    assert not {"-", ""} & set(facts.values())
    for internal in (manifest.id, *(digest for name, digest in manifest.workload.items() if name.startswith("digest"))):
        assert internal not in shown.replace("\n", "")
    assert (
        sum("std. dev." in line for line in shown.splitlines()) <= 2
    )  # once, or once more where the terminal is narrow


def test_show_names_no_package_whose_version_is_not_known(tmp_path: Path) -> None:
    """Our own node's profile has none of cardano-node's packages, nor a compiler of Haskell."""
    logs, run = tmp_path / "logs", tmp_path / "run"
    made = slotmark("simulate", "value-only-5", "--slots", "120", "-o", logs)
    assert made.returncode == 0, made.stderr
    assert slotmark("ingest", logs, "-o", run).returncode == 0
    shown = slotmark("show", run).stdout
    assert "target: " in shown
    assert "unknown unknown" not in shown
    assert "ghc" not in shown
    assert not any(name.startswith("target ") for name in open_run(run).manifest.versions)


def test_a_run_with_a_comma_in_its_name_can_be_named(tmp_path: Path) -> None:
    """Commands made such runs, and "runs/a: no such run folder" was all that `compare` said of them."""
    for name in ("x,1", "x,2", "y", "z"):
        write_run(tmp_path / name, name[0], RATES)
    done = slotmark("compare", "x,1", "y", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = slotmark("compare", "x,3", "y", cwd=tmp_path)
    assert done.returncode == 2
    assert "x: no such run folder" in done.stderr


def test_paths_with_commas_are_told_apart_by_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("x,1", "x,2", "y"):
        Path(name).mkdir()
    assert paths_of("y,x,1,,x,2") == ["y", "x,1", "x,2"]
    assert paths_of("x,3,s3://bucket/a") == ["x", "3", "s3://bucket/a"]
    assert paths_of(",") == []
    Path("x").mkdir()
    assert paths_of("x,1") == ["x", "1"]


def test_an_empty_name_for_a_store_is_refused(tmp_path: Path) -> None:
    """As of a variable that isn't set: the run was kept with the version that it records."""
    write_run(tmp_path / "run", "x", RATES)
    for option in ("--version", "--ref", "--branch", "--target", "--machine"):
        done = slotmark("store", "add", "run", "--to", "store", option, "", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"slotmark: {option} '': it is empty. Leave {option} out, or give it a value.\n"
    assert not (tmp_path / "store").exists()


def test_a_start_that_is_none_gets_all_that_there_are(tmp_path: Path) -> None:
    made = slotmark("chain", "synth", "--workload", "value-only", "--blocks", "5", "-o", tmp_path / "chain")
    assert made.returncode == 0, made.stderr
    done = slotmark("chain", "info", tmp_path / "chain", "--start", "5")
    assert done.returncode == 2
    assert (
        done.stderr
        == "slotmark: '5' is no start: expected a point as SLOT.HASH with 64 hex digits, origin, or densest\n"
    )
