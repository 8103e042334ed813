"""Our ingest beside DuckDB and Polars: `peers.py NAME LOGS INGEST [--rounds N] [--only ENGINE]`.

Each engine reads the same files with as many threads as there are cores, in a process of its own, and writes what it keeps to
zstd Parquet. The peers do one scan with an explicit schema, a filter by namespace and a projection, into one wide table: the least
work that keeps what our block events, slot events, resources, transactions and ledger metrics hold. (Ours also hashes the files,
orders rows by time, reports bad lines and counts messages; the peers do not.) Rounds are interleaved, their order rotates, and before
any figure is printed, all engines must have the same number of rows of every message.
"""

import argparse
import importlib.util
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import duckdb

GOALS = {"duckdb": 4, "polars": 8}
GOAL_MB_PER_S = 1000
GOAL_MIB = 400
CORES = len(os.sched_getaffinity(0))

EVENTS = {
    "Forge.Loop.StartLeadershipCheck": "started",
    "Forge.Loop.BlockContext": "block_context",
    "Forge.Loop.LedgerState": "ledger_state",
    "Forge.Loop.LedgerView": "ledger_view",
    "Forge.Loop.NodeIsLeader": "leader",
    "Forge.Loop.NodeNotLeader": "not_leader",
    "Forge.Loop.ForgeTickedLedgerState": "ticked",
    "Forge.Loop.ForgingMempoolSnapshot": "mempool_snapshot",
    "Forge.Loop.ForgedBlock": "forged",
    "Forge.Loop.AdoptedBlock": "self_adopted",
    "ChainSync.Client.DownloadedHeader": "noticed",
    "BlockFetch.Client.SendFetchRequest": "requested",
    "BlockFetch.Client.CompletedBlockFetch": "fetched",
    "BlockFetch.Server.SendBlock": "sending",
    "ChainSync.ServerHeader.Update": "announced",
    "ChainDB.AddBlockEvent.AddedToCurrentChain": "adopted",
    "ChainDB.AddBlockEvent.SwitchedToAFork": "switched",
    "TxSubmission.TxInbound.Collected": "collected",
    "TxSubmission.TxInbound.Processed": "processed",
    "Mempool.AddedTx": "added",
    "Mempool.RemoveTxs": "removed",
    "Mempool.RejectedTx": "rejected",
    "LedgerMetrics": "ledger_metrics",
    "Resources": "resources",
}
"""Every namespace of interest in the logs, and the word for it in our tables."""

WHOLE = [
    "slot",
    "current slot",
    "tipBlockNo",
    "blockNo",
    "length",
    "chainLengthDelta",
    "blockSize",
    "count",
    "accepted",
    "rejected",
    "utxoSize",
    "CentiCpu",
    "CentiGC",
    "CentiMut",
    "GcsMajor",
    "GcsMinor",
    "Alloc",
    "Live",
    "RSS",
    "CentiBlkIO",
    "Threads",
    "Heap",
    "NetRd",
    "NetWr",
    "FsRd",
    "FsWr",
]
TEXT = ["block", "blockPrev", "head", "addBlock", "newtip", "blockHash", "rollBackTo"]
ANNOUNCED = "ChainSync.ServerHeader.Update"
"""Reads a header only where it isn't a roll-backward, nor one of the two lines that some nodes write a header."""
HASH = "coalesce(data.newtip, data.addBlock, data.head, data.blockHash, data.block)"


def run_duckdb(files: list[str], out: Path) -> None:
    """One scan by read_ndjson into one Parquet file."""
    members = [f'"{name}" BIGINT' for name in WHOLE] + [f'"{name}" VARCHAR' for name in TEXT]
    members += ['"chainDensity" DOUBLE', '"blockingRead" BOOLEAN', '"risingEdge" BOOLEAN']
    data = ", ".join([*members, '"mempoolSize" STRUCT("numTxs" BIGINT)'])
    whole = ", ".join(f'data."{name}"' for name in WHOLE)
    names = ", ".join(f"'{name}'" for name in EVENTS)
    connection = duckdb.connect()
    connection.execute(f"SET threads = {CORES}; SET preserve_insertion_order = false")
    connection.execute(
        f"""
        COPY (
            SELECT host, epoch_ns(CAST("at" AS TIMESTAMP_NS)) AS ts_ns, ns, thread, split_part({HASH}, '@', 1) AS block,
                data.blockPrev, data.chainDensity, data.mempoolSize.numTxs, {whole}
            FROM read_ndjson(
                $files,
                columns = {{"at": 'VARCHAR', ns: 'VARCHAR', host: 'VARCHAR', thread: 'VARCHAR', data: 'STRUCT({data})'}}
            )
            WHERE ns IN ({names}) AND (
                ns <> '{ANNOUNCED}'
                OR coalesce(data.blockingRead, true) AND coalesce(data.risingEdge, true) AND data.rollBackTo IS NULL
            )
        ) TO '{out / "all.parquet"}' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1)
        """,
        {"files": files},
    )


def run_polars(files: list[str], out: Path) -> None:
    """One lazy scan by scan_ndjson into one Parquet file."""
    import polars as pl  # noqa: PLC0415

    data = dict.fromkeys(WHOLE, pl.Int64) | dict.fromkeys(TEXT, pl.String)
    data |= {"chainDensity": pl.Float64, "blockingRead": pl.Boolean, "risingEdge": pl.Boolean}
    data |= {"mempoolSize": pl.Struct({"numTxs": pl.Int64})}
    data["blockNo"] = pl.String  # some messages write it as text, and one value of another type ends the scan
    schema = {"at": pl.String, "ns": pl.String, "host": pl.String, "thread": pl.String, "data": pl.Struct(data)}
    field = pl.col("data").struct.field
    block = pl.coalesce(field("newtip"), field("addBlock"), field("head"), field("blockHash"), field("block"))
    announced = (
        field("blockingRead").fill_null(True) & field("risingEdge").fill_null(True) & field("rollBackTo").is_null()
    )
    (
        pl.scan_ndjson(files, schema=schema)
        .filter(pl.col("ns").is_in(list(EVENTS)) & ((pl.col("ns") != ANNOUNCED) | announced))
        .select(
            "host",
            pl.col("at").str.to_datetime("%Y-%m-%dT%H:%M:%S%.fZ", time_unit="ns").cast(pl.Int64).alias("ts_ns"),
            "ns",
            "thread",
            block.str.split("@").list.first().alias("block_hash"),
            field("blockPrev"),
            field("chainDensity"),
            field("mempoolSize").struct.field("numTxs"),
            *(field(name).cast(pl.Int64) for name in WHOLE),
        )
        .sink_parquet(out / "all.parquet", compression="zstd", compression_level=1, maintain_order=False)
    )


PEERS = {"duckdb": run_duckdb, "polars": run_polars}


def rows(engine: str, out: Path) -> dict[str, int]:
    """Returns the number of rows of each message that an engine wrote, by our word for it."""
    if engine != "slotmark":
        return {EVENTS[name]: number for name, number in counted("ns", out / "all.parquet")}
    found = []
    for table in ("block_events", "slot_events", "transactions"):
        found += counted("event", out / table / "*.parquet")
    for table in ("resources", "ledger_metrics"):
        found += counted(f"'{table}'", out / table / "*.parquet")
    return dict(found)


def counted(by: str, path: Path) -> list[tuple[str, int]]:
    """Rows of Parquet files by the value of an expression."""
    return duckdb.connect().execute(f"SELECT {by}, count(*) FROM read_parquet('{path}') GROUP BY ALL").fetchall()


def measure(engine: str, logs: Path, ingest: Path) -> tuple[dict[str, float], dict[str, int]]:
    """Runs an engine in a process of its own: seconds, CPU seconds and peak memory of the process, and rows by message."""
    out = Path(tempfile.mkdtemp(prefix="slotmark-bench-", dir=logs.parent))
    command = [str(ingest), str(logs), str(out), str(CORES)]
    if engine != "slotmark":
        command = [sys.executable, __file__, engine, str(logs), str(out)]
    try:
        with tempfile.TemporaryFile("w+") as output:
            child = subprocess.Popen(command, stdout=output)
            began = time.perf_counter()
            _, status, used = os.wait4(child.pid, 0)
            seconds = time.perf_counter() - began
            child.returncode = os.waitstatus_to_exitcode(status)
            output.seek(0)
            printed = output.read()
        if child.returncode != 0:
            sys.exit(f"{engine}: failed with exit code {child.returncode}")
        # Starting Python and importing is not counted against the peers.
        inside = json.loads(printed) if engine != "slotmark" else {}
        figures = {
            "seconds": inside.get("seconds", seconds),
            "cpu": inside.get("cpu", used.ru_utime + used.ru_stime),
            "mib": used.ru_maxrss / 1024,
            "written": sum(path.stat().st_size for path in out.rglob("*.parquet")),
        }
        return figures, rows(engine, out)
    finally:
        shutil.rmtree(out)


def peer(engine: str, logs: Path, out: Path) -> None:
    """The child process of a peer: prints what its work took."""
    files = [str(path) for path in sorted(logs.glob("*/stdout"))]
    work = PEERS[engine]
    os.environ["POLARS_MAX_THREADS"] = str(CORES)
    importlib.import_module(engine)
    began, cpu = time.perf_counter(), time.process_time()
    work(files, out)
    print(json.dumps({"seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu}))


def machine() -> str:
    """The machine and how busy it is."""
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    name = model[1] if model else "unknown CPU"
    return f"{name}, {CORES} cores, {platform.system()} {platform.release()}, load {os.getloadavg()[0]:.2f}"


def verdict(reached: float, goal: float, at_most: bool = False) -> str:
    """A goal, and by how much it is missed."""
    sign = "<=" if at_most else ">="
    if reached <= goal if at_most else reached >= goal:
        return f"goal {sign} {goal}: reached"
    return f"goal {sign} {goal}: missed by {abs(reached / goal - 1):.0%}"


def main(name: str, logs: Path, ingest: Path, rounds: int, only: str | None) -> None:
    """Measures all engines in turns and prints medians and ratios."""
    engines = ["slotmark", *PEERS]
    if only:
        engines = [only]
    if "polars" in engines and importlib.util.find_spec("polars") is None:
        engines.remove("polars")
        print("polars: skipped, it is not installed")
    files = sorted(logs.glob("*/stdout"))
    size = sum(path.stat().st_size for path in files)
    for path in files:  # so that the first engine doesn't read from the disk for all
        with path.open("rb") as log:
            while log.read(1 << 20):
                pass
    print(f"{name}: {len(files)} files, {size / 1e6:.0f} MB; {rounds} rounds; {machine()}", flush=True)
    figures: dict[str, list[dict[str, float]]] = {engine: [] for engine in engines}
    counts: dict[str, dict[str, int]] = {}
    for turn in range(rounds):
        for place in range(len(engines)):
            engine = engines[(turn + place) % len(engines)]
            measured, counts[engine] = measure(engine, logs, ingest)
            figures[engine].append(measured)
    for engine, found in counts.items():
        if found != counts[engines[0]]:
            differing = {
                event: (counts[engines[0]].get(event), found.get(event)) for event in counts[engines[0]] | found
            }
            sys.exit(
                f"{engine}: other numbers of rows than ours: { {k: v for k, v in differing.items() if v[0] != v[1]} }"
            )
    for engine in engines:
        middle = {key: median(one[key] for one in figures[engine]) for key in figures[engine][0]}
        rate, cpu = size / 1e6 / middle["seconds"], size / 1e6 / middle["cpu"]
        memory = max(one["mib"] for one in figures[engine])
        line = f"  {engine:<9} {middle['seconds']:7.2f} s {rate:6.0f} MB/s {cpu:6.0f} MB/s of CPU {memory:6.0f} MiB at most"
        print(f"{line}, {middle['written'] / 1e6:.1f} MB written")
        if engine == "slotmark":
            print(
                f"    {CORES} cores: {verdict(round(rate), GOAL_MB_PER_S)}; MiB: {verdict(round(memory), GOAL_MIB, at_most=True)}"
            )
        else:
            ours = figures["slotmark"]
            pairs = list(zip(figures[engine], ours, strict=True))
            ratio = median(theirs["seconds"] / own["seconds"] for theirs, own in pairs)
            of_cpu = median(theirs["cpu"] / own["cpu"] for theirs, own in pairs)
            print(f"    {ratio:.1f} times our time ({of_cpu:.1f} times our CPU), {verdict(ratio, GOALS[engine])}")
    print(f"  all have the same {sum(counts[engines[0]].values())} rows of {len(counts[engines[0]])} messages")


if __name__ == "__main__":
    if sys.argv[1] in PEERS:
        peer(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        parser = argparse.ArgumentParser()
        parser.add_argument("name")
        parser.add_argument("logs", type=Path)
        parser.add_argument("ingest", type=Path)
        parser.add_argument("--rounds", type=int, default=3)
        parser.add_argument("--only")
        given = parser.parse_args()
        main(given.name, given.logs, given.ingest, given.rounds, given.only)
