"""`slotmark store bisect`: the commit that changed a metric, by runs of commits."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slotmark.cli.console import talk
from slotmark.cli.reports import AsJson, share_freed_memory, show_report
from slotmark.errors import ArgumentError
from slotmark.options import MOST_SEED, duration_s, fraction
from slotmark.places import folder_of

if TYPE_CHECKING:
    from slotmark.measure.searching import Made, Step
    from slotmark.run import Run

RUN_AGAIN = 3
"""The exit code of a search without an answer."""


def bisect(
    metric: Annotated[str, typer.Argument(metavar="METRIC", help="The metric's id, as adopted_by_096.")],
    good: Annotated[str, typer.Option(metavar="COMMIT", help="A commit before the change: a hash, branch or tag.")],
    bad: Annotated[str, typer.Option(metavar="COMMIT", help="A commit with the change, or after it.")],
    run: Annotated[
        str,
        typer.Option(
            metavar="CMD",
            help="The command that builds and measures a commit: words, no shell. {commit} in it is the commit, {out} the folder that it must leave the run in, {round} the run's number.",
        ),
    ],
    budget: Annotated[str, typer.Option(metavar="TIME", help="Time that all runs may take, as 3h.")],
    out: Annotated[
        Path,
        typer.Option("-o", "--out", metavar="DIR", help="Keep the runs there.", parser=folder_of),
    ] = Path("bisect"),
    repo: Annotated[
        Path, typer.Option(metavar="DIR", help="The Git repository that has the commits.", parser=folder_of)
    ] = Path(),
    commits: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A text file with one commit per line, the oldest first, in the place of a repository.",
        ),
    ] = None,
    part: Annotated[
        str, typer.Option(metavar="NAME", help="The part of the metric's samples, where it has several.")
    ] = "",
    sure: Annotated[
        str, typer.Option(metavar="SHARE", help="The probability with which the commit must be known.")
    ] = "95%",
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, max=MOST_SEED, help="Seed of the estimate of how long the rest takes.")
    ] = 1,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the interrupted search in -o; its finished runs are kept.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Find the commit that changed a metric: build and measure commits by a command, until one is known with 95 %.

    The good and the bad commit take turns until they are known to differ; then the commit that tells most is run. docs/bisect.md.
    """
    from slotmark.compare.matching.paired_runs import spoilt
    from slotmark.history.bisecting import Search, refuse_unknown
    from slotmark.measure.commits import commits_of_file, commits_of_git
    from slotmark.measure.searching import Request, Step, command_of, left_out, search
    from slotmark.report import bisection_document
    from slotmark.report.sections.bisection import title

    least = fraction("--sure", sure)
    if not 0.5 <= least < 1:
        raise ArgumentError(f"--sure '{sure}': expected a share from 50 % to below 100 %, as in 95%.")
    budget_s = duration_s("--budget", budget)
    if not 0 < budget_s < float("inf"):
        raise ArgumentError("--budget: expected a time above 0, as in 3h.")
    refuse_unknown(metric)
    words = command_of("--run", run)
    names = commits_of_file(commits, good, bad) if commits else commits_of_git(repo, good, bad)
    share_freed_memory()
    known = Search(metric, part, names, least, seed)

    def step(made: "Sequence[Made]", runs: "Mapping[int, Run]") -> "Step":
        found = known.next([(one.number, one.place) for one in made if not one.failed], runs, left_out(made))
        return Step(found.place, found.words, found.more)

    request = Request(
        command=words,
        commits=names,
        out=out,
        budget_s=budget_s,
        resume=resume,
        settings={"the metric": f"{metric} {part}".strip(), "--sure": sure},
    )
    talk.remark(f"slotmark: {len(names) - 1:,} commits after {names[0][:12]}, to {names[-1][:12]}")
    with talk.doing() as doing:
        ended = search(request, step, doing, lambda text: talk.remark(f"slotmark: {text}"), spoilt)
    result = known.outcome(ended.by, sum(one.seconds for one in ended.made))
    show_report(bisection_document(result), result, None, as_json=as_json, last=lambda: typer.echo(title(result)))
    if result.state != "found":
        raise typer.Exit(RUN_AGAIN)
