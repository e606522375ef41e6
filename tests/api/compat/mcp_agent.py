"""An agent: the official client of MCP, which calls the tools of an app in this process."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import httpx2
from fastapi import FastAPI
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult

from tests.api.conftest import Api, catch_up_with_events

MODES = ["2026-07-28", "legacy"]
"""Both generations of the protocol."""
PROGRAM = {"language": "python", "source_code": "print(1)"}


def app_of(api: Api) -> FastAPI:
    transport = api.client._transport
    assert isinstance(transport, httpx.ASGITransport)
    assert isinstance(transport.app, FastAPI)
    return transport.app


@asynccontextmanager
async def agent(
    api: Api, mode: str = MODES[0], token: str | None = None
) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"} if token else api.user.headers
    transport: Any = httpx2.ASGITransport(app=app_of(api))
    async with (
        httpx2.AsyncClient(transport=transport, headers=headers) as http,
        Client(streamable_http_client("http://judge/mcp", http_client=http), mode=mode) as it,
    ):
        await catch_up_with_events(api.client)
        yield it


async def call(api: Api, tool: str, arguments: dict[str, Any], **options: str) -> Any:
    """The structured result of a tool that must succeed."""
    async with agent(api, **options) as client:
        return structured(await client.call_tool(tool, arguments))


def structured(result: CallToolResult) -> Any:
    assert not result.is_error, result.content
    # Clients that know no structured content read the same as text.
    assert json.loads(text_of(result)) == result.structured_content
    return result.structured_content


async def refusal(api: Api, tool: str, arguments: dict[str, Any], **options: str) -> str:
    """The message of a tool that must fail."""
    async with agent(api, **options) as client:
        result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert result.structured_content is None
    return text_of(result)


def text_of(result: CallToolResult) -> str:
    [content] = result.content
    assert content.type == "text"
    return content.text
