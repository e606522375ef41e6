"""D2: whose address counts, when requests come through a proxy."""

import httpx

from deemster.bench.load.processes import free_address
from deemster.domain.account import Role
from deemster.store import accounts
from deemster.store.pool import connection
from tests.system.conftest import OpenService
from tests.system.service import Service
from tests.waiting import until_ready

EXPECTED = {"127.0.0.0/8": [202, 202, 429], "192.0.2.0/24": [202, 429, 429]}
"""Answers by the network whose proxies are trusted; the requests come from 127.0.0.1."""


async def test_d2_only_a_trusted_proxy_says_who_asks(open_service: OpenService) -> None:
    """Two processes of the API, each with its own counts of requests."""
    async with open_service(submits_per_minute_ip=1) as service:
        service.start("worker", "relay")
        for number, (trusted, expected) in enumerate(EXPECTED.items()):
            address = free_address()
            service.fleet.start(
                "api",
                f"api{number}",
                host=address.host,
                port=address.port,
                trusted_proxies=trusted,
            )
            await until_ready(address.url)
            assert await submit_thrice(service, address.url, number) == expected


async def submit_thrice(service: Service, url: str, number: int) -> list[int]:
    """The first two say that they are two; the third is one of them again."""
    statuses = []
    async with httpx.AsyncClient(base_url=url, verify=False) as client:
        for name, said in zip(
            ("ada", "bob", "eve"), ("198.51.100.1", "198.51.100.2", "198.51.100.1"), strict=True
        ):
            async with connection(service.pool) as acquired:
                account = await accounts.add(acquired, f"{name}{number}", Role.USER)
                token = await accounts.add_token(acquired, account.id, "for tests")
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
    return statuses
