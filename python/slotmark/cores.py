"""Cores of this machine."""

import os


def usable_cores() -> int:
    """Cores that this process may use; all of the machine's where the system has no such limit (macOS)."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
