"""C3: the own profile and the own list of problems, and how long they are cached."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from deemster.cache.kinds import MY_PROBLEMS, PROFILE
from deemster.domain.ids import ProblemId, RejudgingId
from deemster.domain.verdict import Verdict
from deemster.pipeline.verdict import rejudging_set
from deemster.pipeline.verdict.attempt import settle
from deemster.store import accounts
from deemster.store.accounts import AccountUpdate
from deemster.store.artifacts import Artifacts
from deemster.store.audit import Actor
from deemster.store.pool import Pool, connection
from deemster.store.rejudgings import RejudgingFilter
from tests.api.api_process import Process, process
from tests.api.conftest import Api, MakeDependencies, change_problem, make_worker, program
from tests.api.judgements import JUDGEMENTS, judged_submission
from tests.builders import make_problem, start_submission

SESSION = "/v1/session"
MINE = "/v1/problems?mine=true"
WRONG = JUDGEMENTS[Verdict.WRONG_ANSWER]
RIGHT = JUDGEMENTS[Verdict.ACCEPTED]


@pytest.fixture
async def here(make_dependencies: MakeDependencies) -> AsyncIterator[Process]:
    async with process(make_dependencies) as opened:
        yield opened


async def profile(here: Process, api: Api) -> dict[str, Any]:
    answer = await here.get(api, SESSION)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["profile"]
    return found


async def mine(here: Process, api: Api, path: str = MINE) -> dict[str, Any]:
    answer = await here.get(api, path)
    assert answer.status_code == 200, answer.text
    return {each["id"]: each["mine"] for each in answer.json()["items"]}


async def falsify(pool: Pool) -> None:
    """Changes the row without an event, so that only a new read sees it."""
    async with connection(pool) as acquired:
        await acquired.execute("UPDATE account_tally SET submits = 99, accepted = 0")


async def test_a_profile_counts_the_own_submissions(
    here: Process, ada: Api, bob: Api, pool: Pool, artifacts: Artifacts
) -> None:
    added = await make_problem(pool)
    other = await make_problem(pool, "other")
    await make_problem(pool, "untouched")
    for summary, found in ((added, WRONG), (added, RIGHT), (added, WRONG), (other, WRONG)):
        await judged_submission(pool, artifacts, ada.user.id, found, summary)
    counted = {"submits": 4, "accepted": 1, "solved": 1, "tried": 1}
    assert counted.items() <= (await profile(here, ada)).items()
    assert dict.fromkeys(counted, 0).items() <= (await profile(here, bob)).items()
    problems = ("prob_other", "prob_sum", "prob_untouched")
    assert await mine(here, ada) == dict(zip(problems, ("tried", "solved", None), strict=True))
    assert await mine(here, bob) == dict.fromkeys(problems)
    plain = (await here.get(ada, "/v1/problems")).json()["items"]
    assert all("mine" not in each for each in plain), "the list of all is the same for all"


async def test_the_quota_left_today_is_current(
    make_dependencies: MakeDependencies, ada: Api, bob: Api, admin: Api, pool: Pool
) -> None:
    """D2: with the account's quota, the quota of the settings, or none."""
    await make_problem(pool)
    await make_worker(pool)
    async with connection(pool) as acquired:
        await accounts.update(
            acquired, bob.user.id, AccountUpdate(quota_given=True, daily_quota=2)
        )
    async with process(make_dependencies, daily_quota=5) as here:
        left = {}
        for name, api in (("ada", ada), ("bob", bob), ("admin", admin)):
            before = await profile(here, api)
            answer = await here.client.post(
                "/v1/submissions", json=program(), headers=api.user.headers
            )
            assert answer.status_code == 202, answer.text
            after = await profile(here, api)
            left[name] = (before["daily_quota"], before["left_today"], after["left_today"])
    assert left == {"ada": (5, 5, 4), "bob": (2, 2, 1), "admin": (None, None, None)}


async def test_a_profile_is_cached_until_it_expires(
    here: Process, ada: Api, pool: Pool, artifacts: Artifacts
) -> None:
    """C3: or until a submission of the user ends, in any process."""
    await judged_submission(pool, artifacts, ada.user.id, RIGHT)
    await here.read_events()
    first = await profile(here, ada)
    assert (first["submits"], first["solved"]) == (1, 1)
    await falsify(pool)
    assert await profile(here, ada) == first
    here.clock.now_s += PROFILE.kept_s
    assert (await profile(here, ada))["submits"] == 99
    await judged_submission(pool, artifacts, ada.user.id, RIGHT)
    await here.read_events()
    assert (await profile(here, ada))["submits"] == 100


async def test_a_role_is_never_cached(
    make_dependencies: MakeDependencies, admin: Api, pool: Pool
) -> None:
    """C4: permissions are not cached with the counts."""
    async with process(make_dependencies, daily_quota=5) as here:
        assert (await profile(here, admin))["daily_quota"] is None
        async with connection(pool) as acquired:
            await acquired.execute("UPDATE account SET role = 'user', daily_quota = 3")
            # Another token: what is known of the first may be two seconds old.
            token = await accounts.add_token(acquired, admin.user.id, "new")
        demoted = replace(admin, user=replace(admin.user, token=token))
        result = (await here.get(demoted, SESSION)).json()
    assert result["user"]["role"] == "user"
    assert (result["profile"]["daily_quota"], result["profile"]["left_today"]) == (3, 3)


async def test_the_own_problem_list_is_cached_until_something_changes(
    here: Process, ada: Api, pool: Pool, artifacts: Artifacts
) -> None:
    """C1, C2, C3."""
    await judged_submission(pool, artifacts, ada.user.id, RIGHT)
    await here.read_events()
    pages = (MINE, f"{MINE}&limit=100")
    assert [await mine(here, ada, path) for path in pages] == [{"prob_sum": "solved"}] * 2
    await falsify(pool)
    assert [await mine(here, ada, path) for path in pages] == [{"prob_sum": "solved"}] * 2
    # Whoever makes up limits must not fill the memory: those are looked up each time.
    assert await mine(here, ada, f"{MINE}&limit=7") == {"prob_sum": "tried"}
    await change_problem(pool, id=ProblemId("prob_new"))
    here.forget_revision()
    assert await mine(here, ada) == {"prob_new": None, "prob_sum": "tried"}
    await judged_submission(pool, artifacts, ada.user.id, RIGHT)
    await here.read_events()
    assert await mine(here, ada) == {"prob_new": None, "prob_sum": "solved"}
    await falsify(pool)
    here.clock.now_s += MY_PROBLEMS.kept_s
    assert await mine(here, ada) == {"prob_new": None, "prob_sum": "tried"}


async def test_the_own_problem_list_has_its_own_etag(
    here: Process, ada: Api, bob: Api, pool: Pool, artifacts: Artifacts
) -> None:
    await judged_submission(pool, artifacts, ada.user.id, RIGHT)
    tag = (await here.get(ada, MINE)).headers["etag"]
    held = {"If-None-Match": tag}
    assert (await here.get(ada, MINE, **held)).status_code == 304
    assert (await here.get(ada, "/v1/problems", **held)).status_code == 200
    assert (await here.get(bob, MINE, **held)).status_code == 200


async def test_a_rejudged_submission_counts_by_its_last_verdict(
    here: Process, ada: Api, admin: Api, pool: Pool, artifacts: Artifacts
) -> None:
    old = await judged_submission(pool, artifacts, ada.user.id, RIGHT)
    await here.read_events()
    assert await mine(here, ada) == {"prob_sum": "solved"}
    again = f"/v1/submissions/{old}/rejudge"
    answer = await here.client.post(again, headers=admin.user.headers)
    assert await mine(here, ada) == {"prob_sum": None}, "until it is judged"
    assert (await profile(here, ada))["tried"] == 0
    await settle(pool, artifacts, await start_submission(pool, answer.json()["id"]), WRONG)
    await here.read_events()
    assert await mine(here, ada) == {"prob_sum": "tried"}
    assert (await profile(here, ada))["submits"] == 1


async def test_a_trial_counts_once_any_process_applies_it(
    here: Process, ada: Api, pool: Pool, artifacts: Artifacts
) -> None:
    """A9, C1: also by a command, which API processes see only through events."""
    old = await judged_submission(pool, artifacts, ada.user.id, RIGHT)
    made = await rejudging_set.make(pool, RejudgingFilter(ids=[old]), Actor("root"))
    async with connection(pool) as acquired:
        trial = await acquired.fetchval("SELECT id FROM submission WHERE rejudge_of = $1", old)
    await settle(pool, artifacts, await start_submission(pool, trial), WRONG)
    await here.read_events()
    assert await mine(here, ada) == {"prob_sum": "solved"}
    assert (await profile(here, ada))["solved"] == 1
    await rejudging_set.apply(pool, RejudgingId(made.rejudging.id), Actor("root"))
    await here.read_events()
    assert await mine(here, ada) == {"prob_sum": "tried"}
    assert (await profile(here, ada))["solved"] == 0
