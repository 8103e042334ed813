"""The cluster bench: the logs of block producers to a run folder, and clusters that are simulated."""
