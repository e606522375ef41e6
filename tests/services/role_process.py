"""Starts roles by fork from one process, which has imported them for all tests."""

import atexit
import os
from collections.abc import Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from deemster.wiring.forked_process import ForkedProcess, ForkServerClient, open_fork_server

ROLES = ("api", "relay", "worker", "keeper", "dispatcher")
STANDARD_ERROR = 2


async def start_role(role: str, environment: Mapping[str, str], log: Path) -> ForkedProcess:
    """The first one waits for the imports."""
    with log.open("ab") as file:
        process = fork_server().start([role], environment, file.fileno())
    await process.begun.wait()
    process.check_begun()
    return process


@cache
def fork_server() -> ForkServerClient:
    """One for all tests of this process; it ends with it."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(open_fork_server(ROLES, os.environ, STANDARD_ERROR))
