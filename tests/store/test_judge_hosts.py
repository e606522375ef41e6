"""M1: a nonce of a judge host is accepted once, while its request could be repeated."""

import asyncio
import secrets

from deemster.domain.judge_host import JudgeHostId
from deemster.domain.request_signature import NONCE_KEPT_S
from deemster.store import judge_hosts
from deemster.store.pool import Pool, connection

MARGIN_S = 120


async def make_host(pool: Pool, name: str) -> JudgeHostId:
    async with connection(pool) as acquired:
        return await judge_hosts.add(acquired, name, created_by="ada")


async def use(pool: Pool, host: JudgeHostId, nonce: str) -> bool:
    async with connection(pool) as acquired:
        _, is_new = await judge_hosts.use_nonce(acquired, host, nonce)
    return is_new


async def test_m1_of_two_requests_with_one_nonce_at_the_same_time_one_is_accepted(
    pool: Pool,
) -> None:
    one, two = await make_host(pool, "one"), await make_host(pool, "two")
    nonce = secrets.token_hex(16)
    answers = await asyncio.gather(*(use(pool, one, nonce) for _ in range(8)))
    assert sorted(answers) == [False] * 7 + [True]
    assert await use(pool, two, nonce)


async def test_m1_nonces_are_forgotten_only_when_their_requests_have_expired(
    pool: Pool,
) -> None:
    host = await make_host(pool, "one")
    young, old = secrets.token_hex(16), secrets.token_hex(16)
    for nonce in (young, old):
        assert await use(pool, host, nonce)
    async with connection(pool) as acquired:
        await acquired.execute(
            "UPDATE judge_host_nonce SET used_at = now() - make_interval(secs => $1::int)"
            " - CASE WHEN nonce = $2 THEN make_interval(secs => $3::int) ELSE '0' END",
            *(NONCE_KEPT_S, old, MARGIN_S),
        )
        await judge_hosts.trim_nonces(acquired)
    assert not await use(pool, host, young)
    assert await use(pool, host, old)


async def test_refusals_are_counted_by_reason(pool: Pool) -> None:
    async with connection(pool) as acquired:
        for reason in ("forged", "expired", "forged"):
            await judge_hosts.count_refusal(acquired, reason)
        assert await judge_hosts.refusals(acquired) == {"expired": 1, "forged": 2}
