"""RocksDB, which the engine has only where it was built with the feature: refused with the remedy, or measured as the others."""

from pathlib import Path

import pytest

from slotmark.benches.ledger.engine import ROCKSDB, program, refuse_unknown_store
from slotmark.errors import ArgumentError, TargetError
from slotmark.run import open_run
from tests.conftest import slotmark


def test_rocksdb_is_measured_where_it_was_built_and_refused_with_the_remedy_elsewhere(
    small_chain: Path, tmp_path: Path
) -> None:
    try:
        program()
    except TargetError as error:
        pytest.skip(str(error))
    out = tmp_path / "runs"
    options = ("--chain", small_chain, "--backend", f"memory,{ROCKSDB}", "--rounds", "1", "--blocks", "60", "-o", out)
    done = slotmark("ledger", "run", *options)
    try:
        refuse_unknown_store("--backend rocksdb", ROCKSDB)
    except ArgumentError as error:
        assert done.returncode == 2
        assert done.stderr.strip() == f"slotmark: {error}"
        assert f"--features {ROCKSDB}" in done.stderr
        assert not out.exists()
        return
    assert done.returncode == 0, done.stderr
    digests = {open_run(out / name).table("processes")["digest"][0].as_py() for name in ("memory", ROCKSDB)}
    assert len(digests) == 1, "every store ends with the same set"
