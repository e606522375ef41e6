"""`deemster problem`: tools for those who set problems."""

import asyncio
import json
import os
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated

import typer
import uvloop

from deemster.cli.problem_import import import_
from deemster.cli.problem_list import list_
from deemster.cli.problem_retire import retire
from deemster.cli.progress import Progress
from deemster.cli.verify_report import as_object, show
from deemster.domain.errors import Refused
from deemster.pipeline.judge.build.languages import load_catalogue
from deemster.pipeline.judge.verify.package_checks import Finding
from deemster.pipeline.judge.verify.verifier import PackageReport, Verifier
from deemster.problems.new import make_package
from deemster.problems.revision import Revision
from deemster.settings import load_settings
from deemster.wiring.judging import find_needed, make_spool, open_judging
from deemster.wiring.resources import open_revisions

EXIT_DISAGREES = 1

app = typer.Typer(
    name="problem",
    help="Check, make, import, list and retire problems.",
    no_args_is_help=True,
    add_completion=False,
)


@app.command()
def verify(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH…", help="Packages: directories, .zip, .kpp or .tar files."
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    jobs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=64,
            help="Programs at once, each on a core of its own; by default a core each.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Judge every submission of a package, and compare with what its author expects.

    Understands ICPC/Kattis packages (legacy, legacy-icpc, 2025-09), Codeforces Polygon, Hydro
    and DMOJ. Also looks the package over: inputs against the validators, answers, limits.

    The exit code is 0 when all is as expected, 1 when something isn't. For example:

        deemster problem verify different hello.zip
        deemster problem verify contest/* --json --jobs 2
    """
    reports = uvloop.run(verify_all(paths, jobs or len(os.sched_getaffinity(0))))
    if as_json:
        print(json.dumps(as_object(reports)))
    else:
        show(reports)
    if not all(report.ok for report in reports):
        raise typer.Exit(EXIT_DISAGREES)


@app.command()
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Letters and digits: its slug.")],
) -> None:
    """Make a small, complete package to start from.

    It is a directory in the 2025-09 format that passes `deemster problem verify`.
    """
    made = make_package(Path.cwd(), name)
    print(f"Made {made}. Next: change it, then `deemster problem verify {made}`.")


app.command("import")(import_)
app.command("list")(list_)
app.command()(retire)


async def verify_all(paths: list[Path], jobs: int) -> list[PackageReport]:
    settings = load_settings()
    catalogue = load_catalogue()
    reports: dict[Path, PackageReport] = {}
    revisions = dict[Path, Revision]()
    async with AsyncExitStack() as stack:
        store = open_revisions(settings)
        for path in paths:
            try:
                revisions[path] = await stack.enter_async_context(store.imported(path))
            except Refused as fault:
                reports[path] = PackageReport(path, findings=[Finding("error", str(fault))])
        needed = await asyncio.to_thread(find_needed, catalogue, list(revisions.values()))
        judging = open_judging(settings, catalogue, needed, lanes=jobs)
        workshop, lanes = await stack.enter_async_context(judging)
        progress = stack.enter_context(Progress())
        verifier = Verifier(workshop, lanes, make_spool(settings), jobs, progress)
        for path, revision in revisions.items():
            reports[path] = await verifier.verify(path, revision)
    return [reports[path] for path in paths]
