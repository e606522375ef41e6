"""Opens the stores of problem revisions, and what imports packages into them."""

from collections.abc import Iterable

from deemster.domain.language import Catalogue, Language
from deemster.domain.limits import MIB
from deemster.pipeline.accept.available_languages import AvailableLanguages
from deemster.pipeline.judge.sources import languages_needed
from deemster.pipeline.work.jury_languages import JuryLanguages
from deemster.problems.archive import Bounds
from deemster.problems.distribution import RevisionDistributor
from deemster.problems.importing import Importer
from deemster.problems.revision import Revision, RevisionStore
from deemster.programs.build.languages import load_catalogue
from deemster.settings import Settings
from deemster.settings.ceilings import problem_ceilings
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool
from deemster.wiring.resources import open_artifacts


def open_revisions(settings: Settings) -> RevisionStore:
    bounds = Bounds(total_bytes=settings.package_mb * MIB, files=settings.package_files)
    return RevisionStore(settings.data_dir / "revisions", settings.revisions_mb * MIB, bounds)


def open_distributor(settings: Settings, artifacts: Artifacts) -> RevisionDistributor:
    return RevisionDistributor(artifacts, open_revisions(settings))


def open_importer(settings: Settings, pool: Pool) -> Importer:
    distributor = open_distributor(settings, open_artifacts(settings))
    available = AvailableLanguages(pool, settings.judge_on)
    return Importer(
        pool,
        open_revisions(settings),
        distributor,
        problem_ceilings(settings),
        JuryLanguages(load_catalogue(), available).check,
    )


def find_needed(catalogue: Catalogue, revisions: Iterable[Revision]) -> list[Language]:
    """Returns the languages of all programs in these packages."""
    found = {
        language.id: language
        for revision in revisions
        for language in languages_needed(revision.directory, revision.problem, catalogue)
    }
    return list(found.values())
