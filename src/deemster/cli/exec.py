"""`deemster exec`: runs a program on a server, with live output or as a terminal (E5, E7)."""

import asyncio
import base64
import json
import os
import shutil
import signal
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import typer
import uvloop
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from deemster.cli.client import Client
from deemster.cli.exit_codes import ExitCode
from deemster.cli.options import Language
from deemster.cli.run import read_source
from deemster.domain.errors import Refused
from deemster.programs.build.languages import load_catalogue
from deemster.settings import load_settings, server_of_client

KEYS_BYTES: Final = 4096
LOST: Final = "\r\n[The connection is lost: trying again.]\r\n"


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
    request: dict[str, Any] = {
        "language": named,
        "files": [{"name": file.name, "content_base64": base64.b64encode(content).decode()}],
        "main": file.name,
        "args": args or [],
        "io": "terminal" if interactive else "batch",
    }
    if stdin is not None:
        request["stdin_base64"] = base64.b64encode(read_source(stdin)).decode()
    end = uvloop.run(run_terminal(request) if interactive else run_program(request))
    if end.get("error_message"):
        print(end["error_message"], file=sys.stderr)
    raise typer.Exit(exit_code(end))


def exit_code(end: dict[str, Any]) -> ExitCode:
    if end["status"] == "COMPLETED":
        return ExitCode.OK
    is_internal = end.get("error_type") == "InternalError" or end["status"] == "CANCELLED"
    return ExitCode.UNABLE if is_internal else ExitCode.FAILED


async def run_program(request: dict[str, Any]) -> dict[str, Any]:
    async with Client.open(server_of_client(), load_settings().data_dir) as client:
        accepted = await client.execute(request)
        async for event, data in client.events(accepted["execution_id"]):
            if event == "output":
                stream = sys.stdout if data["stream"] == "stdout" else sys.stderr
                stream.buffer.write(bytes_of(data))
                stream.buffer.flush()
            elif event == "end":
                if data.get("compile_output") and data.get("error_type") == "CompileError":
                    print(data["compile_output"], file=sys.stderr, end="")
                return dict(data)
    raise AssertionError("a stream of events ends with the end")


def bytes_of(data: dict[str, Any]) -> bytes:
    if "data_base64" in data:
        return base64.b64decode(data["data_base64"])
    return str(data.get("data", "")).encode()


async def run_terminal(request: dict[str, Any]) -> dict[str, Any]:
    columns, rows = shutil.get_terminal_size()
    async with Client.open(server_of_client(), load_settings().data_dir) as client:
        accepted = await client.execute(request)
        execution = accepted["execution_id"]
        await client.type_in(execution, {"rows": rows, "columns": columns})
        screen = Screen()
        with raw_terminal():
            while True:
                with suppress(ConnectionClosed, OSError):
                    async with client.terminal(execution, screen.last) as socket:
                        await talk(socket, screen)
                if screen.end is not None:
                    return screen.end
                os.write(2, LOST.encode())
                await asyncio.sleep(1)


@dataclass(slots=True)
class Screen:
    """Shows output, and knows the last that was shown."""

    last: str = ""
    end: dict[str, Any] | None = None

    def show(self, message: dict[str, Any]) -> None:
        match message["type"]:
            case "output":
                self.last = message["id"]
                os.write(1, base64.b64decode(message["data_base64"]))
            case "end":
                self.end = message
            case "error":
                raise Refused(str(message["message"]))


async def talk(socket: ClientConnection, screen: Screen) -> None:
    """Sends keys and sizes, and shows what comes, until the program or the connection ends."""
    loop = asyncio.get_running_loop()
    outgoing: asyncio.Queue[bytes | str] = asyncio.Queue()

    def on_key() -> None:
        outgoing.put_nowait(os.read(0, KEYS_BYTES))

    def on_resize() -> None:
        columns, rows = shutil.get_terminal_size()
        outgoing.put_nowait(json.dumps({"rows": rows, "columns": columns}))

    async def send() -> None:
        with suppress(ConnectionClosed):
            while True:
                await socket.send(await outgoing.get())

    loop.add_reader(0, on_key)
    loop.add_signal_handler(signal.SIGWINCH, on_resize)
    try:
        async with asyncio.TaskGroup() as group:
            sending = group.create_task(send())
            with suppress(ConnectionClosed):
                while screen.end is None:
                    screen.show(json.loads(await socket.recv()))
            sending.cancel()
    except* Refused as refused:
        raise refused.exceptions[0] from None
    finally:
        loop.remove_reader(0)
        loop.remove_signal_handler(signal.SIGWINCH)


@contextmanager
def raw_terminal() -> Iterator[None]:
    """Each key goes to the program: its own terminal echoes, and Ctrl-C is for it."""
    before = termios.tcgetattr(0)
    tty.setraw(0)
    try:
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
