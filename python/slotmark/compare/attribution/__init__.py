"""From a difference between two sides to where it comes from: steps, places, blocks. docs/explain.md explains it."""
