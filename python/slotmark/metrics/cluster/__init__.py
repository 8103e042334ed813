"""The metrics of the cluster bench: block propagation, forging, resources."""
