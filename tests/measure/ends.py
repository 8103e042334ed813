"""Commands that are killed at a place in slotmark's code: code for the process, and the environment that has it run first."""

import os
from pathlib import Path

KILLED = {
    "before the first round is kept": (
        "import slotmark.measure.session as _session\n"
        "_session.Unfinished.keep = lambda self, one: os.kill(os.getpid(), 9)\n"
    ),
    "after the first run": (
        "import slotmark.run.folder as _folder\n"
        "_finish = _folder.RunWriter.finish\n"
        "def _planted(self, manifest):\n"
        "    _finish(self, manifest)\n"
        "    os.kill(os.getpid(), 9)\n"
        "_folder.RunWriter.finish = _planted\n"
    ),
    "after all runs": (
        "import slotmark.measure.session as _session\n"
        "_session.Unfinished.remove = lambda self: os.kill(os.getpid(), 9)\n"
    ),
}
"""By the place. What is killed are real processes, by the signal that no process can catch."""


def killed_at(place: str, folder: Path) -> dict[str, str]:
    """The environment of a command that is killed there; the folder is for its code."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(f"import os\n{KILLED[place]}", encoding="utf-8")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}
