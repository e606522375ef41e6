"""What has to hold when all is over, whatever happened meanwhile."""

from collections.abc import Iterable, Mapping, Sequence

from deemster.domain.ids import ExecutionId, SubmissionId
from deemster.domain.lifecycle import TERMINAL_EVENTS, State
from deemster.store import counters, stages
from deemster.store.pool import connection
from tests.system.programs import Program
from tests.system.service import Service
from tests.waiting import PATIENCE_S, until

Ledger = dict[SubmissionId, Program]
"""What was accepted, and what it is worth."""


UNFINISHED = """
SELECT to_jsonb(w) AS work, to_jsonb(l) AS lease, to_jsonb(k) AS worker,
       (SELECT jsonb_agg(to_jsonb(e) ORDER BY e.id) FROM work_event e
         WHERE e.work_id = w.id) AS events,
       (SELECT jsonb_agg(to_jsonb(o) ORDER BY o.id) FROM outbox o
         WHERE o.work_id = w.id) AS outbox
  FROM work w LEFT JOIN lease l ON l.work_id = w.id LEFT JOIN worker k ON k.id = l.worker_id
 WHERE w.finished_at IS NULL
"""


async def until_all_ended(service: Service, ledger: Mapping[SubmissionId, Program]) -> None:
    statement = "SELECT count(*) FROM work WHERE finished_at IS NULL"

    async def look() -> bool:
        return bool(await service.value(statement) == 0)

    try:
        await until(look, patience_s=PATIENCE_S + len(ledger))
    except AssertionError as late:
        left = [dict(row) for row in await service.fetch(UNFINISHED)]
        raise AssertionError(
            f"{late} Unfinished: {left} Jobs: {await service.job_rows()}"
        ) from None


async def until_at_rest(service: Service, *, longest_lock_s: float = 0.0) -> None:
    """No lease, nothing to send, no job.

    The job of a killed worker stays in the queue until its lock runs out, also if another job
    has ended the same work long ago.
    """

    async def look() -> bool:
        leases = await service.value("SELECT count(*) FROM lease")
        unsent = await service.value("SELECT count(*) FROM outbox WHERE sent_at IS NULL")
        return leases == 0 and unsent == 0 and await service.jobs() == 0

    try:
        await until(look, patience_s=PATIENCE_S + longest_lock_s)
    except AssertionError as late:
        leases = [dict(row) for row in await service.fetch("SELECT * FROM lease")]
        unsent = [
            dict(row)
            for row in await service.fetch("SELECT * FROM outbox WHERE sent_at IS NULL")
        ]
        raise AssertionError(
            f"{late} Leases: {leases} Unsent: {unsent} Jobs: {await service.job_rows()}"
        ) from None


async def assert_exactly_once(
    service: Service,
    ledger: Mapping[SubmissionId, Program],
    executions: Iterable[ExecutionId] = (),
    *,
    analyzed: bool = False,
) -> None:
    """One row, one end, one verdict and the right one, one event for it, counted once. No chunk
    of the output of an execution is missing. If they were to be analysed, each was, once.
    """
    works = await service.fetch("SELECT id, attempt FROM work")
    attempts = {row["id"]: row["attempt"] for row in works}
    rows = await service.fetch("SELECT id, state, verdict, attempt, failure FROM submission")
    found = {row["id"]: row for row in rows}
    assert found.keys() == ledger.keys()
    wrong = {
        id_: dict(found[id_])
        for id_, program in ledger.items()
        if (found[id_]["state"], found[id_]["verdict"]) != (State.COMPLETED, program.verdict)
    }
    assert not wrong
    ends = await service.fetch(
        """SELECT work_id, count(*) FILTER (WHERE event = ANY ($1)) AS ends,
                  count(*) FILTER (WHERE event = 'submit') AS submits,
                  count(*) FILTER (WHERE event = 'start') AS starts,
                  count(*) FILTER (WHERE event = 'stage_start') AS stage_starts
             FROM work_event GROUP BY work_id""",
        sorted(TERMINAL_EVENTS),
    )
    assert {row["work_id"] for row in ends} == {*ledger, *executions}
    assert all(row["ends"] == row["submits"] == 1 for row in ends)
    assert all(row["starts"] + row["stage_starts"] == attempts[row["work_id"]] for row in ends)
    judged = await service.fetch("SELECT submission_id, attempt FROM judgement")
    assert {row["submission_id"]: row["attempt"] for row in judged} == {
        row["work_id"]: row["starts"] for row in ends if row["work_id"] in found
    }
    counted = await service.fetch("SELECT work_id FROM analysis WHERE counted")
    assert {row["work_id"] for row in counted} == (found.keys() if analyzed else set())
    gaps = await service.fetch(
        """SELECT work_id, attempt, count(*), max(number) FROM execution_output
            GROUP BY work_id, attempt HAVING max(number) <> count(*)"""
    )
    assert gaps == []
    async with connection(service.pool) as acquired:
        assert await counters.find_mismatches(acquired) == []
        assert await stages.find_mismatches(acquired) == []


async def assert_typed_once(
    service: Service, executions: Sequence[ExecutionId], lines: int
) -> None:
    rows = await service.fetch(
        "SELECT work_id, count(*) AS lines FROM execution_input GROUP BY work_id"
    )
    assert {row["work_id"]: row["lines"] for row in rows} == dict.fromkeys(executions, lines)
