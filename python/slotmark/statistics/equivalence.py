"""Equivalence by two one-sided tests (Schuirmann 1987): a difference is within a margin when both ends of it are ruled out."""

from slotmark.statistics.distributions import t_sf


def tost(estimate: float, error: float, degrees: float, margin: float) -> float:
    """The p-value of a difference as large as the margin, either way; small where two things are equivalent.

    Args:
        estimate: The difference, as a log ratio.
        error: Its standard error; 0 where nothing varies.
        degrees: Degrees of freedom of that.
        margin: Above 0, on the same scale: log(1.02) for 2 %.
    """
    if error == 0:
        return float(abs(estimate) >= margin)
    return float(
        max(
            t_sf((estimate + margin) / error, degrees),
            t_sf((margin - estimate) / error, degrees),
        )
    )
