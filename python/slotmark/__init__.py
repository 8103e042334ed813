"""slotmark runs, analyses, compares and publishes Cardano performance benchmarks.

The data flows one way: a bench produces a run (a folder), metrics turn its tables into samples, compare turns
samples into verdicts, report shows them. A room imports only from rooms before it in that order.
"""

from slotmark.errors import SlotmarkError
from slotmark.opened import OpenedRun, open_run
from slotmark.run import Manifest, Run

__all__ = ["Manifest", "OpenedRun", "Run", "SlotmarkError", "open_run"]
