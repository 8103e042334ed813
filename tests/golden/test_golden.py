"""The same input gives the bytes that it gave before: chains, beds, logs, run folders, reports, and what is printed.

The digests were made on x86-64 with AVX-512. Sums of floats whose last digit another processor's vectors change would differ there.
"""

import platform
from pathlib import Path

import pytest

from tests.golden import making


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_fixed_input_gives_the_bytes_that_it_gave(tmp_path: Path) -> None:
    if platform.python_version() != making.PYTHON:
        pytest.skip(f"the digests are of runs that name Python {making.PYTHON}")
    making.make(tmp_path)
    found, before = making.digests(tmp_path), making.written()

    other = sorted(path for path in found.keys() | before.keys() if found.get(path) != before.get(path))

    assert not other, (
        f"{len(other)} of {len(before)} have other bytes, or are new or gone: {', '.join(other)}. Where that is meant, make them anew with "
        "`python -m tests.golden.making --write`, and have the commit say which change it is."
    )


@pytest.mark.parametrize("place", ["run.json", "tables/one/part-0.parquet"])
def test_a_byte_more_is_found_and_named(tmp_path: Path, place: str) -> None:
    for file in ("runs/a/run.json", "runs/a/tables/one/part-0.parquet", "runs/a/tables/one/part-1.parquet"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_bytes(b"some bytes")
    before = making.digests(tmp_path)

    (tmp_path / "runs/a" / place).write_bytes(b"some bytes, and more")

    found = making.digests(tmp_path)
    assert {path for path in found if found[path] != before[path]} == {f"runs/a/{place.split('/', maxsplit=1)[0]}"}
