"""The metrics of predictions: the cluster's, one sample per seed."""
