"""Groups of commands: a list of them with the whole first sentence of each."""

from typing import TYPE_CHECKING

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from typer._click.core import Context
    from typer._click.formatting import HelpFormatter

_WHOLE = 1_000
"""Characters of a command's first sentence in a list: no sentence has more."""


class Commands(TyperGroup):
    """A group whose help has each command's first sentence as a whole, over several lines where they are needed."""

    def format_commands(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Writes the list of commands."""
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [(name, one.get_short_help_str(_WHOLE)) for name, one in found if one is not None and not one.hidden]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def group(purpose: str, cls: type[Commands] = Commands) -> typer.Typer:
    """Returns a group without commands yet.

    Args:
        purpose: The sentences of its help.
        cls: How it finds and lists its commands.
    """
    return typer.Typer(cls=cls, help=purpose, no_args_is_help=True, rich_markup_mode=None)
