"""Deletes a code session with its executions, and kills those that run (E6)."""

from contextlib import suppress

from deemster.domain.errors import Conflict, NotFound
from deemster.domain.ids import AccountId, CodeSessionId
from deemster.pipeline.verdict.cancel import cancel_in
from deemster.store import code_sessions
from deemster.store.pool import Pool, connection, transaction


async def delete_code_session(pool: Pool, session: CodeSessionId, account: AccountId) -> bool:
    """Returns False if the account has no such session."""
    async with connection(pool) as acquired:
        if await code_sessions.get(acquired, session, account) is None:
            return False
        # There may be more of them than one statement can delete in time.
        while await code_sessions.delete_ended_executions(acquired, session):
            pass
    async with transaction(pool) as writing:
        if not await code_sessions.lock(writing, session, account):
            return False
        for execution in await code_sessions.unfinished_executions(writing, session):
            # Its event is deleted with it: only the notice tells those who wait for it.
            with suppress(Conflict, NotFound):  # it has ended, or was deleted, in between
                await cancel_in(writing, execution)
        await code_sessions.delete(writing, session)
    return True
