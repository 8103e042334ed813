"""Run folders of long cluster runs: a short simulated run, repeated in time as often as asked for.

Every repetition has the rows of the short run with its slots, times, block numbers and counters behind those of the one before, and hashes of its own.
Of `transactions` every 16th row is kept. Files are as simulating writes them: of each host its own.
"""

from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from slotmark.benches.cluster.simulating.direct import simulate_direct
from slotmark.benches.cluster.simulating.simulate import load_profile
from slotmark.run import Run, RunWriter, open_run

PROFILE = "value-only-10.5"
BY_HOST = ("block_events", "ledger_metrics", "resources", "slot_events", "transactions")
"""Tables with a file per host."""

ONCE = ("clocks", "connections", "genesis", "hosts", "least_differences", "regions", "rejected", "trace_frequencies")
"""Tables that a long run has as a short one."""

TIMES, SLOTS, HEIGHTS, HASHES = ("ts_ns",), ("slot",), ("block_no",), ("block", "previous")
COUNTERS = (
    *("cpu_cs", "gc_cs", "mutator_cs", "major_gcs", "minor_gcs", "allocated_bytes"),
    *("net_read_bytes", "net_written_bytes", "fs_read_bytes", "fs_written_bytes"),
)
"""Columns of `resources` that count from a node's start on."""

EVERY = 16
ROWS_AT_ONCE = 1 << 20


class Step(msgspec.Struct, frozen=True):
    """The additions of one repetition to the one before.

    Attributes:
        slots: The slots of the short run.
        time_ns: As long as they take.
        blocks: The heights of its chain.
    """

    slots: int
    time_ns: int
    blocks: int


def short_run(folder: Path, hosts: int, slots: int, seed: int) -> Run:
    """A simulated run; its epochs are a fourth of it, so that a repetition begins with one."""
    settings = [f"network.hosts={hosts}", f"network.pools={hosts}", f"slots={slots}", f"epoch_slots={slots // 4}"]
    run, _ = simulate_direct(load_profile(PROFILE, settings), seed, folder, lambda _done, _total: None)
    return run


def long_run(short: Path, folder: Path, times: int, workers: int = 2) -> Run:
    """The run at ``short`` so many times over, written to ``folder``."""
    source = open_run(short)
    step = _step(source)
    with RunWriter(folder) as writer, ProcessPoolExecutor(workers) as pool:
        for name in ONCE:
            if name in source.manifest.tables:
                writer.copy(name, source.table_files(name))
        for name in BY_HOST:
            files = source.table_files(name)
            (writer.tables_folder / name).mkdir()
            to = [writer.tables_folder / name / f"part-{number:05}.parquet" for number in range(1, len(files) + 1)]
            writer.add(name, sum(pool.map(partial(_repeated, name, step, times), files, to, chunksize=1)))
        return writer.finish(msgspec.structs.replace(source.manifest, id=f"{source.manifest.id}-{times}"))


def _step(source: Run) -> Step:
    """Returns what follows from a run. Its slots are those of the profile."""
    (genesis,) = source.table("genesis").to_pylist()
    slots = 4 * genesis["epoch_slots"]
    heights = [
        pc.call_function("min_max", [pq.read_table(file, columns=["block_no"])["block_no"]])
        for file in source.table_files("block_events")
    ]
    found = [height for one in heights for height in one.as_py().values() if height is not None]
    return Step(slots, slots * genesis["slot_ns"], max(found) - min(found) + 1)


def _repeated(name: str, step: Step, times: int, file: Path, to: Path) -> int:
    """Writes a file so many times over; how many rows it has then."""
    words = [field.name for field in pq.read_schema(file) if pa.types.is_string(field.type)]
    table = pq.read_table(file, read_dictionary=words).combine_chunks().unify_dictionaries()
    if name == "transactions":
        table = table.take(np.arange(0, table.num_rows, EVERY))
    most = {
        column: pc.call_function("max", [table[column]]).as_py() or 0
        for column in COUNTERS
        if column in table.column_names
    }
    kinds = {field.name: "DELTA_BINARY_PACKED" for field in table.schema if field.name in (*TIMES, *SLOTS, *most)}
    written = 0
    with pq.ParquetWriter(
        to,
        pq.read_schema(file).remove_metadata(),
        compression="zstd",
        use_dictionary=words,  # pyright: ignore[reportArgumentType] - columns are known to it too
        column_encoding=kinds or None,
    ) as writer:
        some: list[pa.Table] = []
        for number in range(times):
            some.append(_moved(table, step, number, most))
            if number == times - 1 or sum(one.num_rows for one in some) >= ROWS_AT_ONCE:
                together = pa.concat_tables(some).unify_dictionaries().combine_chunks()
                writer.write_table(together.cast(writer.schema), ROWS_AT_ONCE)
                written += together.num_rows
                some = []
    return written


def _moved(table: pa.Table, step: Step, number: int, most: dict[str, int]) -> pa.Table:
    """The rows of one repetition, counted from 0."""
    by = {
        **dict.fromkeys(TIMES, step.time_ns),
        **dict.fromkeys(SLOTS, step.slots),
        **dict.fromkeys(HEIGHTS, step.blocks),
        **most,
    }
    columns = [
        _renamed(column, number)
        if name in HASHES
        else pc.call_function("add", [column, pa.scalar(by[name] * number)])
        if name in by
        else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    return pa.table(columns, names=table.column_names)


def _renamed(column: pa.ChunkedArray, number: int) -> pa.ChunkedArray:
    """Hashes of a repetition. The parent of its first block is in no log, so that it follows the last block of the one before."""
    chunks = []
    for chunk in column.chunks:
        words = chunk.dictionary.to_pylist()
        chunks.append(
            pa.DictionaryArray.from_arrays(
                chunk.indices, pa.array([f"{number:08x}{word[8:]}" for word in words], pa.string())
            )
        )
    return pa.chunked_array(chunks, column.type)
