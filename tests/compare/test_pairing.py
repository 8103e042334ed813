"""Pairing is by key, and refuses what has no counterpart."""

import numpy as np
import pyarrow as pa
import pytest

from slotmark.compare.matching.pairing import by_replicate, refuse_unmatched, replicates
from slotmark.errors import ComparisonError
from slotmark.metrics import Metric, Samples

RATE = Metric(id="rate", name="Rate", unit="", better="higher", grain=("round",), definition="")
WINDOWS = Metric(id="windows", name="Windows", unit="", better="higher", grain=("round", "blocks"), definition="")


def by_round(values: dict[int, float]) -> Samples:
    table = pa.table({"part": ["s"] * len(values), "round": list(values), "value": list(values.values())})
    return Samples(RATE, table)


def test_equal_keys_pair() -> None:
    ours, theirs = by_round({1: 10.0, 2: 20.0, 3: 30.0}), by_round({1: 1.0, 2: 2.0, 3: 3.0})
    refuse_unmatched(ours, theirs, "s", ("a", "b"))
    assert by_replicate(ours, "s").tolist() == [10, 20, 30]
    assert by_replicate(theirs, "s").tolist() == [1, 2, 3]


def test_a_round_without_counterpart_is_named() -> None:
    with pytest.raises(ComparisonError) as caught:
        refuse_unmatched(by_round({1: 1, 2: 2, 3: 3}), by_round({2: 2, 3: 3, 4: 4, 5: 5}), "s", ("a", "b"))
    assert str(caught.value) == (
        "'rate' of a and b can't be paired in 's': only a has round 1; only b has round 4, 5. "
        "Runs of one session have the same: one of the two was changed by hand. Measure both again."
    )
    with pytest.raises(ComparisonError, match=r"only b has round 2, 3, 4, 5, 6 and 4 more"):
        refuse_unmatched(by_round({1: 1}), by_round(dict.fromkeys(range(1, 11), 1.0)), "s", ("a", "b"))


def test_samples_within_a_round_are_one_replicate() -> None:
    # Round 1: sqrt(2 * 8) = 4; round 2: 5.
    table = pa.table({"part": ["s"] * 3, "round": [1, 1, 2], "blocks": [100, 200, 100], "value": [2.0, 8.0, 5.0]})
    assert by_replicate(Samples(WINDOWS, table), "s") == pytest.approx([4, 5])
    assert replicates(Samples(WINDOWS, table), "s") == 2


def test_other_settings_stay_out() -> None:
    table = pa.table({"part": ["s", "t"], "round": [1, 1], "value": [1.0, 2.0]})
    assert np.array_equal(by_replicate(Samples(RATE, table), "t"), [2.0])
    assert Samples(RATE, table).parts == ["s", "t"]
