"""Ends a run: verdict, counters and event in one transaction, and once (I3, S5, J12)."""

import dataclasses
import json
from typing import Any

from deemster.domain.judgement import JuryJudgement, JuryText, for_contestant
from deemster.domain.lifecycle import Event
from deemster.domain.submission import JobDetails
from deemster.store import counters, leases
from deemster.store.artifacts import Artifacts
from deemster.store.inline_artifacts import keep
from deemster.store.lifecycle import advance
from deemster.store.pool import Pool, transaction
from deemster.store.submissions import Finding, record


async def settle(
    pool: Pool,
    artifacts: Artifacts,
    running: JobDetails,
    judgement: JuryJudgement,
    *,
    show_groups: bool = True,
) -> None:
    """A MovedOn says that the attempt was not the last one any more: nothing was written."""
    document = json.dumps(jury_document(judgement)).encode()
    kept = await keep(artifacts, document)
    found = finding(judgement, kept.digest, show_groups=show_groups)
    async with transaction(pool) as connection:
        await kept.write(connection)
        await record(connection, running.id, running.attempt, found)
        await advance(connection, Event.COMPLETE, running.id, running.attempt)
        await leases.drop(connection, running.id)
        if not running.staged:
            await counters.count(connection, running.account, running.problem, found.verdict)


def finding(judgement: JuryJudgement, jury: str, *, show_groups: bool) -> Finding:
    shown = for_contestant(judgement, show_groups=show_groups)
    return Finding(
        verdict=shown.verdict,
        runtime_ms=shown.runtime_ms,
        memory_kb=shown.memory_kb,
        passed_cases=shown.passed_cases,
        total_cases=shown.total_cases,
        score=shown.score,
        max_score=shown.max_score,
        contestant=without_nul(dataclasses.asdict(shown)),
        jury=jury,
    )


def jury_document(judgement: JuryJudgement) -> Any:
    """All that is known, for the jury alone; it lies in an artifact, never in a row."""
    return without_nul(revealed(judgement))


def revealed(value: Any) -> Any:
    if isinstance(value, JuryText):
        return value.reveal()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {field.name: revealed(getattr(value, field.name)) for field in fields}
    if isinstance(value, list | tuple):
        return [revealed(each) for each in value]
    return value


def without_nul(value: Any) -> Any:
    """Programs print anything; Postgres keeps neither NUL nor half a surrogate pair in JSON."""
    if isinstance(value, str):
        return (
            value.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()
        )
    if isinstance(value, dict):
        return {name: without_nul(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [without_nul(each) for each in value]
    return value
