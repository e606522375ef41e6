"""`deemster submit`: submits a program to a server, and can wait for the verdict."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

import typer
import uvloop
from rich.console import Console
from rich.text import Text

from deemster.cli.client import open_client
from deemster.cli.exit_codes import ExitCode
from deemster.cli.options import AsJson, Language
from deemster.cli.output import as_printable, print_error, print_json
from deemster.cli.progress import Progress
from deemster.cli.source_file import read_source
from deemster.client import AsyncDeemster, Submission
from deemster.client.models.source import Source
from deemster.programs.build.languages import load_catalogue
from deemster.settings import load_settings, server_of_client

POLL_S: Final = 1.0
STYLES: Final = {"Accepted": "bold green", "Partial": "bold yellow"}


def submit(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Source file of the program.")],
    problem: Annotated[
        str, typer.Option(metavar="P", help="Id of the problem, such as prob_aplusb.")
    ],
    language: Language = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the verdict.")] = False,
    as_json: AsJson = False,
) -> None:
    """Submit a program to a running service.

    DEEMSTER_URL is the service's address (by default http://127.0.0.1:8000) and DEEMSTER_TOKEN
    is your token. If the service runs on this machine, the admin's token is used by default.

    The exit code is 0 if the submission was taken, or with --wait if it was accepted, 1 for any
    other verdict, and 2 if there is no verdict. For example:

        deemster submit sum.py --problem prob_aplusb --wait
    """
    submission = uvloop.run(send(file, problem, language, wait))
    if as_json:
        print_json(submission.raw)
    else:
        print_submission(submission)
    if wait:
        raise typer.Exit(exit_code(submission))


async def send(file: Path, problem: str, language: str | None, wait: bool) -> Submission:
    content = read_source(file)
    if language is None:
        text = content.decode(errors="replace")
        language = load_catalogue().for_file(file.name, text).id
    async with open_client(server_of_client(), load_settings().data_dir) as client:
        source = source_of(file.name, content)
        submission = await client.submissions.submit(problem, language, source)
        if submission.warning:
            print_error(f"warning: {submission.warning}")
        return await until_ended(client, submission) if wait else submission


def source_of(name: str, content: bytes) -> Source:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return {name: content}


async def until_ended(client: AsyncDeemster, submission: Submission) -> Submission:
    """Shows a bar on a terminal, and elsewhere a line when the place in the queue changes."""
    with Progress() as bars:
        task = bars.add_task("sent", total=None)
        shown = None
        async for each in client.submissions.watch(submission.id, every_s=POLL_S):
            submission = each
            done = submission.progress
            case, total = (done.case, done.of or None) if done else (0, None)
            bars.update(task, description=describe(submission), completed=case, total=total)
            place = (submission.status, submission.queue_position)
            if bars.disable and place != shown and not submission.has_ended:
                shown = place
                print_error(describe(submission))
    return submission


def describe(submission: Submission) -> str:
    position, wait_s = submission.queue_position, submission.estimated_wait_s
    if position is not None:
        about = f", about {wait_s:.0f} s" if wait_s is not None else ""
        return f"waiting at position {position}{about}"
    done = submission.progress
    return f"case {done.case} of {done.of}" if done else submission.status


def exit_code(submission: Submission) -> ExitCode:
    if submission.verdict is None:
        return ExitCode.UNABLE
    return ExitCode.OK if submission.is_accepted else ExitCode.FAILED


def print_submission(submission: Submission) -> None:
    console = Console(highlight=False, soft_wrap=True)
    verdict = submission.verdict
    style = STYLES.get(verdict, "bold red") if verdict else "bold"
    first, *others = lines_of(submission)
    console.print(Text(as_printable(first), style))
    for line in others:
        console.print(Text(as_printable(line)))


def lines_of(submission: Submission) -> Iterator[str]:
    if not submission.verdict:
        yield f"{submission.id} is {submission.status}"
        if submission.error:
            yield submission.error
        return
    score = f", {submission.score:g} points" if submission.score is not None else ""
    yield submission.verdict + score
    yield (
        f"{submission.passed_cases} of {submission.total_cases} cases, "
        f"{submission.runtime_ms} ms, {submission.memory_kb or 0:,} KB, {submission.id}"
    )
    if submission.failed_case:
        yield f"failed in case {submission.failed_case}{reason_of(submission)}"
    for name in ("message", "expected", "got", "stderr", "compiler_output"):
        text: str | None = getattr(submission, name)
        if text:
            yield f"{name.replace('_', ' ')}:\n{text.rstrip()}"


def reason_of(submission: Submission) -> str:
    if submission.reason:
        return f": {submission.reason}"
    limit_ms = submission.limit_ms
    return f": the time limit is {limit_ms} ms" if limit_ms else ""
