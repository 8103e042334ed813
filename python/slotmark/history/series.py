"""The identity of a series: what its runs have in common, so that one can follow the other."""

import hashlib
import json

import msgspec

from slotmark.cleaning import one_name
from slotmark.metrics import catalogue
from slotmark.run import Manifest
from slotmark.words import shown_fact

_PROGRAM = "target "
"""Versions of a manifest whose names begin with it are those of the programs of its target, the first of them its own."""


class Group(msgspec.Struct, frozen=True, order=True):
    """The runs that one history is of; a series is one metric of them in one part.

    Attributes:
        bench: Their bench.
        target: The software, under whatever version.
        workload: Digest of what was done.
        machine: The kind of machine, in words; runs of two kinds are never in one series.
    """

    bench: str
    target: str
    workload: str
    machine: str


def target_of(manifest: Manifest) -> str:
    """The software that a run is of: the target's name, or in benches that name targets by their builds the program's; empty where that isn't recorded."""
    if not catalogue(manifest.bench).named_by_build:
        return manifest.target.name
    return next((name.removeprefix(_PROGRAM) for name in manifest.versions if name.startswith(_PROGRAM)), "")


def workload_of(manifest: Manifest) -> str:
    """The digest of what a run's target was made to do: of all facts of its workload."""
    facts = json.dumps(manifest.workload, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(facts.encode()).hexdigest()[:12]


def machine_of(manifest: Manifest) -> str:
    """The kind of machine that a run was made on, in words: processor, cores, memory, the kernel's major version, what it ran in."""
    machine = manifest.machine
    if machine is None:
        return {"simulated": "simulated", "published": "of published reports"}.get(
            manifest.origin or "", "not recorded"
        )
    return one_name(", ".join(machine.kind.values())) or "not recorded"


def circumstances(manifest: Manifest) -> dict[str, str]:
    """Facts about a run beside its target that may explain a change of its figures, by their names in sentences."""
    machine = manifest.machine
    of_machine = (
        {
            "kernel": machine.kernel,
            "machine": machine.hostname_hash,
            "frequency governor": machine.governor,
            "system": machine.system,
        }
        if machine
        else {}
    )
    parameters = catalogue(manifest.bench).conditions(manifest.parameters).items()
    return {
        **of_machine,
        **{f"parameter '{one_name(name)}'": one_name(shown_fact(value)) for name, value in parameters},
        **({"compiler": manifest.target.toolchain} if manifest.target.toolchain else {}),
        **{name: manifest.versions[name] for name in ("slotmark", "simulator") if name in manifest.versions},
    }
