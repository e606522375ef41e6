"""A10: of cancel and start, or cancel and verdict, exactly one wins; what runs is killed."""

import asyncio
import random

import pytest

from deemster.domain.ids import SubmissionId
from deemster.domain.lifecycle import State
from tests.system.client import Client, client_of
from tests.system.conftest import RunningService
from tests.system.programs import RIGHT, sleepy
from tests.system.service import Service
from tests.system.traces import programs_of
from tests.system.truth import until_all_ended, until_at_rest
from tests.waiting import until

ROUNDS = 30
BRIEF = sleepy(0.1, right=False)
"""Runs about as long as a cancel waits."""
SLEEP_S = 60
"""How long the program takes for its first case, if nobody ends it."""
SETTINGS = {"time_ms": SLEEP_S * 1000}
pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_cancelling_a_running_submission_kills_its_program(
    own_service: RunningService,
) -> None:
    service = own_service.service
    worker = service.fleet.members["worker"]
    async with client_of(service, own_service.address.port) as client:
        submission = await service.submit(sleepy(SLEEP_S))
        await until(lambda: programs_of(worker.pid))
        assert await client.cancel(submission) == 200
        done = await until(
            lambda: [
                line["result"]
                for line in worker.said("job.done")
                if line["submissionId"] == submission
            ]
        )
        assert done == ["superseded"]
        await until(lambda: not programs_of(worker.pid), patience_s=SLEEP_S / 2)
        seen = await client.look(submission)
        assert (seen["status"], seen["verdict"]) == ("cancelled", None)
        assert await client.cancel(submission) == 409
        other = await service.submit(RIGHT)
        await service.until_state("COMPLETED", other)
        assert await service.events(submission) == ["submit", "publish", "start", "cancel"]
        await until_at_rest(service)


async def test_of_cancel_and_start_exactly_one_wins(own_service: RunningService) -> None:
    """S2: also when the cancel comes at the moment of the verdict."""
    service = own_service.service
    chance = random.Random(4)
    async with client_of(service, own_service.address.port) as client:
        codes: dict[SubmissionId, int] = {}
        async with asyncio.TaskGroup() as group:
            for _ in range(ROUNDS):
                submission = await service.submit(BRIEF)
                group.create_task(cancel_soon(service, client, submission, chance, codes))
        await until_all_ended(service, {})
        for submission, code in codes.items():
            view = await service.view(submission)
            events = await service.events(submission)
            if code == 200:
                assert (view.state, view.verdict) == (State.CANCELLED, None)
                assert view.judgement is None
                assert events[-1] == "cancel"
            else:
                assert (code, view.state) == (409, State.COMPLETED)
                assert view.verdict == BRIEF.verdict
                assert events[-1] == "complete"
        assert 200 in codes.values()
        await until_at_rest(service)


async def cancel_soon(
    service: Service,
    client: Client,
    submission: SubmissionId,
    chance: random.Random,
    codes: dict[SubmissionId, int],
) -> None:
    """When it is its turn, or a moment after that."""
    wanted = chance.choice([("QUEUED", "RUNNING", "COMPLETED"), ("RUNNING", "COMPLETED")])

    async def is_there() -> bool:
        return (await service.view(submission)).state in wanted

    await until(is_there)
    await asyncio.sleep(chance.uniform(0, 0.1))
    codes[submission] = await client.cancel(submission)
