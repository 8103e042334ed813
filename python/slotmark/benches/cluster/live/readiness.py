"""Checks before anything is measured, so that a cluster that can't be measured ends at once and with the reason."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from slotmark.benches.cluster.live.nodes import Node
from slotmark.benches.cluster.live.probing import Answer
from slotmark.benches.cluster.live.watching import Watch
from slotmark.cleaning import one_line
from slotmark.errors import TargetError
from slotmark.words import few, listed

LIMIT_S = 30
"""Time limit of each check. Where nodes are given less time to get ready, so much."""

LAG_S = 15
"""Tips that are younger than this may still be on their way to other hosts."""

_NAMED = 3
_SHOWN = 120

_REMEDIES = {
    "port": "Its recipe has to give it {address} and {port}, and its output shows whether it took them",
    "handshake": "Its recipe has to give it the network's {magic}, or its configuration the genesis files",
}


def refuse_unanswered(nodes: Mapping[str, Node], magic: int, answers: Sequence[Answer], where: str) -> None:
    """TargetError where a host doesn't listen on its port, or doesn't agree to a handshake for the network."""
    if not (failed := [answer for answer in answers if answer.failed]):
        return
    first = failed[0]
    what = {
        "port": "does not listen on its port",
        "handshake": f"does not agree to a node-to-node handshake with network magic {magic}",
    }[first.failed]
    more = [answer.host for answer in failed[1:]]
    raise TargetError(
        f"--node {nodes[first.host].name}: {first.host} {what}: {first.why.removesuffix('.')}.{_so_are(more)} {_REMEDIES[first.failed]}. Look at the "
        f"nodes' output in {where}."
    )


def refuse_unknown_logs(nodes: Mapping[str, Node], watch: Watch) -> None:
    """TargetError where what a host has printed is in no form that ingest reads."""
    unknown = [host for host, log in watch.logs.items() if not log.understood]
    if not unknown:
        return
    log = watch.logs[unknown[0]]
    if log.first_line is None:
        what = "has printed no line"
    else:
        what = f"prints no line that ingest reads; its log begins with {one_line(log.first_line, _SHOWN)}"
    raise TargetError(
        f"--node {nodes[unknown[0]].name}: {unknown[0]} {what} ({log.path}).{_so_are(unknown[1:])} Nothing of this run could be measured. Let it print "
        "its log as cardano-node's new tracing, or Dingo's, Dugite's or Amaru's JSON; docs/cluster.md has which messages are read."
    )


def refuse_loners(nodes: Mapping[str, Node], watch: Watch, hosts: Sequence[str], lag_s: float, where: str) -> None:
    """TargetError where a host follows only its own blocks, or none."""
    if not (alone := watch.alone(hosts, lag_s)):
        return
    host, blocks = next(iter(alone.items()))
    what = (
        f"follows only its own blocks, {blocks:,} so far, none of which another host has"
        if blocks
        else "follows no blocks"
    )
    if len(makes := sorted({nodes[one].name for one in hosts})) > 1:
        what += f", in a cluster of {listed(makes)}, which may not be able to form one"
    others = f" while others have {watch.blocks - blocks:,}" if watch.blocks > blocks else ""
    raise TargetError(
        f"--node {nodes[host].name}: {host} {what}{others}.{_so_are(list(alone)[1:])} Its recipe has to give it {{topology}}, and the nodes that it "
        f"names have to let it in. Look at the nodes' output in {where}."
    )


def refuse_unmatched_tips(node: Node, log: Path, tip: str) -> None:
    """TargetError: a node's log has no line that the recipe's pattern finds, though the node has a block."""
    raise TargetError(
        f"--node {node.name}: no line of {log} matches the recipe's tip = {node.recipe.tip!r}, though the node's tip is {tip} by its socket. "
        "Correct the pattern in node.toml: it is searched in each line, and ^ and $ are the line's ends."
    )


def _so_are(more: Sequence[str]) -> str:
    return f" So {'are' if len(more) > 1 else 'is'} {listed(few(list(more), _NAMED))}." if more else ""
