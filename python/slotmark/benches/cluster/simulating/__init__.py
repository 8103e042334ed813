"""Simulated clusters: one, several, predictions and forecasts. docs/simulator.md explains the model."""
