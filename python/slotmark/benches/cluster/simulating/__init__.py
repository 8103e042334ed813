"""Simulated clusters: one, several, and predictions from them. docs/simulator.md explains the model."""
