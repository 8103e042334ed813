"""Mixes lines of no interest into simulated logs, one after each line of interest, as nodes write them: `mixed_logs.py FROM TO`.

Namespaces, fields and lengths follow the log of a node of 10.6; how often each comes is made up so that lines are 257 bytes long
on average, as in the logs of the benchmarking cluster.
"""

import random
import sys
from pathlib import Path

HASHES = [random.Random(number).randbytes(32).hex() for number in range(64)]
PEER = '{"connectionId":"172.31.0.%(small)d:3001 172.31.0.%(other)d:3001"}'
POINT = '{"hash":"%(hash)s","kind":"Point","slot":%(number)d}'
ADDRESSES = (
    '{"localAddress":{"address":"172.31.0.%(small)d","port":"3001"},'
    '"remoteAddress":{"address":"172.31.0.%(other)d","port":"3001"}}'
)
COUNTERS = ",".join(
    f'"{temperature}{group}{what}":%(small)d'
    for temperature in ("active", "cold", "established", "known")
    for group in ("BigLedger", "Bootstrap", "LocalRoot", "NonRoot")
    for what in ("Peers", "PeersPromotions")
)
MESSAGES = {  # how often, of 100 lines: namespace, severity, data
    ("ChainDB.AddBlockEvent.AddedBlockToQueue", "Debug"): (
        6,
        '{"block":' + POINT + ',"kind":"AddedBlockToQueue","queueSize":%(small)d}',
    ),
    ("ChainDB.AddBlockEvent.AddedBlockToVolatileDB", "Debug"): (
        5,
        '{"block":' + POINT + ',"blockNo":"%(number)d","kind":"AddedBlockToVolatileDB"}',
    ),
    ("ChainDB.AddBlockEvent.PoppedBlockFromQueue", "Debug"): (
        5,
        '{"block":' + POINT + ',"kind":"TraceAddBlockEvent.PoppedBlockFromQueue"}',
    ),
    ("ChainDB.AddBlockEvent.TryAddToCurrentChain", "Debug"): (
        5,
        '{"block":' + POINT + ',"kind":"TryAddToCurrentChain"}',
    ),
    ("ChainDB.AddBlockEvent.PipeliningEvent.SetTentativeHeader", "Debug"): (
        4,
        '{"block":"%(hash)s@%(number)d","kind":"SetTentativeHeader"}',
    ),
    ("ChainDB.AddBlockEvent.PoppingFromQueue", "Debug"): (5, '{"kind":"PoppingFromQueue"}'),
    ("ChainSync.Client.RolledBack", "Notice"): (3, '{"kind":"RolledBack","peer":' + PEER + ',"tip":' + POINT + "}"),
    ("ChainSync.Client.JumpingInstructionIs", "Debug"): (
        10,
        '{"instr":{"kind":"RunNormally"},"kind":"TraceJumpingInstructionIs","peer":' + PEER + "}",
    ),
    ("ChainSync.Client.JumpingWaitingForNextInstruction", "Debug"): (
        10,
        '{"kind":"TraceJumpingWaitingForNextInstruction","peer":' + PEER + "}",
    ),
    ("Forge.StateInfo.StateInfo", "Info"): (
        6,
        '{"credentials":"Cardano","endPeriod":0,"evolution":%(small)d,"kind":"KESInfo","startPeriod":0}',
    ),
    ("Net.ConnectionManager.Remote.IncludeConnection", "Debug"): (
        5,
        '{"kind":"IncludeConnection","provenance":"Outbound",'
        '"remoteAddress":{"addr":"172.31.0.%(other)d","port":"3001"}}',
    ),
    ("Net.InboundGovernor.Remote.InboundGovernorCounters", "Info"): (
        7,
        '{"coldPeers":0,"hotPeers":%(small)d,"idlePeers":0,"kind":"InboundGovernorCounters","warmPeers":%(other)d}',
    ),
    ("Net.InboundGovernor.Remote.RemoteState", "Info"): (
        6,
        '{"kind":"RemoteState","remoteSt":[[' + ADDRESSES + ',"RemoteHotSt"]]}',
    ),
    ("Net.PeerSelection.Actions.StatusChanged", "Info"): (
        7,
        '{"kind":"PeerStatusChanged","peerStatusChangeType":"WarmToHot (ConnectionId '
        '{localAddress = 172.31.0.%(small)d:3001, remoteAddress = 172.31.0.%(other)d:3001})"}',
    ),
    ("Net.PeerSelection.Counters", "Debug"): (4, "{" + COUNTERS + ',"kind":"PeerSelectionCounters"}'),
    ("Net.PeerSelection.Selection.GovernorWakeup", "Info"): (4, '{"kind":"GovernorWakeup"}'),
    ("Net.Peers.Ledger.ReusingLedgerState", "Debug"): (
        8,
        '{"kind":"ReusingLedgerState","ledgerStateAge":%(small)d.996335,"numberOfPools":%(other)d}',
    ),
}


def lines(host: str, seed: int) -> list[str]:
    """A few thousand lines of no interest, as text with a place for the time."""
    chance = random.Random(seed)
    kinds = chance.choices(list(MESSAGES), [often for often, _ in MESSAGES.values()], k=4000)
    return [
        f',"ns":"{namespace}","data":'
        + MESSAGES[namespace, severity][1]
        % {
            "hash": chance.choice(HASHES),
            "number": chance.randrange(90_000, 100_000),
            "small": chance.randrange(10, 99),
            "other": chance.randrange(10, 99),
        }
        + f',"sev":"{severity}","thread":"{chance.randrange(10, 999)}","host":"{host}"}}\n'
        for namespace, severity in kinds
    ]


def main(source: Path, target: Path) -> None:
    """Writes the logs of all hosts anew, with a line of no interest behind each line."""
    total, count = 0, 0
    for seed, path in enumerate(sorted(source.glob("*/stdout"))):
        host = path.parent.name
        others = lines(host, seed)
        (target / host).mkdir(parents=True)
        with path.open() as log, (target / host / "stdout").open("w") as out:
            for number, line in enumerate(log):
                at = line[: line.index(",")]
                text = line + at + others[number % len(others)]
                total += len(text)
                count += 2
                out.write(text)
    print(f"{count} lines, half of them of no interest, {total / count:.0f} bytes a line")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
