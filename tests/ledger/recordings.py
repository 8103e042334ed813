"""Made-up recordings, and the files that db-analyser and beacon of each age would have written of them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

AGE_2023 = [
    "slot",
    "slotGap",
    "totalTime",
    "mut",
    "gc",
    "majGcCount",
    "mut_forecast",
    "mut_headerTick",
    "mut_headerApply",
    "mut_blockTick",
    "mut_blockApply",
]
"""Columns at the commit that the 2023 study used."""
AGE_2024 = [
    "slot",
    "slotGap",
    "totalTime",
    "mut",
    "gc",
    "majGcCount",
    "minGcCount",
    "allocatedBytes",
    "mut_forecast",
    "mut_headerTick",
    "mut_headerApply",
    "mut_blockTick",
    "mut_blockApply",
    "blockBytes",
]
AGE_2026 = [
    "slot",
    "slotGap",
    "totalTime",
    "mut",
    "gc",
    "tableReadTime",
    "mut_tableRead",
    "majGcCount",
    "minGcCount",
    "allocatedBytes",
    "mut_forecast",
    "mut_headerTick",
    "mut_headerApply",
    "mut_blockTick",
    "mut_blockApply",
    "blockBytes",
]
AGES = {"2023": AGE_2023, "2024": AGE_2024, "2026": AGE_2026}
ERA = "...era-specific stats"

METADATA = {
    "rtsGCMaxStkSize": 13107,
    "rtsGCMaxHeapSize": 0,
    "rtsConcurrentCtxtSwitchTime": 20000000,
    "rtsParNCapabilities": 2,
    "compilerVersion": "9.6",
    "compilerName": "ghc",
    "operatingSystem": "linux",
    "machineArchitecture": "x86_64",
    "gitRevison": "1356d3e9b",
    "ledgerApplicationMode": "full-application",
}

Point = dict[str, Any]


def points(blocks: int = 12, *, seed: int = 1, with_table_read: bool = True, scale: float = 1.0) -> list[Point]:
    """Blocks whose parts add up to their totals, as db-analyser's do; every seventh has a major GC."""
    draws = np.random.default_rng(seed)
    found = []
    for index in range(blocks):
        phases = [int(scale * value) for value in draws.integers([1, 5, 400, 10, 900], [9, 30, 700, 90, 40_000])]
        read = int(draws.integers(20, 400))
        major = int(index % 7 == 3)
        gc = major * 20_000 + int(draws.integers(0, 60))
        mut = sum(phases) + int(draws.integers(0, 30)) + read * with_table_read
        transactions = index % 5
        found.append(
            {
                "slot": 63 + 20 * index,
                "slotGap": 20,
                "totalTime": mut + gc,
                "mut": mut,
                "gc": gc,
                "tableReadTime": read,
                "mut_tableRead": read,
                "majGcCount": major,
                "minGcCount": 1,
                "allocatedBytes": 16_777_216,
                **dict(
                    zip(
                        ("mut_forecast", "mut_headerTick", "mut_headerApply", "mut_blockTick", "mut_blockApply"),
                        phases,
                        strict=True,
                    )
                ),
                "blockBytes": 860 + 900 * transactions,
                "stats": [transactions, 300 * transactions, *([5_000 * transactions] if index >= blocks // 2 else [])],
            }
        )
    return found


def tab_separated(recorded: Sequence[Point], columns: Sequence[str] = AGE_2026) -> str:
    """As written to a file of any extension but .json."""
    lines = ["\t".join([*columns, ERA])]
    lines += ["\t".join(map(str, [*(point[name] for name in columns), *point["stats"]])) for point in recorded]
    return "\n".join(lines) + "\n"


def as_json(point: Point, columns: Sequence[str]) -> Point:
    named = {"blockByteSize" if name == "blockBytes" else name: point[name] for name in columns}
    return {**named, "blockStats": [str(figure) for figure in point["stats"]]}


def concatenated(recorded: Sequence[Point], columns: Sequence[str] = AGE_2026, metadata: Point | None = None) -> str:
    """As written to a file called .json: objects without anything between them."""
    return "".join(
        json.dumps(value, separators=(",", ":"))
        for value in [METADATA if metadata is None else metadata, *(as_json(point, columns) for point in recorded)]
    )


def beacon_run(recorded: Sequence[Point], columns: Sequence[str] = AGE_2026, **meta: Any) -> str:
    """As beacon 0.3 stores it."""
    about = {
        "commit": {"ciCommitSHA1": "1356d3e9b" + "0" * 31, "ciCommitDate": "2026-08-21T00:00:00Z"},
        "version": {"verGitRef": "main", "verCompiler": "haskell96"},
        "chain": "fragment-1",
        "nixPath": "somewhere",
        "host": "bench-1",
        "date": "2026-08-22T10:00:00Z",
        "manifest": {"cardano-ledger-core": "1.18.0.0"},
        "apply": "Apply",
        "backend": "V2InMem",
        "memLimit": {"mloHeapLimit": "2G", "mloMemLimit": None, "mloLsmNoCache": False},
        **meta,
    }
    stats = {"statsMaxResidentSetSize": 3_000_000_000, "statsFileSystemInputs": 1, "statsFileSystemOutputs": 2}
    return json.dumps(
        {"meta": about, "data": [as_json(point, columns) for point in recorded], "processStats": stats}, indent=2
    )


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")
    return path
