"""A run in a store on this machine beside a folder, and the library beside others: wall time and this process's processor time, in turns.

stores.py [MEGABYTES [ROUNDS]]
"""

import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq
from tests.s3 import ACCESS, BUCKET, S3, SECRET, s3_server

from slotmark.places import Place, Url
from slotmark.run import Manifest, RunWriter, Target, machine_facts, open_run
from slotmark.stores import Bucket

FILES = 32
MANIFEST = Manifest(
    id="x",
    bench="chainsync",
    origin="measured",
    target=Target("x", "1"),
    workload={},
    parameters={},
    session="s",
    machine=None,
    started="",
    ended="",
    versions={},
    sources=[],
    tables={},
    warnings=[],
)


def main() -> None:
    """Prints a line per work and its ratios."""
    megabytes, rounds = (int(given) for given in [*sys.argv[1:], *["1000", "3"][len(sys.argv) - 1 :]])
    machine = machine_facts()
    print(f"machine: {machine.cpu}, {machine.cores} cores; {megabytes} MB in {FILES} files, {rounds} rounds")
    with tempfile.TemporaryDirectory(prefix="slotmark-") as named:
        folder = Path(named)
        files = _files(folder / "source", megabytes * 10**6)
        with s3_server(folder / "server") as server:
            os.environ.update(server.environment())
            _runs(folder, files, rounds)
            _clients(server, folder / "source" / "large", megabytes * 10**6 // 4, rounds)


def _files(folder: Path, size: int) -> list[Path]:
    """Parquet files of random numbers, which don't get smaller by packing, of some size in all."""
    folder.mkdir()
    draw = np.random.default_rng(1)
    found = []
    for number in range(FILES):
        columns = {name: draw.integers(0, 1 << 62, size // FILES // 8 // 4) for name in "abcd"}
        found.append(folder / f"{number}.parquet")
        pq.write_table(pa.table(columns), found[-1], compression="zstd", use_dictionary=False)
    return found


def _runs(folder: Path, files: list[Path], rounds: int) -> None:
    """Writes and reads a run in both places."""

    def write(place: Place) -> None:
        with RunWriter(place) as writer:
            writer.copy("numbers", files)
            writer.finish(MANIFEST)

    def read(place: Place) -> None:
        assert open_run(place).table("numbers").num_columns == len("abcd")

    def read_half(place: Place) -> None:
        found = open_run(place)
        found.fetch("numbers", ["a", "b"])
        for file in found.table_files("numbers"):
            pq.ParquetFile(file).read(columns=["a", "b"])

    for name, doing in {"write": write, "read": read, "read two of four columns": read_half}.items():
        works: dict[str, Callable[[], None]] = {}
        for round_ in range(rounds):
            for kind, place in {"folder": folder / "x", "store": Url("s3", BUCKET, "x")}.items():
                if name == "write":
                    shutil.rmtree(folder / "x", ignore_errors=True) if kind == "folder" else _emptied()
                works[f"{kind} {round_}"] = lambda doing=doing, place=place: doing(place)
                _time(name, kind, works[f"{kind} {round_}"])
        _ratios(name, "folder")


def _emptied() -> None:
    bucket = Bucket(Url("s3", BUCKET, "x"))
    bucket.delete(bucket.names())


def _clients(server: S3, file: Path, size: int, rounds: int) -> None:
    """Writes and reads one object with each client."""
    file.write_bytes(np.random.default_rng(2).bytes(size))
    bucket = Bucket(Url("s3", BUCKET, "y"))
    arrow = pyarrow.fs.S3FileSystem(
        access_key=ACCESS,
        secret_key=SECRET,
        endpoint_override=f"127.0.0.1:{server.port}",
        scheme="http",
        region="us-east-1",
    )

    def by_arrow_write() -> None:
        with file.open("rb") as source, arrow.open_output_stream(f"{BUCKET}/y/arrow") as out:
            shutil.copyfileobj(source, out, 16 << 20)

    def by_arrow_read() -> None:
        with arrow.open_input_file(f"{BUCKET}/y/arrow") as source:
            assert len(source.read()) == size

    writes = {"obstore": lambda: bucket.put("obstore", file), "pyarrow": by_arrow_write}
    reads = {"obstore": lambda: list(bucket.range("obstore", 0, size)), "pyarrow": by_arrow_read}
    try:
        import s3fs  # noqa: PLC0415  # pyright: ignore[reportMissingImports]
    except ImportError:
        print("s3fs isn't installed here: pip install s3fs, for its rows")
    else:
        other = s3fs.S3FileSystem(key=ACCESS, secret=SECRET, endpoint_url=f"http://127.0.0.1:{server.port}")
        writes["s3fs"] = lambda: other.put(str(file), f"{BUCKET}/y/s3fs")
        reads["s3fs"] = lambda: other.cat_file(f"{BUCKET}/y/s3fs")
    for name, works in {"put": writes, "get": reads}.items():
        for _ in range(rounds):
            for client, doing in works.items():
                _time(name, client, doing)
        _ratios(name, "obstore")


_took: dict[tuple[str, str], list[tuple[float, float]]] = {}


def _time(name: str, kind: str, doing: Callable[[], object]) -> None:
    wall, processor = time.perf_counter(), time.process_time()
    doing()
    _took.setdefault((name, kind), []).append((time.perf_counter() - wall, time.process_time() - processor))


def _ratios(name: str, to: str) -> None:
    kinds = [kind for work, kind in _took if work == name]
    walls, processors = (
        {kind: statistics.median(one[place] for one in _took[name, kind]) for kind in kinds} for place in (0, 1)
    )
    each = ", ".join(f"{kind} {walls[kind]:.2f} s ({processors[kind]:.2f} s of processor time)" for kind in kinds)
    ratios = ", ".join(f"{kind} {walls[kind] / walls[to]:.2f}" for kind in kinds if kind != to)
    print(f"{name}: {each}; to {to}: {ratios}", flush=True)


if __name__ == "__main__":
    main()
