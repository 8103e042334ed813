"""The metrics of all simulations of a prediction: the cluster's, one sample per variant and seed."""
