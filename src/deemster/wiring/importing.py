"""Opens what takes problems in, for commands and for the API."""

from deemster.problems.importing import Importer
from deemster.settings import Settings
from deemster.store.pool import Pool
from deemster.wiring.revisions import open_revisions, open_shelf
from deemster.wiring.service import open_artifacts


def open_importer(settings: Settings, pool: Pool) -> Importer:
    shelf = open_shelf(settings, open_artifacts(settings))
    return Importer(pool, open_revisions(settings), shelf)
