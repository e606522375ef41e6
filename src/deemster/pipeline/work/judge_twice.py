"""Has a share of submissions judged by two hosts; if they disagree, a third decides (M5)."""

import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

import structlog
from pydantic import ValidationError

from deemster.domain.errors import Unavailable
from deemster.domain.ids import new_id
from deemster.domain.judge_host import CHECKS_AHEAD, JUDGE, JudgeHostId, JudgeId, Purpose
from deemster.domain.submission import SubmissionDetails
from deemster.pipeline.remote.messages import Finish, JudgeOutcome
from deemster.store import judge_hosts, remote_tasks
from deemster.store.lifecycle import lock_state
from deemster.store.pool import Connection, Pool, connection, transaction
from deemster.store.remote_tasks import HostRoom, RemoteTask, SiblingTask

log = structlog.get_logger()
CHANCE: Final = secrets.SystemRandom()

Deliver = Callable[[RemoteTask, HostRoom], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class HostResult:
    """The result of one host for a submission; without an outcome the host has failed."""

    host: JudgeHostId
    judge_id: JudgeId
    outcome: JudgeOutcome | None

    @property
    def verdict_and_score(self) -> tuple[str, float | None] | None:
        if self.outcome is None:
            return None
        return str(self.outcome.judgement.verdict), self.outcome.judgement.score


@dataclass(frozen=True, slots=True)
class Agreement:
    """The result that counts, the results of all hosts, and those that were wrong."""

    chosen: HostResult
    results: Sequence[HostResult]
    wrong: Sequence[HostResult] = ()


@dataclass(frozen=True, slots=True)
class DoubleJudging:
    pool: Pool
    share: float
    """Of submissions, 0 to 1."""
    deliver: Deliver

    async def agree(
        self, task: RemoteTask, details: SubmissionDetails, finish: Finish
    ) -> Agreement | None:
        """None: another host is asked, or has not answered yet, or another receiver of a result
        is at it.
        """
        if not self.share and task.purpose is Purpose.RUN:
            only = HostResult(task.host, task.judge_id, outcome_in(finish, details))
            return Agreement(only, [only])
        async with connection(self.pool) as acquired:
            found = await remote_tasks.siblings(acquired, task.work, task.attempt)
        siblings = [each for each in found if not each.is_ended]
        results = [host_result(each, details) for each in siblings if each.body is not None]
        if not results or len(results) < len(siblings):
            return None
        agreement = decide(results)
        purpose = Purpose.CHECK if len(results) == 1 else Purpose.DECIDE
        if agreement is not None:
            wanted = len(results) == 1 and CHANCE.random() < self.share
            if not wanted:
                return agreement
        if await self._ask(task, details, results, purpose):
            return None
        if agreement is None:
            log.error("judge_twice.undecided", submissionId=task.work, hosts=len(results))
        return agreement or Agreement(results[0], results)

    async def _ask(
        self,
        task: RemoteTask,
        details: SubmissionDetails,
        results: Sequence[HostResult],
        purpose: Purpose,
    ) -> bool:
        """Gives the submission to one more host. False: there is none that could do it.

        The lease moves from the host whose result was received. So if two processes receive
        the same result, only one of them asks a host.
        """
        async with transaction(self.pool) as writing:
            room = await remote_tasks.find_host(
                writing,
                task.work,
                details.language,
                executes=False,
                revision=details.revision,
                excluded=[each.host for each in results],
                ahead=CHECKS_AHEAD,
            )
            if room is None or len(results) > 2:
                return False
            # First the work, then its lease, as all transactions lock them.
            await lock_state(writing, task.work)
            moved = await remote_tasks.move_lease(
                writing, task.work, task.attempt, holder=task.worker, to=room.worker
            )
            if not moved:
                return True  # the other one has asked
            judge_id = JudgeId(new_id(JUDGE))
            asked = await remote_tasks.register(
                writing, judge_id, task.work, task.attempt, task.task, room, purpose
            )
        log.info("judge_twice.asked", submissionId=task.work, hostId=room.host, purpose=purpose)
        try:
            await self.deliver(asked, room)
        except Unavailable as fault:
            log.warning("judge_twice.not_asked", hostId=room.host, error=str(fault))
            async with connection(self.pool) as acquired:
                await remote_tasks.remove(acquired, judge_id)
            return False
        return True


def host_result(task: SiblingTask, details: SubmissionDetails) -> HostResult:
    assert task.body is not None, "it has reported"
    try:
        outcome = outcome_in(Finish.model_validate_json(task.body), details)
    except ValidationError:
        outcome = None
    return HostResult(task.host, task.judge_id, outcome)


def outcome_in(finish: Finish, details: SubmissionDetails) -> JudgeOutcome | None:
    """Pages show all cases: a host can't invent more of them than the problem has."""
    if finish.judge is None or len(finish.judge.judgement.cases) > details.cases:
        return None
    return finish.judge


def decide(results: Sequence[HostResult]) -> Agreement | None:
    """The result that most hosts found; None: two hosts disagree.

    A host that failed has no result. If all three differ, the first one counts.
    """
    valid = [each for each in results if each.outcome is not None]
    if not valid:
        return Agreement(results[0], results)
    for each in valid:
        same = [other for other in valid if other.verdict_and_score == each.verdict_and_score]
        if len(same) > len(valid) / 2:
            wrong = [other for other in valid if other not in same]
            return Agreement(each, results, wrong)
    return Agreement(valid[0], results) if len(results) > 2 else None


async def pause_wrong_hosts(writing: Connection, work: str, agreement: Agreement) -> None:
    """What they judged lately can be listed, and judged again by an admin."""
    for each in agreement.wrong:
        said, right = each.verdict_and_score, agreement.chosen.verdict_and_score
        reason = f"judged {work} as {said}, and two others as {right}"
        await judge_hosts.pause(writing, each.host, reason)
        log.error("judge_host.wrong", hostId=each.host, submissionId=work, said=str(said))
