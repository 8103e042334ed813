"""Recordings of ledger operations by any tool: a reader per format."""
