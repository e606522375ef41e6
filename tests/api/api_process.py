"""Separate API apps with a clock that the test sets."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import httpx
from fastapi import FastAPI

from deemster.api.app import create_app
from deemster.cache.cache import Cache
from deemster.domain.ids import SubmissionId
from tests.api.conftest import Api, MakeDependencies, running


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@dataclass(frozen=True, slots=True)
class Process:
    client: httpx.AsyncClient
    app: FastAPI
    clock: Clock

    async def get(self, api: Api, path: str, **headers: str) -> httpx.Response:
        """Sends the request at once: this process may not have read all events yet."""
        return await self.client.get(path, headers={**api.user.headers, **headers})

    async def status(self, api: Api, submission: SubmissionId) -> str:
        answer = await self.get(api, f"/v1/submissions/{submission}")
        return str(answer.json()["status"])

    async def read_events(self) -> None:
        await self.app.state.app_state.feed.catch_up()

    def forget_revision(self) -> None:
        """Happens by itself after a second."""
        self.app.state.app_state.cache_invalidation.forget_problems()


@asynccontextmanager
async def process(
    make_dependencies: MakeDependencies, url: str | None = None, **settings: object
) -> AsyncIterator[Process]:
    clock = Clock()
    async with Cache.open(url, "test", clock=clock) as cache:
        app = create_app(replace(make_dependencies(**settings), cache=cache))
        async with running(app) as client:
            await app.state.app_state.feed.catch_up()
            yield Process(client, app, clock)
