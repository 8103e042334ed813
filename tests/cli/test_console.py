"""What is printed beside results: a name from a stranger is text, whatever is in it."""

import io

from slotmark.cli.console import harmless, talk


def test_names_are_never_markup_and_never_steer_the_terminal() -> None:
    talk.file, file = io.StringIO(), talk.file
    try:
        talk.remark("no log of [/x], node-[red]b and \x1b[2Jc, \x9b31m :smile:")
        said = talk.file.getvalue()
    finally:
        talk.file = file
    assert (
        said == "no log of [/x], node-[red]b and \N{REPLACEMENT CHARACTER}[2Jc, \N{REPLACEMENT CHARACTER}31m :smile:\n"
    )
    assert harmless("a\tb\n") == "a\tb\n"
