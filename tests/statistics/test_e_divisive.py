"""E-divisive with means: the places and p-values of Apache Otava 0.8.0 (compute_change_points with windows of 50 and p below 0.1 %), kept in otava.json."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from slotmark.statistics.e_divisive import e_divisive

KEPT = json.loads(Path(__file__).with_name("otava.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: f"{len(kept['values'])} values")
def test_the_change_points_are_those_of_otava(kept: dict[str, Any]) -> None:
    found = e_divisive(np.array(kept["values"]))
    assert [one.place for one in found] == [place for place, _ in kept["found"]]
    assert [one.p for one in found] == pytest.approx([p for _, p in kept["found"]], rel=1e-6, abs=1e-300)


def test_there_is_something_to_find() -> None:
    assert sum(len(kept["found"]) for kept in KEPT) > 10
    assert e_divisive(np.zeros(0)) == []
