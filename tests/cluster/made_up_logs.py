"""Logs of made-up clusters, written line by line in the format of cardano-node's new tracing.

A test says what happened on which host; the times come out as it said, so that every metric can be worked out by hand.
"""

import gzip
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

START = datetime(2026, 1, 1, tzinfo=UTC)
START_NS = int(START.timestamp()) * 10**9
MS = 1_000_000

FORGE_STEPS = (
    ("started_ms", "Forge.Loop.StartLeadershipCheck", "TraceStartLeadershipCheck"),
    ("context_ms", "Forge.Loop.BlockContext", "TraceBlockContext"),
    ("state_ms", "Forge.Loop.LedgerState", "TraceLedgerState"),
    ("view_ms", "Forge.Loop.LedgerView", "TraceLedgerView"),
    ("leading_ms", "Forge.Loop.NodeIsLeader", "TraceNodeIsLeader"),
    ("ticked_ms", "Forge.Loop.ForgeTickedLedgerState", "TraceForgeTickedLedgerState"),
    ("snapshot_ms", "Forge.Loop.ForgingMempoolSnapshot", "TraceForgingMempoolSnapshot"),
)


def block_hash(name: str) -> str:
    """A hash that can be read: the name, in hex, filled up with zeros."""
    return name.encode().hex().ljust(64, "0")


def ts(slot: float, ms: float = 0.0) -> int:
    """The time so many ms into a slot of one second, in ns since 1970."""
    return START_NS + round(slot * 10**9) + round(ms * MS)


def rfc3339(ts_ns: int) -> str:
    seconds, ns = divmod(ts_ns, 10**9)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{ns:09d}Z"


def line(ts_ns: int, namespace: str, data: Mapping[str, Any], host: str, thread: str = "7") -> str:
    message = {"at": rfc3339(ts_ns), "ns": namespace, "data": data, "sev": "Info", "thread": thread, "host": host}
    return json.dumps(message, separators=(",", ":"))


class Cluster:
    """Hosts and what their logs say."""

    def __init__(self, hosts: int, *, epoch_slots: int = 8000, max_block_body_bytes: int = 90_112) -> None:
        self.hosts = [f"node-{number}" for number in range(hosts)]
        self.genesis = {
            "systemStart": START.isoformat().replace("+00:00", "Z"),
            "slotLength": 1,
            "epochLength": epoch_slots,
            "securityParam": 40,
            "activeSlotsCoeff": 0.05,
            "networkMagic": 42,
            "protocolParams": {"maxBlockBodySize": max_block_body_bytes, "maxTxSize": 16384},
        }
        self._lines: dict[str, list[tuple[int, str]]] = {host: [] for host in self.hosts}

    def say(self, host: int, ts_ns: int, namespace: str, **data: Any) -> None:
        """One line of a host's log; ``kind`` and whatever else is the message's data."""
        name = self.hosts[host]
        self._lines[name].append((ts_ns, line(ts_ns, namespace, data, name)))

    def raw(self, host: int, ts_ns: int, text: str) -> None:
        """One line as it is."""
        self._lines[self.hosts[host]].append((ts_ns, text))

    def forge(
        self,
        host: int,
        slot: int,
        block_no: int,
        name: str,
        previous: str | None,
        *,
        size: int = 88_000,
        steps_ms: Mapping[str, float | None] | None = None,
        forged_ms: float = 60.0,
        announced_ms: float | None = 61.0,
        sending_ms: float | None = 65.0,
        adopted_ms: float | None = 120.0,
    ) -> None:
        """A host forges a block; times are ms after the slot's start, None leaves a message out."""
        times = {
            "started_ms": 1.0,
            "context_ms": 1.1,
            "state_ms": 1.3,
            "view_ms": 1.4,
            "leading_ms": 2.0,
            "ticked_ms": 20.0,
            "snapshot_ms": 59.0,
        }
        for step, namespace, kind in FORGE_STEPS:
            at = {**times, **(steps_ms or {})}[step]
            if at is not None:
                data = {"current slot": slot, "tipBlockNo": block_no} if step == "context_ms" else {"slot": slot}
                self.say(host, ts(slot, at), namespace, kind=kind, **data)
        parent = "GenesisHash" if previous is None else block_hash(previous)
        block = block_hash(name)
        self.say(
            host,
            ts(slot, forged_ms),
            "Forge.Loop.ForgedBlock",
            kind="TraceForgedBlock",
            slot=slot,
            blockNo=block_no,
            block=block,
            blockPrev=parent,
        )
        if announced_ms is not None:
            self.announce(host, ts(slot, announced_ms), name, slot)
        if sending_ms is not None:
            self.say(host, ts(slot, sending_ms), "BlockFetch.Server.SendBlock", kind="BlockFetchServer", block=block)
        if adopted_ms is not None:
            self.say(
                host,
                ts(slot, adopted_ms - 0.1),
                "ChainDB.AddBlockEvent.AddedToCurrentChain",
                kind="AddedToCurrentChain",
                newtip=f"{block}@{slot}",
            )
            self.say(
                host,
                ts(slot, adopted_ms),
                "Forge.Loop.AdoptedBlock",
                kind="TraceAdoptedBlock",
                slot=slot,
                blockHash=block,
                blockSize=size,
            )

    def announce(self, host: int, ts_ns: int, name: str, slot: int) -> None:
        data = {"addBlock": f"{block_hash(name)}@{slot}", "blockingRead": True, "risingEdge": True}
        self.say(host, ts_ns, "ChainSync.ServerHeader.Update", kind="ChainSyncServer.Update", **data)

    def observe(
        self,
        host: int,
        slot: int,
        block_no: int,
        name: str,
        *,
        noticed_ms: float | None = 100.0,
        requested_ms: float | None = 102.0,
        fetched_ms: float | None = 400.0,
        announced_ms: float | None = 401.0,
        sending_ms: float | None = 440.0,
        adopted_ms: float | None = 470.0,
        switched: bool = False,
        length: int = 1,
    ) -> None:
        """A host hears of a block; times are ms after the slot's start, None leaves a message out."""
        block = block_hash(name)
        if noticed_ms is not None:
            self.say(
                host,
                ts(slot, noticed_ms),
                "ChainSync.Client.DownloadedHeader",
                kind="DownloadedHeader",
                slot=slot,
                blockNo=block_no,
                block=block,
            )
        if requested_ms is not None:
            self.say(
                host,
                ts(slot, requested_ms),
                "BlockFetch.Client.SendFetchRequest",
                kind="SendFetchRequest",
                head=block,
                length=length,
            )
        if fetched_ms is not None:
            self.say(
                host,
                ts(slot, fetched_ms),
                "BlockFetch.Client.CompletedBlockFetch",
                kind="CompletedBlockFetch",
                block=block,
                delay=0.1,
                size=88_000,
            )
        if announced_ms is not None:
            self.announce(host, ts(slot, announced_ms), name, slot)
        if sending_ms is not None:
            self.say(host, ts(slot, sending_ms), "BlockFetch.Server.SendBlock", kind="BlockFetchServer", block=block)
        if adopted_ms is not None:
            what = "SwitchedToAFork" if switched else "AddedToCurrentChain"
            self.say(host, ts(slot, adopted_ms), f"ChainDB.AddBlockEvent.{what}", kind=what, newtip=f"{block}@{slot}")

    def check(self, host: int, slot: int, *, started_ms: float = 1.0, leading_ms: float = 2.0) -> None:
        """A host looks whether it leads a slot, and doesn't."""
        self.say(
            host, ts(slot, started_ms), "Forge.Loop.StartLeadershipCheck", kind="TraceStartLeadershipCheck", slot=slot
        )
        self.say(host, ts(slot, leading_ms), "Forge.Loop.NodeNotLeader", kind="TraceNodeNotLeader", slot=slot)

    def resources(self, host: int, ts_ns: int, **counters: int) -> None:
        """A sample of a host's counters; those that aren't given are 0."""
        names = (
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
        )
        self.say(host, ts_ns, "Resources", kind="ResourceStats", **{**dict.fromkeys(names, 0), **counters})

    def write(
        self, folder: Path, *, filters: Iterable[Any] = (), packed: bool = False, meta: bool = True, pieces: int = 1
    ) -> Path:
        """Writes a run directory: each host's lines in the order of their times."""
        (folder / "genesis").mkdir(parents=True)
        (folder / "genesis" / "genesis.shelley.json").write_text(json.dumps(self.genesis))
        if meta:
            content = {
                "generator": {
                    "tps": 12.0,
                    "tx_count": 768_000,
                    "inputs_per_tx": 2,
                    "outputs_per_tx": 2,
                    "add_tx_size": 100,
                },
                "genesis": {"delegators": 1_000_000, "utxo": 4_000_000},
            }
            manifest = {"cardano-node": {"name": "cardano-node", "commit": "8db07f6aaaa", "version": "10.5.0"}}
            (folder / "meta.json").write_text(
                json.dumps(
                    {
                        "meta": {
                            "tag": folder.name,
                            "batch": "tests",
                            "profile": "made-up",
                            "era": "conway",
                            "ident": folder.name,
                            "node_ghc_version": "9.6.5",
                            "manifest": manifest,
                            "profile_content": content,
                        }
                    }
                )
            )
            (folder / "profile.json").write_text(
                json.dumps({"analysis": {"filters": [], "filter_exprs": list(filters)}})
            )
        for host, lines in self._lines.items():
            (folder / host).mkdir()
            texts = [text for _, text in sorted(lines, key=lambda pair: pair[0])]
            for piece in range(pieces):
                some = texts[len(texts) * piece // pieces : len(texts) * (piece + 1) // pieces]
                content_bytes = "".join(text + "\n" for text in some).encode()
                name = "stdout" if pieces == 1 else f"stdout.{piece}"
                path = folder / host / (name + (".gz" if packed else ""))
                path.write_bytes(gzip.compress(content_bytes, mtime=0) if packed else content_bytes)
        return folder
