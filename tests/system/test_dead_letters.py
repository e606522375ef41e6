"""A judge that fails is tried again, then its submission waits for an admin."""

from pathlib import Path

from deemster.domain.lifecycle import State
from deemster.domain.retry_policy import JUDGE_FAILED
from deemster.domain.submission import AcceptedSubmission
from deemster.pipeline.verdict.dead_letter_actions import requeue
from deemster.sandbox.runner import PACKAGED_RUNNER
from deemster.store import dead_letters
from deemster.store.audit import Actor
from deemster.store.pool import connection, transaction
from tests.sandbox.conftest import RUNNER
from tests.system.conftest import OpenService
from tests.system.programs import sleepy
from tests.system.service import Service
from tests.system.truth import until_at_rest

LIFE_S = 1.5
STEPS = "SELECT event, at FROM work_event WHERE work_id = $1 ORDER BY id"


def make_mortal(runner: Path) -> None:
    """One that works and dies soon, in the middle of what it runs."""
    real = RUNNER or PACKAGED_RUNNER
    runner.write_text(
        f'#!/bin/sh\nexec timeout --foreground --signal=KILL {LIFE_S} "{real}" "$@"\n'
    )
    runner.chmod(0o755)


def mend(runner: Path) -> None:
    mended = runner.with_suffix(".new")
    mended.symlink_to(RUNNER or PACKAGED_RUNNER)
    mended.rename(runner)


async def test_a_judge_that_fails_is_tried_three_times_and_then_an_admin_has_it_again(
    open_service: OpenService, tmp_path: Path
) -> None:
    """Q3, Q7, S3: the contestant hears that it was not their fault."""
    program = sleepy(2 * LIFE_S, right=False)
    runner = tmp_path / "runner"
    make_mortal(runner)
    async with open_service(runner=runner) as service:
        service.start("relay", "keeper", "worker")
        submission = await service.submit(program)
        await service.until_state("FAILED", submission)
        view = await service.view(submission)
        assert (view.attempt, view.verdict, view.failure) == (3, None, JUDGE_FAILED)
        await assert_backed_off(service, submission)
        async with connection(service.pool) as acquired:
            (letter,) = await dead_letters.page(acquired)
        assert (letter.work, letter.attempt, letter.outcome) == (submission, 3, None)
        assert letter.error
        mend(runner)
        async with transaction(service.pool) as writing:
            again = await requeue(writing, letter.id, actor=Actor("test"))
        assert isinstance(again, AcceptedSubmission)
        await service.until_state("COMPLETED", again.id)
        found = await service.view(again.id)
        assert (found.verdict, found.rejudge_of) == (program.verdict, submission)
        assert (await service.view(submission)).state is State.FAILED
        async with connection(service.pool) as acquired:
            settled = await dead_letters.get(acquired, letter.id)
        assert settled is not None
        assert (settled.outcome, settled.requeued_as) == ("requeued", again.id)
        await until_at_rest(service)


async def assert_backed_off(service: Service, submission: str) -> None:
    """Attempts come 2 s and 4 s after a failure, or later."""
    rows = await service.fetch(STEPS, submission)
    assert [row["event"] for row in rows] == [
        *("submit", "publish", "start", "retry", "start", "retry", "start", "fail")
    ]
    at = [row["at"] for row in rows]
    assert (at[4] - at[3]).total_seconds() >= 2
    assert (at[6] - at[5]).total_seconds() >= 4
