"""P3, P5: a running service evaluates submissions, also when its worker is killed meanwhile."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from deemster.store import evaluations, model_calls, model_tiers
from deemster.store.pool import Pool, connection, transaction
from tests.pipeline.deliver.receiver import Answering, Request, silence
from tests.pipeline.evaluate.conftest import GOOD, ONE_CALL, RUBRIC, make_tier, use_rubric
from tests.services.model_server import Chat, ModelServer, model_server, says
from tests.system.conftest import RunningService
from tests.system.programs import RIGHT, Program
from tests.system.service import Service
from tests.system.truth import until_at_rest
from tests.waiting import until

SETTINGS: dict[str, Any] = {
    "stages": "evaluate_ai",
    "evaluation_allow_private": True,
    "stage_retries": 1,
}
PATIENT = {**SETTINGS, "stage_retries": 50}
pytestmark = pytest.mark.asyncio(loop_scope="module")
COMMENTED = Program(RIGHT.language, f"# adds\n{RIGHT.source}# done\n", RIGHT.verdict)


async def use_models(pool: Pool, server: ModelServer, timeout_s: float = 2) -> None:
    await use_rubric(pool, RUBRIC)
    async with transaction(pool) as writing:
        tier = make_tier(server, "a", timeout_s=timeout_s)
        await model_tiers.replace_tiers(writing, [tier])
        await writing.execute("UPDATE evaluation_budget SET submission = 10^9, day = 10^9")
        await writing.execute("UPDATE evaluation_budget SET user_day = 10^9")


async def test_p3_without_models_a_submission_is_evaluated_from_facts(
    own_service: RunningService,
) -> None:
    service = own_service.service
    submission = await service.submit(RIGHT)
    await service.until_state("COMPLETED", submission)
    await until_at_rest(service)
    async with connection(service.pool) as reading:
        stored = await evaluations.get(reading, submission)
    assert stored is not None
    assert stored.evaluation.without_model == "not_configured"
    assert stored.score == 100


@pytest.mark.parametrize(
    "queue_url", ["postgres", pytest.param("redis", marks=pytest.mark.soak)], indirect=True
)
async def test_p3_a_worker_that_is_killed_while_a_model_answers_pays_nothing_twice(
    tmp_path: Path, database_url: str, queue_url: str, queue_env: str
) -> None:
    """P1, Q1: one evaluation, one end, each call charged once."""
    killed = asyncio.Event()

    async def plain_is_stored(service: Service) -> bool:
        return bool(
            await service.value("SELECT count(*) FROM model_call WHERE state = 'answered'")
        )

    async def kill_it(service: Service, request: Request, writer: asyncio.StreamWriter) -> None:
        await until(partial(plain_is_stored, service))
        killed.set()
        await service.fleet.kill(service.fleet.members["worker"])
        await silence(request, writer)

    def model(chat: Chat) -> Answering:
        dies = chat.is_neutral and not killed.is_set()
        return partial(kill_it, service) if dies else says(GOOD)(chat)

    async with (
        model_server(a=model) as server,
        Service.open(tmp_path, database_url, queue_url, queue_env, **PATIENT) as service,
    ):
        await use_models(service.pool, server)
        service.start("relay", "worker", "keeper")
        submission = await service.submit(COMMENTED)
        await service.until_state("COMPLETED", submission)
        await service.let_locks_run_out()
        await until_at_rest(service)
        events = await service.events(submission)
        async with connection(service.pool) as reading:
            stored = await evaluations.get(reading, submission)
            assert await model_calls.find_mismatches(reading) == []
    assert killed.is_set()
    assert stored is not None
    assert (stored.score, stored.evaluation.usage.cost) == (100, 2 * ONE_CALL)
    assert events.count("complete") == 1
    variants = [chat.is_neutral for chat in server.chats]
    assert (variants.count(False), variants.count(True)) == (1, 2)


async def test_p3_a_model_that_fails_does_not_fail_the_submission(
    own_service: RunningService,
) -> None:
    service = own_service.service
    async with model_server(a=lambda _: silence) as server:
        await use_models(service.pool, server, timeout_s=0.5)
        submission = await service.submit(COMMENTED)
        await service.until_state("COMPLETED", submission)
        view = await service.view(submission)
        async with connection(service.pool) as reading:
            stored = await evaluations.get(reading, submission)
    assert view.verdict == RIGHT.verdict
    assert stored is not None
    assert stored.evaluation.without_model == "no_reply"
