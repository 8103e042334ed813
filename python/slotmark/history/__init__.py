"""Runs over time: a store of runs, the history of a metric, the places where it changed. docs/history.md explains it."""

from slotmark.history.read import changes_of, history_of
from slotmark.history.store import Labels, Store, make_store, open_store

__all__ = ["Labels", "Store", "changes_of", "history_of", "make_store", "open_store"]
