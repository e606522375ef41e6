"""The roles that `deemster up` runs: started together, ended in order."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from deemster.cli.up.child import Child
from deemster.cli.up.display import Display
from deemster.cli.up.logs import Log

PATIENCE_S: Final = {"api": 15.0, "relay": 10.0, "worker": 120.0, "keeper": 10.0}
"""How long each may take to end of its own accord. In this order they are asked to: no new
submissions, no new jobs, then the programs that run, and at last who watches over them."""

LAST: Final = "keeper"
"""It has nothing to do yet, and four that start at once are slower than three."""


@asynccontextmanager
async def staff(
    environment: Mapping[str, str],
    log_dir: Path,
    board: Display,
    hurry: asyncio.Event,
) -> AsyncIterator[Sequence[Child]]:
    """All are running until the end; a failure that is final ends the whole."""
    children = [
        Child(role, environment, board, patience_s=patience_s, waits=role == LAST)
        for role, patience_s in PATIENCE_S.items()
    ]
    async with AsyncExitStack() as stack:
        logs = [
            await stack.enter_async_context(Log.open(log_dir / f"{child.role}.log", board.warn))
            for child in children
        ]
        group = await stack.enter_async_context(asyncio.TaskGroup())
        for child, (log, output) in zip(children, logs, strict=True):
            group.create_task(child.keep(log, output))
        try:
            yield children
        finally:
            await end(children, board, hurry)


async def end(children: Sequence[Child], board: Display, hurry: asyncio.Event) -> None:
    for child in children:
        board.hint(f"ending the {child.role} … (Ctrl-C again: everything at once)")
        await child.end(hurry)
