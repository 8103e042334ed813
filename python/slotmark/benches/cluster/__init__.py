"""The cluster bench: profiles, and clusters that are simulated."""
