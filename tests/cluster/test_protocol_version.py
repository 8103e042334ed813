"""Beds and chains of protocol version 10 or 11: genesis files, headers, rules and scripts agree on it."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from slotmark.benches.cluster.bed import check_bed, create_bed
from slotmark.benches.cluster.metadata import read_metadata
from slotmark.cli import app
from slotmark.errors import BedError, SimulationError
from tests.cluster.checked_chains import GENESIS, checked, rules_of, synthesised
from tests.conftest import quietly

SMALL = ["epoch_slots=1000", "delegators=6", "utxo_entries=20", "dreps=2", "live.funds=3"]
LATER = "genesis.protocol_version=11"


def read(path: Path) -> dict[str, Any]:
    read = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(read, dict)
    return read


def test_a_bed_of_version_11_states_it_and_has_its_costs(tmp_path: Path) -> None:
    of = {name: tmp_path / name for name in ("before", "after")}
    create_bed("plutus-5", of["before"], quietly, settings=SMALL)
    create_bed("plutus-5", of["after"], quietly, settings=[*SMALL, LATER])
    shelley, alonzo = (
        {name: read(bed / "genesis" / f"genesis.{era}.json") for name, bed in of.items()}
        for era in ("shelley", "alonzo")
    )
    majors = {name: genesis["protocolParams"]["protocolVersion"] for name, genesis in shelley.items()}
    assert majors == {"before": {"major": 10, "minor": 0}, "after": {"major": 11, "minor": 0}}
    assert len(alonzo["after"]["extraConfig"]["costModels"]["PlutusV3"]) == 350
    assert "extraConfig" not in alonzo["before"]
    assert read_metadata(of["after"], None).workload["protocol version"] == "11"
    assert "protocol version" not in read_metadata(of["before"], None).workload
    assert check_bed(of["after"]) == []


@pytest.mark.parametrize(
    "workload", ["value-only", "mixed", "preview-like", "plutus-loop-v2", "expmod-loop", "msm-loop"]
)
def test_a_chain_of_version_11_is_valid_and_announces_it(workload: str, tmp_path: Path) -> None:
    chain = tmp_path / "chain"
    blocks = 200 if workload in ("mixed", "preview-like") else 4
    words = [
        "chain",
        "synth",
        "--workload",
        workload,
        "--blocks",
        str(blocks),
        "--protocol-version",
        "11",
        "-o",
        str(chain),
    ]
    made = CliRunner().invoke(app, words)
    assert made.exit_code == 0, made.output
    held = rules_of(checked(chain))
    assert (
        held["ledger-state"]["held"] > 0 if workload == "mixed" else "script-result" in held or workload == "value-only"
    )
    assert all(rule["unknown"] == 0 for rule in held.values()) or workload == "mixed", held
    info = CliRunner().invoke(app, ["chain", "info", str(chain)])
    assert f"11.0 ({blocks})" in info.output, info.output


@pytest.mark.parametrize("profile", ["expmod-5", "msm-5"])
def test_scripts_of_version_11_are_not_read_under_version_10(profile: str, tmp_path: Path) -> None:
    chain = tmp_path / "chain"
    synthesised(profile, 2, chain)
    assert rules_of(checked(chain))["script-result"]["held"] == 8
    shelley = read(chain / GENESIS)
    shelley["protocolParams"]["protocolVersion"]["major"] = 10
    (chain / GENESIS).write_text(json.dumps(shelley), encoding="utf-8")
    text = checked(chain).output  # the nonce is another too, so that other rules are broken
    rules = {rule["rule"]: rule for rule in json.loads(text[text.index("{") : text.rindex("}") + 1])["rules"]}
    assert rules["script-result"]["held"] == 0


def test_what_needs_another_version_is_refused(tmp_path: Path) -> None:
    for settings in (["workload.script=ExpModIntegerLoop"], ["workload.script=MultiScalarMulG1Loop"]):
        with pytest.raises(BedError, match="needs protocol version 11, and the network has 10"):
            create_bed("plutus-5", tmp_path / "bed", quietly, settings=[*SMALL, *settings])
    for wrong in (9, 12):
        with pytest.raises(SimulationError, match="expected 10 to 11"):
            create_bed("plutus-5", tmp_path / "bed", quietly, settings=[*SMALL, f"genesis.protocol_version={wrong}"])
    refused = CliRunner().invoke(
        app, ["chain", "synth", "--workload", "msm-loop", "--blocks", "1", "-o", str(tmp_path / "no")]
    )
    assert "needs protocol version 11" in str(refused.exception)
    assert list(tmp_path.iterdir()) == []


def test_a_simulation_states_the_version(tmp_path: Path) -> None:
    words = ["simulate", "expmod-5", "--set", "run.slots=60", "-o", str(tmp_path / "run")]
    made = CliRunner().invoke(app, words)
    assert made.exit_code == 0, made.output
    assert (
        read(tmp_path / "run" / "genesis" / "genesis.shelley.json")["protocolParams"]["protocolVersion"]["major"] == 11
    )
