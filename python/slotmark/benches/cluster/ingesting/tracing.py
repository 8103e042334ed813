"""Messages that a node's tracing kept out of its log, and its messages that ingest doesn't read."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from slotmark.benches.cluster.files import content_of
from slotmark.benches.cluster.ingesting.logs import HostLog, first_lines
from slotmark.cleaning import one_name

NODE = "cardano-node"
"""The node whose tracing it is."""

COUNTED = (
    "Resources",
    "Forge.Loop.StartLeadershipCheck",
    "Forge.Loop.BlockContext",
    "Forge.Loop.LedgerState",
    "Forge.Loop.LedgerView",
    "Forge.Loop.NodeIsLeader",
    "Forge.Loop.NodeNotLeader",
    "Forge.Loop.ForgeTickedLedgerState",
    "Forge.Loop.ForgingMempoolSnapshot",
    "Forge.Loop.ForgedBlock",
    "ChainSync.Client.DownloadedHeader",
    "BlockFetch.Client.SendFetchRequest",
    "BlockFetch.Client.CompletedBlockFetch",
    "ChainSync.ServerHeader.Update",
    "BlockFetch.Server.SendBlock",
    "ChainDB.AddBlockEvent.AddedToCurrentChain",
    "ChainDB.AddBlockEvent.SwitchedToAFork",
    "Forge.Loop.AdoptedBlock",
    "ChainDB.LedgerEvent.Snapshot.TookSnapshot",
    "LedgerMetrics",
    "TxSubmission.TxInbound.Collected",
    "TxSubmission.TxInbound.Processed",
    "Mempool.AddedTx",
    "Mempool.RemoveTxs",
    "Mempool.RejectedTx",
    "Version.NodeVersion",
)
"""The messages that ingest makes rows of, as today's nodes call them: those of the table in crates/tracelog."""

KNOWN = frozenset(
    [
        "AcceptPolicy",
        "Benchmark",
        "BlockFetch",
        "BlockFetchClient",
        "BlockFetchDecision",
        "BlockFetchSerialised",
        "BlockFetchServer",
        "BlockchainTime",
        "ChainDB",
        "ChainSync",
        "ChainSyncClient",
        "ChainSyncNode",
        "ChainSyncSerialised",
        "ChainSyncServerBlock",
        "ChainSyncServerEvent",
        "ChainSyncServerHeader",
        "ConnectionManager",
        "ConnectionManagerTransition",
        "DNSResolver",
        "DNSSubscription",
        "DebugPeerSelection",
        "Diffusion",
        "DiffusionInit",
        "ErrorPolicy",
        "Forge",
        "ForgeStats",
        "Handshake",
        "InboundGovernor",
        "InboundGovernorTransition",
        "KeepAliveClient",
        "LedgerMetrics",
        "LedgerPeers",
        "LocalConnectionManager",
        "LocalErrorPolicy",
        "LocalHandshake",
        "LocalInboundGovernor",
        "LocalRootPeers",
        "LocalServer",
        "LocalTxMonitor",
        "LocalTxSubmission",
        "LocalTxSubmissionServer",
        "Mempool",
        "MuxErrorPolicy",
        "Mux",
        "Net",
        "NodeState",
        "PeerSelection",
        "PeerSelectionActions",
        "PeerSelectionCounters",
        "Peers",
        "PublicRootPeers",
        "Reflection",
        "Replay",
        "Resources",
        "RpcServer",
        "Server",
        "Shutdown",
        "SimpleServer",
        "StartLeadershipCheckPlus",
        "Startup",
        "StateInfo",
        "StateQueryServer",
        "Subscription",
        "TxInbound",
        "TxLocal",
        "TxMonitor",
        "TxOutbound",
        "TxSubmission",
        "TxSubmissionClient",
        "Version",
        "txCounters",
        "txLogic",
        "Consensus.CSJ",
        "Consensus.DevotedBlockFetch",
        "Consensus.GDD",
        "Consensus.GSM",
        "Consensus.KESAgent",
        "Consensus.SanityCheck",
        "Consensus.Startup",
        "cardano",
    ]
)
"""The first parts of the names of cardano-node's messages up to 10.7, whether ingest reads them or not: of those of ``Consensus`` the first two."""

_LIMITERS = ("StartLimiting", "StopLimiting", "RememberLimiting")
"""The last parts of the names under which tracing reports that it holds messages back; the messages aren't named."""

CONFIGURATION = "config.json"
_MOST_DEPTH = 16


def limits(logs: Sequence[HostLog]) -> dict[str, float]:
    """Messages that are counted and that tracing logs only so often per second, by the start-up messages in logs and the configurations beside them."""
    folders = sorted({log.path.parent for log in logs})
    contents = [_json(content_of(file)) for folder in folders if (file := folder / CONFIGURATION).is_file()]
    for log in logs:
        contents += [_json(line) for line in first_lines(log.path) or () if b"maxFrequency" in line]
    found: dict[str, float] = {}
    for content in contents:
        options = dict(_frequencies(content))
        for message in COUNTED:
            names = [name for name in options if name in ("", message) or message.startswith(f"{name}.")]
            frequency = options[max(names, key=len)] if names else 0
            if frequency > 0:
                found[message] = min(found.get(message, frequency), frequency)
    return found


def _json(text: bytes | str) -> Any:
    """Returns a text's JSON value; None where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _frequencies(content: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, float]]:
    """Each ``maxFrequency`` in JSON types, with the name that its options stand under; 0 is no limit."""
    if depth > _MOST_DEPTH:
        return
    if isinstance(content, dict):
        for key, value in content.items():
            if key != "maxFrequency":
                yield from _frequencies(value, key, depth + 1)
            elif isinstance(value, int | float):
                yield name, float(value)
    elif isinstance(content, list):
        for value in content:
            yield from _frequencies(value, name, depth + 1)
    elif isinstance(content, str) and content.startswith(("{", "[")):
        yield from _frequencies(_json(content), name, depth + 1)


def held_back(tables: Path, hosts: Sequence[str]) -> int:
    """Returns how often hosts' tracing began to hold messages back, went on with that, or ended it."""
    return sum(lines for name, lines in _names(tables, hosts) if name.rpartition(".")[2] in _LIMITERS)


def unknown(tables: Path, hosts: Sequence[str]) -> dict[str, int]:
    """Lines of messages of hosts by the first parts of their names, of names that no cardano-node up to 10.7 has."""
    found: dict[str, int] = {}
    for name, lines in _names(tables, hosts):
        first, *more = name.split(".")
        part = ".".join([first, *more[:1]]) if first == "Consensus" else first
        if part and part not in KNOWN and not name.startswith("(") and name not in _LIMITERS:
            found[one_name(part)] = found.get(one_name(part), 0) + lines
    return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))


def _names(tables: Path, hosts: Sequence[str]) -> Iterator[tuple[str, int]]:
    """The name and the number of lines of each message of hosts, without the prefix that older nodes put before it."""
    wanted = set(hosts)
    for file in sorted((tables / "trace_frequencies").iterdir()):
        for row in pq.read_table(file).to_pylist():
            if row["host"] in wanted:
                yield row["message"].removeprefix("Cardano.Node."), row["lines"]
