"""Policies: which metrics decide about a release, by which margins, and what is accepted. docs/decision.md explains them.

The ranks, margins and directions of the catalogue are the default; a policy file holds only what differs.
"""

import json
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import get_args

import msgspec

from slotmark.compare.traits import traits_of
from slotmark.errors import ComparisonError, did_you_mean
from slotmark.metrics import Better, Metric, Rank, catalogue
from slotmark.numbers import percent, quantity, share
from slotmark.run import Manifest
from slotmark.texts import dates_as_text, parsed_toml, toml_text
from slotmark.verdict import Conditional, Verdict
from slotmark.versions import is_end, numbers_of

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """A regression that is known and accepted for a while.

    Attributes:
        metric: Its id.
        reason: Why it is accepted.
        until: The first version, or the last date, of a candidate for which it no longer, or still, is: ``10.7``, ``2026-12-31``.
        up_to: How large it may be, as a fraction; None for any size.
    """

    metric: str
    reason: str
    until: str
    up_to: float | None = None

    def applies(self, candidate: Manifest) -> bool:
        """Returns whether the candidate's version is before the end, or its run began by that date; False where that isn't known."""
        if _DATE.fullmatch(self.until):
            began = candidate.started[:10]
            return bool(_DATE.fullmatch(began)) and began <= self.until
        version, end = numbers_of(candidate.target.version), numbers_of(self.until)
        return version is not None and end is not None and version < end


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a decision, beside the catalogue.

    Attributes:
        name: What to call it.
        ranks: By metric id, in the place of the catalogue's.
        margins: Likewise, as fractions.
        directions: Likewise, which direction is an improvement.
        accepted: Regressions that don't hold a release.
        conditional: What verdicts that hold for these runs only may do; None for what their bench is used to: those of single cluster runs neither hold nor
            ship, others may hold.
        warnings: Kinds of warnings on which nothing ships; None for the bench's own.
        needs_all: Whether nothing ships without a decisive metric that a side doesn't record.
        assumed_spread: What the standard deviation of a run's mean is taken to be, as a share of its level, where no run and no table shows it; None for
            nothing.
        assumed_spreads: The same for single metrics, by id.
    """

    name: str = "the default policy"
    ranks: Mapping[str, Rank] = {}
    margins: Mapping[str, float] = {}
    directions: Mapping[str, Better] = {}
    accepted: Sequence[Accepted] = ()
    conditional: Conditional | None = None
    warnings: Collection[str] | None = None
    needs_all: bool = True
    assumed_spread: float | None = None
    assumed_spreads: Mapping[str, float] = {}

    def stopping(self, bench: str) -> Collection[str]:
        """Returns the kinds of warnings on which no run of a bench ships."""
        return catalogue(bench).stopping if self.warnings is None else self.warnings

    @property
    def asks_of_these_runs(self) -> bool:
        """Returns whether verdicts that hold for these runs only are asked for, by gates, or by options that let such verdicts hold or count."""
        return self.conditional not in (None, Conditional.UNDECIDED)

    def applied(self, metrics: Sequence[Metric]) -> list[Metric]:
        """The metrics with the policy's ranks, margins and directions."""
        return [
            msgspec.structs.replace(
                metric,
                rank=self.ranks.get(metric.id, metric.rank),
                margin=self.margins.get(metric.id, metric.margin),
                better=self.directions.get(metric.id, metric.better),
            )
            for metric in metrics
        ]


def only(decisive: Mapping[str, float | None], bench: str, name: str, *, needs_all: bool = True) -> Policy:
    """A policy in which these metrics decide and no others, and verdicts that hold for these runs only count like any other.

    Args:
        decisive: Margins by metric id, as fractions; None for the catalogue's.
        bench: Whose metrics they are.
        name: What to call the policy.
        needs_all: As of a policy.
    """
    return Policy(
        name=name,
        ranks={metric.id: "decisive" if metric.id in decisive else "informative" for metric in tested_metrics(bench)},
        margins={metric_id: margin for metric_id, margin in decisive.items() if margin is not None},
        conditional=Conditional.COUNT,
        warnings=(),
        needs_all=needs_all,
    )


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    rank: Rank | None = None
    margin: str | float | None = None
    better: Better | None = None
    assume_spread: str | float | None = None


class _Accepted(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    metric: str
    reason: str
    until: str
    up_to: str | float | None = None


class _File(msgspec.Struct, forbid_unknown_fields=True):
    bench: str = ""
    conditional: Conditional | None = None
    warnings: list[str] | None = None
    assume_spread: str | float | None = None
    metrics: dict[str, _Entry] = {}
    accepted: list[_Accepted] = []


def read_policy(path: Path, bench: str) -> Policy:
    """The policy in a TOML file; :func:`policy_text` has every field. Arguments and errors as of :func:`policy_in` and :func:`policy_file`."""
    return policy_in(policy_file(path), path, bench)


def policy_file(path: Path) -> str:
    """Returns the text of a policy file. ComparisonError where it can't be read."""
    try:
        return toml_text(path)
    except OSError as error:
        raise ComparisonError(
            f"{path}: the policy can't be read ({error.strerror}). Give a TOML file; --show-policy prints one."
        ) from error
    except UnicodeDecodeError as error:
        raise _no_policy(path, error) from error


def _no_policy(path: Path, error: Exception) -> ComparisonError:
    return ComparisonError(f"{path}: no policy ({error}). Compare it with what --show-policy prints.")


def policy_in(text: str, path: Path, bench: str) -> Policy:
    """The policy in the text of a file.

    Args:
        text: The text.
        path: The file.
        bench: Bench of the runs that it is for.

    Raises:
        ComparisonError: It is no such TOML, or it is of another bench, of metrics that aren't tested, or of warnings that there aren't.
    """
    try:
        written = msgspec.convert(dates_as_text(parsed_toml(text)), _File)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise _no_policy(path, error) from error
    if written.bench not in ("", bench):
        raise ComparisonError(
            f"{path}: a policy for bench '{written.bench}', but the runs are of '{bench}'. Give one for '{bench}', or none."
        )
    known = [metric.id for metric in tested_metrics(bench)]
    for metric in [*written.metrics, *(one.metric for one in written.accepted)]:
        if metric not in known:
            raise ComparisonError(
                f"{path}: '{metric}' isn't tested.{did_you_mean(metric, known)} Tested are: {', '.join(known)}."
            )
    _refuse_accepted_twice(path, written.accepted)
    kinds = catalogue(bench).kinds
    for kind in written.warnings or ():
        if kind not in kinds:
            raise ComparisonError(
                f"{path}: '{kind}' is no kind of warning.{did_you_mean(kind, kinds)} There are: {', '.join(kinds)}."
            )
    return Policy(
        name=path.name,
        ranks={name: one.rank for name, one in written.metrics.items() if one.rank},
        margins={
            name: _share(path, f"the margin of '{name}'", one.margin)
            for name, one in written.metrics.items()
            if one.margin is not None
        },
        directions={name: one.better for name, one in written.metrics.items() if one.better},
        accepted=[_accepted(path, one) for one in written.accepted],
        conditional=written.conditional,
        warnings=written.warnings,
        assumed_spread=None if written.assume_spread is None else _spread(path, "assume_spread", written.assume_spread),
        assumed_spreads={
            name: _spread(path, f"assume_spread of '{name}'", one.assume_spread)
            for name, one in written.metrics.items()
            if one.assume_spread is not None
        },
    )


def _refuse_accepted_twice(path: Path, accepted: Sequence[_Accepted]) -> None:
    names = [one.metric for one in accepted]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ComparisonError(
            f"{path}: '{twice}' is accepted twice, and one of them would not count. Leave one [[accepted]] of it."
        )


def _accepted(path: Path, one: _Accepted) -> Accepted:
    where = f"what is accepted of '{one.metric}'"
    if not one.reason.strip():
        raise ComparisonError(f"{path}: {where} has no reason. Write down who accepted it, and why.")
    if not is_end(one.until):
        raise ComparisonError(
            f"{path}: {where} ends at '{one.until}', which is neither a version nor a date. Write until = \"10.7\" or until = 2026-12-31."
        )
    up_to = None if one.up_to is None else _share(path, f"up_to in {where}", one.up_to)
    return Accepted(metric=one.metric, reason=one.reason, until=one.until, up_to=up_to)


def policy_text(bench: str) -> str:
    """The default policy of a bench as a policy file: every tested metric with its rank, margin and direction."""
    lines = [
        f"# What decides about a release by {bench} runs. A policy file needs only the differences from this; docs/decision.md.",
        "# rank: decisive, important or informative. margin: a larger change matters. better: higher or lower.",
        f'bench = "{bench}"',
        "",
        f"# Verdicts that are valid for these runs only (too few runs on a side) may hold a release, but not ship it; count: both; {Verdict.UNDECIDED}: neither.",
        *_conditional(bench),
        *_assumption(bench),
        "",
        "# Nothing ships on runs with these warnings.",
        f"warnings = {json.dumps(catalogue(bench).stopping)}",
        "",
        "# A regression that is accepted: a metric, the reason, and the first version, or the last date, that ends it. up_to is optional.",
        "# [[accepted]]",
        '# metric = "METRIC"',
        '# reason = "why, and who accepted it"',
        '# until = "10.7"',
        '# up_to = "5 %"',
        "",
        "[metrics]",
    ]
    order = get_args(Rank)
    for metric in sorted(tested_metrics(bench), key=lambda one: order.index(one.rank)):
        least = f", at least {quantity(metric.least, metric.unit)}" if metric.least else ""
        lines.append(
            f'{metric.id} = {{ rank = "{metric.rank}", margin = "{percent(metric.margin)}", better = "{metric.better}" }}'
            f"  # {metric.name}{least}"
        )
    return "\n".join(lines) + "\n"


def _conditional(bench: str) -> list[str]:
    if not _by_means_of_runs(bench):
        return [f'conditional = "{Conditional.HOLD}"']
    return [
        f"# Without this line those of single runs are {Conditional.UNDECIDED}, and those of two rounds {Conditional.HOLD}.",
        f'# conditional = "{Conditional.UNDECIDED}"',
    ]


def _assumption(bench: str) -> list[str]:
    if not _by_means_of_runs(bench):
        return []
    return [
        "",
        "# How much runs of one build are assumed to vary where no run and no table shows it: the standard deviation of a run's mean, as a share of it.",
        "# A metric's line may have its own.",
        '# assume_spread = "3 %"',
    ]


def _by_means_of_runs(bench: str) -> bool:
    return traits_of(catalogue(bench).estimator).means_of_runs


def tested_metrics(bench: str) -> list[Metric]:
    """The metrics of a bench that have verdicts, those of two targets in one run among them."""
    entries = catalogue(bench)
    return [metric for metric in (*entries.metrics, *(entries.mixed.metric if entries.mixed else ())) if metric.tested]


def _share(path: Path, what: str, value: str | float) -> float:
    found = share(str(value))
    if found is None:
        raise ComparisonError(f"{path}: {what} is '{value}', but it's a share from 0 % to below 100 %. Write \"2 %\".")
    return found


def _spread(path: Path, what: str, value: str | float) -> float:
    found = _share(path, what, value)
    if found == 0:
        raise ComparisonError(
            f"{path}: {what} is '{value}', but runs of one build always differ. Write \"3 %\", or leave it out."
        )
    return found
