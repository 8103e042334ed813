"""Faults that attacks plant in slotmark: code that each attacked process runs when it starts, before its command."""

from attack.ground import Fault


def around(before: str = "", after: str = "", refused: str = "") -> str:
    """Code that has these lines run before each command, after one that ended well, and in the place of an error in one line."""
    lines = ["import slotmark.cli", "_usual, _refuse = slotmark.cli.main, slotmark.cli._leave", "def _planted():"]
    lines += [f"    {line}" for line in before.splitlines()]
    lines += [
        "    try:",
        "        _usual()",
        "    except SystemExit as _end:",
        "        if _end.code:",
        "            raise",
    ]
    lines += [f"    {line}" for line in after.splitlines()]
    lines += ["slotmark.cli.main = _planted"]
    if refused:
        lines += ["def _leave(code, message):", *(f"    {line}" for line in refused.splitlines())]
        lines += ["slotmark.cli._leave = _leave"]
    return "\n".join(lines) + "\n"


REFUSES = Fault(
    "every command is refused in one line",
    around("slotmark.cli._leave(2, 'planted: not this. Take another.')"),
    "exit code 2",
)
FOLDER_LEFT = Fault(
    "a temporary folder is left", around("import tempfile\ntempfile.mkdtemp(prefix='slotmark-')"), "left"
)
TRACEBACK = Fault(
    "an error ends with a traceback", around(refused="raise KeyError(message)"), "a traceback", shows_unharmed=False
)
TRACEBACK_BEFORE = Fault("each command ends with a traceback", around("raise KeyError('planted')"), "a traceback")
TWO_LINES = Fault(
    "an error has two lines",
    around(refused="import sys\nsys.stderr.write('slotmark: one\\nslotmark: two\\n')\nsys.exit(code)"),
    "refused in 2 lines",
    shows_unharmed=False,
)
CONTROL_PRINTED = Fault("escapes are printed", around("print('\\x1b[2J')"), "control characters were printed")
FILE_CHANGED = Fault(
    "a file beside the input is changed",
    around(
        "import pathlib\nfor _path in (*pathlib.Path().glob('victim*'), *pathlib.Path('..').glob('victim*')): _path.write_text('x')"
    ),
    "files were changed",
)
OF_A_READER = (REFUSES, TRACEBACK, TWO_LINES, CONTROL_PRINTED, FILE_CHANGED)
"""Faults that any attack on input that commands read must find."""
MEMORY_TAKEN = Fault("900 MiB of memory are taken", around("_much = bytearray(b'x') * (900 << 20)"), "MiB of memory")
PROCESS_LEFT = Fault(
    "a process of its own is left",
    around(
        "import subprocess\nsubprocess.Popen(['sleep', '300'], start_new_session=True, stdin=-3, stdout=-3, stderr=-3)"
    ),
    "live on",
)
