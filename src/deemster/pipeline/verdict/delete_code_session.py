"""Deletes a code session with its executions, and kills those that run (E6)."""

from contextlib import suppress

from deemster.domain.errors import Conflict, NotFound
from deemster.domain.ids import AccountId, CodeSessionId
from deemster.pipeline.verdict.cancel import cancel_in
from deemster.store import code_sessions
from deemster.store.pool import Pool, transaction


async def delete_code_session(pool: Pool, session: CodeSessionId, account: AccountId) -> bool:
    """Returns False if the account has no such session."""
    async with transaction(pool) as connection:
        if not await code_sessions.lock(connection, session, account):
            return False
        for execution in await code_sessions.unfinished_executions(connection, session):
            with suppress(Conflict, NotFound):  # it has ended, or was deleted, in between
                await cancel_in(connection, execution)
        await code_sessions.delete(connection, session)
    return True
