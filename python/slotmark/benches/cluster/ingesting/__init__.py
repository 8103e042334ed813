"""From the logs of a cluster's hosts to a run folder."""
