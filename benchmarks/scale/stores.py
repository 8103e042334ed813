"""A run in a store on this machine beside a folder and beside its files put by the library alone, and the library beside others, in turns.

Printed are wall time, this process's processor time, and the server's.

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
from tests.made_up_runs import bare_manifest
from tests.s3 import ACCESS, BUCKET, S3, SECRET, s3_server

from slotmark.places import Place, Url
from slotmark.run import RunWriter, Target, machine_facts, open_run
from slotmark.stores import Bucket

FILES = 32
MANIFEST = bare_manifest(
    "x",
    "chainsync",
    Target("x", "1"),
    session="s",
    origin="measured",
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
            _runs(server, folder, files, rounds)
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


def _runs(server: S3, folder: Path, files: list[Path], rounds: int) -> None:
    """Writes and reads a run in both places, and the same files as objects of no run: nothing that keeps a run in a store can take less."""
    alone = Bucket(Url("s3", BUCKET, "alone"))

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

    names = [file.name for file in files]
    sizes = [file.stat().st_size for file in files]

    def put_alone() -> None:
        alone.each(alone.put, names, files)

    def get_alone() -> None:
        alone.each(lambda name, size: [None for _ in alone.range(name, 0, size)], names, sizes)

    places = {"folder": folder / "x", "store": Url("s3", BUCKET, "x")}
    for name, doing, by_library in (
        ("write", write, put_alone),
        ("read", read, get_alone),
        ("read two of four columns", read_half, None),
    ):
        for _ in range(rounds):
            for kind, place in places.items():
                if name == "write":
                    shutil.rmtree(folder / "x", ignore_errors=True) if kind == "folder" else _emptied("x")
                _time(name, kind, lambda doing=doing, place=place: doing(place), server)
            if by_library:
                if name == "write":
                    _emptied("alone")
                _time(name, "library alone", by_library, server)
        _ratios(name, "folder")


def _emptied(below: str) -> None:
    bucket = Bucket(Url("s3", BUCKET, below))
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
        print("left out: s3fs, which `benchmarks/scale/run` installs")
    else:
        other = s3fs.S3FileSystem(key=ACCESS, secret=SECRET, endpoint_url=f"http://127.0.0.1:{server.port}")
        writes["s3fs"] = lambda: other.put(str(file), f"{BUCKET}/y/s3fs")
        reads["s3fs"] = lambda: other.cat_file(f"{BUCKET}/y/s3fs")
    for name, works in {"put": writes, "get": reads}.items():
        for _ in range(rounds):
            for client, doing in works.items():
                _time(name, client, doing, server)
        _ratios(name, "obstore")


_took: dict[tuple[str, str], list[tuple[float, float, float]]] = {}


def _time(name: str, kind: str, doing: Callable[[], object], server: S3) -> None:
    wall, processor, behind = time.perf_counter(), time.process_time(), server.processor_s()
    doing()
    took = time.perf_counter() - wall, time.process_time() - processor, server.processor_s() - behind
    _took.setdefault((name, kind), []).append(took)


def _ratios(name: str, to: str) -> None:
    kinds = [kind for work, kind in _took if work == name]
    walls, processors, behind = (
        {kind: statistics.median(one[place] for one in _took[name, kind]) for kind in kinds} for place in range(3)
    )
    each = ", ".join(
        f"{kind} {walls[kind]:.2f} s ({processors[kind]:.2f} s, server {behind[kind]:.2f} s)" for kind in kinds
    )
    ratios = ", ".join(f"{kind} {walls[kind] / walls[to]:.2f}" for kind in kinds if kind != to)
    if "library alone" in kinds:
        ratios += f"; store to library alone: {walls['store'] / walls['library alone']:.2f}"
    print(f"{name}: {each}; to {to}: {ratios}", flush=True)


if __name__ == "__main__":
    main()
