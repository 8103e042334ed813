"""The data of a metric's page: columns of numbers in few bytes, which its script unpacks.

A file has one statement, so that a page that was opened as a file can load it too. Numbers are float32 in base64, and the reach of an interval is float16: its ends are read off a chart.
"""

import base64
import hashlib
import json

import numpy as np

from slotmark.history.columns import whole
from slotmark.site.gathered import Gathered, Page

_WIDE = 1 << 16
"""Runs from which on their numbers take four bytes."""


def data_of(page: Page) -> bytes:
    """The file of a metric: for each kind of machine its runs by their numbers in :func:`runs_of`, their estimates, the reach of their own intervals, and that of a difference of two."""
    series = []
    for one in page.series:
        there, rows = one.there, len(one.estimates.rows)
        estimates = page.scale * one.column.estimates[there]
        own = page.scale if one.column.scale != "log" else 1.0
        unit = _unit(estimates)
        # On a scale of logarithms the reach is a share already.
        reach = own * one.column.reach_within[there] / (1.0 if one.column.scale == "log" else unit)
        places = there.astype(np.uint16 if rows < _WIDE else np.uint32)
        series.append(
            {
                "machine": one.estimates.group.machine,
                "of": _group_name(page, one.estimates.group.machine),
                "count": len(there),
                "places": "" if len(there) == rows else _packed(places),
                "wide": rows >= _WIDE,
                "estimates": _packed((estimates / unit).astype(np.float32)),
                "reach": _packed(reach.astype(np.float16)),
                "log": one.column.scale == "log",
                "unit": unit,
                "pair": own * one.reach if one.reach is not None and np.isfinite(one.reach) else None,
            }
        )
    changes = [{"at": one.at_ns // 10**6, "state": one.state, "version": one.version} for one in page.changes]
    return _statement(
        {
            "kind": "metric",
            "unit": page.unit,
            "series": series,
            "changes": changes,
        }
    )


def runs_of(found: Gathered) -> dict[str, bytes]:
    """The files of runs, by their names: of each work of a target on a kind of machine the digests, times and versions of its runs, and which of them have no tables, which all of its metrics share."""
    files: dict[str, bytes] = {}
    for page in found.pages:
        for one in page.series:
            name = _group_name(page, one.estimates.group.machine)
            if name in files:
                continue
            rows = one.estimates.rows
            versions = list(dict.fromkeys(str(row["version"]) for row in rows))
            numbers = {version: place for place, version in enumerate(versions)}
            files[name] = _statement(
                {
                    "kind": "runs",
                    "name": name,
                    "runs": _packed(np.frombuffer(bytes.fromhex("".join(str(row["run"]) for row in rows)), np.uint8)),
                    "pruned": [place for place, row in enumerate(rows) if row["run"] in found.pruned],
                    "at": _packed(np.array([whole(row, "at_ns") // 10**9 for row in rows], np.float64)),
                    "versions": versions,
                    "version": _packed(np.array([numbers[str(row["version"])] for row in rows], np.uint32)),
                }
            )
    return files


def files_of(page: Page) -> list[str]:
    """The names of the files of runs that a metric's page needs."""
    return list(dict.fromkeys(_group_name(page, one.estimates.group.machine) for one in page.series))


def _group_name(page: Page, machine: str) -> str:
    key = "\0".join((page.group.bench, page.group.target, page.group.workload, machine))
    return f"runs-{hashlib.sha256(key.encode()).hexdigest()[:12]}"


def _unit(estimates: np.ndarray) -> float:
    """The number that estimates and the reach of intervals are in: float16 has no values above 65,504, and float32 none above 3.4e38."""
    return float(np.max(np.abs(estimates), initial=0.0)) or 1.0


def _packed(values: np.ndarray) -> str:
    return base64.b64encode(values.astype(values.dtype.newbyteorder("<")).tobytes()).decode()


def _statement(value: dict[str, object]) -> bytes:
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return f"slotmark({text.replace('<', chr(92) + 'u003c')});\n".encode()
