"""Memory of the same hosts is compared host by host; hosts that may be other machines are not."""

import json
from collections.abc import Callable
from pathlib import Path
from shutil import copytree

import msgspec
import pytest

from slotmark.compare import compare
from slotmark.compare.results.rows import Difference
from slotmark.run import MachineFacts, Run, machine_facts, open_run
from tests.conftest import slotmark
from tests.differences import difference

MEMORY = "rss_mib"


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Logs of two short runs of one cluster."""
    folder = tmp_path_factory.mktemp("logs")
    for seed in ("1", "2"):
        made = slotmark("simulate", "value-only-5", "--slots", "120", "--seed", seed, "-o", folder / seed)
        assert made.returncode == 0, made.stderr
    return [folder / "1", folder / "2"]


@pytest.fixture(scope="module")
def runs(logs: list[Path]) -> list[Run]:
    return [ingested(one, one.with_name(f"run-{one.name}")) for one in logs]


def ingested(logs: Path, out: Path) -> Run:
    made = slotmark("ingest", logs, "-o", out)
    assert made.returncode == 0, made.stderr
    return open_run(out)


def of_metric(ours: Run, theirs: Run, metric: str = MEMORY) -> Difference:
    return difference(compare([ours, theirs], filters=[]), metric)


def over(ours: Run, theirs: Run, metric: str = MEMORY) -> str:
    basis = of_metric(ours, theirs, metric).basis
    assert basis is not None
    return basis.over


def test_memory_is_compared_over_matched_hosts_and_processors_over_slots(runs: list[Run]) -> None:
    found = of_metric(runs[0], runs[1])
    assert found.basis is not None
    assert (found.basis.over, tuple(found.basis.counts)) == ("matched hosts", (5, 5))
    assert found.conditional
    assert over(runs[0], runs[1], "cpu_percent") == "slots"


def another_region(logs: Path) -> None:
    path = logs / "topology.json"
    topology = json.loads(path.read_text())
    topology["coreNodes"][3]["region"] = "loc-elsewhere"
    path.write_text(json.dumps(topology))


def another_address(logs: Path) -> None:
    for path in logs.glob("node-*/stdout"):
        path.write_text(path.read_text().replace("10.0.0.3:", "10.7.7.7:"))


def another_name(logs: Path) -> None:
    (logs / "node-3").rename(logs / "node-33")


@pytest.mark.parametrize("change", [another_region, another_address, another_name])
def test_hosts_of_which_one_is_another_machine_are_not_matched(
    runs: list[Run], logs: list[Path], tmp_path: Path, change: Callable[[Path], None]
) -> None:
    copytree(logs[1], tmp_path / "logs")
    assert over(runs[0], ingested(tmp_path / "logs", tmp_path / "same")) == "matched hosts"
    change(tmp_path / "logs")
    assert over(runs[0], ingested(tmp_path / "logs", tmp_path / "other")) == "hosts"


def test_hosts_of_runs_on_two_machines_are_not_matched(runs: list[Run]) -> None:
    here = machine_facts()
    there = msgspec.structs.replace(here, hostname_hash="another")

    def on(run: Run, machine: MachineFacts) -> Run:
        return Run(run.path, msgspec.structs.replace(run.manifest, machine=machine))

    assert over(on(runs[0], here), on(runs[1], here)) == "matched hosts"
    assert over(on(runs[0], here), on(runs[1], there)) == "hosts"
    assert (
        over(on(runs[0], here), on(runs[1], msgspec.structs.replace(here, load=99.0, kernel="Linux 9")))
        == "matched hosts"
    )
    measured = Run(runs[1].path, msgspec.structs.replace(runs[1].manifest, origin="measured"))
    assert over(runs[0], measured) == "hosts", "one is simulated"
