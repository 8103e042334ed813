"""Knowledge of how much runs of one build differ: tables, what is known before a comparison, a machine's noise. docs/how-many-runs.md explains it."""
