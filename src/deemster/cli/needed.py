"""Which languages are needed to judge packages: boxes are opened for those."""

from collections.abc import Sequence

from deemster.domain.language import Catalogue, Language
from deemster.pipeline.judge.sources import languages_needed
from deemster.problems.revision import Revision


def find_needed(catalogue: Catalogue, revisions: Sequence[Revision]) -> list[Language]:
    found = {
        language.id: language
        for revision in revisions
        for language in languages_needed(revision.directory, revision.problem, catalogue)
    }
    return list(found.values())
