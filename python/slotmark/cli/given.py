"""Options that were typed, where a command has forms that take other ones, or where one needs another."""

from collections.abc import Iterator

import typer

from slotmark.errors import ArgumentError


def given(context: typer.Context) -> Iterator[tuple[str, str]]:
    """The name of every parameter that stood on the command line, with the option that it is by."""
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name) if parameter.name else None
        if parameter.name and source is not None and source.name == "COMMANDLINE":
            yield parameter.name, parameter.opts[-1]


def refuse_empty(context: typer.Context) -> None:
    """Raises ArgumentError where an option was given an empty text, as of a variable that isn't set: it would mean that it wasn't given."""
    for name, option in given(context):
        if context.params[name] == "":
            raise ArgumentError(f"{option} '': it is empty. Leave {option} out, or give it a value.")


def refuse_densest_of_any_length(start: str | None, blocks: int | None) -> None:
    """Raises ArgumentError where ``--start densest`` has no ``--blocks``."""
    if start == "densest" and blocks is None:
        raise ArgumentError("--start densest: which window is densest depends on its length. Give --blocks.")
