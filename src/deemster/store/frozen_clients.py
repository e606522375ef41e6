"""Ends the transactions of processes that froze, so that nobody waits for their locks (Q6)."""

from deemster.store.pool import COMMAND_TIMEOUT_S, IDLE_TRANSACTION_S, Connection, statements

SQL = statements("frozen_clients")


async def end_frozen(
    connection: Connection, *, silent_s: float = IDLE_TRANSACTION_S
) -> list[str]:
    """Returns the names of the connections that were ended."""
    rows = SQL.end_frozen(connection, silent_s=silent_s, statement_s=COMMAND_TIMEOUT_S)
    return [row["application_name"] async for row in rows]
