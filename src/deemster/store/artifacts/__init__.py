"""Stores artifacts that are too large for rows, as files or in an S3 bucket (J11)."""

from deemster.store.artifacts.artifacts import Artifacts
from deemster.store.artifacts.backend import ArtifactDamaged, ArtifactEntry, ArtifactMissing

__all__ = ["ArtifactDamaged", "ArtifactEntry", "ArtifactMissing", "Artifacts"]
