"""`make licences` lists every dependency with a licence."""

import subprocess
import sys

from tests.conftest import REPO
from tests.side_by_side import machines_network


def test_every_dependency_is_listed_with_its_licence() -> None:
    with machines_network():  # cargo fetches crates for other systems
        listed = subprocess.run(
            [sys.executable, str(REPO / ".ci" / "licences.py")], capture_output=True, text=True, check=False, cwd=REPO
        )
    assert listed.returncode == 0, listed.stderr
    for name in ("duckdb", "parquet", "blake3"):
        assert any(f" {name} " in line for line in listed.stdout.splitlines()), name
