"""Imports problem packages; finds a time limit for a package that states none."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.domain.ids import ProblemId
from deemster.pipeline.judge.build.languages import load_catalogue
from deemster.pipeline.judge.verify.progress import NoProgress, Progress
from deemster.pipeline.judge.verify.verifier import Verifier
from deemster.problems.importing import Imported, Importer, ImportRequest, limit_of
from deemster.problems.revision import Revision
from deemster.settings import Settings
from deemster.store.audit import Actor
from deemster.store.pool import Pool
from deemster.wiring.judging import find_needed, make_spool, open_judging
from deemster.wiring.resources import (
    open_artifacts,
    open_command_database,
    open_distributor,
    open_revisions,
    operator,
)


@dataclass(frozen=True, slots=True)
class Outcome:
    path: Path
    imported: Imported | None = None
    error: str = ""


async def import_all(
    settings: Settings,
    paths: Sequence[Path],
    problem_id: ProblemId | None,
    progress: Progress | None = None,
) -> list[Outcome]:
    """One that can't be taken does not keep the others out."""
    async with AsyncExitStack() as stack:
        pool = await stack.enter_async_context(open_command_database(settings))
        store = open_revisions(settings)
        done: dict[Path, Outcome] = {}
        revisions: dict[Path, Revision] = {}
        for path in paths:
            try:
                revisions[path] = await stack.enter_async_context(store.imported(path))
            except Refused as fault:
                done[path] = Outcome(path, error=str(fault))
        limits = await find_limits(settings, list(revisions.values()), progress or NoProgress())
        importer = open_importer(settings, pool)
        order = ImportRequest(Actor(operator()), problem_id)
        for path, revision in revisions.items():
            limit = limits[revision.digest]
            if isinstance(limit, Refused):
                done[path] = Outcome(path, error=str(limit))
            else:
                done[path] = Outcome(path, await importer.keep(revision, order, limit))
    return [done[path] for path in paths]


async def find_limits(
    settings: Settings, revisions: Sequence[Revision], progress: Progress
) -> dict[str, int | Refused]:
    """Time limits in milliseconds, by revision."""
    found: dict[str, int | Refused] = {}
    for revision in revisions:
        limit_ms = limit_of(revision.problem)
        if limit_ms is not None:
            found[revision.digest] = limit_ms
    open_ones = [each for each in revisions if each.digest not in found]
    if not open_ones:
        return found
    catalogue = load_catalogue()
    needed = await asyncio.to_thread(find_needed, catalogue, open_ones)
    async with open_judging(settings, catalogue, needed, lanes=1) as (workshop, lanes):
        verifier = Verifier(workshop, lanes, make_spool(settings), 1, progress)
        for revision in open_ones:
            try:
                found[revision.digest] = await verifier.time_limit_ms(revision)
            except Refused as fault:
                found[revision.digest] = fault
    return found


def open_importer(settings: Settings, pool: Pool) -> Importer:
    shelf = open_distributor(settings, open_artifacts(settings))
    return Importer(pool, open_revisions(settings), shelf)
