"""`slotmark ledger run --live`: the chain that a real host of a live run left behind is replayed, with all its rules checked."""

import shutil
from pathlib import Path

import msgspec
import pytest

from slotmark import _core
from slotmark.benches.ledger.engine import program
from slotmark.errors import TargetError
from slotmark.run import open_run
from tests.cluster.live.machine import skip_without_programs
from tests.conftest import slotmark

K = 3
"""So few blocks must follow one before it is settled."""


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run directory of a live run of two hosts."""
    skip_without_programs()
    try:
        program()
    except TargetError as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("left")
    made = slotmark("cluster", "create", "value-only-5", "--hosts", "2", "--set", f"security_parameter={K}", "-o", folder / "bed")  # fmt: skip
    assert made.returncode == 0, made.stderr
    ran = slotmark("cluster", "run", folder / "bed", "--network", "loopback", "--for", "35s", "-o", folder / "live")
    assert ran.returncode == 0, ran.stderr
    return folder / "live.logs"


def test_what_a_host_left_behind_is_replayed(logs: Path, tmp_path: Path) -> None:
    done = slotmark("ledger", "run", "--live", logs / "node-0", "--backend", "memory", "--rounds", "2", "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"at most {K} are not" in done.stderr
    run = open_run(tmp_path / "memory")
    blocks = run.table("blocks")
    chain = str(logs / "node-0" / "db" / "immutable")
    settled = _core.chain_window(chain, "origin", None).blocks
    assert settled >= 3
    assert run.manifest.workload["blocks"] == str(settled)
    assert blocks.num_rows == 2 * settled
    points = [point for _, _, point in _core.digests(chain, "origin", settled, "headers", 1)]
    assert blocks["hash"].to_pylist() == 2 * [point.split(".")[1] for point in points]
    # All is checked, and nothing that a block spends is missing: the genesis is the run's.
    assert sum(blocks["transactions"].to_pylist()) > 0
    assert sum(blocks["missing_inputs"].to_pylist()) == 0
    assert min(blocks["phase_one_ns"].to_pylist()) > 0
    assert max(blocks["header_check_ns"].to_pylist()) > 10_000
    names = {Path(source.path).name for source in run.manifest.sources}
    assert {f"genesis.{era}.json" for era in ("shelley", "byron", "alonzo", "conway")} <= names
    # Another run's genesis doesn't go with it.
    other = tmp_path / "other.logs"
    shutil.copytree(logs / "genesis", other / "genesis")
    shutil.copytree(logs / "node-0", other / "node-0", ignore=shutil.ignore_patterns("*.socket"))
    shelley = other / "genesis" / "genesis.shelley.json"
    text = shelley.read_text()
    shelley.write_text(text.replace('"activeSlotsCoeff": 0.4', '"activeSlotsCoeff": 0.3'))
    assert shelley.read_text() != text
    refused = slotmark("ledger", "run", "--live", other / "node-0", "--backend", "memory", "--rounds", "1", "-o", tmp_path / "other")  # fmt: skip
    assert refused.returncode != 0
    assert not (tmp_path / "other" / "memory").exists()


def host(folder: Path) -> Path:
    """A host's folder whose node has settled nothing."""
    (folder / "genesis").mkdir(parents=True)
    (folder / "genesis" / "genesis.shelley.json").write_bytes(msgspec.json.encode({"securityParam": 20}))
    (folder / "node-0" / "db" / "immutable").mkdir(parents=True)
    return folder / "node-0"


def test_what_is_no_host_with_a_settled_chain_is_refused_in_a_line(tmp_path: Path) -> None:
    whole = host(tmp_path / "whole.logs")
    empty = host(tmp_path / "empty.logs")
    shutil.rmtree(empty / "db" / "immutable")
    foreign = host(tmp_path / "foreign.logs")
    shutil.rmtree(foreign / "db" / "immutable")
    (foreign / "db" / "blob").mkdir()
    damaged = host(tmp_path / "damaged.logs")
    (damaged.parent / "genesis" / "genesis.shelley.json").write_text("{")
    nested = host(tmp_path / "nested.logs")
    (nested.parent / "genesis" / "genesis.shelley.json").write_text("[" * 20_000 + "]" * 20_000)
    dangling = host(tmp_path / "dangling.logs")
    (dangling / "db" / "immutable" / "00000.chunk").symlink_to(tmp_path / "nowhere")
    bare = tmp_path / "bare"
    bare.mkdir()
    for given, said, more in (
        (tmp_path / "none", "no such folder; --live takes the folder of a host", ()),
        (whole.parent, "a run and no host of one", ()),
        (bare, "there is no ", ()),
        (whole, "no block of its chain is settled, which takes k = 20 blocks behind it", ()),
        (empty, "its node kept no chain there", ()),
        (foreign, "its node keeps no folder db/immutable", ()),
        (damaged, "not a Shelley genesis", ()),
        (nested, "not a Shelley genesis", ()),
        (dangling, "no block of its chain is settled", ()),
        (whole, "--live replaces all three", ("--chain", str(bare))),
    ):
        done = slotmark("ledger", "run", "--live", given, "--backend", "memory", "-o", tmp_path / "out", *more)
        assert done.returncode == 2, done.stdout
        assert said in done.stderr
        assert len(done.stderr.splitlines()) == 1, done.stderr
    assert not (tmp_path / "out").exists()
