"""The Python client against a running service: lost connections, documented examples."""

import asyncio
import os
import re
import secrets
import sys
from pathlib import Path

import pytest

from deemster.client import (
    AsyncDeemster,
    ConflictError,
    ExecutionSummary,
    NotFoundError,
    Output,
    Program,
    StatusChange,
)
from deemster.wiring.address import Address
from tests.client.servers import cutting, make_token
from tests.system.conftest import RunningService
from tests.waiting import PATIENCE_S

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python-client.md"
EXAMPLE = re.compile(r"^```python\n(.*?)^```\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINES = 300
COUNT = f"""
import sys, time
for number in range({LINES}):
    print(number, file=sys.stderr if number % 10 == 5 else sys.stdout, flush=True)
    time.sleep(0.002)
"""
ECHO = "import sys\nfor line in sys.stdin: print('got', line, end='')"
TYPED = 30


@pytest.fixture
async def served(shared_service: RunningService) -> tuple[Address, str]:
    """The address of a service and the token of a new user."""
    name = f"user-{secrets.token_hex(4)}"
    return shared_service.address, await make_token(shared_service.service.pool, name)


async def test_e8_a_client_whose_stream_is_cut_misses_nothing(
    served: tuple[Address, str],
) -> None:
    address, token = served
    async with AsyncDeemster(address.url, token) as judge, asyncio.timeout(PATIENCE_S):
        started = await judge.executions.start(Program("python3", COUNT))
        # In the head of an answer, in its first event, and later.
        async with (
            cutting(address, 30, 300, 5000, 4321) as (proxy, made),
            AsyncDeemster(proxy.url, token) as cut_off,
        ):
            events = [each async for each in cut_off.executions.events(started.execution_id)]
        assert len(made) == 5
        end = events[-1]
        assert isinstance(end, ExecutionSummary)
        assert end.status == "COMPLETED"
        shown = await judge.executions.get(started.execution_id)
        for stream, whole in (("stdout", shown.stdout), ("stderr", shown.stderr)):
            pieces = [
                each.text
                for each in events
                if isinstance(each, Output) and each.stream == stream
            ]
            assert "".join(pieces) == whole
        numbers = [*map(int, shown.stdout.split()), *map(int, shown.stderr.split())]
        assert sorted(numbers) == list(range(LINES))
        statuses = [each.status for each in events if isinstance(each, StatusChange)]
        assert statuses == sorted(set(statuses)), "each status is told once"


async def test_e7_a_terminal_that_is_cut_off_comes_back(served: tuple[Address, str]) -> None:
    """Lines are typed by requests: what is under way on a cut connection may be lost."""
    lost: list[str] = []
    address, token = served
    async with (
        cutting(address, 600, 500, 400) as (proxy, made),
        AsyncDeemster(address.url, token) as judge,
        AsyncDeemster(proxy.url, token) as cut_off,
        asyncio.timeout(PATIENCE_S),
    ):
        started = await judge.executions.start(Program("python3", ECHO, io="terminal"))
        await judge.executions.type_input(started.execution_id, "x\r")
        shown, typed = b"", 1
        async with cut_off.executions.terminal(
            started.execution_id, on_lost=lambda: lost.append("lost")
        ) as terminal:
            async for event in terminal:
                shown += event.content if isinstance(event, Output) else b""
                if shown.count(b"got x\r\n") < typed:
                    continue
                typed += 1
                if typed <= TYPED:
                    await judge.executions.type_input(started.execution_id, "x\r")
                elif typed == TYPED + 1:
                    await terminal.type_input("\x04")
        assert isinstance(event, ExecutionSummary)
        assert event.status == "COMPLETED"
        assert (len(lost), len(made)) == (3, 4)
        whole = await judge.executions.get(started.execution_id)
        assert shown == whole.stdout_bytes
        assert shown.count(b"got x\r\n") == TYPED
        with pytest.raises(ConflictError, match="has ended"):
            await terminal.type_input("x")
        with pytest.raises(NotFoundError):
            async with judge.executions.terminal("exe_unknown") as unknown:
                await anext(aiter(unknown))


async def test_every_example_of_the_documentation_prints_what_it_says(
    served: tuple[Address, str],
) -> None:
    address, token = served
    text = PAGE.read_text(encoding="utf-8")
    examples = EXAMPLE.findall(text)
    assert len(examples) == text.count("```python\n") > 5
    environment = {**os.environ, "DEEMSTER_URL": address.url, "DEEMSTER_TOKEN": token}
    for code, expected in examples:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-W", "error", "-c", code),
            env=environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(PATIENCE_S):
            printed, complaints = await process.communicate()
        assert complaints.decode() == "", code
        assert printed.decode() == expected, code
