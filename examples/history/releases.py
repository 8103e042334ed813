"""A store of published releases: `releases.py REPORTS STORE` adds every run of the reports in a folder once, under the name of its column.

A report is read by `slotmark published` (docs/archive.md); a run has one value a metric, so that what runs of one build differ by comes from the table that slotmark has of that cluster.
"""

import sys
from pathlib import Path

from slotmark.errors import ImportFileError
from slotmark.history import Labels, make_store
from slotmark.places import place
from slotmark.published.archive import read_report, write_run
from slotmark.run import Run
from slotmark.temporary import temporary_folder


def main(reports: Path, store: str) -> None:
    """Adds the runs in the order of their start."""
    with temporary_folder() as folder:
        runs: dict[str, Run] = {}
        for file in sorted(reports.glob("*.json")):
            try:
                report = read_report(file)
            except ImportFileError as error:
                print(f"left out: {error}")
                continue
            for column in range(len(report.versions)):
                run = write_run(file, report, column, Path(folder) / f"{file.stem}.{column}")
                runs.setdefault(run.manifest.id, run)  # most baselines are the candidate of the report before
        made = make_store(place(store))
        for run in sorted(runs.values(), key=lambda run: run.manifest.started):
            made.add([run], Labels(version=run.manifest.target.name))
        made.keep_index()
    print(f"{store}: {len(made.runs())} runs")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
