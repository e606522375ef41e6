"""The synchronous client against the real API."""

import asyncio

import pytest

from deemster.client import (
    AuthenticationError,
    ConflictError,
    Deemster,
    InvalidRequestError,
    NotFoundError,
    Program,
    RefusedExecution,
    StartedExecution,
    SubmissionEvent,
    VersionConflictError,
    paging,
)
from deemster.store.pool import Pool, connection
from deemster.store.submissions import SubmissionFilter, page
from deemster.wiring.address import Address
from tests.builders import make_problem
from tests.client.servers import cutting


async def test_i1_a_retry_after_a_lost_answer_makes_no_second_submission(
    api: Address, pool: Pool, token: str
) -> None:
    await make_problem(pool)

    def submit(url: str) -> str:
        with Deemster(url, token) as judge:
            return judge.submissions.submit("prob_sum", "python3", "print(1)\n").id

    async with cutting(api, 0, 0) as (proxy, made):
        submission = await asyncio.to_thread(submit, proxy.url)
    assert len(made) == 3
    async with connection(pool) as acquired:
        found = await page(acquired, SubmissionFilter(), before=None, limit=10)
    assert [each.id for each in found] == [submission]


async def test_submissions_problems_and_languages(
    api: Address, pool: Pool, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "PAGE_SIZE", 2)
    for name in ("sum", "product", "power"):
        await make_problem(pool, name)
    with Deemster(api.url, token) as judge:
        await asyncio.to_thread(use_submissions, judge)


def use_submissions(judge: Deemster) -> None:
    assert [each.id for each in judge.problems.list()] == [
        *("prob_power", "prob_product", "prob_sum")
    ]
    for filters, found in (
        ({"words": "prod"}, ["prob_product"]),
        ({"tags": ["x", "y"]}, []),
        ({"result": "solved", "difficulty": "easy"}, []),
        ({"sort": "newest", "mine": True}, ["prob_power", "prob_product", "prob_sum"]),
    ):
        assert [each.id for each in judge.problems.list(**filters)] == found, filters
    assert judge.problems.get("prob_sum").limits.time_ms == 1000
    assert "python3" in {each.id for each in judge.languages()}

    made = [judge.submissions.submit("prob_sum", "c", "int main() {}") for _ in range(5)]
    made.append(
        judge.submissions.submit(
            "prob_sum", "python3", {"a.py": "import b\n", "b.py": b"print('\xff')"}, main="a.py"
        )
    )
    listed = list(judge.submissions.list(problem="prob_sum"))
    assert [each.id for each in listed] == [each.id for each in reversed(made)]
    assert [each.id for each in judge.submissions.list(language="python3")] == [made[-1].id]
    assert judge.submissions.get(made[0].id).queue_position == 1

    with pytest.raises(TimeoutError):
        judge.submissions.wait(made[0].id, timeout_s=0.1)
    for _ in range(2):
        assert judge.submissions.cancel(made[0].id).status == "cancelled"
    assert judge.submissions.wait(made[0].id).status == "cancelled"
    events = list(judge.submissions.events(made[0].id))
    assert all(isinstance(each, SubmissionEvent) for each in events)
    assert [each.status for each in events if isinstance(each, SubmissionEvent)] == [
        *("queued", "cancelled")
    ]

    with pytest.raises(NotFoundError, match="There is no problem prob_x") as caught:
        judge.submissions.submit("prob_x", "c", "int main() {}")
    assert (caught.value.code, caught.value.status) == ("not_found", 404)
    assert caught.value.request_id


async def test_executions_and_sessions(api: Address, token: str) -> None:
    with Deemster(api.url, token) as judge:
        await asyncio.to_thread(use_executions, judge)
        await asyncio.to_thread(use_sessions, judge)
    with Deemster(api.url, "deem_wrong") as stranger, pytest.raises(AuthenticationError):
        await asyncio.to_thread(stranger.languages)


def use_executions(judge: Deemster) -> None:
    programs = [Program("python3", "print(1)", io="streams"), Program("klingon", "nuqneH")]
    started, refused = judge.executions.start_batch(programs, key="mine")
    assert isinstance(started, StartedExecution)
    assert isinstance(refused, RefusedExecution)
    assert "klingon" in refused.error
    assert judge.executions.start_batch(programs, key="mine")[0] == started
    assert judge.executions.get(started.execution_id).stdout == ""
    assert [each.execution_id for each in judge.executions.list()] == [started.execution_id]
    judge.executions.type_input(started.execution_id, "x")
    judge.executions.end_input(started.execution_id)
    for _ in range(2):
        assert judge.executions.cancel(started.execution_id).status == "CANCELLED"
    with pytest.raises(ConflictError, match="has ended"):
        judge.executions.send_signal(started.execution_id, "SIGINT")
    with pytest.raises(InvalidRequestError, match="at least 1 item") as caught:
        judge.executions.start(Program("python3", {}))
    assert caught.value.code == "invalid"
    assert caught.value.fields


def use_sessions(judge: Deemster) -> None:
    session = judge.code_sessions.create("python3", template_code="print(1)\n")
    assert session.source_code == "print(1)\n"
    saved = judge.code_sessions.save(
        session.session_id, source_code="print(2)\n", if_version=session.version
    )
    assert saved.version == 2
    with pytest.raises(VersionConflictError, match="version 2 by now"):
        judge.code_sessions.save(session.session_id, source_code="print(3)", if_version=1)
    restored = judge.code_sessions.restore(session.session_id, 1, if_version=2)
    assert (restored.version, restored.source_code) == (3, "print(1)\n")
    assert [each.version for each in judge.code_sessions.versions(session.session_id)] == [
        *(3, 2, 1)
    ]
    assert judge.code_sessions.version(session.session_id, 2).source_code == "print(2)\n"
    assert "+print(2)" in judge.code_sessions.diff(session.session_id, 1, 2)
    started = judge.code_sessions.run(session.session_id)
    shown = judge.code_sessions.get(session.session_id)
    assert shown.latest_execution_id == started.execution_id
    assert [each.session_id for each in judge.code_sessions.list()] == [session.session_id]
    judge.code_sessions.delete(session.session_id)
    with pytest.raises(NotFoundError):
        judge.code_sessions.get(session.session_id)
