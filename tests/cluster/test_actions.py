"""Transactions that do more than moving value: chains and beds of the profiles that state it, and what is refused."""

import json
from pathlib import Path

import pytest

from slotmark.benches.cluster.bed import create_bed
from slotmark.benches.cluster.live.workload import workload_of
from slotmark.benches.cluster.metadata import read_metadata
from slotmark.errors import BedError, SimulationError
from tests.cluster.checked_chains import GENESIS, checked, rules_of, synthesised
from tests.conftest import quietly

SMALL = ["epoch_slots=500", "delegators=6", "utxo_entries=20", "dreps=2", "live.funds=4"]


@pytest.mark.parametrize("profile", ["mixed-5", "voting-5"])
def test_a_chain_of_actions_is_valid(profile: str, tmp_path: Path) -> None:
    chain = tmp_path / "chain"
    synthesised(profile, 30, chain)
    rules = rules_of(checked(chain))
    transactions = rules["value-conserved"]["held"]
    assert transactions > 500
    # About half of them change accounts, pools or governance.
    found = rules["ledger-state"]
    assert 0.25 * transactions < found["held"] < 0.6 * transactions and not found["unknown"]
    # A deposit, and a cost of pools, below what the genesis asks for are breaches. Another genesis has another first nonce, which proofs show.
    genesis = chain / GENESIS
    stated = json.loads(genesis.read_text(encoding="utf-8"))
    for field, value, rule in [
        ("poolDeposit", 500_000_001, "value-conserved"),
        ("minPoolCost", 500_000_001, "ledger-state"),
    ]:
        parameters = {**stated["protocolParams"], field: value}
        genesis.write_text(json.dumps({**stated, "protocolParams": parameters}), encoding="utf-8")
        if profile == "mixed-5":
            refused = checked(chain)
            text = refused.output
            rules = json.loads(text[text.index("{") : text.rindex("}") + 1])["rules"]
            assert refused.exit_code == 1 and {each["rule"] for each in rules if each["broken"]} == {"vrf-proof", rule}


@pytest.mark.parametrize("field", ["dRepDeposit", "govActionDeposit"])
def test_another_deposit_of_governance_is_a_breach(field: str, tmp_path: Path) -> None:
    chain = tmp_path / "chain"
    synthesised("voting-5", 30, chain)
    genesis = chain / "genesis" / "conway-genesis.json"
    stated = json.loads(genesis.read_text(encoding="utf-8"))
    genesis.write_text(json.dumps({**stated, field: stated[field] + 1}), encoding="utf-8")
    refused = checked(chain)
    text = refused.output
    rules = json.loads(text[text.index("{") : text.rindex("}") + 1])["rules"]
    assert refused.exit_code == 1 and {each["rule"] for each in rules if each["broken"]} == {"ledger-state"}


@pytest.mark.parametrize("profile", ["mixed-5", "voting-5"])
def test_proposals_leave_all_other_rules_known_in_the_next_epoch_too(profile: str, tmp_path: Path) -> None:
    chain = tmp_path / "chain"
    synthesised(profile, 130, chain, "-k", "10")  # an epoch has about 100 blocks
    result = checked(chain)
    rules = rules_of(result)
    assert not {name for name, rule in rules.items() if rule["unknown"]}
    assert rules["fee"]["held"] == rules["value-conserved"]["held"] > 2_000 and rules["body-limit"]["held"] == 130


def test_a_bed_states_its_actions_and_where_they_begin(tmp_path: Path) -> None:
    bed = create_bed("voting-5", tmp_path / "bed", quietly, settings=SMALL)
    load = workload_of(bed)
    assert load.name == "mixed" and load.words[-2:] == ("--shares", "drep=4,proposal=6,value=50,vote=40")
    assert read_metadata(tmp_path / "bed", None).workload["actions"] == "drep 4, proposal 6, value 50, vote 40"
    assert load.places({"h:1": "eu-central-1"}) == ("--target", "h:1")
    profile = tmp_path / "mine.toml"
    profile.write_text(
        'extends = "voting-5"\nname = "mine"\n[workload]\nshares = { "eu-central-1" = 3, "us-east-1" = 1.5 }\n',
        encoding="utf-8",
    )
    load = workload_of(create_bed(profile, tmp_path / "two", quietly, settings=SMALL))
    assert read_metadata(tmp_path / "two", None).workload["shares of transactions"] == "eu-central-1 3, us-east-1 1.5"
    addresses = {"h:1": "eu-central-1", "h:2": "us-east-1", "h:3": "ap-southeast-2", "h:4": "eu-central-1"}
    assert load.places(addresses) == ("--place", "3.0=h:1,h:4", "--place", "1.5=h:2")
    with pytest.raises(BedError, match="us-east-1, where no host has a pool"):
        load.places({"h:1": "eu-central-1"})


@pytest.mark.parametrize(
    ("workload", "words"),
    [
        ("actions = { votes = 1 }", "actions are value, metadata"),
        ("actions = { vote = 0 }", "actions are value, metadata"),
        ('actions = { vote = 1 }\nscript = "Loop"', "expected one of them"),
        ("shares = { mars = 1 }", "of regions in network.regions"),
        ('shares = { "us-east-1" = 0 }', "expected one above 0"),
    ],
)
def test_what_is_no_action_and_no_place_is_refused(workload: str, words: str, tmp_path: Path) -> None:
    profile = tmp_path / "mine.toml"
    profile.write_text(f'extends = "value-only-5"\nname = "mine"\n[workload]\n{workload}\n', encoding="utf-8")
    with pytest.raises((BedError, SimulationError)) as raised:
        create_bed(profile, tmp_path / "bed", quietly, settings=SMALL)
    assert words in str(raised.value) and "\n" not in str(raised.value)
    assert not (tmp_path / "bed").exists()
