"""The engine of a Ray cluster: pieces are done by its nodes, with the outputs that this machine would give. No other package knows Ray.

Ray is loaded by a process of its own, the driver, and by the workers that Ray starts: it handles signals, writes to standard error, and ends its
process when the cluster is lost. The driver talks with this process through a pipe, which ends with either of them.
"""

from slotmark.engine.ray.connection import output_of_ray
from slotmark.engine.ray.nodes import Cluster, Node, refuse, refuse_without_ray
from slotmark.engine.ray.pieces import on_ray
from slotmark.engine.ray.stations import hosts_found, stations

__all__ = ["Cluster", "Node", "hosts_found", "on_ray", "output_of_ray", "refuse", "refuse_without_ray", "stations"]
