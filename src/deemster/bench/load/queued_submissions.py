"""Submits many programs at once, and waits until all of them are judged."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from typing import Final

from deemster.bench.load.api_client import ApiClient
from deemster.bench.load.service import BenchService
from deemster.domain.errors import Unavailable
from deemster.store import consistency
from deemster.store.pool import connection
from deemster.wiring.address import Address

CONNECTIONS: Final = 4
POLL_S: Final = 0.2
STUCK_S: Final = 120.0


async def submit_all(address: Address, token: str, bodies: Iterator[str]) -> list[str]:
    """Returns the ids of the accepted submissions."""
    ids: list[str] = []

    async def send_some() -> None:
        async with ApiClient.open(address, token) as api:
            for body in bodies:
                accepted = await api.request("POST", "/v1/submissions", body)
                ids.append(json.loads(accepted)["id"])

    async with asyncio.TaskGroup() as group:
        for _ in range(CONNECTIONS):
            group.create_task(send_some())
    return ids


async def judged_s(service: BenchService, ids: Sequence[str], judged_by: str) -> float:
    """Waits for all verdicts; returns the seconds from the first start to the last verdict."""
    left, now = len(ids), asyncio.get_running_loop().time
    changed_at = now()
    while True:
        async with connection(service.pool) as acquired:
            before, left = left, await consistency.count_unended(acquired, ids)
            if not left:
                found = await consistency.count_rows(acquired, ids)
                took_s = await consistency.judged_s(acquired, ids)
                break
        if left < before:
            changed_at = now()
        if now() - changed_at > STUCK_S:
            raise Unavailable(
                f"No submission was judged ({judged_by}) for {STUCK_S:g} s: try fewer."
            )
        await asyncio.sleep(POLL_S)
    if found.unjudged:
        raise Unavailable(f"{found.unjudged} submissions got no verdict ({judged_by}).")
    return took_s
