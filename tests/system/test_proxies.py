"""D2: whose address counts, when requests come through a proxy."""

import httpx
import pytest

from deemster.bench.load.processes import free_address
from deemster.domain.account import Role
from deemster.store import accounts
from deemster.store.pool import connection
from tests.system.conftest import OpenService
from tests.waiting import until_ready


@pytest.mark.parametrize("trusted", ["127.0.0.0/8", "192.0.2.0/24"])
async def test_d2_only_a_trusted_proxy_says_who_asks(
    open_service: OpenService, trusted: str
) -> None:
    address = free_address()
    async with open_service(
        host=address.host,
        port=address.port,
        submits_per_minute_ip=1,
        trusted_proxies=trusted,
    ) as service:
        async with connection(service.pool) as acquired:
            tokens = []
            for name in ("ada", "bob", "eve"):
                account = await accounts.add(acquired, name, Role.USER)
                tokens.append(await accounts.add_token(acquired, account.id, "for tests"))
        service.start("api", "worker", "relay")
        await until_ready(address.url)
        statuses = []
        async with httpx.AsyncClient(base_url=address.url) as client:
            # The first two say that they are two; the third is one of them again.
            for token, said in zip(
                tokens, ("198.51.100.1", "198.51.100.2", "198.51.100.1"), strict=True
            ):
                answer = await client.post(
                    "/v1/submissions",
                    json={
                        "problem_id": "prob_aplusb",
                        "language": "python3",
                        "source_code": "print(1)",
                    },
                    headers={"Authorization": f"Bearer {token}", "X-Forwarded-For": said},
                )
                statuses.append(answer.status_code)
    assert statuses == ([202, 202, 429] if trusted.startswith("127.") else [202, 429, 429])
