"""Measures how many log-ins per second one API process handles, by kind of credentials."""

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx
import uvloop

from deemster.api.auth.passwords import hash_password
from deemster.api.user_import.class_list import ClassListRow
from deemster.api.user_import.log_ins import (
    CredentialsKind,
    ImportedLogIn,
    ImportPlan,
    import_class,
    prepare_class,
)
from deemster.bench.burst import Queue, start_roles
from deemster.bench.load.service import BenchService, open_service
from deemster.bench.machine import describe_machine
from deemster.domain.account import Role
from deemster.store.audit import Actor
from deemster.store.pool import transaction

CHOSEN: Final = "three plain words"
SESSION: Final = "/v1/session"
CONNECTIONS: Final = 16
"""Below the number of log-ins that wait for a slow hash; more would be refused."""


async def measure(count: int, slow_count: int, directory: Path | None) -> dict[str, Any]:
    async with (
        open_service(directory, 1) as service,
        start_roles(service, Queue.POSTGRES, roles=("api",), ready_path="/healthz") as address,
    ):
        figures = {}
        for kind, size in (("chosen", slow_count), ("generated", count), ("link", count)):
            began_s = time.perf_counter()
            made = await make_accounts(service, kind, size)
            import_s = time.perf_counter() - began_s
            timings = await log_in_all(address.url, made)
            figures[kind] = {**timings, "import_s": round(import_s, 2), "accounts": size}
    return {**figures, "connections": CONNECTIONS, "machine": describe_machine()}


async def make_accounts(service: BenchService, kind: str, count: int) -> list[ImportedLogIn]:
    chosen = CHOSEN if kind == "chosen" else None
    credentials = CredentialsKind.LINK if kind == "link" else CredentialsKind.PASSWORD
    rows = [
        ClassListRow(number, f"{kind}{number}", Role.USER, chosen, 0, None, {})
        for number in range(count)
    ]
    # All accounts share the chosen password: its hash is slow, and checked for each log-in.
    hashes = {CHOSEN: hash_password(CHOSEN)} if chosen else {}
    prepared = prepare_class(rows, hashes, ImportPlan("", credentials))
    async with transaction(service.pool) as acquired:
        done = await import_class(acquired, prepared, Actor("bench"))
    return done.log_ins


async def log_in_all(url: str, log_ins: list[ImportedLogIn]) -> dict[str, float]:
    waiting = iter(log_ins)
    took_s: list[float] = []
    limits = httpx.Limits(max_connections=CONNECTIONS)
    async with httpx.AsyncClient(base_url=url, limits=limits, timeout=60) as client:
        began_s = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for _ in range(CONNECTIONS):
                group.create_task(log_in_next(client, waiting, took_s))
        total_s = time.perf_counter() - began_s
    return {
        "per_s": round(len(took_s) / total_s, 1),
        "p50_ms": round(statistics.median(took_s) * 1000, 1),
    }


async def log_in_next(
    client: httpx.AsyncClient, waiting: Iterator[ImportedLogIn], took_s: list[float]
) -> None:
    for each in waiting:
        began_s = time.perf_counter()
        body: dict[str, str | None]
        if each.link is not None:
            path, body = f"{SESSION}/link", {"code": each.link.rpartition("/")[2]}
        else:
            path, body = SESSION, {"name": each.name, "password": each.password}
        answer = await client.post(path, json=body)
        answer.raise_for_status()
        client.cookies.clear()
        took_s.append(time.perf_counter() - began_s)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--slow-count", type=int, default=100)
    parser.add_argument("--data", type=Path)
    given = parser.parse_args()
    print(json.dumps(uvloop.run(measure(given.count, given.slow_count, given.data)), indent=1))


if __name__ == "__main__":
    main()
