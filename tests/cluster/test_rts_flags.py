"""The flags that a profile gives the node's runtime: recorded, shown, and held against each other."""

import json
from pathlib import Path

import pytest

from slotmark.benches.cluster.ingesting.ingest import ingest
from slotmark.benches.cluster.requests import IngestRequest
from slotmark.compare import compare
from slotmark.errors import LogError
from slotmark.run import Run
from tests.cluster.made_up_logs import Cluster
from tests.conftest import slotmark


def logs(folder: Path, node: object) -> Path:
    """Two hosts and four blocks; ``node`` is what the profile has of the node, None for nothing."""
    cluster = Cluster(2)
    for number in range(4):
        slot = 10 * number + 4
        name, before = f"{folder.name}-{number}", f"{folder.name}-{number - 1}" if number else None
        cluster.forge(0, slot, number, name, before, forged_ms=60.0)
        cluster.observe(1, slot, number, name, adopted_ms=400.0)
    written = cluster.write(folder)
    profile = {"analysis": {"filters": [], "filter_exprs": []}, **({} if node is None else {"node": node})}
    (written / "profile.json").write_text(json.dumps(profile))
    return written


def ingested(folder: Path, node: object) -> Run:
    return ingest(IngestRequest(logs=[str(logs(folder, node))], out=folder.with_suffix(".run")))[0]


def differing(runs: list[Run]) -> list[str]:
    """Warnings of the comparison about differing flags."""
    return [one.text for one in compare(runs).all_warnings if "Parameter 'RTS flags'" in one.text]


def test_flags_are_in_the_manifest_and_a_difference_between_sides_is_a_warning(tmp_path: Path) -> None:
    without = ingested(tmp_path / "without", {"rts_flags_override": []})
    large = ingested(tmp_path / "large", {"rts_flags_override": ["-A16m", "-c"]})
    again = ingested(tmp_path / "again", {"rts_flags_override": ["-A16m", "-c"]})
    unknown = ingested(tmp_path / "unknown", None)
    found = [run.manifest.parameters.get("RTS flags") for run in (without, large, unknown)]
    assert found == ["no override", "-A16m -c", None]
    (text,) = differing([without, large])
    assert "no override" in text
    assert "-A16m -c" in text
    assert not differing([large, again])
    assert not differing([large, unknown])
    shown = slotmark("show", large.path)
    assert "RTS flags: -A16m -c" in " ".join(shown.stdout.split()), shown.stdout


@pytest.mark.parametrize("flags", ["-A16m", {"-A": "16m"}, 16, [["-A16m"]], [16]])
def test_what_is_no_list_of_flags_is_refused_with_its_file(flags: object, tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"profile\.json: rts_flags_override .* expected a list of words"):
        ingested(tmp_path / "run", {"rts_flags_override": flags})
    assert not (tmp_path / "run.run").exists()
