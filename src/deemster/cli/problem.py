"""`deemster problem`: verifies, creates, imports, publishes, exports and retires problems."""

import os
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
import uvloop

from deemster.cli.exit_codes import ExitCode
from deemster.cli.options import AsJson, PackagePaths, make_group
from deemster.cli.output import (
    as_cell,
    as_printable,
    make_table,
    print_error,
    print_json,
    table_console,
)
from deemster.cli.progress import Progress, for_each
from deemster.cli.verify_report import as_object, print_reports
from deemster.domain.errors import Refused
from deemster.domain.ids import ProblemId, parse_problem_id
from deemster.domain.limits import MIB
from deemster.problems.importing import Importer
from deemster.problems.new_package import make_package
from deemster.settings import load_settings
from deemster.store.audit import Actor
from deemster.store.pool import connection
from deemster.store.problems import ProblemFilter, ProblemListItem, page
from deemster.wiring.import_command import PackageOutcome, import_all
from deemster.wiring.privileges import enter_service, without_service
from deemster.wiring.problems import open_importer
from deemster.wiring.resources import open_artifacts, open_command_database, operator
from deemster.wiring.verify_command import verify_all

PAGE = 500

app = make_group("problem", "Check, create, import, publish, export, list and retire problems.")


@app.command()
def verify(
    paths: PackagePaths,
    as_json: AsJson = False,
    jobs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=64,
            help="Number of programs to run at once, each on its own core. "
            "[default: the number of cores]",
            show_default=False,
        ),
    ] = None,
    pypy: Annotated[
        bool, typer.Option("--pypy", help="Run all Python programs with PyPy, as Kattis does.")
    ] = False,
) -> None:
    """Judge every submission in a package, and compare the verdicts with the expected ones.

    The package can be an ICPC/Kattis package (legacy, legacy-icpc, 2025-09), or one of
    Codeforces Polygon, Hydro or DMOJ. The command also checks the package itself: inputs
    against the validators, answers, limits.

    The exit code is 0 if everything is as expected, 1 if something is not. For example:

        deemster problem verify different hello.zip
        deemster problem verify contest/* --json --jobs 2
    """
    lanes = jobs or len(os.sched_getaffinity(0))
    with Progress() as progress:
        settings = without_service(load_settings())
        reports = uvloop.run(verify_all(settings, paths, lanes, progress, use_pypy=pypy))
    if as_json:
        print_json(as_object(reports))
    else:
        print_reports(reports)
    if not all(report.ok for report in reports):
        raise typer.Exit(ExitCode.FAILED)


@app.command()
def new(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="Name of the problem, in letters and digits."),
    ],
) -> None:
    """Create a small, complete package to start from.

    It is a directory in the 2025-09 format that passes `deemster problem verify`.
    """
    created = make_package(Path.cwd(), name)
    print(f"Created {created}. Next: change it, then run `deemster problem verify {created}`.")


@app.command("import")
def import_(
    paths: PackagePaths,
    problem_id: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="ID",
            help="Id of the problem, such as prob_sum. [default: from the package's name]",
            show_default=False,
        ),
    ] = None,
    draft: Annotated[
        bool,
        typer.Option(
            "--draft", help="Show the problems only to admins until `problem publish`."
        ),
    ] = False,
) -> None:
    """Import problems into the service, where users can solve them at once.

    If a problem exists already, it gets a new revision, by which all later submissions are
    judged. If a package has no time limit, it gets one from its own accepted submissions. For
    example:

        deemster problem import samples/aplusb
        deemster problem import hello.zip --id prob_hello
    """
    if problem_id is not None and len(paths) > 1:
        raise Refused("--id is for one problem: leave it out, or import one package at a time.")
    chosen = parse_problem_id(problem_id) if problem_id is not None else None
    settings = enter_service(load_settings(), runner=True, reads=paths).settings
    with Progress() as progress:
        work = import_all(settings, paths, chosen, progress, publish=False if draft else None)
        outcomes = uvloop.run(work)
    for outcome in outcomes:
        print_outcome(outcome)
    if any(outcome.error for outcome in outcomes):
        raise typer.Exit(ExitCode.UNABLE)


def print_outcome(outcome: PackageOutcome) -> None:
    imported = outcome.imported
    if imported is None:
        print_error(f"{outcome.path}: {outcome.error}")
        return
    problem = imported.summary
    change = f"revision {problem.number}" if imported.is_new else "unchanged"
    print(
        f"{problem.id}: {change}, {problem.title!r}, {problem.time_ms / 1000:g} s, "
        f"{problem.memory_bytes // MIB} MB, {problem.cases} cases"
        f"{'' if problem.published else ', not published'}"
    )
    for warning in imported.warnings:
        print(f"  warning: {as_printable(warning)}")


@app.command("list")
def list_(
    drafts: Annotated[
        bool, typer.Option("--drafts", help="List the problems that are not published.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the problems of the service."""
    lines = uvloop.run(read_all(drafts=drafts))
    if as_json:
        print_json({"problems": [asdict(line) for line in lines]})
        return
    table = make_table("id", "title", "time", "memory", "cases", "revision", "accepted")
    for line in lines:
        table.add_row(
            line.id,
            as_cell(line.title),
            f"{line.time_ms / 1000:g} s",
            f"{line.memory_bytes // MIB} MB",
            str(line.cases),
            str(line.number),
            f"{line.accepted} of {line.submits}",
        )
    table_console().print(table)


async def read_all(*, drafts: bool) -> list[ProblemListItem]:
    lines: list[ProblemListItem] = []
    wanted = ProblemFilter(drafts=drafts)
    async with open_command_database(load_settings()) as pool, connection(pool) as acquired:
        while True:
            after = lines[-1].id if lines else None
            more = await page(acquired, wanted, after=after, limit=PAGE)
            lines += more
            if len(more) < PAGE:
                return lines


Ids = Annotated[list[str], typer.Argument(metavar="ID…", help="Ids that `problem list` shows.")]


@app.command()
def publish(ids: Ids) -> None:
    """Publish problems that were imported as drafts: all users see them and can solve them.

    For example:

        deemster problem import hello.zip --draft
        deemster problem publish prob_hello
    """
    done, failed = uvloop.run(change_all(ids, Importer.publish))
    for problem, is_new in done.items():
        print(f"{problem}: {'published' if is_new else 'was already published'}")
    if failed:
        raise typer.Exit(ExitCode.UNABLE)


@app.command()
def export(
    problem_id: Annotated[
        str, typer.Argument(metavar="ID", help="Id that `problem list` shows.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.tar", help="File to write. [default: ID.tar]", show_default=False
        ),
    ] = None,
) -> None:
    """Write the current package of a problem, with all test data, into a tar file."""
    problem = parse_problem_id(problem_id)
    target = output or Path(f"{problem}.tar")
    if target.exists():
        raise Refused(f"{target} exists: delete it first, or choose another with --output.")
    size_bytes = uvloop.run(write_package(problem, target))
    print(f"Wrote {target} ({size_bytes:,} bytes).")


async def write_package(problem: ProblemId, target: Path) -> int:
    settings = load_settings()
    async with open_command_database(settings) as pool:
        importer = open_importer(settings, pool)
        found = await importer.find_package(problem, Actor(operator()), only_own=False)
        await open_artifacts(settings).get_file(found.name, target, found.size_bytes)
    return found.size_bytes


@app.command()
def retire(ids: Ids) -> None:
    """Retire problems: nobody can solve them any more, but their submissions stay readable.

    To bring a problem back, import it again. For example:

        deemster problem retire prob_sum
    """
    done, failed = uvloop.run(change_all(ids, Importer.retire))
    for problem, is_new in done.items():
        print(f"{problem}: {'retired' if is_new else 'was already retired'}")
    if failed:
        raise typer.Exit(ExitCode.UNABLE)


async def change_all(
    ids: list[str], change: Callable[..., Awaitable[bool]]
) -> tuple[dict[ProblemId, bool], int]:
    """`change` is a method of `Importer`."""
    settings, actor = load_settings(), Actor(operator())
    problems = [parse_problem_id(each) for each in ids]
    async with open_command_database(settings) as pool:
        importer = open_importer(settings, pool)
        return await for_each(
            "Problems",
            problems,
            lambda problem: change(importer, problem, actor, only_own=False),
        )
