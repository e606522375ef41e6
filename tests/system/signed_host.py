"""A judge host of a test: it signs its requests, and does what the test says."""

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from pydantic import BaseModel

from deemster.domain.judge_host import HostKey, derive_key
from deemster.domain.judgement import JuryCase, JuryJudgement
from deemster.domain.request_signature import signed_headers
from deemster.domain.verdict import Verdict
from deemster.pipeline.remote.messages import (
    Announcement,
    Finish,
    HeartbeatRequest,
    HostTask,
    JudgeOutcome,
    Registration,
    RunningTask,
    TaskRequest,
    Tasks,
)
from deemster.store import judge_hosts
from deemster.store.pool import transaction
from tests.system.service import Service
from tests.waiting import until

SECRET = "the secret of this installation"
LANGUAGES = {"python3": "3", "c": "13"}


@dataclass(slots=True)
class SignedHost:
    http: httpx.AsyncClient
    key: HostKey
    worker: str = ""
    running: dict[str, HostTask] = field(default_factory=dict)
    _given: set[str] = field(default_factory=set)

    async def post(
        self,
        path: str,
        message: BaseModel,
        *,
        headers: Mapping[str, str] = {},
        now_s: float | None = None,
    ) -> httpx.Response:
        """`headers` replace others after the request was signed; `now_s` is the clock."""
        body = message.model_dump_json().encode()
        clock_s = time.time() if now_s is None else now_s
        signed = signed_headers(
            self.key.secret, self.key.host, "POST", path, "", body, now_s=clock_s
        )
        sent = httpx.Headers(signed)
        sent.update(headers)
        return await self.http.post(path, content=body, headers=sent)

    async def get(self, path: str) -> httpx.Response:
        bare, _, query = path.partition("?")
        headers = signed_headers(
            self.key.secret, self.key.host, "GET", bare, query, b"", now_s=time.time()
        )
        return await self.http.get(path, headers=headers)

    async def register(self, *, slots: int = 2, address: str | None = None) -> None:
        announced = Announcement(
            release="test",
            slots=slots,
            execution_slots=2,
            languages=LANGUAGES,
            speed=1.0,
            address=address,
        )

        async def registered() -> httpx.Response | None:
            try:
                answer = await self.post("/v1/judgehost/register", announced)
            except httpx.TransportError:
                return None
            return answer if answer.status_code == 200 else None

        answer = await until(registered)
        assert answer is not None
        self.worker = Registration.model_validate_json(answer.content).worker

    async def beat(self) -> dict[str, Any]:
        running = [RunningTask(judge_id=each) for each in self.running]
        answer = await self.post(
            "/v1/judgehost/heartbeat",
            HeartbeatRequest(worker=self.worker, busy=len(running), running=running),
        )
        found: dict[str, Any] = answer.json()
        return found

    async def task(self) -> HostTask:
        """The next one; meanwhile the host is alive."""

        async def fetch() -> HostTask | None:
            await self.beat()
            asked = TaskRequest(worker=self.worker, slots=1, execution_slots=1, wait_s=1)
            answer = await self.post("/v1/judgehost/tasks", asked)
            assert answer.status_code == 200, answer.text
            for found in Tasks.model_validate_json(answer.content).tasks:
                self.running[found.judge_id] = found
            fresh = [each for each in self.running.values() if each.judge_id not in self._given]
            if not fresh:
                return None
            self._given.add(fresh[0].judge_id)
            return fresh[0]

        task = await until(fetch)
        assert task is not None
        return task

    async def finish(
        self, task: HostTask, verdict: Verdict = Verdict.ACCEPTED, **changes: Any
    ) -> httpx.Response:
        cases = [JuryCase(f"case {n}", n, verdict) for n in range(1, 3)]
        outcome = JudgeOutcome(judgement=JuryJudgement(verdict, cases))
        answer = await self.post(task.finish_path, Finish(judge=outcome), **changes)
        if answer.status_code == 200:
            self.running.pop(task.judge_id, None)
        return answer


@asynccontextmanager
async def open_host(service: Service, port: int, name: str) -> AsyncIterator[SignedHost]:
    async with transaction(service.pool) as writing:
        host = await judge_hosts.add(writing, name, created_by="test")
    key = derive_key(SECRET.encode(), host, 1)
    async with httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{port}", timeout=60, verify=False
    ) as http:
        yield SignedHost(http, key)
