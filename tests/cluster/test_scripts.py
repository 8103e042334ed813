"""Scripts that a profile's workload names: what runs is what the manifest names, and what can't run is refused before anything does."""

import json
import math
import os
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from slotmark.benches.cluster.bed import create_bed, read_bed
from slotmark.benches.cluster.live.workload import workload_of
from slotmark.benches.cluster.metadata import read_metadata
from slotmark.benches.cluster.scripts import LOOPS
from slotmark.cli import app
from slotmark.errors import ArgumentError, BedError
from tests.cluster.checked_chains import checked, rules_of, synthesised
from tests.conftest import quietly

SMALL = ["epoch_slots=500", "delegators=6", "utxo_entries=20", "dreps=2", "live.funds=3"]
ALWAYS = "450101002499"
"""Succeeds with any context: ``(program 1.1.0 (lam context (con unit ())))``, the script of Plutus V3 that is known by this hash."""
ALWAYS_HASH = "186e32faa80a26810392fda6d559c7ed4721a65ce1c9d4ef3e1c87b4"
FAILS = "450101002601"
ENDLESS = "4d01010023230010012300100101"
"""Calls itself forever: ``(lam context [(lam x [x x]) (lam x [x x])])``."""
LOOP_HASH = "b499a4bc88aca05aa266583b0722d81d10d9f1ec2863ace533d2599d"


def profile_of(
    folder: Path, *, script: str = ALWAYS, name: str = "mine.plutus", redeemer: str = "redeemer.json"
) -> Path:
    folder.mkdir(exist_ok=True)
    content = f"{0x40 + len(script) // 2:02x}{script}"
    (folder / "mine.plutus").write_text(
        json.dumps({"type": "PlutusScriptV3", "description": "", "cborHex": content}), encoding="utf-8"
    )
    (folder / "datum.cbor").write_text("d87980\n", encoding="utf-8")
    (folder / "redeemer.json").write_text('{"map": [{"k": {"bytes": "00"}, "v": {"int": -5}}]}', encoding="utf-8")
    workload = {"script": name, "datum": "datum.cbor", "redeemer": redeemer}
    lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in workload.items())
    (folder / "mine.toml").write_text(
        f'extends = "value-only-5"\nname = "mine"\n[workload]\n{lines}\n', encoding="utf-8"
    )
    return folder / "mine.toml"


def test_a_script_of_a_file_is_in_the_bed_and_in_the_manifest_by_its_hash(tmp_path: Path) -> None:
    bed = create_bed(profile_of(tmp_path / "profile"), tmp_path / "bed", quietly, settings=SMALL)
    assert bed.script is not None and (bed.script.name, bed.script.hash) == ("mine.plutus", ALWAYS_HASH)
    assert workload_of(read_bed(tmp_path / "bed")).name == "script"
    facts = read_metadata(tmp_path / "bed", None).workload
    assert facts["workload"] == "Plutus (other)"
    assert (facts["Plutus script"], facts["Plutus script hash"]) == ("mine.plutus", ALWAYS_HASH)


def test_the_loop_is_named_as_what_it_is(tmp_path: Path) -> None:
    bed = create_bed("value-only-5", tmp_path / "bed", quietly, settings=[*SMALL, "workload.script=Loop"])
    assert bed.script is not None and workload_of(bed).name == "script"
    # A bed of a version that had no other loop.
    assert workload_of(msgspec.structs.replace(bed, script=None)).name == "plutus-loop"
    facts = read_metadata(tmp_path / "bed", None).workload
    assert (facts["workload"], facts["Plutus script hash"]) == ("Plutus countdown loop", LOOP_HASH)


@pytest.mark.parametrize("script", LOOPS)
def test_each_loop_is_calibrated_to_its_budget_and_named_with_what_it_uses(script: str, tmp_path: Path) -> None:
    share = ["workload.txs_per_block=8", "genesis.budgets.block.steps=80000000000"]
    if script in ("ExpModIntegerLoop", "MultiScalarMulG1Loop"):
        share.append("genesis.protocol_version=11")
    bed = create_bed(
        "plutus-5",
        tmp_path / "bed",
        quietly,
        settings=[*SMALL, "epoch_slots=1000", f"workload.script={script}", *share],
    )
    assert bed.script is not None and bed.script.name == script
    facts = read_metadata(tmp_path / "bed", None).workload
    assert facts["workload"] != "Plutus (other)" and facts["Plutus script hash"] == bed.script.hash
    memory, steps = int(facts["script memory"]), int(facts["script steps"])
    # An eighth of what a block may use, but for less than a round, is used up of one of them.
    assert memory <= 7_750_000 and steps <= 10_000_000_000
    assert memory > 0.9 * 7_750_000 or steps > 0.9 * 10_000_000_000
    price = math.ceil(memory * 0.0577 + steps * 0.0000721)
    assert abs(int(facts["script cost, lovelace"]) - price) <= 1
    assert facts["block steps budget"] == "80000000000"
    alonzo = json.loads((tmp_path / "bed" / "genesis" / "genesis.alonzo.json").read_text(encoding="utf-8"))
    assert alonzo["maxBlockExUnits"] == {"exUnitsMem": 62_000_000, "exUnitsSteps": 80_000_000_000}


@pytest.mark.parametrize(
    ("profile", "each"),
    [
        ("plutus-5", 4),
        ("budget-x1.5", 6),
        ("budget-x2", 8),
        ("secp-5", 8),
        ("ripemd-5", 8),
        ("bls-5", 8),
        ("expmod-5", 8),
        ("msm-5", 8),
    ],
)
def test_a_chain_of_a_profile_is_valid_with_its_scripts(profile: str, each: int, tmp_path: Path) -> None:
    chain = tmp_path / "chain"
    synthesised(profile, 3, chain)
    held = rules_of(checked(chain))
    assert held["script-result"]["held"] == held["script-budget"]["held"] == 2 * each
    # A rule of budgets is there to be broken: the same blocks are refused where the genesis allows a block no more than a transaction.
    alonzo = chain / "genesis" / "alonzo-genesis.json"
    stated = json.loads(alonzo.read_text(encoding="utf-8"))
    alonzo.write_text(json.dumps(stated | {"maxBlockExUnits": stated["maxTxExUnits"]}), encoding="utf-8")
    refused = checked(chain)
    assert refused.exit_code == 1 and '"block-units"' in refused.output


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["budgets.transaction.memory=0"], "transaction.memory is 0"),
        (["budgets.block.steps=9999999999"], "expected 1 or more for a transaction, as much or more for a block"),
        (["budgets.block.memory=620000001"], "620000000 at most"),
        (
            ["budgets.transaction.steps=1000"],
            "the script uses more than a transaction may, 14000000 of memory and 1000 steps",
        ),
        (["workload.script=", "workload.txs_per_block=8"], "only a loop"),
    ],
)
def test_a_budget_that_no_script_can_have_is_refused(settings: list[str], words: str, tmp_path: Path) -> None:
    with pytest.raises(BedError) as raised:
        create_bed("plutus-5", tmp_path / "bed", quietly, settings=[*SMALL, "epoch_slots=1000", *settings])
    assert words in str(raised.value) and "\n" not in str(raised.value)
    assert not (tmp_path / "bed").exists()


def test_a_chain_has_a_workload_or_a_profile(tmp_path: Path) -> None:
    for wrong in ([], ["--workload", "empty", "--profile", "secp-5"]):
        refused = CliRunner().invoke(app, ["chain", "synth", *wrong, "--blocks", "1", "-o", str(tmp_path / "no")])
        assert isinstance(refused.exception, ArgumentError) and "expected one of them" in str(refused.exception)
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize("script", ["EcdsaLoop", "loop", "Loops", "anything"])
def test_a_script_that_is_not_here_is_refused(script: str, tmp_path: Path) -> None:
    with pytest.raises(BedError, match="expected a loop"):
        create_bed("value-only-5", tmp_path / "bed", quietly, settings=[*SMALL, f"workload.script={script}"])
    assert not (tmp_path / "bed").exists()
    # A bed made by hand, or by a version that took any name.
    bed = create_bed("value-only-5", tmp_path / "other", quietly, settings=SMALL)
    bed = msgspec.structs.replace(bed, profile=bed.profile | {"workload": bed.profile["workload"] | {"script": script}})
    with pytest.raises(BedError, match="the bed has no such script"):
        workload_of(bed)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"script": FAILS}, "mine.plutus: the script fails with its datum and redeemer"),
        ({"script": ENDLESS}, "mine.plutus: the script uses more than a transaction may"),
        ({"script": "45010100ffff"}, "can't be read as what they should be"),
        ({"redeemer": ""}, "workload.redeemer is missing"),
        ({"redeemer": "../profile/redeemer.json"}, "without a path"),
        ({"redeemer": "/etc/hostname"}, "without a path"),
        ({"redeemer": ".."}, "without a path"),
        ({"name": "other.plutus"}, "other.plutus: isn't there"),
        ({"redeemer": "folder"}, "not a regular file"),
        ({"redeemer": "link"}, "not a regular file"),
        ({"redeemer": "pipe"}, "not a regular file"),
        ({"redeemer": "large"}, "above 65536 bytes"),
        ({"redeemer": "mine.toml"}, "neither hexadecimal digits nor JSON"),
    ],
)
def test_what_can_not_run_is_refused_in_one_line(changed: dict[str, str], words: str, tmp_path: Path) -> None:
    profile = profile_of(tmp_path / "profile", **changed)
    (profile.parent / "folder").mkdir()
    (profile.parent / "link").symlink_to(profile.parent / "redeemer.json")
    os.mkfifo(profile.parent / "pipe")
    (profile.parent / "large").write_text("00" * 40_000, encoding="utf-8")
    with pytest.raises(BedError) as raised:
        create_bed(profile, tmp_path / "bed", quietly, settings=SMALL)
    assert words in str(raised.value) and "\n" not in str(raised.value)
    assert not (tmp_path / "bed").exists()


def test_a_chain_of_a_script_is_valid(tmp_path: Path) -> None:
    files = profile_of(tmp_path / "profile").parent
    given = [
        *("--script", str(files / "mine.plutus"), "--datum", str(files / "datum.cbor")),
        *("--redeemer", str(files / "redeemer.json")),
    ]
    chain = tmp_path / "chain"
    command = ["chain", "synth", "--workload", "script", *given, "--blocks", "3", "-o", str(chain)]
    made = CliRunner().invoke(app, command)
    assert made.exit_code == 0 and ALWAYS_HASH in made.output
    assert rules_of(checked(chain))["script-result"]["held"] > 100
    # Neither without a script nor with one that isn't asked for.
    for wrong in (["--workload", "script"], ["--workload", "empty", *given], ["--workload", "script", *given[:2]]):
        refused = CliRunner().invoke(app, ["chain", "synth", *wrong, "--blocks", "1", "-o", str(tmp_path / "no")])
        assert isinstance(refused.exception, ArgumentError) and not (tmp_path / "no").exists()
