"""A real PostgreSQL of our own, below DATA_DIR/postgres, for those who have none."""

from deemster.store.embedded.cluster import Cluster, run_cluster
from deemster.store.embedded.endpoint import running_url
from deemster.store.embedded.programs import program

__all__ = ["Cluster", "program", "run_cluster", "running_url"]
