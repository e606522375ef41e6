"""Runs an embedded PostgreSQL server with its data in DATA_DIR/postgres."""

from deemster.store.embedded.cluster import Cluster, run_cluster
from deemster.store.embedded.endpoint import APPLICATION, OWNER, running_url
from deemster.store.embedded.programs import program

__all__ = ["APPLICATION", "OWNER", "Cluster", "program", "run_cluster", "running_url"]
