"""From the rows of a comparison to a decision about a candidate. docs/decision.md explains it."""
