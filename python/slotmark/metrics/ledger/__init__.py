"""The metrics of the ledger bench."""
