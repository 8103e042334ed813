"""Runs in an environment of its own, which has Apache Otava: reads series as JSON, writes the places that it finds, by setting."""

import json
import sys
import warnings

warnings.filterwarnings("ignore")
from otava.analysis import compute_change_points  # noqa: E402  # pyright: ignore[reportMissingImports]

asked = json.load(sys.stdin)
found = {
    str(p): [[int(one.index) for one in compute_change_points(values, max_pvalue=p)[0]] for values in asked["series"]]
    for p in asked["settings"]
}
json.dump(found, sys.stdout)
