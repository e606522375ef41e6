"""A client as a careful one is: it repeats what was not answered, with the same key."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from deemster.domain.account import Role
from deemster.domain.ids import ExecutionId, SubmissionId
from deemster.store import accounts
from deemster.store.pool import connection
from tests.builders import make_account
from tests.system.programs import Program
from tests.system.service import PROBLEM, Service
from tests.waiting import PATIENCE_S, until

PAUSE_S = 0.05
MAY_PASS = {503}
"""Answers that say: try again."""


@dataclass(frozen=True, slots=True)
class Client:
    http: httpx.AsyncClient
    token: str

    @property
    def terminal_url(self) -> str:
        return str(self.http.base_url).replace("http", "ws", 1).rstrip("/")

    async def submit(self, program: Program, key: str) -> SubmissionId:
        body = {
            "problem_id": PROBLEM,
            "language": program.language,
            "source_code": program.source,
        }
        headers = {"Idempotency-Key": key}
        answer = await self._insist("POST", "/v1/submissions", json=body, headers=headers)
        assert answer.status_code == 202, answer.text
        return SubmissionId(answer.json()["id"])

    async def execute(self, body: dict[str, Any], key: str) -> ExecutionId:
        headers = {"Idempotency-Key": key}
        answer = await self._insist("POST", "/v1/executions", json=body, headers=headers)
        assert answer.status_code == 202, answer.text
        return ExecutionId(answer.json()["execution_id"])

    async def execution(self, execution: ExecutionId) -> dict[str, Any]:
        answer = await self._insist("GET", f"/v1/executions/{execution}")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def look(self, submission: SubmissionId) -> dict[str, Any]:
        answer = await self._insist("GET", f"/v1/submissions/{submission}")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def analysis(self, work: SubmissionId | ExecutionId) -> dict[str, Any]:
        """The SARIF log, when the analysis has ended."""
        kind = "executions" if work.startswith("exe_") else "submissions"

        async def look() -> httpx.Response | None:
            answer = await self._insist("GET", f"/v1/{kind}/{work}/analysis")
            return None if answer.status_code == 409 else answer

        answer = await until(look)
        assert answer is not None
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def cancel(self, submission: SubmissionId) -> int:
        """The status code."""
        return (await self._insist("DELETE", f"/v1/submissions/{submission}")).status_code

    async def post(self, path: str) -> dict[str, Any]:
        answer = await self._insist("POST", path)
        assert answer.is_success, answer.text
        told: dict[str, Any] = answer.json()
        return told

    async def _insist(self, method: str, path: str, **options: Any) -> httpx.Response:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                try:
                    answer = await self.http.request(method, path, **options)
                except httpx.TransportError:
                    pass  # nobody listens, or they died in the middle
                else:
                    if answer.status_code not in MAY_PASS:
                        return answer
                await asyncio.sleep(PAUSE_S)


@asynccontextmanager
async def client_of(service: Service, port: int) -> AsyncIterator[Client]:
    """An admin's: they may submit as often as they like, and see all."""
    account = await make_account(service.pool, "admin", Role.ADMIN)
    async with connection(service.pool) as acquired:
        token = await accounts.add_token(acquired, account, "test")
    async with httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{port}",
        headers={"Authorization": f"Bearer {token}"},
        timeout=10,
        verify=False,
    ) as http:
        yield Client(http, token)
