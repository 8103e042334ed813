"""Manifests: the facts recorded of each side's runs."""

from collections.abc import Sequence

from slotmark.compare.result import Side
from slotmark.metrics import catalogue
from slotmark.numbers import fixed, gibibytes
from slotmark.report.document import Block, Cell, Facts, Paragraph, Source, Table, left
from slotmark.run import MachineFacts, Manifest, SourceFile
from slotmark.words import counted, listed, shown_fact

_UNKNOWN = "unknown"

SOURCES_FILE = "report-sources.csv"
"""Beside the report: what its runs were made from."""

MOST_SIDES = 5
"""The most sides that are described on the first screen."""


def work_done(side: Side) -> str:
    """Returns the work of the side's first run, in a line: its bench, and those facts of its workload that the catalogue names."""
    manifest = side.manifest
    facts = [
        f"{name} {manifest.workload[name]}" for name in catalogue(manifest.bench).about if name in manifest.workload
    ]
    return "; ".join(filter(None, (f"{manifest.bench} bench", ", ".join(facts))))


def manifests(sides: Sequence[Side]) -> list[Block]:
    """Tables of the facts of each side's runs, a column per side, and of the files that they were made from."""
    listed = [_facts(side) for side in sides]
    names = list(dict.fromkeys(name for facts in listed for name in facts))
    rows = [[Cell(name), *(Cell(facts.get(name, "-")) for facts in listed)] for name in names]
    columns = left("", *(side.name for side in sides))
    title = f"{len(names)} facts of each side"
    return [Table(title, columns, rows, wide=True), *_files(sides)]


def _facts(side: Side) -> dict[str, str]:
    """Returns the facts of a side; of several runs, the values of all where they differ, in their order."""
    of_runs = [dict(manifest_facts(manifest)) for manifest in side.manifests]
    several = {"runs": f"{len(of_runs)}; one value is that of each"} if side.others else {}
    names = dict.fromkeys(name for facts in of_runs for name in facts)
    shared = {name: "; ".join(dict.fromkeys(facts.get(name, "-") for facts in of_runs)) for name in names}
    return several | shared | dict(side.facts)


def manifest_facts(manifest: Manifest) -> list[tuple[str, str]]:
    """A manifest as names and values; a parameter that is a fact of the workload too stands once, as the workload has it."""
    target = manifest.target
    parameters = {
        name: value
        for name, value in (manifest.parameters | manifest.observed).items()
        if name not in manifest.workload
    }
    facts = [
        ("origin", manifest.origin or _UNKNOWN),
        ("target", " ".join(filter(None, (target.name, target.version, target.commit)))),
        ("language", " ".join(filter(None, (target.language, target.toolchain))) or "-"),
        *manifest.workload.items(),
        *((name, shown_fact(value)) for name, value in parameters.items()),
        *(_machine_facts(manifest.machine) if manifest.machine else []),
        *manifest.versions.items(),
        ("session", manifest.session),
        ("started", manifest.started),
        ("ended", manifest.ended),
        ("tables", ", ".join(f"{name} ({counted(rows, 'row')})" for name, rows in manifest.tables.items())),
    ]
    return [(name, value) for name, value in facts if value]


def sources(sides: Sequence[Side]) -> list[Source]:
    """Every source file once, with the sides that were made from it where those aren't all."""
    found: dict[SourceFile, dict[str, None]] = {}
    for side in sides:
        for file in (file for manifest in side.manifests for file in manifest.sources):
            found.setdefault(file, {})[side.name] = None
    return [
        Source(listed(list(names)) if len(names) < len(sides) else "all", file.path, file.bytes, file.identity)
        for file, names in found.items()
    ]


def _files(sides: Sequence[Side]) -> list[Block]:
    """Tables of the source files."""
    count = len(sources(sides))
    if not count:
        return []
    named = "1 source file is" if count == 1 else f"{count:,} source files are"
    return [Paragraph(f"{named} listed in {SOURCES_FILE}, with size and digest.")]


def compared(sides: Sequence[Side], *, machines: bool = False) -> list[Block]:
    """Returns a line per side: the target, its version and commit, when its runs began, and how many there are; on request their machines."""
    facts = [(side.name, "; ".join([_in_a_line(side), *([_measured_on(side)] if machines else [])])) for side in sides]
    left = len(facts) - MOST_SIDES
    more = [("", f"{left} more: see the manifest")] if left > 0 else []
    return [Facts("", [*facts[:MOST_SIDES], *more])]


def _in_a_line(side: Side) -> str:
    targets = [manifest.target for manifest in side.manifests]
    names, versions, commits = (
        "; ".join(dict.fromkeys(filter(None, (getattr(target, of) for target in targets))))
        for of in ("name", "version", "commit")
    )
    days = sorted({manifest.started[:10] for manifest in side.manifests if manifest.started})
    simulators = "; ".join(dict.fromkeys(filter(None, (one.versions.get("simulator") for one in side.manifests))))
    runs = len(side.manifests)
    parts = [
        names if names != side.name else "",
        f"version {versions}" if versions else "" if simulators else "version not recorded",
        f"simulated by {simulators}" if simulators else "",
        f"commit {commits}" if commits else "",
        " to ".join(dict.fromkeys((days[0], days[-1]))) if days else "",
        f"{runs} run{'s' if runs > 1 else ''}",
    ]
    return ", ".join(filter(None, parts))


def _measured_on(side: Side) -> str:
    """Returns the kinds of machines that a side's runs were measured on, in words."""
    kinds = [
        ", ".join(fact for fact in one.machine.kind.values() if fact != "none")
        for one in side.manifests
        if one.machine is not None
    ]
    if not any(kinds):
        simulated = all(one.origin == "simulated" for one in side.manifests)
        return "no machine: simulated" if simulated else "machine not recorded"
    return " and ".join(dict.fromkeys(kinds))


def _machine_facts(machine: MachineFacts) -> list[tuple[str, str]]:
    """Returns the facts of a machine; there are few of one that was only named, not examined."""
    looked_at = machine.memory_bytes > 0
    hardware = [
        machine.cpu,
        f"{machine.cores} cores" if machine.cores else "",
        gibibytes(machine.memory_bytes) if looked_at else "",
        "" if machine.governor == _UNKNOWN else f"governor {machine.governor}",
    ]
    system = [fact for fact in (machine.system, machine.kernel, machine.virtualisation) if fact != _UNKNOWN]
    return [
        ("machine", ", ".join(filter(None, hardware))),
        ("system", ", ".join(system) or _UNKNOWN),
        *([("load before", fixed(machine.load, 2))] if looked_at else []),
    ]
