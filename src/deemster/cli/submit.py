"""`deemster submit`: submits a program to a server, and can wait for the verdict."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final

import typer
import uvloop
from rich.console import Console
from rich.text import Text

from deemster.cli.client import Client
from deemster.cli.exit_codes import ExitCode
from deemster.cli.options import AsJson, Language
from deemster.cli.output import print_json
from deemster.cli.progress import Progress
from deemster.cli.run import read_source
from deemster.domain.verdict import Verdict
from deemster.programs.build.languages import load_catalogue
from deemster.settings import load_settings, server_of_client

ENDED: Final = frozenset({"finished", "failed", "cancelled"})
WAIT_S, WAIT_WITH_PROGRESS_S = 20.0, 1.0
"""How long the server may wait before it answers."""
PAUSE_S: Final = 0.5
"""After an answer that came earlier, as from a server that is shutting down."""
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
    answer = uvloop.run(send(file, problem, language, wait))
    if as_json:
        print_json(answer)
    else:
        print_submission(answer)
    if wait:
        raise typer.Exit(exit_code(answer))


async def send(file: Path, problem: str, language: str | None, wait: bool) -> Any:
    content = read_source(file)
    if language is None:
        text = content.decode(errors="replace")
        language = load_catalogue().for_file(file.name, text).id
    async with Client.open(server_of_client(), load_settings().data_dir) as client:
        answer = await client.submit(problem, language, file.name, content)
        return await until_ended(client, answer) if wait else answer


async def until_ended(client: Client, answer: Any) -> Any:
    loop = asyncio.get_running_loop()
    with Progress() as bars:
        task = bars.add_task("sent", total=None)
        wait_s = WAIT_S if bars.disable else WAIT_WITH_PROGRESS_S
        while answer["status"] not in ENDED:
            began_s = loop.time()
            answer = await client.read(answer["id"], wait_s)
            done = answer.get("progress") or {}
            case, total = done.get("case", 0), done.get("of") or None
            bars.update(task, description=describe(answer), completed=case, total=total)
            if answer["status"] not in ENDED and loop.time() - began_s < wait_s / 2:
                await asyncio.sleep(PAUSE_S)
    return answer


def describe(answer: Any) -> str:
    position, wait_s = answer.get("queue_position"), answer.get("estimated_wait_s")
    if position is not None:
        about = f", about {wait_s:.0f} s" if wait_s is not None else ""
        return f"waiting at position {position}{about}"
    done = answer.get("progress")
    if done:
        return f"case {done['case']} of {done['of']}"
    return str(answer.get("status", "?"))


def exit_code(answer: Any) -> ExitCode:
    verdict = answer.get("verdict")
    if answer["status"] != "finished" or verdict is None:
        return ExitCode.UNABLE
    return ExitCode.OK if verdict == Verdict.ACCEPTED else ExitCode.FAILED


def print_submission(answer: Any) -> None:
    console = Console(highlight=False, soft_wrap=True)
    verdict = answer.get("verdict")
    style = STYLES.get(verdict, "bold red") if verdict else "bold"
    first, *others = lines_of(answer)
    console.print(Text(first, style))
    for line in others:
        console.print(Text(line))


def lines_of(answer: Any) -> Iterator[str]:
    if not answer.get("verdict"):
        yield f"{answer['id']} is {answer['status']}"
        if answer.get("error"):
            yield answer["error"]
        return
    score = f", {answer['score']:g} points" if answer.get("score") is not None else ""
    yield answer["verdict"] + score
    yield (
        f"{answer['passed_cases']} of {answer['total_cases']} cases, "
        f"{answer['runtime_ms']} ms, {answer['memory_kb']:,} KB, {answer['id']}"
    )
    if answer.get("failed_case"):
        yield f"failed in case {answer['failed_case']}{reason_of(answer)}"
    for name in ("message", "expected", "got", "compiler_output"):
        if answer.get(name):
            yield f"{name.replace('_', ' ')}:\n{answer[name].rstrip()}"


def reason_of(answer: Any) -> str:
    if answer.get("reason"):
        return f": {answer['reason']}"
    limit_ms = answer.get("limit_ms")
    return f": the time limit is {limit_ms} ms" if limit_ms else ""
