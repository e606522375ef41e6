"""`deemster submission show`: the jury's view of a submission, with every test case (O8)."""

from collections.abc import Iterator
from typing import Annotated, Final

import typer
import uvloop
from rich.console import Console
from rich.table import Table

from deemster.cli.client import open_client
from deemster.cli.options import AsJson, make_group
from deemster.cli.output import as_printable, make_table, print_json
from deemster.cli.submit import print_submission
from deemster.client import ForbiddenError, Judgement, JuryCase, NotFoundError, Submission
from deemster.settings import load_settings, server_of_client

SKIPPED: Final = "skipped"
TEXTS: Final = {
    "reason": "reason",
    "message": "message to the jury",
    "team_message": "message to the contestant",
    "output": "stdout",
    "expected": "expected",
    "stderr": "stderr",
}

app = make_group("submission", "Show why a submission got its verdict.")


@app.command()
def show(
    submission: Annotated[str, typer.Argument(metavar="ID", help="Id of the submission.")],
    as_json: AsJson = False,
) -> None:
    """Show why a submission got its verdict.

    Admins and the author of the problem see every test case with its time, memory, verdict and
    messages, and the reason of a Judge Error. Others see what the service shows them. For
    example:

        deemster submission show sub_01m7hqhgkt49xrhgpgxp92jyyw
    """
    found = uvloop.run(read(submission))
    if as_json:
        print_json(found.raw)
    elif isinstance(found, Judgement):
        print_judgement(found)
    else:
        print_submission(found)


async def read(submission: str) -> Judgement | Submission:
    async with open_client(server_of_client(), load_settings().data_dir) as client:
        try:
            return await client.submissions.judgement(submission)
        except (ForbiddenError, NotFoundError):
            return await client.submissions.get(submission)


def print_judgement(found: Judgement) -> None:
    console = Console(highlight=False, soft_wrap=True, markup=False)
    for line in lines_of(found):
        console.print(as_printable(line))
    if found.groups:
        console.print(group_table(found))
    if found.cases:
        console.print(case_table(found))
    for case in found.cases:
        for line in texts_of(case):
            console.print(as_printable(line))


def lines_of(found: Judgement) -> Iterator[str]:
    score = f", {found.score:g} points" if found.score is not None else ""
    yield f"{found.verdict or found.status}{score}"
    yield f"{found.id}, {found.problem_id}, {found.language}, by {found.user}"
    if found.compiler is not None:
        yield f"{found.compiler.version}: {' '.join(found.compiler.command)}"
    if found.error:
        cause = f" ({found.cause})" if found.cause else ""
        yield f"why the judge failed{cause}:\n{found.error.rstrip()}"
    if found.compiler_output:
        yield f"compiler output:\n{found.compiler_output.rstrip()}"


def group_table(found: Judgement) -> Table:
    table = make_table("group", "verdict", numbers=("points", "of"))
    for group in found.groups:
        table.add_row(
            as_printable(group.name),
            group.verdict or SKIPPED,
            number_of(group.score),
            number_of(group.max_score),
        )
    return table


def case_table(found: Judgement) -> Table:
    table = make_table("case", "verdict", numbers=("ms", "limit", "KB"))
    for case in found.cases:
        name = as_printable(f"{case.number} {case.name}")
        if case.verdict is None:
            table.add_row(name, SKIPPED)
            continue
        figures = (case.time_ms, case.limit_ms, case.memory_kb)
        table.add_row(name, case.verdict, *(f"{each:,}" for each in figures))
    return table


def number_of(score: float | None) -> str:
    return f"{score:g}" if score is not None else ""


def texts_of(case: JuryCase) -> Iterator[str]:
    """All that is known of a case that was run and not accepted."""
    if case.verdict in {None, "Accepted"}:
        return
    for name, label in TEXTS.items():
        text: str | None = getattr(case, name)
        if text:
            yield f"case {case.number}, {label}:\n{text.rstrip()}"
