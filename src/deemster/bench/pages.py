"""Measures the web pages: how long the server takes, and when open pages learn of a change."""

import asyncio
import gzip
import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from deemster.api.auth.cookies import SESSION
from deemster.bench.burst import Queue, start_roles
from deemster.bench.latency import quantile, verdict_ms
from deemster.bench.load import bare_page
from deemster.bench.load.api_client import ApiClient
from deemster.bench.load.connection import HttpConnection
from deemster.bench.load.processes import free_address, module, running, until_answered
from deemster.bench.load.service import (
    ADMIN,
    PROBLEM,
    BenchService,
    open_service,
    submission_body,
)
from deemster.bench.machine import describe_machine
from deemster.bench.status import ENDED
from deemster.bench.status import insert as insert_submissions
from deemster.bench.streams import (
    TIMEOUT_S,
    StreamReaders,
    advance,
    insert_one_each,
    percentile,
)
from deemster.domain.errors import Unavailable
from deemster.domain.lifecycle import Event
from deemster.pipeline.judge.verify.progress import Progress
from deemster.store import accounts, sessions
from deemster.store.pool import connection, transaction
from deemster.wiring.address import Address

PROBLEMS: Final = 500
SUBMISSIONS: Final = 2000
ACCOUNTS: Final = 50
"""The open pages belong to so many accounts."""
WARM_UP: Final = 5
PAUSE_S: Final = 0.05
SESSION_S: Final = 3600.0
MANY: Final = 1_000_000
"""A limit that nobody reaches."""
BARE: Final = "bare"
COPIES: Final = (
    """INSERT INTO problem SELECT (jsonb_populate_record(p, jsonb_build_object(
        'id', 'prob_copy' || n))).* FROM problem p, generate_series(1, $1) n WHERE id = $2""",
    """INSERT INTO problem_revision SELECT (jsonb_populate_record(r, jsonb_build_object(
        'problem_id', 'prob_copy' || n, 'title', 'Problem ' || n))).*
        FROM problem_revision r, generate_series(1, $1) n WHERE problem_id = $2""",
)
"""As many problems as a school collects over the years."""


@dataclass(frozen=True, slots=True)
class Plan:
    rounds: int
    open_pages: int
    changes: int


@dataclass(frozen=True, slots=True)
class Target:
    """A page, as one visitor asks for it."""

    path: str
    cookie: str = ""
    is_part: bool = False
    """Whether the script of an open page asks, which replaces only a part of it."""

    def request(self) -> bytes:
        head = f"GET {self.path} HTTP/1.1\r\nHost: bench\r\nAccept: text/html\r\n"
        head += f"Cookie: {SESSION}={self.cookie}\r\n" if self.cookie else ""
        head += "HX-Request: true\r\n" if self.is_part else ""
        return f"{head}\r\n".encode()


async def measure(plan: Plan, directory: Path | None, progress: Progress) -> dict[str, Any]:
    async with open_service(directory, ACCOUNTS) as service:
        async with (
            start_roles(service, Queue.POSTGRES, requests_per_second_user=MANY) as address,
            start_bare(service) as bare,
        ):
            targets = await make_targets(service, address)
            pages = await measure_pages(address, bare, targets, plan.rounds, progress)
        # Without the other roles, which would change the submissions as well.
        async with start_roles(
            service,
            Queue.POSTGRES,
            roles=("api",),
            ready_path="/healthz",
            requests_per_second_user=MANY,
        ) as address:
            told = await measure_changes(service, address, plan)
    return {
        "pages": pages,
        "changes": told,
        "problems": PROBLEMS,
        "submissions": SUBMISSIONS,
        "rounds": plan.rounds,
        "machine": describe_machine(),
    }


@asynccontextmanager
async def start_bare(service: BenchService) -> AsyncIterator[Address]:
    address, log = free_address(), service.log(BARE)
    environment = service.environment(host=address.host, port=address.port)
    async with running(module(bare_page.__name__), environment, log) as process:
        await until_answered(address, "/healthz", process, log)
        yield address


async def make_targets(service: BenchService, address: Address) -> dict[str, Target]:
    """Pages of a user and of an admin, with many rows in their lists."""
    async with transaction(service.pool) as acquired:
        for statement in COPIES:
            await acquired.execute(statement, PROBLEMS - 1, PROBLEM)
    async with connection(service.pool) as acquired:
        viewer = await accounts.find_by_name(acquired, "user0")
    assert viewer is not None
    await insert_submissions(service, viewer, ENDED, SUBMISSIONS)
    async with ApiClient.open(address, service.tokens[0]) as api:
        await verdict_ms(api, submission_body())
        newest = json.loads(await api.request("GET", "/v1/submissions?limit=1"))
    submission = newest["items"][0]["id"]
    user, admin = await log_in(service, "user0"), await log_in(service, ADMIN)
    return {
        "problems": Target("/problems", user),
        "problem": Target(f"/problems/{PROBLEM}", user),
        "submissions": Target("/submissions", user),
        "submission": Target(f"/submissions/{submission}", user),
        "submission, updated": Target(f"/submissions/{submission}", user, is_part=True),
        "verdict": Target("/verdicts/wrong-answer"),
        "account": Target("/account", user),
        "admin: overview": Target("/admin", admin),
        "admin: workers": Target("/admin/workers", admin),
        "admin: submissions": Target("/admin/submissions", admin),
        "admin: jury's view": Target(f"/admin/submissions/{submission}", admin),
        "admin: problems": Target("/admin/problems", admin),
        "admin: users": Target("/admin/users", admin),
        "admin: audit log": Target("/admin/audit", admin),
        "admin: settings": Target("/admin/settings", admin),
    }


async def log_in(service: BenchService, name: str) -> str:
    """Returns the value of the session cookie."""
    async with connection(service.pool) as acquired:
        account = await accounts.find_by_name(acquired, name)
        assert account is not None
        session = await sessions.begin(acquired, account.id, keep_s=SESSION_S)
    assert session is not None
    return session.secret


async def measure_pages(
    address: Address,
    bare: Address,
    targets: Mapping[str, Target],
    rounds: int,
    progress: Progress,
) -> dict[str, dict[str, float]]:
    """The bare answer and all pages take turns, one request after another."""
    api = await HttpConnection.connect(address.local_host, address.port)
    other = await HttpConnection.connect(bare.local_host, bare.port)
    asked = {
        BARE: (other, Target("/page")),
        **{name: (api, each) for name, each in targets.items()},
    }
    took_ms: dict[str, list[float]] = {name: [] for name in asked}
    bodies: dict[str, bytes] = {}
    try:
        with progress.step("Measuring pages", WARM_UP + rounds) as advanced:
            for _ in range(WARM_UP + rounds):
                for name, (client, target) in asked.items():
                    began_s = time.perf_counter()
                    status, bodies[name] = await client.request(target.request())
                    took_ms[name].append((time.perf_counter() - began_s) * 1000)
                    if status != 200:
                        raise Unavailable(f"{target.path} was answered with {status}.")
                advanced()
    finally:
        api.close()
        other.close()
    bare_ms = quantile(sorted(took_ms[BARE][WARM_UP:]), 0.5)
    return {
        name: page_figures(sorted(each[WARM_UP:]), bare_ms, bodies[name])
        for name, each in took_ms.items()
    }


def page_figures(ordered_ms: list[float], bare_ms: float, body: bytes) -> dict[str, float]:
    return {
        "p50_ms": round(quantile(ordered_ms, 0.5), 2),
        "p99_ms": round(quantile(ordered_ms, 0.99), 2),
        "ratio": round(quantile(ordered_ms, 0.5) / bare_ms, 1),
        "gzipped_bytes": len(gzip.compress(body)),
    }


async def measure_changes(
    service: BenchService, address: Address, plan: Plan
) -> dict[str, float]:
    """Every open page follows the events of its submission, and learns of each change."""
    names = [f"user{number}" for number in range(min(ACCOUNTS, plan.open_pages))]
    submissions = await insert_one_each(service, names)
    paths = [f"/v1/submissions/{each}/events" for each in submissions]
    readers = StreamReaders(plan.open_pages - plan.open_pages % len(names))
    await readers.connect(address, service.tokens[: len(names)], paths)
    # A stream begins with the event that has been: the submission came.
    async with asyncio.timeout(TIMEOUT_S):
        await readers.all_received.wait()
    last_s, each_s = [], []
    for event in (Event.PUBLISH, *[Event.RESEND] * (plan.changes - 1)):
        slowest_s, all_s = await advance(service, readers, submissions, event)
        last_s.append(slowest_s)
        each_s += all_s
        await asyncio.sleep(PAUSE_S)
    return {
        "open_pages": readers.opened,
        "changes": plan.changes,
        "each_p50_ms": percentile(each_s, 0.5),
        "each_p99_ms": percentile(each_s, 0.99),
        "last_p50_ms": percentile(last_s, 0.5),
        "last_p99_ms": percentile(last_s, 0.99),
    }
