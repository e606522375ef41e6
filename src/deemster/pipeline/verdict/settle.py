"""Records a verdict: judgement, counters, state and event in one transaction (I3, S5, J12)."""

import dataclasses
import json
from typing import Any

from deemster.domain.judgement import JuryJudgement, JuryText, for_contestant
from deemster.domain.lifecycle import Event
from deemster.domain.submission import JobDetails
from deemster.store import counters, leases
from deemster.store.artifacts import Artifacts
from deemster.store.inline_artifacts import prepare
from deemster.store.lifecycle import advance
from deemster.store.pool import Pool, transaction
from deemster.store.submissions import JudgementRecord, record_judgement


async def settle(
    pool: Pool,
    artifacts: Artifacts,
    details: JobDetails,
    judgement: JuryJudgement,
    *,
    show_groups: bool = True,
) -> None:
    """Raises MovedOn, and writes nothing, if this attempt is no longer the current one."""
    document = json.dumps(jury_document(judgement)).encode()
    kept = await prepare(artifacts, document)
    found = finding(judgement, kept.digest, show_groups=show_groups)
    async with transaction(pool) as connection:
        await kept.write(connection)
        await record_judgement(connection, details.id, details.attempt, found)
        await advance(connection, Event.COMPLETE, details.id, details.attempt)
        await leases.release(connection, details.id)
        if not details.staged:
            await counters.count_verdict(
                connection, details.account, details.problem, found.verdict
            )


def finding(judgement: JuryJudgement, jury: str, *, show_groups: bool) -> JudgementRecord:
    shown = for_contestant(judgement, show_groups=show_groups)
    return JudgementRecord(
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
    """The full judgement, for the jury only; it is stored as an artifact, never in a row."""
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
    """Replaces what Postgres cannot store in JSON: NUL and lone surrogates."""
    if isinstance(value, str):
        return (
            value.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()
        )
    if isinstance(value, dict):
        return {name: without_nul(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [without_nul(each) for each in value]
    return value
