"""Tasks and signed requests as an online judge sends them to heng-controller."""

import json
import secrets
import time
from typing import Any

import httpx

from deemster.domain.account import Role
from deemster.domain.heng_signature import secret_key_of, signature_of
from deemster.domain.request_signature import SignedRequest
from deemster.store import heng
from deemster.store.pool import Pool, connection
from tests.builders import make_account

PATH = "/c/v1/judges"
MEDIA_TYPE = "application/json;charset=utf-8"
MIB = 1 << 20
SUM = "a, b = map(int, input().split())\nprint(a + b)\n"


def limit(cpu_ms: int = 2000) -> dict[str, Any]:
    sizes = {"memory": 256 * MIB, "output": 16 * MIB}
    return {
        "runtime": {**sizes, "cpuTime": cpu_ms},
        "compiler": {**sizes, "cpuTime": 10_000, "message": 1000},
    }


def program(source: str = SUM, language: str = "python", **options: object) -> dict[str, Any]:
    return {
        "source": {"type": "direct", "content": source},
        "environment": {
            "language": language,
            "system": "Linux",
            "arch": "x64",
            "options": options,
        },
        "limit": limit(),
    }


def remote(name: str, content: str) -> dict[str, Any]:
    return {"type": "remote", "name": name, "file": {"type": "direct", "content": content}}


def task(
    user: dict[str, Any] | None = None,
    *,
    callbacks: str = "https://oj.example.org",
    cases: tuple[tuple[str, str], ...] = (("1 2\n", "3\n"), ("2 2\n", "4\n")),
    policy: str = "all",
    **jury: dict[str, Any],
) -> dict[str, Any]:
    """A task with direct files; `spj` or `interactor` is the jury's program."""
    kind = {"spj": "special", "interactor": "interactive"}.get(next(iter(jury), ""), "normal")
    files = [
        remote(f"{what}{number}", content)
        for number, pair in enumerate(cases)
        for what, content in zip(("in", "out"), pair, strict=True)
    ]
    return {
        "dynamicFiles": files,
        "judge": {"type": kind, "user": user or program(), **jury},
        "test": {
            "cases": [{"input": f"in{n}", "output": f"out{n}"} for n in range(len(cases))],
            "policy": policy,
        },
        "callbackUrls": {"update": f"{callbacks}/update", "finish": f"{callbacks}/finish"},
    }


class HengClient:
    """Signs with the key of one account."""

    def __init__(self, http: httpx.AsyncClient, access_key: str, secret_key: str) -> None:
        self.http = http
        self.access_key = access_key
        self.secret_key = secret_key

    async def send(
        self,
        body: object,
        *,
        nonce: str | None = None,
        timestamp: float | None = None,
        query: str = "",
        **changed: str,
    ) -> httpx.Response:
        """`changed` headers are sent with another value than the signed one."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {
            "content-type": MEDIA_TYPE,
            "x-heng-accesskey": self.access_key,
            "x-heng-nonce": nonce or secrets.token_hex(8),
            "x-heng-timestamp": str(int(time.time() if timestamp is None else timestamp)),
        }
        signed = SignedRequest("POST", PATH, query, headers, content)
        headers["x-heng-signature"] = signature_of(self.secret_key, signed)
        headers |= {name.replace("_", "-"): value for name, value in changed.items()}
        url = f"{PATH}?{query}" if query else PATH
        return await self.http.post(url, content=content, headers=headers)


async def make_client(
    pool: Pool, http: httpx.AsyncClient, secret: bytes, name: str = "oj"
) -> HengClient:
    account = await make_account(pool, name, Role.USER)
    async with connection(pool) as acquired:
        key = await heng.add_key(acquired, account, "for tests")
    return HengClient(http, key.id, secret_key_of(secret, key.id))
