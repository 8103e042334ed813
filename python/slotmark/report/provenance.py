"""The parts of a report that say what the metrics mean and where the figures come from."""

from collections.abc import Iterable, Mapping, Sequence

from slotmark.compare import Side
from slotmark.metrics import Metric
from slotmark.report.document import Block, Cell, Column, Facts, Table
from slotmark.report.numbers import percent
from slotmark.run import MachineFacts, Manifest


def dictionary(metrics: Iterable[Metric]) -> Table:
    """The data dictionary: what each metric is, a row a metric."""
    titles = ("metric", "id", "unit", "better", "margin", "definition", "as published")
    rows = [
        (
            metric.name,
            metric.id,
            metric.unit or "-",
            metric.better,
            _margin(metric),
            metric.definition,
            metric.published or "the same",
        )
        for metric in dict.fromkeys(metrics)
    ]
    return Table(
        "", [Column(title, "left") for title in titles], [[Cell(one) for one in row] for row in rows], wide=True
    )


def manifests(sides: Sequence[Side]) -> list[Block]:
    """What is known of each side's first run, a column a side, and the files that each side's runs were made from."""
    listed = [dict([*manifest_facts(side.manifest), *side.facts]) for side in sides]
    names = list(dict.fromkeys(name for facts in listed for name in facts))
    rows = [[Cell(name), *(Cell(facts.get(name, "-")) for facts in listed)] for name in names]
    columns = [Column("", "left"), *(Column(side.name, "left") for side in sides)]
    return [Table("", columns, rows, wide=True), *(files for side in sides if (files := _files(side)))]


def manifest_facts(manifest: Manifest) -> list[tuple[str, str]]:
    """A manifest as names and values."""
    target = manifest.target
    return [
        ("target", " ".join(filter(None, (target.name, target.version, target.commit)))),
        ("language", " ".join(filter(None, (target.language, target.toolchain))) or "-"),
        *manifest.workload.items(),
        *((name, _shown(value)) for name, value in manifest.parameters.items()),
        *(_machine_facts(manifest.machine) if manifest.machine else []),
        *manifest.versions.items(),
        ("session", manifest.session),
        ("started", manifest.started),
        ("ended", manifest.ended),
        ("tables", ", ".join(f"{name} ({rows:,} rows)" for name, rows in manifest.tables.items())),
    ]


def _files(side: Side) -> Facts | None:
    files = [file for manifest in (side.manifest, *side.others) for file in manifest.sources]
    if not files:
        return None
    return Facts(
        f"{side.name}: {len(files)} source file{'s' if len(files) > 1 else ''}",
        [(file.path, f"{file.bytes:,} bytes, SHA-256 {file.sha256}") for file in files],
        wide=True,
    )


def _machine_facts(machine: MachineFacts) -> list[tuple[str, str]]:
    return [
        (
            "machine",
            f"{machine.cpu}, {machine.cores} cores, {machine.memory_bytes / 1e9:.1f} GB, governor {machine.governor}",
        ),
        ("system", f"{machine.system}, {machine.kernel}, {machine.virtualisation}"),
        ("load before", f"{machine.load:.2f}"),
    ]


def _margin(metric: Metric) -> str:
    if not metric.tested:
        return "not tested"
    least = f", at least {metric.least:g}{metric.unit_suffix}" if metric.least else ""
    return f"{percent(metric.margin)}{least}"


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {level}" for name, level in value.items()) or "-"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
