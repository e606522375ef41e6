"""Sends tasks to judge hosts that have an address, signed with the host's key (M1)."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import httpx

from deemster.domain.errors import Unavailable
from deemster.domain.judge_host import HostKey, JudgeHostId
from deemster.domain.request_signature import signed_headers
from deemster.pipeline.remote.messages import HostTask
from deemster.store import judge_hosts
from deemster.store.pool import Pool, connection
from deemster.store.remote_tasks import HostRoom

TIMEOUT_S: Final = 10.0
ACCEPTED: Final = 202

DeriveKey = Callable[[JudgeHostId, int], HostKey]
"""Derives the key of a host from its id and generation."""


class HostUnreachable(Unavailable):
    """A host did not accept a task."""


@dataclass(frozen=True, slots=True)
class TaskPusher:
    pool: Pool
    http: httpx.AsyncClient
    derive_key: DeriveKey

    async def __call__(self, room: HostRoom, task: HostTask) -> None:
        """Raises HostUnreachable if the host does not accept the task."""
        assert room.address is not None, "a host without an address fetches its tasks"
        async with connection(self.pool) as acquired:
            host = await judge_hosts.find(acquired, room.host)
        if host is None:
            raise HostUnreachable(f"There is no judge host {room.host} any more.")
        url = f"{room.address.rstrip('/')}/tasks"
        key = self.derive_key(room.host, host.generation)
        body = task.model_dump_json().encode()
        path = urlsplit(url).path
        headers = signed_headers(
            key.secret, room.host, "POST", path, "", body, now_s=time.time()
        )
        try:
            answer = await self.http.post(url, content=body, headers=headers, timeout=TIMEOUT_S)
        except httpx.HTTPError as fault:
            raise HostUnreachable(
                f"The judge host {host.name} can't be reached at {room.address}: "
                f"{type(fault).__name__}."
            ) from fault
        if answer.status_code != ACCEPTED:
            raise HostUnreachable(
                f"The judge host {host.name} answered {answer.status_code} to a task."
            )
