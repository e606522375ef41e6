"""C4: no user gets a response cached for another, and Redis holds no private data."""

import itertools
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any, cast

import httpx
import pytest
from redis.asyncio import Redis

from deemster.api.app import create_app
from deemster.cache.cache import Cache
from deemster.domain.account import Role
from deemster.domain.ids import SubmissionId
from deemster.domain.verdict import Verdict
from deemster.metrics import CACHE, SHARED_CACHE
from deemster.pipeline.verdict import rejudging_set
from deemster.store import accounts
from deemster.store.artifacts import Artifacts
from deemster.store.audit import Actor
from deemster.store.pool import Pool, connection
from deemster.store.rejudgings import RejudgingFilter
from tests.api.conftest import (
    MakeDependencies,
    User,
    catch_up_with_events,
    change_problem,
    make_user,
    make_worker,
    program,
    running,
)
from tests.api.judgements import HIDDEN, JUDGEMENTS, failing, judged_submission, judgement
from tests.builders import make_submission

WORDS = "print('ada wrote this')"


@dataclass(frozen=True, slots=True)
class Scene:
    """One API process with Redis, and users who request the same paths."""

    client: httpx.AsyncClient
    redis: Redis
    prefix: str
    people: dict[str, User]
    submissions: dict[str, list[str]]
    """Submissions by owner."""

    async def ask(self, who: str, path: str, **headers: str) -> httpx.Response:
        """Sends the request at once, so that cached responses are used."""
        return await self.client.get(path, headers={**self.people[who].headers, **headers})

    @property
    def paths(self) -> list[str]:
        ids = itertools.chain.from_iterable(self.submissions.values())
        return [
            "/v1/submissions",
            "/v1/submissions?limit=7",
            *(f"/v1/submissions?user={name}" for name in ("lovelace", "boole")),
            *(f"/v1/submissions?user={user.id}" for user in self.people.values()),
            *(f"/v1/submissions/{each}" for each in ids),
            "/v1/session",
            "/v1/problems",
            "/v1/problems?mine=true",
            "/v1/problems/prob_sum",
            "/v1/languages",
        ]

    async def kept(self) -> dict[str, bytes]:
        """All keys of this test in Redis."""
        keys = [key async for key in self.redis.scan_iter(match=f"{self.prefix}*")]
        return {key.decode(): cast("bytes", await self.redis.get(key) or b"") for key in keys}


@pytest.fixture
async def scene(
    make_dependencies: MakeDependencies,
    pool: Pool,
    artifacts: Artifacts,
    redis_url: str,
    queue_env: str,
) -> AsyncIterator[Scene]:
    people = {
        "lovelace": await make_user(pool, "lovelace"),
        "boole": await make_user(pool, "boole"),
        "root": await make_user(pool, "root", Role.ADMIN),
    }
    await change_problem(pool, details={"statements": {"en": "<p>Add.</p>"}})
    await make_worker(pool)
    secret = judgement(
        Verdict.WRONG_ANSWER, failing(Verdict.WRONG_ANSWER, sample=True, team_message="psst")
    )
    mine: dict[str, list[str]] = {}
    for name in ("lovelace", "boole"):
        account = people[name].id
        mine[name] = [
            await judged_submission(pool, artifacts, account, secret),
            await judged_submission(
                pool, artifacts, account, JUDGEMENTS[Verdict.COMPILE_ERROR]
            ),
            await make_submission(pool, account),
        ]
    redis = Redis.from_url(redis_url)
    env = f"{queue_env}x"
    async with (
        Cache.open(redis_url, env, timeout_s=30) as cache,
        running(create_app(replace(make_dependencies(), cache=cache))) as client,
    ):
        await catch_up_with_events(client)
        yield Scene(client, redis, f"deemster:{env}:", people, mine)
    await redis.aclose()


def own_words(scene: Scene, who: str) -> list[str]:
    return [scene.people[who].id, f'"{who}"', *scene.submissions.get(who, ())]


@pytest.mark.parametrize("order", list(itertools.permutations(["lovelace", "boole", "root"])))
async def test_each_user_gets_their_own_view_whoever_asks_first(
    scene: Scene, order: tuple[str, ...]
) -> None:
    """C4, A11: each user requests the same paths twice."""
    for who, path in itertools.chain(*[itertools.product(order, scene.paths)] * 2):
        answer = await scene.ask(who, path)
        other = {"lovelace": "boole", "boole": "lovelace"}.get(who)
        if other is None:
            assert answer.status_code == 200
            continue
        foreign = [*own_words(scene, other), *own_words(scene, "root")]
        asked = path.rsplit("/", 1)[-1].split("=")[-1]
        for word in foreign:
            assert word.strip('"') == asked or word not in answer.text, f"{who} at {path}"
        if asked in scene.submissions[other]:
            assert answer.status_code == 404
            assert asked not in answer.text
        elif asked in scene.submissions[who]:
            assert answer.status_code == 200
    for path in scene.paths:
        answers = {who: (await scene.ask(who, path)).status_code for who in order}
        assert answers["root"] == 200


async def test_a_former_admin_gets_the_view_of_a_user(scene: Scene, pool: Pool) -> None:
    """C4: also for responses that were cached a moment ago."""
    theirs = scene.submissions["lovelace"][0]
    paths = [f"/v1/submissions/{theirs}", "/v1/submissions", "/v1/submissions?user=lovelace"]
    for path in paths:
        assert theirs in (await scene.ask("root", path)).text
    root = scene.people["root"]
    async with connection(pool) as acquired:
        await acquired.execute("UPDATE account SET role = 'user' WHERE id = $1", root.id)
    # Another token: what is known of the first may be two seconds old.
    async with connection(pool) as acquired:
        token = await accounts.add_token(acquired, root.id, "new")
    scene.people["root"] = User(root.id, root.name, token)
    answers = [await scene.ask("root", path) for path in paths]
    assert [each.status_code for each in answers] == [404, 200, 403]
    assert all(theirs not in each.text for each in answers)


async def test_only_admins_see_a_trial_whoever_asks_first(scene: Scene, pool: Pool) -> None:
    """A11: a trial of a rejudging."""
    old = scene.submissions["lovelace"][0]
    await rejudging_set.make(pool, RejudgingFilter(ids=[SubmissionId(old)]), Actor("root"))
    async with connection(pool) as acquired:
        trial = await acquired.fetchval(
            "SELECT id FROM submission WHERE staged_in IS NOT NULL AND rejudge_of = $1", old
        )
    await catch_up_with_events(scene.client)
    path = f"/v1/submissions/{trial}"
    for _ in range(2):
        assert (await scene.ask("root", path)).status_code == 200
        for who in ("lovelace", "boole"):
            assert (await scene.ask(who, path)).status_code == 404
            assert trial not in (await scene.ask(who, "/v1/submissions")).text
        assert trial not in (await scene.ask("lovelace", f"/v1/submissions/{old}")).text


async def test_redis_holds_no_private_data(scene: Scene) -> None:
    """C4: after many requests, Redis has no source, token, log, name or id of users."""
    answer = await scene.client.post(
        "/v1/submissions",
        json=program(source_code=WORDS),
        headers=scene.people["lovelace"].headers,
    )
    scene.submissions["lovelace"].append(answer.json()["id"])
    for who in scene.people:
        for path in [
            *scene.paths,
            *(f"/v1/submissions/{each}/source" for each in scene.submissions["lovelace"]),
        ]:
            await scene.ask(who, path)
        await scene.client.delete(
            f"/v1/submissions/{scene.submissions['boole'][2]}",
            headers=scene.people[who].headers,
        )
    kept = await scene.kept()
    assert {key.split("cache:")[1].split("#")[0] for key in kept} == {
        "problems:list:50:",
        "problems:detail:prob_sum",
    }
    everything = b"\n".join([*(key.encode() for key in kept), *kept.values()]).decode()
    secrets = [HIDDEN, WORDS, "wrote this", "main.c:1: no", "psst", "visible got"]
    for who, user in scene.people.items():
        secrets += [user.token, user.id, f'"{who}"']
    for word in itertools.chain(secrets, *scene.submissions.values()):
        assert word not in everything


async def test_an_etag_gives_no_access(scene: Scene, pool: Pool) -> None:
    """C3, C4: access is checked before the ETag."""
    path = "/v1/problems/prob_sum"
    tag = (await scene.ask("lovelace", path)).headers["etag"]
    held = {"If-None-Match": tag}
    assert (await scene.ask("boole", path, **held)).status_code == 304
    assert (await scene.client.get(path, headers=held)).status_code == 401
    wrong = {"Authorization": "Bearer deem_wrong", **held}
    assert (await scene.client.get(path, headers=wrong)).status_code == 401
    async with connection(pool) as acquired:
        token = await accounts.add_token(acquired, scene.people["boole"].id, "narrow")
        await acquired.execute("UPDATE token SET scopes = '{metrics}' WHERE name = 'narrow'")
    narrow = {"Authorization": f"Bearer {token}", **held}
    assert (await scene.client.get(path, headers=narrow)).status_code == 403
    theirs = f"/v1/submissions/{scene.submissions['lovelace'][0]}"
    assert (await scene.ask("lovelace", theirs)).status_code == 200
    for tags in (held, {"If-None-Match": "*"}):
        assert (await scene.ask("boole", theirs, **tags)).status_code == 404


async def test_cache_hits_are_counted(scene: Scene) -> None:
    """C1: hits by kind, in this process and in Redis."""

    def counts() -> dict[str, float]:
        return {
            f"{sample.labels['kind']} {sample.labels['outcome']}": sample.value
            for family in itertools.chain(CACHE.collect(), SHARED_CACHE.collect())
            for sample in family.samples
            if sample.name.endswith("_total")
        }

    status = f"/v1/submissions/{SubmissionId(scene.submissions['lovelace'][0])}"
    before = counts()
    for path in [status] * 3 + ["/v1/problems"] * 2:
        assert (await scene.ask("lovelace", path)).status_code == 200
    grown: dict[str, Any] = {
        name: count - before.get(name, 0) for name, count in counts().items()
    }
    assert grown["submissions:status hit"] == 2
    assert grown["problems:list hit"] == 1
    result = (await scene.ask("root", "/metrics")).text
    for name in ("submissions:status", "problems:list"):
        for outcome in ("hit", "miss", "stale", "negative"):
            assert f'deemster_cache_total{{kind="{name}",outcome="{outcome}"}}' in result
    assert 'deemster_shared_cache_total{kind="problems:list",outcome="miss"}' in result
