"""`slotmark compare --until-decided`: rounds of runs by two commands, until every decisive metric has a verdict or the budget ends."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from slotmark.cli.console import talk
from slotmark.cli.gate import Decides, Deciding, refuse_blind_gate
from slotmark.errors import ArgumentError, ComparisonError
from slotmark.options import Option, ResumeOption, duration_s

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slotmark.compare import Comparison
    from slotmark.measure.commands import Groups, Look


class Until(msgspec.Struct, frozen=True, kw_only=True):
    """Options of rounds that are made until they decide; see `slotmark compare --help`."""

    until_decided: Annotated[
        bool,
        Option(
            "In the place of runs: make rounds of runs by two commands until every decisive metric has a verdict. docs/until-decided.md."
        ),
    ] = False
    run_a: Annotated[
        str,
        Option(
            "The command that makes a run of the baseline: words, no shell. {out} in it is the folder that it must leave the run in, {round} the round's number.",
            "CMD",
        ),
    ] = ""
    run_b: Annotated[str, Option("The same of the candidate.", "CMD")] = ""
    budget_s: Annotated[
        float | None,
        Option(
            "Time that all rounds may take, as 2h; those of a session that was cut count.",
            "TIME",
            ("--budget",),
            parse=duration_s,
        ),
    ] = None
    rounds_at_most: Annotated[int | None, Option("How many rounds there may be.", "N", least=1)] = None
    resume: ResumeOption = False

    @property
    def given(self) -> list[str]:
        """Names of its options that were given beside --until-decided."""
        named = {
            "--run-a": self.run_a,
            "--run-b": self.run_b,
            "--budget": self.budget_s is not None,
            "--rounds-at-most": self.rounds_at_most,
            "--resume": self.resume,
        }
        return [name for name, value in named.items() if value]


def decided_by_rounds(
    until: Until,
    deciding: Deciding,
    out: Path | None,
    *,
    filters: "Sequence[str] | None",
    margins: "Mapping[str, float]",
    seed: int,
) -> "Comparison":
    """Makes rounds, and returns the last look at them. SlotmarkError where something was asked for that makes no sense."""
    from slotmark.compare.looks import checking, in_words, look, rounds_needed
    from slotmark.compare.matching.paired_runs import spoilt
    from slotmark.measure.by_command import words_of
    from slotmark.measure.commands import Look, Request, make_rounds
    from slotmark.metrics import parse_filters
    from slotmark.words import counted

    decides = Decides(deciding)
    request = Request(
        commands={"a": words_of("--run-a", until.run_a), "b": words_of("--run-b", until.run_b)},
        out=_out(out),
        budget_s=_budget_s(until),
        rounds_at_most=until.rounds_at_most,
        seed=seed,
        resume=until.resume,
        settings={
            "what decides": decides.content,
            "'fail-on' and 'conditional'": f"{deciding.fail_on} {deciding.conditional}",
            "--margin": str(dict(margins)),
            "--filter": " ".join(filters) if filters else "",
        },
    )
    _refuse_no_policy(decides)
    last: list[Comparison] = []

    def looked(groups: "Groups") -> "Look":
        bench = groups[0][0].manifest.bench
        found, decision = look(
            groups,
            filters=None if filters is None else parse_filters(filters, bench),
            margins=margins,
            policy=decides.of(bench),
            seed=seed,
            progress=lambda done, total, what: doing(
                f"comparing {counted(len(groups[0]), 'round')}: {what}, {done} of {total}"
            ),
        )
        last[:] = [found]
        more = rounds_needed(decision)
        return Look(more == 0, in_words(decision), more)

    with talk.doing() as doing:
        ended = make_rounds(
            request,
            looked,
            doing,
            lambda words: talk.remark(f"slotmark: {words}"),
            checking(decides.of),
            spoilt,
        )
    if not ended.decided:
        talk.remark(f"slotmark: ended by {ended.by}; --resume goes on, with a larger --budget or more rounds")
    if deciding.gate:
        refuse_blind_gate(last[0], decides.of(last[0].bench))
    return last[0]


def refuse_unasked(until: Until, runs: "Sequence[str]", deciding: Deciding, *, published: bool) -> None:
    """Raises ArgumentError where options of rounds were given and no rounds were asked for, or what has no place beside rounds."""
    if not until.until_decided:
        if until.given:
            raise ArgumentError(f"{until.given[0]} goes with --until-decided. Give both, or neither.")
        return
    if runs:
        raise ArgumentError(
            f"--until-decided beside {runs[0]}: rounds are made here, and looks at them are planned from the first one on. Name no runs; --resume goes on with rounds that were made."
        )
    if deciding.run_to_run or deciding.earlier_store:
        given = "--run-to-run" if deciding.run_to_run else "--store"
        raise ArgumentError(
            f"{given} beside --until-decided: rounds show by themselves how much they differ. Leave it out."
        )
    if deciding.show_policy:
        raise ArgumentError(
            "--show-policy beside --until-decided: it prints the policy of a run that is there. Name one, and make rounds afterwards."
        )
    if published:
        raise ArgumentError("--method published beside --until-decided: it has no verdicts. Leave it out.")


def _out(out: Path | None) -> Path:
    if out is None:
        raise ArgumentError("--until-decided: the rounds need a folder. Name one with -o.")
    return out


def _budget_s(until: Until) -> float:
    if until.budget_s is None:
        raise ArgumentError("--until-decided: give the time that all rounds may take, as --budget 2h.")
    if not 0 < until.budget_s < float("inf"):
        raise ArgumentError("--budget: expected a time above 0, as in 2h.")
    return until.budget_s


def _refuse_no_policy(decides: Decides) -> None:
    """Refuses a policy that is one for no bench, before any run is made. Which bench it is for is known by the first run."""
    from slotmark.compare.looks import decides_by_rounds
    from slotmark.metrics import benches

    errors: list[ComparisonError | ArgumentError] = []
    known = [bench for bench in benches() if decides_by_rounds(bench)]
    for bench in known:
        try:
            decides.of(bench)
        except (ComparisonError, ArgumentError) as error:
            errors.append(error)
    if len(errors) == len(known):
        raise errors[0]
