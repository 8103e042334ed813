"""Live clusters: real processes."""
