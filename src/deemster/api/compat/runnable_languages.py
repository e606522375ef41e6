"""Finds languages that live workers have, for compatible APIs."""

from deemster.api.app_state import AppState
from deemster.api.http.errors import NoWorkers
from deemster.api.lookups import installed_versions
from deemster.domain.language import Language
from deemster.pipeline.accept.available_languages import not_available


def compiles(language: Language) -> bool:
    """False for a language whose sources are only checked before they run."""
    return language.compile is not None and bool(language.compile.output)


async def installed(state: AppState) -> dict[str, list[str]]:
    """Versions by language, of all languages that a live worker has."""
    return installed_versions(await state.live_workers.get())


async def runnable_language(state: AppState, name: str) -> Language:
    """The language with this id or alias, if a live worker has it."""
    language = state.dependencies.catalogue.named(name)
    versions = await installed(state)
    if not versions:
        raise NoWorkers("No worker takes jobs, so nothing can be run: try again later.")
    if language.id not in versions:
        raise not_available(language.name, versions)
    return language
