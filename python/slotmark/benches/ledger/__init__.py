"""Ledger operations: what each block costs a node's ledger, from the files that db-analyser and beacon write."""
