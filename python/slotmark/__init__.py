"""slotmark runs, analyses, compares and publishes Cardano performance benchmarks.

The data flows one way: a bench produces a run (a folder), metrics turn its tables into samples, compare turns
samples into verdicts, report shows them. A room imports only from rooms before it in that order.
"""

from slotmark.errors import SlotmarkError
from slotmark.run import Manifest, Run, open_run

__all__ = ["Manifest", "Run", "SlotmarkError", "open_run"]
