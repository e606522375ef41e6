"""F5: MCP over HTTP: what is refused before a tool is called, clients that leave, the extra."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Message

from deemster.cli.exit_codes import ExitCode
from deemster.store.pool import Pool, connection
from tests.api.compat.conftest import SettlingWorker, compatible
from tests.api.compat.mcp_agent import MODES, PROGRAM, agent, app_of, refusal
from tests.api.conftest import Api, MakeDependencies
from tests.waiting import PATIENCE_S, until


async def test_too_many_requests_are_answered_with_429(
    make_dependencies: MakeDependencies, pool: Pool
) -> None:
    async with compatible(make_dependencies, pool, requests_per_second_user=1) as ada:
        answers = await asyncio.gather(*(ada.post("/mcp", {}) for _ in range(50)))
        refused = next(each for each in answers if each.status_code == 429)
        assert int(refused.headers["retry-after"]) >= 1
        assert "You send requests too fast" in refused.json()["error"]["message"]


@pytest.mark.parametrize(
    ("origin", "settings", "is_allowed"),
    [
        ("http://judge", {}, False),
        ("null", {}, False),
        ("https://judge.example", {"public_url": "https://Judge.example/x"}, True),
        ("https://evil.example", {"public_url": "https://judge.example"}, False),
        ("https://ide.example", {"cors_origins": ["https://ide.example"]}, True),
        ("https://ide.example", {"cors_origins": ["*"]}, True),
    ],
)
async def test_a_web_page_needs_an_allowed_origin(
    make_dependencies: MakeDependencies,
    pool: Pool,
    origin: str,
    settings: dict[str, Any],
    is_allowed: bool,
) -> None:
    """An origin that equals Host may come from a page that uses DNS rebinding."""
    async with compatible(make_dependencies, pool, **settings) as ada:
        headers = {**ada.user.headers, "Origin": origin}
        answer = await ada.client.post("/mcp", content=b"no JSON", headers=headers)
        assert answer.status_code == (400 if is_allowed else 403)


@pytest.mark.parametrize("body", [b"", b"no JSON", b"[]", b'{"a": NaN}', b'{"a": "\\ud800"}'])
async def test_a_body_that_is_no_json_object_is_malformed(ada: Api, body: bytes) -> None:
    headers = {**ada.user.headers, "MCP-Protocol-Version": MODES[0]}
    answer = await ada.client.post("/mcp", content=body, headers=headers)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == -32700


async def test_there_are_no_streams_and_sessions(ada: Api) -> None:
    for method in ("GET", "DELETE"):
        answer = await ada.client.request(method, "/mcp", headers=ada.user.headers)
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_that_leaves_ends_its_program_and_its_tasks(
    ada: Api, pool: Pool, worker: SettlingWorker, mode: str
) -> None:
    async with agent(ada, mode) as client:  # libraries may start tasks that stay
        await client.call_tool("list_languages", {})
    before = asyncio.all_tasks()
    left = asyncio.Event()
    body = request_body("run_code", PROGRAM)
    parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if parts:
            return parts.pop()
        await left.wait()
        return {"type": "http.disconnect"}

    async def send(_message: Message) -> None:
        pass

    async def state_is(wanted: str) -> bool:
        async with connection(pool) as acquired:
            return bool(await acquired.fetchval("SELECT state FROM work") == wanted)

    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        group.create_task(app_of(ada)(scope_of(ada, mode), receive, send))
        await until(lambda: state_is("PENDING"))
        left.set()
    assert await state_is("CANCELLED")
    await until(lambda: asyncio.all_tasks() <= before)  # the pool takes its connections back


def request_body(tool: str, arguments: dict[str, Any]) -> bytes:
    prefix = "io.modelcontextprotocol/"
    meta = {f"{prefix}protocolVersion": MODES[0], f"{prefix}clientCapabilities": {}}
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    return json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    ).encode()


def scope_of(api: Api, mode: str) -> dict[str, Any]:
    headers = {
        **api.user.headers,
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    if mode == MODES[0]:
        headers |= {
            "MCP-Protocol-Version": mode,
            "Mcp-Method": "tools/call",
            "Mcp-Name": "run_code",
        }
    return {
        "type": "http",
        "method": "POST",
        "path": "/mcp",
        "query_string": b"",
        "headers": [(name.lower().encode(), each.encode()) for name, each in headers.items()],
        "client": ("192.0.2.1", 1),
    }


async def test_a_server_that_ends_does_not_wait_for_programs(
    ada: Api, pool: Pool, worker: SettlingWorker
) -> None:
    app_of(ada).state.app_state.feed.drain()
    assert "was cancelled: try again later" in await refusal(ada, "run_code", PROGRAM)
    async with connection(pool) as acquired:
        assert await acquired.fetchval("SELECT state FROM work") == "CANCELLED"


def test_without_the_extra_the_api_does_not_start(
    database_url: str, redis_url: str, tmp_path: Path
) -> None:
    settings = {
        "DATABASE_URL": database_url,
        "QUEUE_URL": redis_url,
        "DATA_DIR": str(tmp_path),
        "PORT": "0",
        "COMPAT": "mcp",
    }
    code = (
        "import sys; sys.modules['mcp'] = None; sys.argv = ['deemster', 'api'];"
        "from deemster.cli.app import main; main()"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **{f"DEEMSTER_{name}": each for name, each in settings.items()}},
        capture_output=True,
        check=False,
        text=True,
        timeout=PATIENCE_S,
    )
    assert ended.returncode == ExitCode.UNABLE
    *_, line = ended.stderr.splitlines()
    assert "The setting compat names mcp" in line
    assert "pip install 'deemster[mcp]'" in line


def test_the_api_does_not_import_the_sdk_unless_it_is_switched_on() -> None:
    code = "import sys, deemster.api.app; sys.exit('mcp' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENCE_S)
