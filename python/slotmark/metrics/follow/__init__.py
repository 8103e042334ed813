"""The metrics of chain-sync clients at a node's tip: from the announcement of a block to the decoded block."""
