"""From a column of a published report to a run folder: one value a metric, and nothing that the report doesn't print."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from slotmark.metrics import catalogue
from slotmark.places import Place
from slotmark.published.archive.reading import Report, Row, number
from slotmark.published.locli import headed
from slotmark.published.locli_manifest import WORKLOAD
from slotmark.published.styles import STYLES
from slotmark.run import Manifest, Run, RunWriter, SourceFile, Target
from slotmark.run.integrity import digest_of
from slotmark.versions import PACKAGES, versions
from slotmark.warnings import Warning
from slotmark.words import counted, few, listed

BENCH = "published"

_BEGAN = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")


def metrics_of(report: Report) -> Mapping[str, str]:
    """The metric's id by the label of a row, with its unit, as the report's style prints it."""
    return {headed(metric, STYLES[report.style]): metric.id for metric in catalogue(BENCH).metrics}


def rows_left_out(labels: Sequence[str]) -> Warning:
    """Returns the warning about rows of a report's tables that are no metric, at least one."""
    rows = f"{counted(len(labels), 'row')} of the report's tables {'is no metric' if len(labels) == 1 else 'are no metrics'}"
    return catalogue(BENCH).warning("unknown_rows", rows=rows, labels=listed(few(labels, 5)))


def unknown_rows(report: Report) -> list[str]:
    """The labels of the rows that are no metric of the catalogue."""
    known = metrics_of(report)
    return [label for row in report.rows if (label := label_of(row)) not in known]


def label_of(row: Row) -> str:
    """Returns the text before a row's values."""
    return f"{row.metric}, {row.unit}" if row.unit else row.metric


def values_of(report: Report, place: int) -> dict[str, float]:
    """Returns the printed values of a run by the row's name; times in s. Rows that are no metric, and cells without a value, are left out."""
    known = metrics_of(report)
    numbers = {row.metric: number(row.values[place]) for row in report.rows if label_of(row) in known}
    return {metric: value for metric, value in numbers.items() if value is not None}


def began(report: Report, place: int) -> str:
    """Returns when a run's cluster started, ISO 8601; it identifies the report's runs. Empty where the report doesn't have it."""
    facts = report.facts(place)
    at = " ".join(facts.get(f"Cluster system start {what}", "") for what in ("date", "time"))
    return f"{at.replace(' ', 'T')}Z" if _BEGAN.fullmatch(at) else ""


def write_run(file: Path, report: Report, place: int, out: Place) -> Run:
    """The run folder of a column.

    Args:
        file: That the report was read from.
        report: The tables.
        place: Place of the column.
        out: The new run.

    Raises:
        RunError: The folder is there already, or can't be written.
    """
    with RunWriter(out) as writer:
        writer.table("figures", _figures(report, place))
        return writer.finish(_manifest(file, report, place))


def _figures(report: Report, place: int) -> pa.Table:
    """One row per printed value: the metric, the value, between which numbers it was before it was printed, and the text."""
    known, style = metrics_of(report), STYLES[report.style]
    entries = catalogue(BENCH)
    rows = []
    for row in report.rows:
        metric_id, text = known.get(label_of(row)), row.values[place]
        value = number(text)
        if metric_id is None or value is None:
            continue
        low, high = style.printed_from(value, entries[metric_id].width)
        rows.append((report.report, metric_id, value, low, high, text, label_of(row)))
    columns = {
        "report": pa.string(),
        "metric": pa.string(),
        "value": pa.float64(),
        "low": pa.float64(),
        "high": pa.float64(),
        "text": pa.string(),
        "label": pa.string(),
    }
    return pa.table(
        {name: pa.array([row[column] for row in rows], kind) for column, (name, kind) in enumerate(columns.items())}
    )


def _manifest(file: Path, report: Report, place: int) -> Manifest:
    facts, name, start = report.facts(place), report.versions[place], began(report, place)
    packages = {package: (facts.get(f"{package} version", ""), facts.get(f"{package} git", "")) for package in PACKAGES}
    version, commit = packages["cardano-node"]
    ghc = facts.get("GHC version", "")
    unknown = unknown_rows(report)
    run = start or f"{report.report}, {name}"
    return Manifest(
        id=f"published, {run}",
        bench=BENCH,
        origin="published",
        target=Target(name=name, version=version, commit=commit, toolchain=f"ghc {ghc}" if ghc else ""),
        workload={
            **({"workload": report.workload} if report.workload else {}),
            **{fact: facts[label] for label, fact in WORKLOAD.items() if label in facts},
            **({"hosts": facts["Machines"]} if "Machines" in facts else {}),
        },
        parameters={
            "style": report.style,
            **({"batch": facts["Run batch"]} if "Run batch" in facts else {}),
            **({"era": facts["Era"]} if "Era" in facts else {}),
        },
        session=run,
        machine=None,
        started=start,
        ended="",
        versions={
            **versions(),
            **{f"target {package}": " ".join(filter(None, of)) for package, of in packages.items() if any(of)},
        },
        sources=[SourceFile(file.name, file.stat().st_size, digest=digest_of(file))],
        tables={},
        warnings=[
            catalogue(BENCH).warning("printed_only"),
            *([rows_left_out(unknown)] if unknown else []),
        ],
    )
