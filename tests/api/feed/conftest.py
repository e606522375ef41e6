"""The app on a real socket, because only there responses arrive piece by piece."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import httpx
import pytest
import uvicorn
from fastapi import FastAPI

from deemster.api.feed.feed import Feed
from tests.waiting import PATIENCE_S, until


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """Replaces the client that waits for whole responses."""
    config = uvicorn.Config(
        app, host="127.0.0.1", port=0, http="httptools", log_config=None, access_log=False
    )
    server = uvicorn.Server(config)
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]
    async with asyncio.TaskGroup() as group:
        group.create_task(server.serve())
        await until(lambda: server.started)
        listening = server.servers[0].sockets[0]
        # The server notices after few events that a client does not read.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        port = listening.getsockname()[1]
        url = f"http://127.0.0.1:{port}"
        async with httpx.AsyncClient(base_url=url, timeout=PATIENCE_S, verify=False) as opened:
            yield opened
        app.state.app_state.drain()
        server.should_exit = True


@pytest.fixture
def feed(app: FastAPI) -> Feed:
    found: Feed = app.state.app_state.feed
    return found
