"""One role as a child process: started, restarted when it dies, ended when it is told to."""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from deemster.cli.up.display import Display
from deemster.cli.up.logs import Log
from deemster.domain.errors import Unavailable

FIRST_PAUSE_S: Final = 0.25
LONGEST_PAUSE_S: Final = 30.0
SETTLED_S: Final = 30.0
"""After so long it runs well: the next pause is the first again."""
EXIT_OURS: Final = 2
HOPELESS: Final = 3
"""So often in a row it said itself that it can't begin."""
INSIST_S: Final = 10.0


class Child:
    def __init__(
        self,
        role: str,
        environment: Mapping[str, str],
        board: Display,
        *,
        patience_s: float,
        waits: bool = False,
    ) -> None:
        """One that `waits` begins when everything else has settled."""
        self.role = role
        self._settled = asyncio.Event()
        self._waits = waits
        self._environment = environment
        self._board = board
        self._patience_s = patience_s
        self._process: asyncio.subprocess.Process | None = None
        self._told = asyncio.Event()
        self._ended = asyncio.Event()
        self._refusals = 0

    @property
    def has_begun(self) -> bool:
        return self._process is not None

    async def keep(self, log: Log, output: int) -> None:
        """Runs it until it is told to end, whatever happens to it."""
        now = asyncio.get_running_loop().time
        pause_s = FIRST_PAUSE_S
        try:
            if self._waits:
                await either(None, self._settled, self._told)
            while not self._told.is_set():
                began = now()
                try:
                    code = await self._run(output)
                    how = in_words(code)
                except OSError as fault:  # no memory, or too many processes: it may pass
                    code, how = EXIT_OURS, f"not begun: {fault.strerror}"
                if self._told.is_set():
                    break
                if now() - began > SETTLED_S:
                    pause_s = FIRST_PAUSE_S
                self._check_hope(code, log)
                self._board.warn(f"{self.role} ended ({how}) and starts again in {pause_s:g} s")
                await either(pause_s, self._told)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        finally:
            self._ended.set()

    def settle(self) -> None:
        """Once everything runs, no failure to start is final any more."""
        self._settled.set()

    async def end(self, hurry: asyncio.Event) -> None:
        """Asks it to end and waits; insists when that takes too long, or someone is in a hurry.

        A first signal drains, a second one ends at once, a SIGKILL needs no consent.
        """
        self._told.set()
        self._signal(signal.SIGTERM)
        await either(self._patience_s, self._ended, hurry)
        if not self._ended.is_set():
            # Another one: two of a kind that come together are one.
            self._signal(signal.SIGINT)
            await either(INSIST_S, self._ended)
        self.kill()
        await self._ended.wait()

    def kill(self) -> None:
        self._told.set()
        self._signal(signal.SIGKILL)

    async def _run(self, output: int) -> int:
        # No thread may do this: the kernel counts the end of the thread as that of the parent.
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-P", "-m", "deemster", "--parent", str(os.getpid()), self.role),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=self._environment,
            start_new_session=True,  # a Ctrl-C is for the supervisor, which ends it in its turn
        )
        self._process = process
        if self._told.is_set():
            self._signal(signal.SIGTERM)
        return await process.wait()

    def _signal(self, number: int) -> None:
        process = self._process
        if process is not None and process.returncode is None:
            with suppress(ProcessLookupError):
                process.send_signal(number)

    def _check_hope(self, code: int, log: Log) -> None:
        self._refusals = self._refusals + 1 if code == EXIT_OURS else 0
        if self._refusals >= HOPELESS and not self._settled.is_set():
            raise Unavailable(
                f"The {self.role} can't start ({log.last or 'it does not say why'}): mend "
                f"that; {log.path} has more."
            )


async def either(patience_s: float | None, *events: asyncio.Event) -> None:
    """Until one of them is set, or time is up."""
    async with asyncio.TaskGroup() as group:
        waiting = [group.create_task(event.wait()) for event in events]
        await asyncio.wait(waiting, timeout=patience_s, return_when=asyncio.FIRST_COMPLETED)
        for each in waiting:
            each.cancel()


def in_words(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    with suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"
