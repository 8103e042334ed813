"""Runs by themselves, compared with nothing: what `show` prints of one, and what a session prints of the runs that it made."""

from collections.abc import Sequence

from slotmark.compare.clocks import clock_warnings
from slotmark.compare.results.rows import Summary
from slotmark.compare.results.shown import ShownRun, ShownSession
from slotmark.compare.summary import summarise_runs
from slotmark.metrics import Analysis, Filter, Metric, catalogue, samples
from slotmark.run import Run


def show_run(run: Run, filters: Sequence[Filter] | None = None) -> ShownRun:
    """Returns one run with all its metrics.

    Args:
        run: The run.
        filters: What is analysed, for benches with filters; None for what its profile names.

    Raises:
        RunError: The run is damaged, or a filter can't be applied to it.
    """
    rows: list[tuple[Metric, str, Summary]] = []
    unrecorded: list[Metric] = []
    with Analysis(run, filters=filters) as analysis:
        analysed = [str(one) for one in analysis.filters] if analysis.catalogue.filterable else []
        warnings = list(dict.fromkeys([*run.manifest.warnings, *analysis.warnings()]))
        facts = analysis.facts()
        metrics = analysis.catalogue.metrics
        for metric, found in zip(metrics, analysis.each_samples([one.id for one in metrics]), strict=True):
            rows += [(metric, part, summarise_runs([found], part, drawn=False)) for part in found.parts]
            if not found.parts:
                unrecorded.append(metric)
        of_clocks = clock_warnings(
            analysis.catalogue, ((metric, summary.mean) for metric, _, summary in rows), [analysis]
        )
        warnings = list(dict.fromkeys([*warnings, *of_clocks.values()]))
    return ShownRun(
        name=run.name,
        manifest=run.manifest,
        analysed=analysed,
        warnings=warnings,
        facts=facts,
        rows=rows,
        unrecorded=unrecorded,
    )


def show_session(runs: Sequence[Run]) -> ShownSession:
    """Returns the runs of one session in short; at least one. RunError where one is damaged."""
    shown = [metric for metric in catalogue(runs[0].manifest.bench).metrics if metric.short]
    found = {metric.id: [samples(run, metric.id) for run in runs] for metric in shown}
    metrics = [metric for metric in shown if any(one.table.num_rows for one in found[metric.id])]
    parts = dict.fromkeys(part for run in range(len(runs)) for metric in shown for part in found[metric.id][run].parts)
    return ShownSession(
        names=[run.name for run in runs],
        manifests=[run.manifest for run in runs],
        metrics=metrics,
        medians={
            part: [
                [
                    summarise_runs([one], part, drawn=False).median
                    if part in (one := found[metric.id][run]).parts
                    else None
                    for metric in metrics
                ]
                for run in range(len(runs))
            ]
            for part in parts
        },
    )
