"""An option is stated once, at the field of the request that it sets: its help, its type, its default, its bounds and how it is read."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest
import typer
from typer.testing import CliRunner

from slotmark.benches.chainsync.request import Request as ChainsyncRequest
from slotmark.benches.chainsync.request import ServeRequest
from slotmark.benches.cluster.live.request import Session
from slotmark.benches.cluster.requests import IngestRequest, Question, SimulationRequest
from slotmark.benches.cluster.sweep import Spacing
from slotmark.benches.ledger.request import ImportRequest, NoiseRequest
from slotmark.benches.ledger.request import Request as LedgerRequest
from slotmark.cli.engines import EngineRequest
from slotmark.cli.requests import Asked, from_requests
from slotmark.errors import ArgumentError
from slotmark.measure.forge import ChainRequest
from slotmark.options import Option, duration_s, option_of, words_of


class Place(msgspec.Struct, frozen=True):
    """A request within one."""

    host: Annotated[str, Option("Where it is.", "HOST")] = "here"


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A made-up request."""

    folder: Annotated[Path, Option("The folder.", "FOLDER", argument=True)]
    out: Annotated[Path, Option("The new folder.", "DIR", ("-o", "--out"))]
    place: Place
    wait_s: Annotated[float, Option("How long.", "TIME", ("--wait",), parse=duration_s, default="2s")]
    rounds: Annotated[int, Option("How many.", least=1)] = 5
    others: Annotated[Sequence[str], Option("What else.", flags=("--other",))] = ()
    hosts: Annotated[int, Option("How many hosts; all by default.", least=1)] = 0
    quick: Annotated[bool, Option("Whether to hurry.", after="out")] = False
    beside: int = 7


def called(function: Callable[..., None], *words: str) -> Any:
    """The result of a command that was made of a function."""
    app = typer.Typer(rich_markup_mode=None, add_completion=False)
    app.command()(from_requests(function))
    return CliRunner().invoke(app, words)


def asked_by(kind: type, *words: str) -> Any:
    """The request that a command of these words gets."""
    got: list[Any] = []

    def command(request: Any) -> None:
        got.append(request)

    command.__annotations__["request"] = kind
    ended = called(command, *words)
    if isinstance(ended.exception, ArgumentError):
        raise ended.exception
    assert ended.exit_code == 0, ended.output
    return got[0]


def test_a_request_is_made_of_what_was_typed_and_of_defaults() -> None:
    assert asked_by(Request, "here", "-o", "there") == Request(
        folder=Path("here"), out=Path("there"), place=Place(), wait_s=2
    )
    words = ("x", "--out", "y", "--host", "z", "--wait", "250ms", "--rounds", "2", "--other", "a", "--other", "b")
    assert asked_by(Request, *words, "--hosts", "3", "--quick") == Request(
        folder=Path("x"),
        out=Path("y"),
        place=Place("z"),
        wait_s=0.25,
        rounds=2,
        others=["a", "b"],
        hosts=3,
        quick=True,
    )


def test_an_option_that_is_added_to_a_request_is_in_the_help_and_read_and_reaches_it() -> None:
    def before_the_at(option: str, text: str) -> str:
        name, at, _ = text.partition("@")
        if not at:
            raise ArgumentError(f"{option} '{text}': expected NAME@HOST.")
        return name

    class More(Request, frozen=True, kw_only=True):
        user: Annotated[str, Option("Who asks.", "NAME@HOST", ("--user",), parse=before_the_at, default="me@here")]
        port: Annotated[int, Option("The port.", least=1)] = 3001

    def command(request: More) -> None:
        typer.echo(f"{request.user} {request.port}")

    printed = called(command, "--help").output
    assert "--user NAME@HOST" in printed
    assert "Who asks.  [default: me@here]" in printed
    assert "The port.  [default: 3001; x>=1]" in printed
    given = ("here", "-o", "there")
    assert called(command, *given).output == "me 3001\n"
    assert called(command, *given, "--user", "you@there", "--port", "7").output == "you 7\n"
    assert called(command, *given, "--port", "0").exit_code == 2
    with pytest.raises(ArgumentError, match=r"^--user 'you': expected NAME@HOST\.$"):
        asked_by(More, *given, "--user", "you")


def test_options_are_listed_as_fields_are_unless_one_stands_behind_another() -> None:
    def command(request: Request) -> None:
        """Not called."""

    lines = called(command, "--help").output.partition("Options:")[2].splitlines()
    flags = [next(word for word in line.split() if word.startswith("--")) for line in lines if line.startswith("  -")]
    assert flags == ["--out", "--quick", "--host", "--wait", "--rounds", "--other", "--hosts", "--help"]


def test_a_default_that_means_none_is_not_printed() -> None:
    def command(request: Request) -> None:
        """Not called."""

    printed = called(command, "--help").output
    assert "all by default.  [x>=1]" in printed
    assert "How many.  [default: 5; x>=1]" in printed


def test_what_is_required_may_come_from_elsewhere() -> None:
    made: list[Request] = []

    def command(
        asked: Asked[Request], limit_s: Annotated[float, Option("Its limit.", parse=duration_s, default="1s")]
    ) -> None:
        assert limit_s == 1
        assert "out" not in asked.values
        made.append(asked(folder=Path("a"), out=Path("b")))

    assert called(command, "--rounds", "9").exit_code == 0
    assert made == [Request(folder=Path("a"), out=Path("b"), place=Place(), wait_s=2, rounds=9)]


def test_a_default_that_is_shown_is_what_it_is_read_as() -> None:
    assert asked_by(IngestRequest, "logs", "-o", "run") == IngestRequest(logs=[str(Path("logs"))], out=Path("run"))


def test_the_words_of_a_request_make_it() -> None:
    question = Question(profile="a b", settings=["x=1", "y=2"], sweep="p=1..2", steps=3, spacing=Spacing.linear)
    assert asked_by(Question, *words_of(question)) == question
    assert words_of(Question(profile="a")) == ["a"]


@pytest.mark.parametrize(
    "kind",
    [
        ChainRequest,
        ChainsyncRequest,
        EngineRequest,
        ImportRequest,
        IngestRequest,
        LedgerRequest,
        NoiseRequest,
        Question,
        ServeRequest,
        Session,
        SimulationRequest,
    ],
)
def test_no_default_of_a_bench_is_stated_twice(kind: type[msgspec.Struct]) -> None:
    seen = 0
    for field in msgspec.structs.fields(kind):
        if option := option_of(field.type):
            seen += 1
            assert option.default is None or field.default is msgspec.NODEFAULT, field.name
    assert seen > 2
