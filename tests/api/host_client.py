"""Sends requests as a judge host does, signed with its key."""

import json
import time
from dataclasses import dataclass, field
from typing import Any

import httpx

from deemster.domain.judge_host import HostKey, parse_key
from deemster.domain.request_signature import signed_headers
from deemster.store import judge_hosts
from deemster.store.pool import Pool, transaction
from tests.api.conftest import Api

ANNOUNCEMENT = {"release": "1", "slots": 2, "languages": {"python3": "3.11", "c": "12"}}


@dataclass(frozen=True, slots=True)
class HostClient:
    client: httpx.AsyncClient
    key: HostKey = field(repr=False)

    async def post(self, action: str, message: object, **options: Any) -> httpx.Response:
        path, body = f"/v1/judgehost/{action}", json.dumps(message).encode()
        headers = self.sign(path, body, **options)
        return await self.client.post(path, content=body, headers=headers)

    def sign(self, path: str, body: bytes, *, later_s: float = 0) -> dict[str, str]:
        now_s = time.time() + later_s
        return signed_headers(
            self.key.secret, self.key.host, "POST", path, "", body, now_s=now_s
        )

    async def register(self, **changes: object) -> str:
        answer = await self.post("register", {**ANNOUNCEMENT, **changes})
        assert answer.status_code == 200, answer.text
        return str(answer.json()["worker"])

    async def beat(self, worker: str, **more: object) -> dict[str, Any]:
        answer = await self.post("heartbeat", {"worker": worker, "busy": 1, **more})
        assert answer.status_code == 200, answer.text
        told: dict[str, Any] = answer.json()
        return told


async def add_host(admin: Api, name: str = "lab-1") -> HostClient:
    answer = await admin.post("/v1/admin/judge-hosts", {"name": name})
    assert answer.status_code == 201, answer.text
    return HostClient(admin.client, parse_key(answer.json()["key"]))


async def refusals(pool: Pool) -> dict[str, int]:
    async with transaction(pool) as acquired:
        return await judge_hosts.refusals(acquired)
