"""Imports packages for `deemster problem import`, and measures missing time limits."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.domain.ids import ProblemId
from deemster.pipeline.judge.verify.progress import NoProgress, Progress
from deemster.pipeline.judge.verify.verifier import Verifier
from deemster.problems.importing import Imported, ImportRequest, time_limit_ms
from deemster.problems.revision import Revision
from deemster.programs.build.languages import load_catalogue
from deemster.settings import Settings
from deemster.store.audit import Actor
from deemster.wiring.judging import make_spool, open_judging
from deemster.wiring.problems import find_needed, open_importer, open_revisions
from deemster.wiring.resources import open_command_database, operator


@dataclass(frozen=True, slots=True)
class PackageOutcome:
    path: Path
    imported: Imported | None = None
    error: str = ""


async def import_all(
    settings: Settings,
    paths: Sequence[Path],
    problem_id: ProblemId | None,
    progress: Progress | None = None,
    *,
    publish: bool | None = None,
) -> list[PackageOutcome]:
    """Imports each package; one that is refused does not stop the others."""
    async with AsyncExitStack() as stack:
        pool = await stack.enter_async_context(open_command_database(settings))
        store = open_revisions(settings)
        done: dict[Path, PackageOutcome] = {}
        revisions: dict[Path, Revision] = {}
        for path in paths:
            try:
                imported = store.imported(path, skip_outside_links=True)
                revisions[path] = await stack.enter_async_context(imported)
            except Refused as fault:
                done[path] = PackageOutcome(path, error=str(fault))
        limits = await find_limits(settings, list(revisions.values()), progress or NoProgress())
        importer = open_importer(settings, pool)
        request = ImportRequest(Actor(operator()), problem_id, publish=publish)
        for path, revision in revisions.items():
            limit = limits[revision.digest]
            if isinstance(limit, Refused):
                done[path] = PackageOutcome(path, error=str(limit))
            else:
                done[path] = PackageOutcome(
                    path, await importer.import_revision(revision, request, limit)
                )
    return [done[path] for path in paths]


async def find_limits(
    settings: Settings, revisions: Sequence[Revision], progress: Progress
) -> dict[str, int | Refused]:
    """Returns the time limit of each revision in milliseconds, measured if it states none."""
    found: dict[str, int | Refused] = {}
    for revision in revisions:
        limit_ms = time_limit_ms(revision.problem)
        if limit_ms is not None:
            found[revision.digest] = limit_ms
    without_limit = [each for each in revisions if each.digest not in found]
    if not without_limit:
        return found
    catalogue = load_catalogue()
    needed = await asyncio.to_thread(find_needed, catalogue, without_limit)
    async with open_judging(settings, catalogue, needed, lanes=1) as (build_tools, lanes):
        verifier = Verifier(build_tools, lanes, make_spool(settings), 1, progress)
        for revision in without_limit:
            try:
                found[revision.digest] = await verifier.time_limit_ms(revision)
            except Refused as fault:
                found[revision.digest] = fault
    return found
