"""Sends tasks to judge hosts that have an address, signed with the host's key (M1)."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import httpx

from deemster.domain.errors import Unavailable
from deemster.domain.judge_host import HostKey, JudgeHostId
from deemster.domain.request_signature import signed_headers
from deemster.pipeline.remote.messages import HostTask
from deemster.public_addresses import (
    BadDestination,
    DestinationFault,
    Lookup,
    Network,
    checked_addresses,
    look_up,
    target_of,
)
from deemster.store import judge_hosts
from deemster.store.pool import Pool, connection
from deemster.store.remote_tasks import HostRoom

TIMEOUT_S: Final = 10.0
REASONS: Final = {
    DestinationFault.UNREADABLE: "this URL can't be read.",
    DestinationFault.UNKNOWN_NAME: "no address of this name was found.",
    DestinationFault.NOT_ALLOWED: "this address is not public, and the setting "
    "judge_host_networks does not list its network.",
}
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
    networks: Sequence[Network] = ()
    """Networks that are not public, but in which hosts may be."""
    look_up: Lookup = look_up

    async def __call__(self, room: HostRoom, task: HostTask) -> None:
        """Raises HostUnreachable if the host does not accept the task."""
        assert room.address is not None, "a host without an address fetches its tasks"
        async with connection(self.pool) as acquired:
            host = await judge_hosts.find(acquired, room.host)
        if host is None:
            raise HostUnreachable(f"There is no judge host {room.host} any more.")
        target = target_of(f"{room.address.rstrip('/')}/tasks")
        key = self.derive_key(room.host, host.generation)
        body = task.model_dump_json().encode()
        headers = signed_headers(
            key.secret,
            room.host,
            "POST",
            urlsplit(str(target)).path,
            "",
            body,
            now_s=time.time(),
        )
        try:
            async with asyncio.timeout(TIMEOUT_S):
                status = await self._post(target, headers, body)
        except BadDestination as fault:
            raise HostUnreachable(
                f"The judge host {host.name} is not sent tasks at {room.address}: "
                f"{REASONS[fault.fault]}"
            ) from fault
        except (httpx.HTTPError, TimeoutError) as fault:
            raise HostUnreachable(
                f"The judge host {host.name} can't be reached at {room.address}: "
                f"{type(fault).__name__}."
            ) from fault
        if status != ACCEPTED:
            raise HostUnreachable(f"The judge host {host.name} answered {status} to a task.")

    async def _post(self, target: httpx.URL, headers: Mapping[str, str], body: bytes) -> int:
        """Connects to an address that was checked, whatever the name means by then (H3)."""
        [address, *_] = await checked_addresses(target, self.look_up, allowed=self.networks)
        async with self.http.stream(
            "POST",
            target.copy_with(host=str(address)),
            content=body,
            headers={**headers, "Host": target.netloc.decode("ascii")},
            extensions={"sni_hostname": target.raw_host.decode("ascii")},
            timeout=TIMEOUT_S,
        ) as answer:
            # Only the status counts: a hostile host could send a body without an end.
            return answer.status_code
