"""`deemster submit`: hands a program in, and can wait for its verdict."""

import asyncio
import json
from pathlib import Path
from typing import Annotated, Any

import typer
import uvloop

from deemster.cli.run import read_source
from deemster.cli.submit.client import Client
from deemster.cli.submit.progress import Waiting
from deemster.cli.submit.show import show
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.build.languages import load_catalogue
from deemster.settings import load_settings, server_of_client

EXIT_VERDICT = 1
EXIT_OURS = 2
ENDS = frozenset({"finished", "failed", "cancelled"})
UNSEEN_S, SEEN_S = 20.0, 1.0
"""How long the service may wait with its answer: on a terminal, progress is shown too."""
PAUSE_S = 0.5
"""After an answer that came sooner, as of a service that is about to end."""


def submit(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The program's source.")],
    problem: Annotated[str, typer.Option(metavar="P", help="The problem: prob_aplusb.")],
    language: Annotated[
        str | None,
        typer.Option(
            metavar="L",
            help="Its language, when the file's name doesn't tell: see `languages`.",
            show_default=False,
        ),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the verdict.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what the service answers, as JSON.")
    ] = False,
) -> None:
    """Submit a program to a running service.

    The service is that of DEEMSTER_URL (http://127.0.0.1:8000 unless set), the token that of
    DEEMSTER_TOKEN, or the admin's where the service runs on this machine.

    The exit code is 0 when it was taken, or with --wait when it was accepted, 1 for any other
    verdict, and 2 when there is none. For example:

        deemster submit sum.py --problem prob_aplusb --wait
    """
    answer = uvloop.run(hand_in(file, problem, language, wait))
    if as_json:
        print(json.dumps(answer))
    else:
        show(answer)
    if wait:
        raise typer.Exit(exit_code(answer))


async def hand_in(file: Path, problem: str, language: str | None, wait: bool) -> Any:
    content = read_source(file)
    if language is None:
        text = content.decode(errors="replace")
        language = load_catalogue().for_file(file.name, text).id
    async with Client.open(server_of_client(), load_settings().data_dir) as client:
        answer = await client.submit(problem, language, file.name, content)
        return await until_ended(client, answer) if wait else answer


async def until_ended(client: Client, answer: Any) -> Any:
    loop = asyncio.get_running_loop()
    with Waiting() as waiting:
        wait_s = SEEN_S if waiting.is_seen else UNSEEN_S
        while answer["status"] not in ENDS:
            began_s = loop.time()
            answer = await client.look(answer["id"], wait_s)
            waiting.show(answer)
            if answer["status"] not in ENDS and loop.time() - began_s < wait_s / 2:
                await asyncio.sleep(PAUSE_S)
    return answer


def exit_code(answer: Any) -> int:
    verdict = answer.get("verdict")
    if answer["status"] != "finished" or verdict is None:
        return EXIT_OURS
    return 0 if verdict == Verdict.ACCEPTED else EXIT_VERDICT
