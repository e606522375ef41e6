"""Where test data lies, and how it comes to this machine."""

from deemster.domain.limits import MIB
from deemster.problems.archive import Bounds
from deemster.problems.distribution import RevisionDistributor
from deemster.problems.revision import RevisionStore
from deemster.settings import Settings
from deemster.store.artifacts import Artifacts


def open_revisions(settings: Settings) -> RevisionStore:
    """Where imported problems lie."""
    bounds = Bounds(total_bytes=settings.package_mb * MIB, files=settings.package_files)
    return RevisionStore(settings.data_dir / "revisions", settings.revisions_mb * MIB, bounds)


def open_shelf(settings: Settings, artifacts: Artifacts) -> RevisionDistributor:
    """Where test data lies, and how it comes to this machine."""
    return RevisionDistributor(artifacts, open_revisions(settings))
