"""Places where the hosts of a live cluster run: this machine, or others."""
