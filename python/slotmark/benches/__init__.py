"""Benches: the kinds of benchmark, each of which produces runs in its own way."""
