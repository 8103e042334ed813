"""The manifest of locli's reports: what is known of each run, by its labels and in its order."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from slotmark.metrics import Analysis
from slotmark.published.report import PublishedTable, words
from slotmark.run import Manifest, Run
from slotmark.versions import PACKAGES

_NONE = "—"
"""The text for a fact that a run does not record."""

WORKLOAD = {
    "Delegation map size": "delegation map size",
    "Stuffed UTxO size": "stuffed UTxO size",
    "DRep count": "DRep count",
    "Extra tx payload": "extra tx payload, B",
    "Tx inputs": "tx inputs",
    "Tx Outputs": "tx outputs",
    "TPS": "TPS",
    "Transaction count": "transactions",
    "Plutus script": "Plutus script",
}
"""Facts of the workload by the labels that are published."""

_FACTS = {"filters applied": "Number of filters applied"}
"""Labels of facts that follow from a run's tables, where they are not the fact's own name."""

_NO_FACTS = ("filters",)
"""Facts that the reports do not have."""


def compared_in_words(runs: Mapping[str, Run]) -> str:
    """The sentence with which the reports begin: which runs are compared, and under which workload."""
    first, *others = (_described(name, run.manifest) for name, run in runs.items())
    workload = next(iter(runs.values())).manifest.workload.get("workload", "an unknown")
    return f"We compare {' and '.join(others) or 'nothing'} against {first}, under the {workload} workload."


def manifest_table(names: Sequence[str], analyses: Sequence[Analysis]) -> PublishedTable:
    """A column per run. The day of the analysis is left out: it is no fact of a run."""
    columns = [_facts(analysis) for analysis in analyses]
    labels = list(dict.fromkeys(label for column in columns for label in column))
    rows = [words(label, *(column.get(label) or _NONE for column in columns)) for label in labels]
    return PublishedTable("", ["", *names], rows, labels=1 + len(names))


def _described(name: str, manifest: Manifest) -> str:
    versions = [f"{package} {version}" for package in PACKAGES[:2] if (version := _version(manifest, package)[0])]
    return f"{name} ({', '.join(versions)})" if versions else name


def _facts(analysis: Analysis) -> dict[str, str]:
    manifest = analysis.run.manifest
    started = datetime.fromtimestamp(_system_start_ns(analysis) // 10**9, UTC)
    return {
        "Cluster system start date": f"{started:%Y-%m-%d}",
        "Cluster system start time": f"{started:%H:%M:%S}",
        "Identifier": manifest.target.name,
        "Run batch": str(manifest.parameters.get("batch", "")),
        "GHC version": manifest.target.toolchain.removeprefix("ghc "),
        **{f"{package} version": _version(manifest, package)[0] for package in PACKAGES},
        **{f"{package} git": _version(manifest, package)[1] for package in PACKAGES},
        "Era": str(manifest.parameters.get("era", "")),
        **{label: manifest.workload.get(fact, "") for label, fact in WORKLOAD.items()},
        **{
            _FACTS.get(fact, fact[:1].upper() + fact[1:]): value
            for fact, value in analysis.facts()
            if fact not in _NO_FACTS
        },
    }


def _system_start_ns(analysis: Analysis) -> int:
    return int(analysis.query("SELECT system_start_ns FROM genesis")["system_start_ns"][0].as_py())


def _version(manifest: Manifest, package: str) -> tuple[str, str]:
    """Version and commit of a package that a run's target was built from; empty where the run does not record them."""
    known = manifest.versions.get(f"target {package}", "").split()
    version = next((word for word in known if "." in word), "")
    return version, next((word for word in known if word != version), "")
