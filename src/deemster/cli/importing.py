"""Takes problem packages in: test data to the shelf, what is told of them to the database."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from deemster.cli.needed import find_needed
from deemster.cli.store import open_store
from deemster.cli.verify import GENEROUS_MS, Verifier
from deemster.cli.verify_progress import Progress
from deemster.domain.errors import Refused
from deemster.domain.ids import ProblemId, problem_id_of
from deemster.pipeline.judge.build.languages import load_catalogue
from deemster.problems.revision import Revision
from deemster.problems.sheet import sheet_of
from deemster.settings import Settings
from deemster.store.pool import Pool, connection, transaction
from deemster.store.problems import ProblemSheet, in_force, put
from deemster.wiring.judging import make_spool, open_judging, open_revisions, open_shelf
from deemster.wiring.service import open_artifacts


@dataclass(frozen=True, slots=True)
class Imported:
    path: Path
    sheet: ProblemSheet | None = None
    """As it is in force now."""
    is_new: bool = False
    error: str = ""


async def import_all(
    settings: Settings, paths: Sequence[Path], problem_id: ProblemId | None
) -> list[Imported]:
    """One that can't be taken does not keep the others out."""
    async with AsyncExitStack() as stack:
        pool = await stack.enter_async_context(open_store(settings))
        store = open_revisions(settings)
        done: dict[Path, Imported] = {}
        revisions: dict[Path, Revision] = {}
        for path in paths:
            try:
                revisions[path] = await stack.enter_async_context(store.imported(path))
            except Refused as fault:
                done[path] = Imported(path, error=str(fault))
        limits = await find_limits(settings, list(revisions.values()))
        shelf = open_shelf(settings, open_artifacts(settings))
        for path, revision in revisions.items():
            limit = limits[revision.digest]
            if isinstance(limit, Refused):
                done[path] = Imported(path, error=str(limit))
                continue
            # Before the row: no worker may be sent for what isn't there.
            await shelf.publish(revision)
            named = problem_id or problem_id_of(revision.problem.slug)
            sheet = await asyncio.to_thread(sheet_of, revision, named, time_ms=limit)
            done[path] = await write(pool, path, sheet)
    return [done[path] for path in paths]


async def write(pool: Pool, path: Path, sheet: ProblemSheet) -> Imported:
    async with connection(pool) as acquired:
        before = await in_force(acquired, sheet.id)
    async with transaction(pool) as acquired:
        await put(acquired, sheet)
    async with connection(pool) as acquired:
        after = await in_force(acquired, sheet.id)
    is_new = before is None or before.digest != sheet.digest or before.retired
    return Imported(path, after, is_new)


async def find_limits(
    settings: Settings, revisions: Sequence[Revision]
) -> dict[str, int | Refused]:
    """Time limits in milliseconds; where a package has none, its own submissions give it."""
    found: dict[str, int | Refused] = {}
    for revision in revisions:
        problem = revision.problem
        # Nothing of a contestant runs where answers are handed in.
        limit_ms = GENEROUS_MS if problem.submit_answer else problem.limits.time_ms
        if limit_ms is not None:
            found[revision.digest] = limit_ms
    open_ones = [each for each in revisions if each.digest not in found]
    if not open_ones:
        return found
    catalogue = load_catalogue()
    needed = await asyncio.to_thread(find_needed, catalogue, open_ones)
    async with open_judging(settings, catalogue, needed, lanes=1) as (workshop, lanes):
        with Progress() as progress:
            verifier = Verifier(workshop, lanes, make_spool(settings), 1, progress)
            for revision in open_ones:
                try:
                    found[revision.digest] = await verifier.time_limit_ms(revision)
                except Refused as fault:
                    found[revision.digest] = fault
    return found
