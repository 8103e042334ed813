"""The metrics of the chainsync bench."""
