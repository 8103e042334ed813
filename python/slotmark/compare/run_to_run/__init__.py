"""Differences between runs of one build: measured, kept in tables, and known before a comparison. docs/how-many-runs.md explains it."""
