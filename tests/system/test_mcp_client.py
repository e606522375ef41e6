"""F5: the unmodified client of MCP against a running service, over HTTP."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult

from deemster.domain.account import Role
from deemster.store import accounts
from deemster.store.pool import connection
from tests.builders import make_account
from tests.system.conftest import RunningService
from tests.system.programs import RIGHT, WRONG, Program
from tests.system.service import PROBLEM, Service
from tests.waiting import PATIENCE_S, until, until_ready

pytestmark = pytest.mark.asyncio(loop_scope="module")

MODES = ["auto", "legacy"]
GREET = {"language": "python3", "source_code": "print('Hello,', input())", "stdin": "Ada"}
SLOW = {
    "language": "python",
    "source_code": "while True: pass",
    "limits": {"wall_time_ms": 500},
}
ENDLESS = {"language": "bash", "source_code": "sleep 1000"}
SETTINGS = {"compat": "mcp", "executions_per_minute_user": 1, "submit_interval_s": 3600}
"""Admins are exempt from the limits."""


@asynccontextmanager
async def agent(url: str, token: str, mode: str) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


async def token_of(service: Service, name: str, role: Role) -> str:
    account = await make_account(service.pool, name, role)
    async with connection(service.pool) as acquired:
        return await accounts.add_token(acquired, account, "test")


async def test_an_agent_calls_every_tool(own_service: RunningService) -> None:
    service, url = own_service.service, own_service.address.url
    for mode in MODES:
        token = await token_of(service, f"root-{mode}", Role.ADMIN)
        async with agent(url, token, mode) as client:
            await check_tools(client)
        token = await token_of(service, f"eager-{mode}", Role.USER)
        async with agent(url, token, mode) as client:
            await check_limits(client)
    async with agent(url, "wrong", "2026-07-28") as client:
        with pytest.raises(MCPError, match="This token is unknown"):
            await client.list_tools()


async def check_tools(client: Client) -> None:
    assert client.server_info is not None
    assert client.server_info.name == "deemster"
    called = {
        "list_languages": await call(client, "list_languages"),
        "list_problems": await call(client, "list_problems"),
        "read_problem": await call(client, "read_problem", problem_id=PROBLEM),
        "run_code": await call(client, "run_code", **GREET),
        "submit": await call(client, "submit", **solution(RIGHT)),
    }
    right = called["submit"]["id"]
    called["read_verdict"] = await call(client, "read_verdict", submission_id=right)
    assert set(called) == {each.name for each in (await client.list_tools()).tools}

    assert "python3" in [each["id"] for each in called["list_languages"]["languages"]]
    assert [each["id"] for each in called["list_problems"]["items"]] == [PROBLEM]
    assert called["read_problem"]["samples"][0]["input"]
    assert called["read_verdict"]["verdict"] == "Accepted"
    greeted = called["run_code"]
    assert (greeted["status"], greeted["exit_code"]) == ("COMPLETED", 0)
    assert (greeted["stdout"], greeted["stderr"]) == ("Hello, Ada\n", "")
    assert greeted["memory_kb"] > 0

    slow = await call(client, "run_code", **SLOW)
    assert (slow["status"], slow["exit_code"]) == ("TIMEOUT", 124)
    assert slow["error_type"] == "TimeoutError"
    wrong = (await call(client, "submit", **solution(WRONG)))["id"]
    assert (await call(client, "read_verdict", submission_id=wrong))["verdict"] == (
        "Wrong Answer"
    )
    unknown = await client.call_tool("read_problem", {"problem_id": "prob_unknown"})
    assert "There is no such problem" in refusal(unknown)


async def check_limits(client: Client) -> None:
    await call(client, "run_code", **GREET)
    again = await client.call_tool("run_code", GREET)
    assert "You run programs too fast: try again in" in refusal(again)
    await call(client, "submit", **solution(RIGHT))
    again = await client.call_tool("submit", solution(RIGHT))
    assert "a moment ago: try again in" in refusal(again)


async def test_an_agent_that_cancels_ends_its_program(own_service: RunningService) -> None:
    """The same if the API ends: it tells the agent, and does not wait for the program."""
    service, url = own_service.service, own_service.address.url
    token = await token_of(service, "root", Role.ADMIN)
    async with agent(url, token, "auto") as client:
        async with asyncio.TaskGroup() as group:
            running = group.create_task(client.call_tool("run_code", ENDLESS))
            await until(lambda: is_in_state(service, "RUNNING"))
            running.cancel()
        await until(lambda: is_in_state(service, "CANCELLED"))
    for mode in MODES:
        async with agent(url, token, mode) as client, asyncio.TaskGroup() as group:
            running = group.create_task(client.call_tool("run_code", ENDLESS))
            await until(lambda: is_in_state(service, "RUNNING"))
            [api] = service.fleet.running("api")
            assert await service.fleet.leave(api) == 0
        assert "was cancelled: try again later" in refusal(running.result())
        service.start("api")
        await until_ready(url)


async def is_in_state(service: Service, state: str) -> bool:
    """The newest execution."""
    newest = """
    SELECT state FROM work JOIN execution ON work_id = id ORDER BY id DESC LIMIT 1
    """
    return bool(await service.value(newest) == state)


def solution(program: Program) -> dict[str, Any]:
    return {
        "problem_id": PROBLEM,
        "language": program.language,
        "source_code": program.source,
    }


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


def refusal(result: CallToolResult) -> str:
    assert result.is_error
    [content] = result.content
    assert content.type == "text"
    return content.text
