"""Options that were typed, where a command has forms that take other ones."""

from collections.abc import Iterator

import typer


def given(context: typer.Context) -> Iterator[tuple[str, str]]:
    """The name of every parameter that stood on the command line, with the option that it is by."""
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name) if parameter.name else None
        if parameter.name and source is not None and source.name == "COMMANDLINE":
            yield parameter.name, parameter.opts[-1]
