"""Fixtures that tests of live clusters share."""

from pathlib import Path

import pytest

from tests.conftest import slotmark


@pytest.fixture(scope="module")
def bed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bed of as many hosts as the module's ``HOSTS`` says."""
    folder = tmp_path_factory.mktemp("bed") / "bed"
    made = slotmark("cluster", "create", "value-only-5", "--hosts", str(request.module.HOSTS), "-o", folder)
    assert made.returncode == 0, made.stderr
    return folder
