"""The only code that talks to an API server."""

from raygang.cluster.connection import Connection, connect
from raygang.cluster.facts import ClusterFacts, cluster_facts

__all__ = ["ClusterFacts", "Connection", "cluster_facts", "connect"]
