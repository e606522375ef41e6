"""Output reaches clients while a program runs, and typed input the program (E5, E7)."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from deemster.api.feed.live_output import LiveOutputFeed, OutputCursor
from deemster.domain.execution import (
    ExecutionView,
    OutputChunk,
    ProgramIo,
    Stream,
    error_of,
    status_of,
)
from deemster.domain.ids import ExecutionId
from deemster.store import executions
from deemster.store.notifications import OUTPUT_CHANNEL, Listener
from deemster.store.pool import connection
from tests.system.conftest import OpenService, RunningService
from tests.system.service import Service
from tests.waiting import PATIENCE_S

PROMPTS = {
    "python3": "name = input('name? ')\nprint('hi', name)\nwhile True: print(input())",
    "c": """#include <stdio.h>
int main() { char b[99]; printf("name? "); scanf("%98s", b); printf("hi %s\\n", b);
while (scanf("%98s", b) == 1) printf("%s\\n", b); }""",
}


class Reader:
    """A client that follows an execution, and can come back where it was."""

    def __init__(self, live: LiveOutputFeed, execution: ExecutionId) -> None:
        self._live = live
        self._execution = execution
        self.after = OutputCursor()
        self.text: dict[Stream, bytes] = dict.fromkeys(Stream, b"")
        self.end: ExecutionView | None = None

    async def until(self, condition: Callable[["Reader"], object]) -> None:
        """Reads with a new connection until the condition holds."""
        async with asyncio.timeout(PATIENCE_S):
            async for each in self._live.follow(self._execution, self.after):
                if isinstance(each, OutputChunk):
                    self.after = OutputCursor(each.attempt, each.number)
                    self.text[each.stream] += each.content
                elif isinstance(each, ExecutionView) and each.finished_at is not None:
                    self.end = each
                if condition(self):
                    return


@asynccontextmanager
async def reading(service: Service, execution: ExecutionId) -> AsyncIterator[Reader]:
    async with (
        Listener.open(service.database_url, OUTPUT_CHANNEL) as listener,
        asyncio.TaskGroup() as group,
    ):
        live = LiveOutputFeed(service.pool, listener.wait)
        running = group.create_task(live.run())
        yield Reader(live, execution)
        running.cancel()


async def type_in(service: Service, execution: ExecutionId, kind: str, data: bytes) -> bool:
    async with connection(service.pool) as acquired:
        return await executions.add_input(acquired, execution, kind, data)


@pytest.mark.parametrize("language", PROMPTS)
async def test_e7_a_prompt_appears_before_the_answer_is_typed(
    shared_service: RunningService, language: str
) -> None:
    service = shared_service.service
    execution = await service.execute(language, PROMPTS[language], io=ProgramIo.TERMINAL)
    async with reading(service, execution) as reader:
        await reader.until(lambda seen: seen.text[Stream.STDOUT] == b"name? ")
        assert await type_in(service, execution, "data", b"bob\n")
        await reader.until(lambda seen: b"hi bob\r\n" in seen.text[Stream.STDOUT])
        assert await type_in(service, execution, "signal", b"SIGINT")
        await reader.until(lambda seen: seen.end)
    assert reader.end is not None
    assert status_of(reader.end.state, reader.end.result) == "FAILED"
    assert not await type_in(service, execution, "data", b"late")


async def test_e5_pipes_keep_stdout_and_stderr_apart_and_the_input_can_be_ended(
    shared_service: RunningService,
) -> None:
    source = """import sys
for line in sys.stdin:
    print(line.strip().upper(), flush=True)
    print(line.strip(), file=sys.stderr, flush=True)
print('bye')"""
    service = shared_service.service
    execution = await service.execute("python3", source, io=ProgramIo.STREAMS, stdin=b"zero\n")
    async with reading(service, execution) as reader:
        await reader.until(lambda seen: seen.text[Stream.STDERR] == b"zero\n")
        await type_in(service, execution, "data", b"one\ntwo\n")
        await reader.until(lambda seen: seen.text[Stream.STDERR].endswith(b"two\n"))
        await type_in(service, execution, "end", b"")
        await reader.until(lambda seen: seen.end)
    assert reader.text == {
        Stream.STDOUT: b"ZERO\nONE\nTWO\nbye\n",
        Stream.STDERR: b"zero\none\ntwo\n",
    }
    assert reader.end is not None
    assert status_of(reader.end.state, reader.end.result) == "COMPLETED"


async def test_a_silent_program_without_input_is_ended(open_service: OpenService) -> None:
    async with open_service(live_idle_s=0.5) as service:
        service.start("relay", "worker")
        execution = await service.execute("python3", "input()", io=ProgramIo.TERMINAL)
        shown = await service.execution(execution)
        assert status_of(shown.view.state, shown.view.result) == "TIMEOUT"
        assert error_of(shown.view) == (
            "TimeoutError",
            "The program was ended because nothing was typed or printed for too long.",
        )


@pytest.mark.parametrize("io", [ProgramIo.STREAMS, ProgramIo.TERMINAL])
async def test_e7_a_program_that_reads_nothing_can_be_interrupted(
    shared_service: RunningService, io: ProgramIo
) -> None:
    """More was typed than fits into the buffers on the way to the program."""
    source = "print('on', flush=True)\nimport time\ntime.sleep(1e6)"
    service = shared_service.service
    execution = await service.execute("python3", source, io=io, stdin=b"x\n" * 100_000)
    async with reading(service, execution) as reader:
        await reader.until(lambda seen: b"on" in seen.text[Stream.STDOUT])
        for _ in range(4):
            await type_in(service, execution, "data", b"y\n" * 30_000)
        await type_in(service, execution, "signal", b"SIGINT")
        await reader.until(lambda seen: seen.end)
    assert reader.end is not None
    assert error_of(reader.end) == (
        "RuntimeError",
        "The program was ended by a signal: interrupt (signal 2).",
    )
