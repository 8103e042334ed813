"""The command line: one module per command; each parses, calls, prints."""

import errno
import re
import sys
import traceback
from collections.abc import Iterable
from typing import Annotated, NoReturn

import typer
from typer.exceptions import TyperException
from typer.main import get_command

from slotmark.cleaning import one_line
from slotmark.cli import (
    chain,
    chainsync,
    check,
    cluster,
    comment,
    compare,
    copy,
    explain,
    export,
    forecast,
    growth,
    history,
    hosts,
    ingest,
    ledger,
    merge,
    plan,
    predict,
    published,
    release,
    show,
    simulate,
    site,
    spread,
    store,
)
from slotmark.cli.console import forget_reader, print_what_the_encoding_has
from slotmark.cli.groups import Commands
from slotmark.errors import NO_ROOM, SlotmarkError, unwritten
from slotmark.places import refuse_secrets

app = typer.Typer(
    name="slotmark",
    cls=Commands,
    help="Runs, compares and publishes Cardano performance benchmarks.",
    epilog="Exit codes: 0 fine or ship, 1 hold, 2 bad input, 3 run again, 130, 143 or 129 stopped (docs/commands.md).",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
app.command("ingest", epilog="Example: slotmark ingest logs/10.5 -o runs/10.5 --genesis genesis.shelley.json")(
    ingest.ingest
)
app.command("show", epilog="Example: slotmark show runs/10.5")(show.show)
app.command("samples", epilog="Example: slotmark samples runs/10.5 blocks -o blocks.csv")(show.samples)
app.command("check", epilog="Example: slotmark check runs/10.5 runs/10.6")(check.check)
app.command("copy", epilog="Example: slotmark copy runs/10.6 s3://bucket/runs/10.6")(copy.copy)
app.add_typer(chain.app, name="chain")
app.add_typer(chainsync.app, name="chainsync")
app.add_typer(cluster.app, name="cluster")
app.add_typer(ledger.app, name="ledger")
app.add_typer(hosts.app, name="hosts")
app.command("compare", epilog="Example: slotmark compare runs/10.5 runs/10.6 -o report --policy policy.toml")(
    compare.compare
)
app.command("comment", epilog="Example: slotmark comment runs/base runs/head --policy ci.toml --format github")(
    comment.comment
)
app.command("export", epilog="Example: slotmark export runs/10.6 --format benchfmt")(export.export)
app.command("explain", epilog="Example: slotmark explain runs/10.5 runs/10.6 -o report")(explain.explain)
app.command("growth", epilog="Example: slotmark growth small/lsm small/lmdb large/lsm large/lmdb -o report")(
    growth.growth
)
app.command("plan", epilog="Example: slotmark plan runs/10.5 runs/10.5b --detect adopted_by_096=2%")(plan.plan)
app.add_typer(release.app, name="release")
app.command(
    "spread", epilog="Example: slotmark spread runs/a1,runs/a2,runs/a3 runs/b1,runs/b2 --of our-cluster -o spread.toml"
)(spread.spread)
app.add_typer(store.app, name="store")
app.command("history", epilog="Example: slotmark history adopted_by_096 --store store")(history.history)
app.command("site", epilog="Example: slotmark site --store store -o public")(site.site)
app.command("serve", epilog="Example: slotmark serve public")(site.serve)
app.command("simulate", epilog="Example: slotmark simulate value-only-10.5 --set ledger_tick.mean=33ms -o logs/slower")(
    simulate.simulate
)
app.add_typer(published.app, name="published")
app.command("predict", epilog="Example: slotmark predict value-only-10.5 --sweep block_size=22kB..180kB -o report")(
    predict.predict
)
app.command("merge", epilog="Example: slotmark merge sweep -o report")(merge.merge)
app.command("forecast", epilog="Example: slotmark forecast ledger-runs --profile value-only-10.5 -o runs")(
    forecast.forecast
)


_POSSIBLE = re.compile(r" \((?:Possible options: |Did you mean )([^()]*?)\??\)$")
"""The end of the library's message for an unknown option."""

_NUMBER_OF_ERROR = re.compile(r" \(os error \d+\)")
"""Beside the words of an error of the system its number, which compiled code adds."""

INTERRUPTED = 130
"""The exit code that typer makes of Ctrl-C."""


def _version(asked: bool) -> None:
    if asked:
        from slotmark.versions import slotmark_version

        typer.echo(f"slotmark {slotmark_version()}")
        raise typer.Exit


@app.callback()
def _root(
    _debug: Annotated[bool, typer.Option("--debug", help="Show a traceback with an error.")] = False,
    _verbose: Annotated[
        bool, typer.Option("--verbose", help="Show at the end the bytes read from object stores and written to them.")
    ] = False,
    _show_version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Runs, compares and publishes Cardano performance benchmarks."""


def main() -> None:
    """Runs the command line and exits: one line for an error that the user can mend, a traceback only with --debug.

    Raises:
        KeyboardInterrupt: It was interrupted; :mod:`slotmark.__main__` ends the process.
    """
    print_what_the_encoding_has()
    try:
        refuse_secrets(sys.argv[1:])
        code = app(standalone_mode=False, prog_name="slotmark")
        sys.stdout.flush()
        if "--verbose" in sys.argv:
            _tell_traffic()
    except TyperException as error:
        if error.format_message().startswith("Usage:"):  # a command without its arguments: what it is for
            sys.stderr.write(error.format_message() + "\n")
            sys.exit(2)
        context = getattr(error, "ctx", None)
        command = context.command_path if context else _named_command(sys.argv[1:])
        message = _POSSIBLE.sub(r". Did you mean \1?", _with_value(error).strip().rstrip("."))
        _leave(2, f"{message}{'' if message.endswith('?') else '.'} See `{command} --help`.")
    except (BrokenPipeError, SystemExit) as end:
        _end_where_the_reader_left(end)
    except SlotmarkError as error:
        _leave(2, str(error))
    except (OSError, RuntimeError) as error:
        line = _line_of(error)
        if not line:
            raise
        forget_reader()
        _leave(2, line)
    else:
        if code == INTERRUPTED:
            raise KeyboardInterrupt
        sys.exit(code if isinstance(code, int) else 0)


def _named_command(arguments: Iterable[str]) -> str:
    """The command that a command line names, as its help is asked for: of an option without its value the library says only the option."""
    path, command = ["slotmark"], get_command(app)
    for word in arguments:
        inner = getattr(command, "commands", {}).get(word)
        if inner is not None:
            command = inner
            path.append(word)
        elif not word.startswith("-"):  # the options before a command take no values
            break
    return " ".join(path)


def _with_value(error: TyperException) -> str:
    """The message of a wrong command line, with the value that was given in the place of the words of the library that refused it."""
    message, refused = error.format_message(), getattr(error.__cause__, "errors", None)
    if refused is None:
        return message
    (first, *_) = refused()
    said = first["msg"]
    expected = re.sub(
        "(greater|less) than", r"a number \g<0>", said.removeprefix("Input should be ").partition(", unable to ")[0]
    )
    words = f"{first['input']!r}: expected {expected}" if expected != said else said.removeprefix("Value error, ")
    return message.replace(said, words)


def _line_of(error: OSError | RuntimeError) -> str:
    """The line for an error of the system that the user can mend: there is no room, or no file can have such a name. Empty for others."""
    if isinstance(error, RuntimeError):
        # Python 3.11 has this where later ones have ELOOP.
        return f"{error}. Remove it, or name another." if str(error).startswith("Symlink loop from") else ""
    if error.errno in NO_ROOM:
        return unwritten(error.filename or "standard output", error)
    if error.errno in (errno.ENAMETOOLONG, errno.ELOOP):
        return f"{error.filename}: no file can be there ({error.strerror}). Name another."
    return ""


def _tell_traffic() -> None:
    from slotmark.stores import remark, traffic

    if traffic.requests:
        remark(str(traffic))


def _end_where_the_reader_left(end: BrokenPipeError | SystemExit) -> NoReturn:
    """Exits 0, also in the place of typer's 1, which is the code of HOLD; any other exit stays as it is."""
    if isinstance(end, SystemExit) and not isinstance(end.__context__, BrokenPipeError):
        raise end
    forget_reader()
    sys.exit(0)


def _leave(code: int, message: str) -> NoReturn:
    if "--debug" in sys.argv:
        traceback.print_exc()
    line = one_line(_NUMBER_OF_ERROR.sub("", " ".join(message.split())))
    sys.stderr.write(f"slotmark: {line}\n")
    sys.exit(code)
