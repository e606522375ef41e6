"""Stores what analysers found in programs, and requests for further analyses."""

from dataclasses import asdict

from deemster.domain.ids import (
    ANALYSIS,
    AccountId,
    AnalysisId,
    RevisionDigest,
    WorkId,
    new_id,
)
from deemster.domain.lifecycle import State
from deemster.domain.stored_analysis import (
    AnalysisRecord,
    AnalyzedId,
    RequestedAnalysis,
    StoredAnalysis,
)
from deemster.store.pool import Connection, statements

SQL = statements("analyses")


async def record(
    connection: Connection, work: AnalyzedId, attempt: int, found: AnalysisRecord
) -> None:
    """Call it in the transaction that ends the stage, after its guarded state change."""
    await SQL.record(connection, id=work, attempt=attempt, **asdict(found))


async def get(connection: Connection, work: AnalyzedId) -> StoredAnalysis | None:
    row = await SQL.get(connection, id=work)
    if row is None:
        return None
    return StoredAnalysis(
        sarif=bytes(row["sarif"]),
        scores=row["scores"],
        tools=row["tools"],
        findings=row["findings"],
        analyzed_at=row["analyzed_at"],
    )


async def request(connection: Connection, subject: AnalyzedId) -> AnalysisId | None:
    """Queues an analysis. None: one that was requested before has not ended."""
    row = await SQL.request(connection, id=new_id(ANALYSIS), subject=subject)
    return AnalysisId(row["id"]) if row else None


async def request_details(connection: Connection, work: WorkId) -> RequestedAnalysis | None:
    row = await SQL.request_details(connection, id=work)
    if row is None:
        return None
    return RequestedAnalysis(
        id=AnalysisId(row["id"]),
        state=State(row["state"]),
        attempt=row["attempt"],
        account=AccountId(row["account_id"]),
        language=row["language"],
        main=row["main"],
        subject=row["subject_id"],
        source=row["source"],
        revision=RevisionDigest(row["revision"]) if row["revision"] else None,
        files=bytes(row["files"]) if row["files"] is not None else None,
        age_s=row["age_s"],
    )


async def state_of_request(connection: Connection, subject: AnalyzedId) -> State | None:
    """The state of the newest request; None: there is none."""
    row = await SQL.last_request(connection, subject=subject)
    return State(row["state"]) if row else None


async def stage_has_failed(connection: Connection, work: AnalyzedId) -> bool:
    return bool(await SQL.has_failed(connection, id=work))


async def delete_ended_requests(
    connection: Connection, *, older_than_s: float, limit: int
) -> int:
    return int(
        await SQL.delete_ended_requests(
            connection, older_than_s=float(older_than_s), limit=limit
        )
    )
