"""Clusters of real nodes on this machine: started, watched, sampled, stopped, and their logs made a run folder.

What is asked for: ``request``. How hosts are connected: ``network``, and without one of its own ``ports``. How a node is started: ``nodes`` and ``launching``. What it did:
``answering`` (its socket), ``watching`` (its log) and ``sampling`` (its process). What memory is left: ``memory``. The files: ``rundir``. All nodes: ``cluster``. All together: ``conducting``.
"""
