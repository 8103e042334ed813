"""Runs that may be compared, and samples of them that belong together."""
