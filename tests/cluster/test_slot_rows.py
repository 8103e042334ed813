"""Compiled code makes the same of the tables, host by host, as SQL does."""

import json
import random
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from slotmark import _core
from slotmark.benches.cluster.ingesting.ingest import ingest
from slotmark.benches.cluster.requests import IngestRequest
from slotmark.benches.cluster.simulating.direct import simulate_direct
from slotmark.benches.cluster.simulating.simulate import load_profile, simulate
from slotmark.errors import RunError
from slotmark.metrics import Analysis
from slotmark.run import Run

SETTINGS = ("hosts=5", "pools=5", "run.slots=300", "genesis.epoch_slots=100")

SLOTS = """
WITH loops AS (
    SELECT
        host,
        slot,
        COUNT(*) AS events,
        COUNT(CASE WHEN event = 'started' THEN 1 END) AS starts,
        COUNT(CASE WHEN event = 'leader' THEN 1 END) AS leads,
        MIN(CASE WHEN event = 'started' THEN ts_ns END) AS started_ts_ns,
        MIN(CASE WHEN event = 'block_context' THEN ts_ns END) AS context_ts_ns,
        MIN(CASE WHEN event = 'ledger_state' THEN ts_ns END) AS state_ts_ns,
        MIN(CASE WHEN event = 'ledger_view' THEN ts_ns END) AS view_ts_ns,
        MIN(CASE WHEN event = 'leader' THEN ts_ns END) AS leading_ts_ns,
        MIN(CASE WHEN event = 'not_leader' THEN ts_ns END) AS not_leading_ts_ns,
        MIN(CASE WHEN event = 'ticked' THEN ts_ns END) AS ticked_ts_ns,
        MIN(CASE WHEN event = 'mempool_snapshot' THEN ts_ns END) AS snapshot_ts_ns,
        MAX(block_no) AS block_no
    FROM slot_events
    WHERE slot IS NOT NULL
    GROUP BY host, slot
),

changed AS (
    SELECT host, slot, block_no IS DISTINCT FROM LAG(block_no) OVER (PARTITION BY host ORDER BY slot) AS has_changed
    FROM loops
    WHERE block_no IS NOT NULL
),

grown AS (
    SELECT
        host,
        slot,
        MAX(CASE WHEN has_changed THEN slot END) OVER (PARTITION BY host ORDER BY slot) AS grew_slot
    FROM changed
),

held AS (
    SELECT host, (ts_ns - system_start_ns) // slot_ns AS slot, MAX(count) AS txs
    FROM transactions, genesis
    WHERE event IN ('added', 'removed') AND ts_ns >= system_start_ns
    GROUP BY ALL
),

sizes AS (SELECT host, slot, MAX(utxo_size) AS utxo_size, MAX(chain_density) AS chain_density FROM ledger_metrics GROUP BY ALL)

SELECT
    * EXCLUDE (block_no, grew_slot, txs, utxo_size, chain_density)
        REPLACE (COALESCE(events, 0) AS events, COALESCE(starts, 0) AS starts, COALESCE(leads, 0) AS leads),
    grew_slot,
    txs,
    utxo_size,
    chain_density
FROM loops
LEFT JOIN grown USING (host, slot)
FULL JOIN held USING (host, slot)
FULL JOIN sizes USING (host, slot)
ORDER BY host, slot
"""

USAGE = """
WITH taken AS (
    SELECT *, (ts_ns - system_start_ns) // slot_ns AS slot FROM resources, genesis WHERE ts_ns >= system_start_ns
),

last AS (
    SELECT * FROM taken
    QUALIFY ROW_NUMBER() OVER (PARTITION BY host, slot ORDER BY ts_ns DESC, cpu_cs DESC, allocated_bytes DESC) = 1
)

SELECT
    host,
    slot,
    slot - LAG(slot) OVER sampled AS span_slots,
    ts_ns - LAG(ts_ns) OVER sampled AS span_ns,
    cpu_cs - LAG(cpu_cs) OVER sampled AS cpu,
    gc_cs - LAG(gc_cs) OVER sampled AS gc,
    mutator_cs - LAG(mutator_cs) OVER sampled AS mutator,
    major_gcs - LAG(major_gcs) OVER sampled AS major,
    minor_gcs - LAG(minor_gcs) OVER sampled AS minor,
    allocated_bytes - LAG(allocated_bytes) OVER sampled AS allocated,
    net_read_bytes - LAG(net_read_bytes) OVER sampled AS net_read,
    net_written_bytes - LAG(net_written_bytes) OVER sampled AS net_written,
    fs_read_bytes - LAG(fs_read_bytes) OVER sampled AS fs_read,
    fs_written_bytes - LAG(fs_written_bytes) OVER sampled AS fs_written,
    rss_bytes,
    heap_bytes,
    live_bytes
FROM last
WINDOW sampled AS (PARTITION BY host ORDER BY slot)
ORDER BY host, slot
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("run")
    return simulate_direct(load_profile("value-only-10.5", SETTINGS), 3, folder / "five", lambda *_: None)[0]


def refuse_unlike(run: Run, relation: str, sql: str) -> pa.Table:
    """Holds a relation against SQL over the tables that it is made of; gives it."""
    with Analysis(run, filters=[]) as analysis:
        native, by_sql = analysis.relation(relation), analysis.query(sql)
    assert native.column_names == by_sql.column_names
    assert native.to_pylist() == by_sql.to_pylist()
    assert native.num_rows > 1_000
    return native


@pytest.mark.parametrize(("relation", "sql"), [("slot_rows", SLOTS), ("usage_rows", USAGE)])
def test_it_is_what_sql_gives(run: Run, relation: str, sql: str) -> None:
    native = refuse_unlike(run, relation, sql)
    for column in native.column_names:
        assert native[column].null_count < native.num_rows, column


def test_it_is_so_with_clocks_corrected_and_nodes_started_anew(tmp_path: Path) -> None:
    skewed = 'fault=[{kind="clock-skew", host=2, ahead_ms=180.0}]'
    settings = ("hosts=6", "pools=6", "run.slots=1000", "genesis.epoch_slots=500", skewed)
    logs = tmp_path / "logs"
    simulate(load_profile("value-only-10.5", settings), 7, logs, lambda *_: None)
    log = max((logs / "node-1").iterdir(), key=lambda path: path.stat().st_size)
    lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
    half = len(lines) // 2
    log.write_text("".join([*lines[:half], *(_started_anew(line) for line in lines[half:])]), encoding="utf-8")
    corrected, _ = ingest(IngestRequest(logs=[str(logs)], out=tmp_path / "run", correct_clocks=True))
    assert any(row["correction_ns"] for row in corrected.table("clocks").to_pylist())
    refuse_unlike(corrected, "slot_rows", SLOTS)
    assert min(filter(None, refuse_unlike(corrected, "usage_rows", USAGE)["allocated"].to_pylist())) < 0


def _started_anew(line: str) -> str:
    """A sample of resources with counters of a younger process."""
    message = json.loads(line)
    if message["ns"] == "Resources":
        message["data"]["Alloc"] //= 10
    return json.dumps(message, separators=(",", ":")) + "\n"


@pytest.mark.parametrize("column", ["ts_ns", "event", "slot"])
def test_a_column_of_another_type_is_an_error_that_names_the_file(run: Run, column: str) -> None:
    part = next(part for part in run.manifest.parts if part.table == "slot_events")
    path = run.path / "tables" / part.file
    before = path.read_bytes()
    table = pq.read_table(path)
    place = table.column_names.index(column)
    try:
        pq.write_table(table.set_column(place, column, pa.array([True] * table.num_rows)), path)
        message = f"{path.name}.*'{column}' is of the type BOOLEAN"
        with Analysis(run, filters=[]) as analysis, pytest.raises(RunError, match=message):
            analysis.relation("slot_rows")
    finally:
        path.write_bytes(before)


@pytest.mark.parametrize("table", ["slot_events", "transactions", "ledger_metrics", "resources"])
def test_damaged_files_are_read_or_refused(
    run: Run, tmp_path: Path, table: str, capfd: pytest.CaptureFixture[str]
) -> None:
    whole = run.table_files(table)[0].read_bytes()
    draws = random.Random(1)
    hosts = [(f"node-{number}", number, 0) for number in range(5)]
    ended = Counter[str]()
    for _ in range(250):
        damaged = bytearray(whole)
        # The last bytes say where all else is.
        for first in (0, max(0, len(whole) - 1_500)):
            damaged[draws.randrange(first, len(damaged))] = draws.randrange(256)
        path = tmp_path / "damaged.parquet"
        path.write_bytes(damaged)
        function = _core.usage_rows if table == "resources" else _core.slot_rows
        try:
            function({table: [str(path)]}, hosts, False, 0, 10**9)
            ended["read"] += 1
        except RunError as error:
            assert str(error).startswith(f"{path}: ")
            ended["refused"] += 1
    assert ended["refused"] > 50
    assert capfd.readouterr() == ("", "")


def test_a_row_without_a_block_is_of_no_block(run: Run) -> None:
    path = run.table_files("block_events")[0]
    before = path.read_bytes()
    table = pq.read_table(path)
    blocks = table["block"].cast(pa.string()).to_pylist()
    try:
        pq.write_table(
            table.set_column(table.column_names.index("block"), "block", pa.array([None, *blocks[1:]])), path
        )
        with Analysis(run, filters=[]) as analysis:
            found = analysis.query("SELECT COUNT(*) AS rows, COUNT(block) AS blocks FROM block_events").to_pylist()
            assert found == [{"rows": run.manifest.tables["block_events"], "blocks": found[0]["rows"] - 1}]
            assert analysis.relation("adoption_stages").num_rows
    finally:
        path.write_bytes(before)
