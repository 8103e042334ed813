"""The tables of ledger runs, and of runs of stores alone. Times of ledger runs are whole microseconds, as db-analyser writes them (nanoseconds cut to microseconds).

Those of engines that write JSON lines are nanoseconds, in columns of their own.
"""

import pyarrow as pa

BLOCKS = pa.schema(
    [
        pa.field("run", pa.int32(), False),  # which process, from 1, in the order in which files were named
        pa.field("slot", pa.int64(), False),
        pa.field("block_no", pa.int64()),  # null: db-analyser doesn't write it
        pa.field("hash", pa.string()),  # null: neither does it write this
        pa.field("slot_gap", pa.int64()),  # slots since the block before
        pa.field("total_us", pa.int64(), False),  # wall time; the manifest says whether it holds the table read
        pa.field("mut_us", pa.int64()),  # wall time without GC pauses
        pa.field("gc_us", pa.int64()),
        pa.field("table_read_us", pa.int64()),  # reading the UTxO entries that the block needs
        pa.field("mut_table_read_us", pa.int64()),
        pa.field("major_gcs", pa.int64()),
        pa.field("minor_gcs", pa.int64()),
        pa.field("allocated_bytes", pa.int64()),  # refreshed at GC only: 0 on many blocks
        pa.field("forecast_us", pa.int64()),
        pa.field("header_tick_us", pa.int64()),
        pa.field("header_apply_us", pa.int64()),
        pa.field("block_tick_us", pa.int64()),
        pa.field("block_apply_us", pa.int64()),
        pa.field("block_bytes", pa.int64()),
        pa.field("transactions", pa.int64()),
        pa.field("transaction_bytes", pa.int64()),
        pa.field("script_steps", pa.int64()),  # from Alonzo on
        pa.field("inputs", pa.int64()),  # from here on: of engines that write JSON lines by docs/replay.md
        pa.field("outputs", pa.int64()),
        pa.field("script_memory", pa.int64()),
        pa.field("missing_inputs", pa.int64()),  # that weren't among the unspent outputs
        pa.field("total_ns", pa.int64()),  # total_us is this, cut to whole microseconds
        pa.field("read_ns", pa.int64()),
        pa.field("decode_ns", pa.int64()),
        pa.field("tick_ns", pa.int64()),
        pa.field("header_check_ns", pa.int64()),
        pa.field("resolve_ns", pa.int64()),
        pa.field("accounts_ns", pa.int64()),
        pa.field("phase_one_ns", pa.int64()),
        pa.field("phase_two_ns", pa.int64()),
        pa.field("apply_ns", pa.int64()),
        pa.field("flush_ns", pa.int64()),
        pa.field("era", pa.int64()),  # its number in the chain's encoding: 0 and 1 Byron, 2 Shelley, up to 7 Conway
        pa.field("first_of_epoch", pa.int64()),  # 1 where it is the first block of its epoch, else 0
        pa.field("reward_pulse", pa.int64()),  # 1 where its tick works out a part of the epoch's rewards, else 0
    ]
)
"""One row per block and process, in the order of run and slot."""

PROCESSES = pa.schema(
    [
        pa.field("run", pa.int32(), False),
        pa.field("file", pa.string(), False),
        pa.field("format", pa.string(), False),
        pa.field("blocks", pa.int64(), False),
        pa.field("compiler", pa.string()),
        pa.field("commit", pa.string()),
        pa.field("mode", pa.string()),  # full-application or reapplication
        pa.field("backend", pa.string()),
        pa.field("chain", pa.string()),
        pa.field("host", pa.string()),  # hashed
        pa.field("started", pa.string()),  # as in the file
        pa.field("peak_bytes", pa.int64()),
        pa.field("engine", pa.string()),  # from here on: of processes that slotmark started, or that write JSON lines
        pa.field("place", pa.int32()),  # in the session's order over all targets, from 0
        pa.field("load", pa.float64()),  # load average before
        pa.field("wall_ns", pa.int64()),  # from the process's start to its end
        pa.field("entries", pa.int64()),  # unspent outputs in the end
        pa.field("digest", pa.string()),  # of them
        pa.field("load_ns", pa.int64()),  # loading the first of them
        pa.field(
            "elapsed_ns", pa.int64()
        ),  # first block to last, with what isn't timed between them, without idle time
        pa.field("disk_bytes", pa.int64()),
        pa.field("read_bytes", pa.int64()),  # from storage
        pa.field("written_bytes", pa.int64()),  # to storage
        pa.field("minor_faults", pa.int64()),
        pa.field("major_faults", pa.int64()),
        pa.field("user_us", pa.int64()),
        pa.field("system_us", pa.int64()),
    ]
)
"""One row per process: a file."""

BATCHES = pa.schema(
    [
        pa.field("batch", pa.int64(), False),  # from 1
        pa.field("latency_ns", pa.int64(), False),  # from the question for its keys to its changes written
        pa.field("lookups_ns", pa.int64(), False),  # waiting for its look-ups
        pa.field("updates_ns", pa.int64(), False),  # its inserts and deletes
    ]
)
"""One row per batch of the process of a run of stores, in their order."""

STORE_PROCESS = pa.schema(
    [
        pa.field("execution", pa.int32(), False),  # 1
        pa.field("place", pa.int32(), False),  # in the session's order over all targets, from 0
        pa.field("load", pa.float64(), False),  # load average before
        pa.field("wall_ns", pa.int64(), False),  # from the process's start to its end
        pa.field("load_ns", pa.int64(), False),  # filling the store
        pa.field("elapsed_ns", pa.int64(), False),  # from the first batch to the last
        pa.field("operations", pa.int64(), False),  # each a look-up, an insert and a delete
        pa.field("entries", pa.int64(), False),  # in the end
        pa.field("disk_bytes", pa.int64()),  # what they take on disk; null in memory
        pa.field("page_cache_bytes", pa.int64()),  # the largest that was seen; null without a memory limit
        pa.field("peak_bytes", pa.int64()),  # largest resident set, from before the first batch
        pa.field("read_bytes", pa.int64()),  # from storage, from before the first batch, as what follows
        pa.field("written_bytes", pa.int64()),  # to storage
        pa.field("minor_faults", pa.int64(), False),
        pa.field("major_faults", pa.int64(), False),
        pa.field("user_us", pa.int64(), False),
        pa.field("system_us", pa.int64(), False),
        pa.field("reads_per_s_at_1", pa.float64()),  # random reads of 4 KiB, one at a time; null where not measured
        pa.field("reads_per_s_at_32", pa.float64()),  # 32 at a time
    ]
)
"""The one row of the process of a run of stores."""
