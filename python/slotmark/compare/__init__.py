"""Comparison: samples in, verdicts out. Knows no bench."""
