"""Pairs of simulated clusters of which the second has one planted cause, and what is found first."""

from pathlib import Path
from typing import NamedTuple

from slotmark.benches.cluster.simulating.direct import simulate_direct
from slotmark.benches.cluster.simulating.simulate import load_profile
from slotmark.compare.results.explanation import Explanation
from slotmark.run import Run

HOSTS, SLOTS = 12, 1500
REGIONS = ("eu-central-1", "us-east-1", "ap-southeast-2")
"""Host n is in region n modulo their number."""

SMALL = (f"hosts={HOSTS}", f"pools={HOSTS}", f"run.slots={SLOTS}", f"genesis.epoch_slots={SLOTS}")

ALIKE = ("peer.host_spread=0", *(f"rtt[{place}].spread=0ms" for place in range(6)))
"""A seed draws how hosts and links differ from each other, and that would be a cause of its own."""


class Planted(NamedTuple):
    """A cause: the settings that plant it, the stages that may be named, and where."""

    settings: tuple[str, ...]
    stages: tuple[str, ...]
    kind: str
    places: tuple[str, ...]


STAGES = {
    "ledger_tick.mean": "ledger tick",
    "mempool_snapshot.mean": "mempool snapshot",
    "peer.adopt.mean": "arrival to adopted",
    "peer.notice_to_fetch.mean": "notice to request",
}
"""A stage of the profile, and the step that it is in."""


def slow(hosts: tuple[int, ...], factor: float) -> str:
    faults = ", ".join(f'{{kind="host-slow", host={host}, factor={factor}, from=0, until={SLOTS}}}' for host in hosts)
    return f"fault=[{faults}]"


def planted(kind: str, number: int) -> Planted:
    """The cause of a trial: each number plants another one, as far as there are others."""
    if kind == "all hosts":
        setting, stage = list(STAGES.items())[number % len(STAGES)]
        return Planted((f"{setting}*=2",) if "notice" not in setting else (f"{setting}=30ms",), (stage,), "", ())
    if kind == "one region":
        region = number % len(REGIONS)
        hosts = tuple(range(region, HOSTS, len(REGIONS)))
        return Planted((slow(hosts, 2.0),), ("arrival to adopted",), "region", (REGIONS[region],))
    if kind == "one host":
        host = number % HOSTS
        return Planted((slow((host,), 2.0),), ("arrival to adopted",), "host", (f"node-{host}",))
    pairs = [("eu-central-1", "us-east-1"), ("ap-southeast-2", "us-east-1"), ("ap-southeast-2", "eu-central-1")]
    pair = pairs[number % len(pairs)]
    setting = f"rtt[{pair[0]},{pair[1]}].mean*=1.5"
    return Planted((setting,), ("fetch", "header on its way"), "regions", pair)


KINDS = ("all hosts", "one region", "one host", "a link")


def simulated(folder: Path, seed: int, *settings: str, spread: bool = False) -> Run:
    """A small simulated cluster; its hosts and links are alike, or differ as the shipped profile lets a seed draw them."""
    profile = load_profile("value-only-10.5", (*SMALL, *(() if spread else ALIKE), *settings))
    return simulate_direct(profile, seed, folder, lambda _done, _total: None)[0]


def named_first(explanation: Explanation, cause: Planted) -> bool:
    """Returns whether the cause is named first."""
    first = explanation.changes.found[0] if explanation.changes and explanation.changes.found else None
    return (
        first is not None
        and first.stage in cause.stages
        and first.kind == cause.kind
        and tuple(first.places) == cause.places
    )
