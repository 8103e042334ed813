"""Distributions, against those of scipy.stats: the numbers are the same to the last bit."""

import subprocess
import sys

import numpy as np
import pytest
import scipy

from slotmark.statistics import distributions

X = np.array([-np.inf, -1e300, -40.0, -3.3, -1e-9, 0.0, 1e-12, 0.3, 1.7, 9.1, 60.0, 1e5, 1e300, np.inf, np.nan])
DEGREES = np.array([0.3, 1, 1.5, 2, 3, 7.7, 12, 29.4, 100, 998, 1e6, 1e10, np.inf])
SHARES = np.array([1e-300, 1e-12, 0.001, 0.005, 0.2, 0.5, 0.8, 0.975, 0.995, 1 - 1e-12, 1.0])
AWAY = np.array([0.0, 1e-6, 0.1, 2.0, 30.0, 500.0])


@pytest.mark.parametrize(
    ("name", "values"),
    [("t_sf", X), ("t_isf", SHARES), ("t_ppf", SHARES), ("chi2_ppf", SHARES), ("chi2_isf", SHARES)],
)
def test_those_of_degrees_of_freedom(name: str, values: np.ndarray) -> None:
    family, function = name.split("_")
    grid = np.meshgrid(values, DEGREES)
    ours = getattr(distributions, name)(*grid)
    np.testing.assert_array_equal(ours, getattr(getattr(scipy.stats, family), function)(*grid))


@pytest.mark.parametrize(("name", "values"), [("nct_cdf", X), ("nct_sf", X[X >= 0])])
def test_noncentral_t(name: str, values: np.ndarray) -> None:
    grid = np.meshgrid(values, DEGREES[np.isfinite(DEGREES)], AWAY)
    with np.errstate(all="ignore"):
        ours = getattr(distributions, name)(*grid)
        theirs = getattr(scipy.stats.nct, name.removeprefix("nct_"))(*grid)
    np.testing.assert_array_equal(ours, theirs)


def test_what_comparisons_load_has_no_scipy_stats() -> None:
    load = "import sys, slotmark.compare, slotmark.report, slotmark.statistics.planning, slotmark.statistics.student"
    seen = subprocess.run(
        [sys.executable, "-c", f"{load}\nprint('scipy.stats' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert seen.stdout == "False\n"
