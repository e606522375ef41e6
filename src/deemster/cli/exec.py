"""`deemster exec`: runs a program on a server, with live output or as a terminal (E5, E7)."""

import asyncio
import os
import shutil
import signal
import sys
import termios
import tty
from collections.abc import AsyncIterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

import typer
import uvloop

from deemster.cli.client import RETRIES, open_client
from deemster.cli.exit_codes import ExitCode
from deemster.cli.options import Language
from deemster.cli.source_file import read_source
from deemster.client import ApiError, ExecutionSummary, LiveEvent, Output, Program
from deemster.client.terminal import Terminal
from deemster.domain.errors import Refused
from deemster.programs.build.languages import load_catalogue
from deemster.settings import load_settings, server_of_client

KEYS_BYTES: Final = 4096
LOST: Final = b"\r\n[The connection is lost: trying again.]\r\n"
TERMINAL_RETRIES: Final = replace(RETRIES, pauses_s=(*RETRIES.pauses_s, *[8.0] * 12))
"""A person waits longer than a script for a connection that is lost."""


def execute(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Source file of the program.")],
    args: Annotated[
        list[str] | None, typer.Argument(metavar="[ARGS]...", help="The program's arguments.")
    ] = None,
    interactive: Annotated[
        bool, typer.Option("-i", "--interactive", help="Give the program this terminal.")
    ] = False,
    stdin: Annotated[
        Path | None, typer.Option(metavar="F", help="File with the program's input.")
    ] = None,
    language: Language = None,
) -> None:
    """Run a program on a running service, and show its output while it runs.

    DEEMSTER_URL is the service's address (by default http://127.0.0.1:8000) and DEEMSTER_TOKEN
    is your token. If the service runs on this machine, the admin's token is used by default.

    The exit code is 0 if the program ended well, 1 if it failed or reached a limit, and 2 if
    it could not be run. For example:

        deemster exec hello.py --stdin names.txt

        deemster exec -i game.c
    """
    if interactive and not sys.stdin.isatty():
        raise Refused("With -i, the input must be a terminal: use --stdin for a file.")
    content = read_source(file)
    text = content.decode(errors="replace")
    named = language or load_catalogue().for_file(file.name, text).id
    program = Program(
        named,
        {file.name: content},
        main=file.name,
        args=args or [],
        stdin=read_source(stdin) if stdin is not None else "",
        io="terminal" if interactive else "batch",
    )
    end = uvloop.run(run_terminal(program) if interactive else run_program(program))
    if end.error_message:
        print(end.error_message, file=sys.stderr)
    raise typer.Exit(exit_code(end))


def exit_code(end: ExecutionSummary) -> ExitCode:
    if end.status == "COMPLETED":
        return ExitCode.OK
    is_internal = end.error_type == "InternalError" or end.status == "CANCELLED"
    return ExitCode.UNABLE if is_internal else ExitCode.FAILED


async def run_program(program: Program) -> ExecutionSummary:
    async with open_client(server_of_client(), load_settings().data_dir) as client:
        started = await client.executions.start(program)
        end = await show(client.executions.events(started.execution_id))
    if end.compile_output and end.error_type == "CompileError":
        print(end.compile_output, file=sys.stderr, end="")
    return end


async def run_terminal(program: Program) -> ExecutionSummary:
    columns, rows = shutil.get_terminal_size()
    async with open_client(
        server_of_client(), load_settings().data_dir, TERMINAL_RETRIES
    ) as client:
        started = await client.executions.start(program)
        await client.executions.resize(started.execution_id, rows, columns)
        with raw_terminal():
            async with client.executions.terminal(
                started.execution_id, on_lost=lambda: os.write(2, LOST)
            ) as terminal:
                return await talk(terminal)


async def talk(terminal: Terminal) -> ExecutionSummary:
    """Sends keys and sizes, and shows what comes, until the program has ended."""
    loop = asyncio.get_running_loop()
    outgoing: asyncio.Queue[bytes | tuple[int, int]] = asyncio.Queue()

    async def send() -> None:
        while True:
            match await outgoing.get():
                case bytes() as keys:
                    await terminal.type_input(keys)
                case columns, rows:
                    await terminal.resize(rows, columns)

    loop.add_reader(0, lambda: outgoing.put_nowait(os.read(0, KEYS_BYTES)))
    loop.add_signal_handler(
        signal.SIGWINCH, lambda: outgoing.put_nowait(shutil.get_terminal_size())
    )
    try:
        async with asyncio.TaskGroup() as group:
            sending = group.create_task(send())
            end = await show(terminal)
            sending.cancel()
    except* ApiError as errors:
        raise errors.exceptions[0] from None
    finally:
        loop.remove_reader(0)
        loop.remove_signal_handler(signal.SIGWINCH)
    return end


async def show(events: AsyncIterable[LiveEvent]) -> ExecutionSummary:
    """Writes output as it comes; a terminal has only stdout."""
    async for event in events:
        if isinstance(event, Output):
            stream = sys.stdout if event.stream == "stdout" else sys.stderr
            stream.buffer.write(event.content)
            stream.buffer.flush()
    assert isinstance(event, ExecutionSummary), "the last event is the end"
    return event


@contextmanager
def raw_terminal() -> Iterator[None]:
    """Each key goes to the program: its own terminal echoes, and Ctrl-C is for it."""
    before = termios.tcgetattr(0)
    tty.setraw(0)
    try:
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
