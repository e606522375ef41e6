"""Opens the sandbox and runs the package verifier for `deemster problem verify`."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.pipeline.judge.verify.package_checks import PackageFinding
from deemster.pipeline.judge.verify.progress import Progress
from deemster.pipeline.judge.verify.verifier import PackageReport, Verifier
from deemster.problems.revision import Revision
from deemster.programs.build.languages import load_catalogue
from deemster.settings import Settings
from deemster.wiring.judging import make_spool, open_judging
from deemster.wiring.problems import find_needed, open_revisions


async def verify_all(
    settings: Settings,
    paths: Sequence[Path],
    jobs: int,
    progress: Progress,
    *,
    use_pypy: bool = False,
) -> list[PackageReport]:
    """A package that can't be read gets a report with an error."""
    catalogue = load_catalogue()
    if use_pypy:
        catalogue = catalogue.with_replaced("python3", by="pypy3")
    reports: dict[Path, PackageReport] = {}
    revisions = dict[Path, Revision]()
    async with AsyncExitStack() as stack:
        store = open_revisions(settings)
        for path in paths:
            try:
                imported = store.imported(path, skip_outside_links=True)
                revisions[path] = await stack.enter_async_context(imported)
            except Refused as fault:
                reports[path] = PackageReport(
                    path, findings=[PackageFinding("error", str(fault))]
                )
        needed = await asyncio.to_thread(find_needed, catalogue, list(revisions.values()))
        judging = open_judging(settings, catalogue, needed, lanes=jobs)
        build_tools, lanes = await stack.enter_async_context(judging)
        verifier = Verifier(build_tools, lanes, make_spool(settings), jobs, progress)
        for path, revision in revisions.items():
            reports[path] = await verifier.verify(path, revision)
    return [reports[path] for path in paths]
