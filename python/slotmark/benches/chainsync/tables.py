"""The tables of a chainsync run."""

import pyarrow as pa

INVOCATIONS = pa.schema(
    [
        pa.field("invocation", pa.int32(), False),  # place in the session's order over all targets, from 0
        pa.field("round", pa.int32(), False),  # from 1; 0 is the warm-up
        pa.field("warmup", pa.bool_(), False),
        pa.field("setting", pa.string(), False),  # mode and depth, in words
        pa.field("mode", pa.string(), False),
        pa.field("depth", pa.int32(), False),
        pa.field("at", pa.string(), False),  # wall clock at the start, ISO 8601 UTC
        pa.field("blocks", pa.int64(), False),
        pa.field("bytes", pa.int64(), False),
        pa.field("elapsed_ns", pa.int64(), False),  # first request to last block, client's clock
        pa.field("first_block_ns", pa.int64(), False),  # first request to first block
        pa.field("startup_ns", pa.int64(), False),  # process start to `ready`, conductor's clock
        pa.field("connect_ns", pa.int64(), False),  # connection and handshake, client's clock
        pa.field("protocol_version", pa.int32()),
        pa.field("client_cpu_ns", pa.int64(), False),  # go to done, the CPU clocks of it and what it started
        pa.field("client_user_us", pa.int64(), False),  # whole life
        pa.field("client_system_us", pa.int64(), False),  # whole life
        pa.field("client_peak_bytes", pa.int64(), False),
        pa.field("client_voluntary_switches", pa.int64(), False),  # go to done, all threads that are there at done
        pa.field("server_cpu_ns", pa.int64()),  # go to done; null with a node that slotmark didn't start
        pa.field("server_peak_bytes", pa.int64()),
        pa.field("floor_blocks", pa.int64()),  # the floor's invocation of the same round, depth and protocol
        pa.field("floor_elapsed_ns", pa.int64()),
        pa.field("last_slot", pa.int64()),
        pa.field("last_hash", pa.string()),
        pa.field("digest", pa.string()),
        pa.field("load", pa.float64(), False),  # load average before
    ]
)
"""One row per process of the target, warm-up rounds included."""

WINDOWS = pa.schema(
    [
        pa.field("invocation", pa.int32(), False),
        pa.field("blocks", pa.int64(), False),  # so far
        pa.field("bytes", pa.int64()),  # so far; null where the library hides it
        pa.field("at_ns", pa.int64(), False),  # since the first request
        pa.field("window_blocks", pa.int64(), False),  # since the record before
        pa.field("window_ns", pa.int64(), False),
    ]
)
"""One row a progress record, and one for the blocks after the last of them."""

ANNOUNCEMENTS = pa.schema(
    [
        pa.field("setting", pa.string(), False),  # the mode, in words
        pa.field("mode", pa.string(), False),
        pa.field("slot", pa.int64(), False),
        pa.field("hash", pa.string(), False),
        pa.field("announcement", pa.int32(), False),  # of this block to this client, from 1; more after roll-backwards
        pa.field("awaited", pa.bool_(), False),  # the client's request waited for it at the tip
        pa.field("bytes", pa.int64(), False),  # of the block; of the header in mode headers
        pa.field("announced_ns", pa.int64(), False),  # first byte at the relay, since the measurement began
        pa.field("arrived_ns", pa.int64(), False),  # last byte at the relay, since the measurement began
        pa.field(
            "decoded_ns", pa.int64()
        ),  # done with, client's clock, since the measurement began; null where it never was
        pa.field("latency_ns", pa.int64()),  # announced to done with
        pa.field("held_ns", pa.int64(), False),  # longest time that bytes of it were in the relay
    ]
)
"""One row per block that a node announced to the target at its tip."""

ROLLBACKS = pa.schema(
    [
        pa.field("setting", pa.string(), False),
        pa.field("at_ns", pa.int64(), False),  # first byte at the relay, since the measurement began
        pa.field("to", pa.string(), False),  # SLOT.HASH or origin
    ]
)
"""One row a roll-backward that a node announced to the target at its tip."""
