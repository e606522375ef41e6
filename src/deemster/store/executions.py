"""Inserts executions, each once, with its job and its event; reads them and their output."""

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import asyncpg

from deemster.domain.errors import Conflict, NotFound, Refused
from deemster.domain.execution import (
    SIZE,
    TYPED_BYTES,
    AcceptedExecution,
    CompileResult,
    ExecutionDetails,
    ExecutionLimits,
    ExecutionOptions,
    ExecutionResult,
    ExecutionView,
    NewExecution,
    OutputChunk,
    ProgramIo,
    Stream,
    TypedInput,
)
from deemster.domain.ids import AccountId, CodeSessionId, ExecutionId
from deemster.domain.job import MAX_AHEAD, count_ahead
from deemster.domain.lifecycle import State
from deemster.domain.limits import MIB
from deemster.domain.run_status import RunStatus
from deemster.domain.source import pack_files, unpack_files
from deemster.domain.storable_text import storable
from deemster.domain.webhook import WebhookFormat
from deemster.store.idempotency_keys import KeyReused
from deemster.store.notifications import INPUT_CHANNEL
from deemster.store.pool import OUTAGES, Connection, statements

SQL = statements("executions")
CHUNKS_READ: Final = 200
RESIZES_READ: Final = 1000
INPUT_ROW_BYTES: Final = 64
"""Counted for each input, so that there can't be millions of empty ones."""

ExecutionInsert = tuple[AcceptedExecution, bool]
"""The execution, and whether it is new; False: the key had been used for it before."""


async def insert_all(
    connection: Connection, requests: Sequence[NewExecution]
) -> list[ExecutionInsert | Exception]:
    """Inserts all with one statement and one commit; returns results in the same order."""
    try:
        inserted = await insert_rows(connection, requests)
    except OUTAGES:
        raise
    except asyncpg.PostgresError as fault:
        if len(requests) == 1:
            return [session_was_deleted(requests[0], fault) or fault]
        # One is invalid, so none was written: try each by itself.
        return [(await insert_all(connection, [each]))[0] for each in requests]
    return [
        (AcceptedExecution(each.id, at), True)
        if (at := inserted.get(each.id)) is not None
        else await replay_of(connection, each)
        for each in requests
    ]


def session_was_deleted(request: NewExecution, fault: Exception) -> Refused | None:
    if request.session is None or not isinstance(fault, asyncpg.ForeignKeyViolationError):
        return None
    return NotFound("The session was deleted meanwhile.")


async def insert_rows(
    connection: Connection, requests: Sequence[NewExecution]
) -> dict[str, datetime]:
    # Always in the same order: two statements with the same keys would deadlock otherwise.
    news = sorted(requests, key=lambda each: (each.account, each.idempotency_key or ""))
    rows = SQL.insert_rows(
        connection,
        ids=[new.id for new in news],
        accounts=[new.account for new in news],
        languages=[new.language for new in news],
        mains=[new.main for new in news],
        files=[new.files for new in news],
        stdins=[new.stdin for new in news],
        args=[json.dumps(list(new.args)) for new in news],
        ios=[new.io for new in news],
        limits=[dataclasses.asdict(new.limits) for new in news],
        options=[dataclasses.asdict(new.options) for new in news],
        clients=[new.client for new in news],
        first_priorities=[new.first_priority for new in news],
        ahead=count_ahead(new.account for new in news),
        max_ahead=MAX_AHEAD,
        keys=[new.idempotency_key for new in news],
        digests=[new.request_digest for new in news],
        webhooks=[new.webhook_url for new in news],
        webhook_formats=[format_column(new.webhook_format) for new in news],
        sessions=[new.session for new in news],
    )
    return {row["id"]: row["submitted_at"] async for row in rows}


def format_column(given: WebhookFormat) -> str | None:
    return None if given is WebhookFormat.STANDARD else given


async def replay_of(connection: Connection, request: NewExecution) -> ExecutionInsert | Refused:
    """Returns what the key was used for before."""
    found = None
    if request.idempotency_key is not None:
        found = await find_replay(
            connection, request.account, request.idempotency_key, request.request_digest
        )
    return found if found is not None else KeyReused()


async def find_replay(
    connection: Connection, account: AccountId, key: str, digest: bytes
) -> ExecutionInsert | KeyReused | None:
    """None: the key is new (I1, I2)."""
    row = await SQL.find_by_key(connection, account=account, key=key)
    if row is None:
        return None
    if row["request_digest"] != digest:
        return KeyReused()
    return AcceptedExecution(ExecutionId(row["id"]), row["submitted_at"]), False


async def details(connection: Connection, execution: ExecutionId) -> ExecutionDetails | None:
    row = await SQL.details(connection, id=execution)
    if row is None:
        return None
    return ExecutionDetails(
        id=ExecutionId(row["id"]),
        state=State(row["state"]),
        attempt=row["attempt"],
        account=AccountId(row["account_id"]),
        language=row["language"],
        main=row["main"],
        files=row["files"],
        stdin=row["stdin"],
        args=row["args"],
        io=ProgramIo(row["io"]),
        limits=ExecutionLimits(**row["limits"]),
        options=ExecutionOptions(**row["options"]),
        age_s=row["age_s"],
    )


async def record_compile(
    connection: Connection, execution: ExecutionId, attempt: int, result: CompileResult
) -> None:
    """Stores what the compiler said, before the program is run."""
    await SQL.record_compile(
        connection, id=execution, attempt=attempt, compile=dataclasses.asdict(result)
    )


async def output_room(connection: Connection, execution: ExecutionId, attempt: int) -> int:
    """Bytes that the limits leave for more output; none if the execution was deleted."""
    return await SQL.output_room(connection, id=execution, attempt=attempt) or 0


async def record_result(
    connection: Connection,
    execution: ExecutionId,
    attempt: int,
    result: ExecutionResult,
    output: Sequence[OutputChunk],
) -> None:
    """Stores the result of the attempt that the caller's transaction ends (J12)."""
    await SQL.record_result(
        connection,
        id=execution,
        attempt=attempt,
        numbers=[chunk.number for chunk in output],
        streams=[chunk.stream for chunk in output],
        at_ms=[chunk.at_ms for chunk in output],
        contents=[chunk.content for chunk in output],
        status=result.status,
        exit_code=result.exit_code,
        signal=result.signal,
        cpu_ms=float(result.cpu_ms),
        wall_ms=float(result.wall_ms),
        memory_kb=result.memory_kb,
        stdout_truncated=result.stdout_truncated,
        stderr_truncated=result.stderr_truncated,
        compile=storable(dataclasses.asdict(result.compile)) if result.compile else None,
        returned_files=pack_files(result.returned_files) if result.returned_files else None,
    )


async def get(connection: Connection, execution: ExecutionId) -> ExecutionView | None:
    row = await SQL.get(connection, id=execution)
    return view_from_row(row) if row else None


async def page(
    connection: Connection,
    *,
    account: AccountId | None,
    session: CodeSessionId | None = None,
    before: ExecutionId | None,
    limit: int,
) -> list[ExecutionView]:
    """Lists executions without the files that they returned, newest first."""
    rows = SQL.page(connection, account=account, session=session, before=before, limit=limit)
    return [view_from_row(row) async for row in rows]


async def ids_of_api(
    connection: Connection, api: str, *, limit: int, offset: int
) -> list[ExecutionId]:
    """Lists executions that came by one compatible API, newest first."""
    rows = SQL.ids_of_api(connection, api=api, limit=limit, offset=offset)
    return [ExecutionId(row["id"]) async for row in rows]


async def count_of_api(connection: Connection, api: str) -> int:
    return int(await SQL.count_of_api(connection, api=api))


async def count_waiting(connection: Connection) -> int:
    return int(await SQL.count_waiting(connection))


async def count_live(connection: Connection, account: AccountId) -> int:
    """Counts the account's unfinished executions whose input is typed."""
    return int(await SQL.count_live(connection, account=account))


async def unfinished_language_servers(
    connection: Connection, account: AccountId
) -> list[ExecutionId]:
    """Lists those of the account, the newest first."""
    rows = SQL.unfinished_language_servers(connection, account=account)
    return [ExecutionId(row["id"]) async for row in rows]


@dataclass(frozen=True, slots=True)
class ExecutionSource:
    files: Mapping[str, bytes]
    stdin: bytes


async def source(connection: Connection, execution: ExecutionId) -> ExecutionSource | None:
    row = await SQL.source(connection, id=execution)
    return ExecutionSource(unpack_files(row["files"]), row["stdin"]) if row else None


async def add_output(
    connection: Connection, chunks: Iterable[tuple[ExecutionId, OutputChunk]]
) -> None:
    given = list(chunks)
    if not given:
        return
    await SQL.add_output(
        connection,
        ids=[execution for execution, _ in given],
        attempts=[chunk.attempt for _, chunk in given],
        numbers=[chunk.number for _, chunk in given],
        streams=[chunk.stream for _, chunk in given],
        at_ms=[chunk.at_ms for _, chunk in given],
        contents=[chunk.content for _, chunk in given],
    )


async def output_after(
    connection: Connection,
    execution: ExecutionId,
    *,
    attempt: int = 0,
    number: int = 0,
    limit: int = CHUNKS_READ,
) -> list[OutputChunk]:
    """Lists chunks after the given one; all of a newer attempt, if there is one."""
    rows = SQL.output_after(
        connection, id=execution, attempt=attempt, number=number, limit=limit
    )
    return [
        OutputChunk(
            row["attempt"],
            row["number"],
            Stream(row["stream"]),
            row["at_ms"],
            bytes(row["content"]),
        )
        async for row in rows
    ]


async def whole_output(connection: Connection, execution: ExecutionId) -> dict[Stream, bytes]:
    """Returns what it wrote in its last attempt; a stream without output is missing."""
    rows = SQL.whole_output(connection, id=execution)
    return {Stream(row["stream"]): bytes(row["content"]) async for row in rows}


async def add_input(
    connection: Connection,
    execution: ExecutionId,
    kind: str,
    content: bytes = b"",
    *,
    key: str | None = None,
) -> bool:
    """Returns False if the execution has ended. What was typed with the same key before is not
    typed again (I1).
    """
    added = await SQL.add_input(
        connection,
        id=execution,
        kind=kind,
        content=content,
        key=key,
        row_bytes=INPUT_ROW_BYTES,
        max_bytes=TYPED_BYTES,
        channel=INPUT_CHANNEL,
    )
    if added is not None:
        return True
    if key is not None and (first := await SQL.input_of_key(connection, id=execution, key=key)):
        if (first["kind"], bytes(first["content"])) != (kind, content):
            raise KeyReused
        return True
    view = await get(connection, execution)
    if view is not None and view.finished_at is None:
        raise Conflict(
            f"{execution} has got {TYPED_BYTES // MIB} MB of input: it can get no more."
        )
    return False


async def input_after(
    connection: Connection, execution: ExecutionId, after: int, *, limit: int = CHUNKS_READ
) -> list[TypedInput]:
    rows = SQL.input_after(connection, id=execution, after=after, limit=limit)
    return [TypedInput(row["id"], row["kind"], bytes(row["content"])) async for row in rows]


@dataclass(frozen=True, slots=True)
class Resize:
    at: datetime
    rows: int
    columns: int


async def resizes(connection: Connection, execution: ExecutionId) -> list[Resize]:
    rows = SQL.resizes(connection, id=execution, limit=RESIZES_READ)
    return [Resize(row["at"], *SIZE.unpack(row["content"])) async for row in rows]


async def delete_ended(connection: Connection, *, older_than_s: float, limit: int) -> int:
    """Returns how many were deleted."""
    return int(
        await SQL.delete_ended(connection, older_than_s=float(older_than_s), limit=limit)
    )


async def delete(connection: Connection, execution: ExecutionId) -> None:
    """Does nothing if the execution has not ended."""
    await SQL.delete_one(connection, id=execution)


def view_from_row(row: Mapping[str, Any]) -> ExecutionView:
    return ExecutionView(
        id=ExecutionId(row["id"]),
        account=AccountId(row["account_id"]),
        account_name=row["account_name"],
        language=row["language"],
        main=row["main"],
        state=State(row["state"]),
        attempt=row["attempt"],
        io=ProgramIo(row["io"]),
        limits=ExecutionLimits(**row["limits"]),
        options=ExecutionOptions(**row["options"]),
        args=row["args"],
        client=row["client"],
        session=CodeSessionId(row["session_id"]) if row["session_id"] else None,
        webhook_url=row["webhook_url"],
        submitted_at=row["submitted_at"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        failure=row["failure"],
        result=result_from_row(row) if row["status"] else None,
        compile=compile_from_row(row),
    )


def compile_from_row(row: Mapping[str, Any]) -> CompileResult | None:
    found = row["compile"]
    if not found:
        return None
    return CompileResult(RunStatus(found["status"]), found["output"], found["ms"])


def result_from_row(row: Mapping[str, Any]) -> ExecutionResult:
    return ExecutionResult(
        status=RunStatus(row["status"]),
        exit_code=row["exit_code"],
        signal=row["signal"],
        cpu_ms=row["cpu_ms"],
        wall_ms=row["wall_ms"],
        memory_kb=row["used_kb"],
        stdout_truncated=row["stdout_truncated"],
        stderr_truncated=row["stderr_truncated"],
        compile=compile_from_row(row),
        returned_files=unpack_files(row["returned_files"]) if row["returned_files"] else {},
    )
