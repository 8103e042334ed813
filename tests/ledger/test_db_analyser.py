"""`--target db-analyser`: its flags are found from its help, whatever its age."""

import os
from pathlib import Path
from typing import Any

import pytest

from slotmark import open_run
from tests.conftest import slotmark
from tests.ledger.db_analysers import HELP, db_analyser

BLOCKS = 30


@pytest.fixture
def with_config(small_chain: Path, tmp_path: Path) -> list[str]:
    """The arguments that all commands have."""
    config = tmp_path / "config.json"
    config.write_text("{}", encoding="utf-8")
    return [
        *("ledger", "run", "--chain", str(small_chain), "--blocks", str(BLOCKS)),
        *("-o", str(tmp_path / "runs"), "--config", str(config)),
    ]


def on_path(folder: Path) -> dict[str, Any]:
    return {"env": {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}}


@pytest.mark.parametrize("age", HELP)
def test_the_flags_of_every_age_are_found(age: str, with_config: list[str], tmp_path: Path) -> None:
    program = db_analyser(tmp_path / "bin", age)
    made = slotmark(*with_config, "--target", "db-analyser", "--rounds", "2", **on_path(program.parent))
    assert made.returncode == 0, made.stderr
    run = open_run(tmp_path / "runs" / "db-analyser")
    assert run.table("blocks").num_rows == 2 * BLOCKS
    assert set(run.table("blocks")["block_apply_us"].to_pylist()) == {900}
    words = run.manifest.parameters["target command"].split()
    assert words[0] == str(program)
    assert ("cardano" in words) == (age != "2026")
    assert ("--only-immutable-db" in words) == (age == "2023")
    assert [word for word in words if word.endswith("in-mem")] == {
        "2023": [],
        "2025": ["--v2-in-mem"],
        "2026": ["--in-mem"],
    }[age]


def test_versions_and_settings_are_targets_with_names(with_config: list[str], tmp_path: Path) -> None:
    old, new = db_analyser(tmp_path / "old", "2025"), db_analyser(tmp_path / "new", "2026")
    made = slotmark(
        *(*with_config, "--rounds", "3"),
        *("--target", f"old={old}", "--target", f"new={new}"),
        *("--target", f"lsm={new} --lsm --lsm-no-cache --reapply +RTS -N4 -RTS"),
    )
    assert made.returncode == 0, made.stderr
    command = open_run(tmp_path / "runs" / "lsm").manifest.parameters["target command"]
    assert "--in-mem" not in command
    assert "--lsm --lsm-no-cache --reapply" in command
    assert command.endswith("+RTS -T -N4 -RTS")
    assert open_run(tmp_path / "runs" / "lsm").manifest.workload["mode"] == "reapplication"
    assert open_run(tmp_path / "runs" / "new").manifest.target.toolchain == "ghc-9.6"


def test_blocks_that_are_known_to_be_valid_are_reapplied(with_config: list[str], tmp_path: Path) -> None:
    program = db_analyser(tmp_path / "bin", "2026")
    words = (*with_config, "--rounds", "1", "--reapply")
    targets = ("--target", f"one={program}", "--target", f"two={program} --reapply --lsm")
    made = slotmark(*words, *targets)
    assert made.returncode == 0, made.stderr
    for name in ("one", "two"):
        manifest = open_run(tmp_path / "runs" / name).manifest
        assert str(manifest.parameters["target command"]).count("--reapply") == 1
        assert manifest.workload["mode"] == "reapplication"
    without = db_analyser(tmp_path / "without", "2026", HELP["2026"].replace("--reapply", "--again"))
    refused = slotmark(*words, "--target", f"one={without}")
    assert refused.returncode == 2
    assert "its --help shows no --reapply" in refused.stderr


def test_the_configuration_stands_beside_the_genesis(small_chain: Path, tmp_path: Path) -> None:
    program = db_analyser(tmp_path / "bin", "2026")
    words = ("ledger", "run", "--chain", small_chain, "--blocks", "5", "--rounds", "1", "-o", tmp_path / "runs")
    without = slotmark(*words, "--target", f"one={program}")
    assert without.returncode == 2
    assert "Give --config FILE, or a --genesis with config.json beside it" in without.stderr
    genesis = small_chain / "genesis" / "shelley-genesis.json"
    made = slotmark(*words, "--target", f"one={program}", "--genesis", genesis)
    assert made.returncode == 0, made.stderr


def test_nothing_is_written_beside_the_chain(with_config: list[str], small_chain: Path, tmp_path: Path) -> None:
    before = sorted(small_chain.iterdir()), sorted(small_chain.parent.iterdir())
    program = db_analyser(tmp_path / "bin", "2026")
    made = slotmark(*with_config, "--target", f"one={program} --lsm", "--rounds", "1")
    assert made.returncode == 0, made.stderr
    assert (sorted(small_chain.iterdir()), sorted(small_chain.parent.iterdir())) == before


@pytest.mark.parametrize(
    ("shown", "own", "why"),
    [
        (
            HELP["2026"].replace("--benchmark-ledger-ops", "--benchmark-all"),
            "",
            "shows no --benchmark-ledger-ops (looked for --db, --benchmark-ledger-ops, --out-file, --config, --num-blocks-to-process",
        ),
        (HELP["2026"].replace("--config PATH", ""), "", "shows no --config"),
        (HELP["2026"].replace("--in-mem | ", ""), "", "Choose: --target NAME='db-analyser --lsm'"),
        ("nothing of use\n", "", "printed no flags, but: nothing of use"),
        (None, " --lms", "its --help shows no --lms. Did you mean '--lsm'?"),
        (None, " --db /elsewhere", "--db follows from --chain"),
        (None, " --out-file=x.csv", "--out-file follows from --chain"),
    ],
)
def test_flags_that_are_not_there_end_with_one_line(
    shown: str | None, own: str, why: str, with_config: list[str], tmp_path: Path
) -> None:
    program = db_analyser(tmp_path / "bin", "2026", shown)
    made = slotmark(*with_config, "--target", f"one={program}{own}")
    assert made.returncode == 2
    assert why in made.stderr
    assert len(made.stderr.splitlines()) == 1
    assert not (tmp_path / "runs").exists()


def test_a_program_that_is_not_there_is_said_to_be_missing(with_config: list[str], tmp_path: Path) -> None:
    made = slotmark(*with_config, "--target", "db-analyser", env={**os.environ, "PATH": str(tmp_path)})
    assert made.returncode == 2
    assert "there is no program 'db-analyser'. Put it on the PATH" in made.stderr
    other = slotmark(*with_config[:-1], tmp_path / "none.json", "--target", "db-analyser")
    assert other.returncode == 2
    assert "no such file. Give the node's configuration file" in other.stderr
