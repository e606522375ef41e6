"""A client of Server-Sent Events."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from deemster.domain.ids import SubmissionId
from deemster.domain.verdict import Verdict
from deemster.pipeline.verdict.attempt import settle
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool
from tests.api.conftest import Api
from tests.api.judgements import JUDGEMENTS
from tests.builders import queue_submission, start_submission
from tests.waiting import PATIENCE_S


@dataclass(frozen=True, slots=True)
class Block:
    """The lines between two empty lines."""

    id: str | None = None
    event: str | None = None
    data: str | None = None
    comment: str | None = None
    retry: str | None = None

    @property
    def content(self) -> dict[str, Any]:
        assert self.data is not None, self
        found: dict[str, Any] = json.loads(self.data)
        return found


def block_of(lines: list[str]) -> Block:
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        assert (name or "comment") not in fields, lines
        fields[name or "comment"] = value.removeprefix(" ")
    return Block(**fields)


class EventClient:
    def __init__(self, answer: httpx.Response) -> None:
        self.answer = answer
        self._lines = answer.aiter_lines()

    async def block(self) -> Block | None:
        """Returns None at the end of the stream."""
        lines: list[str] = []
        async with asyncio.timeout(PATIENCE_S):
            async for line in self._lines:
                if not line:
                    return block_of(lines)
                lines.append(line)
        assert not lines, lines
        return None

    async def next_event(self) -> Block | None:
        """Returns the next event; skips heartbeats and other comments."""
        while True:
            block = await self.block()
            if block is None or block.event is not None:
                return block

    async def event(self) -> Block:
        block = await self.next_event()
        assert block is not None, "the stream is over"
        return block

    async def rest(self) -> list[Block]:
        """Returns all events until the end."""
        found = []
        while (block := await self.next_event()) is not None:
            found.append(block)
        return found


@asynccontextmanager
async def open_stream(
    api: Api, path: str, last: str | None = None
) -> AsyncIterator[EventClient]:
    headers = {**api.user.headers, **({"Last-Event-ID": last} if last is not None else {})}
    async with api.client.stream("GET", path, headers=headers) as answer:
        assert answer.status_code == 200, await answer.aread()
        yield EventClient(answer)


async def finish(pool: Pool, artifacts: Artifacts, submission: SubmissionId) -> None:
    """Judges a queued submission."""
    await queue_submission(pool, submission)
    running = await start_submission(pool, submission)
    await settle(pool, artifacts, running, JUDGEMENTS[Verdict.ACCEPTED])
