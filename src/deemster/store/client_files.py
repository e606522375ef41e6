"""Stores the files that clients send for their runs, within a total size for each account."""

from collections.abc import Collection

from deemster.domain.errors import Refused
from deemster.domain.ids import AccountId
from deemster.domain.limits import MIB
from deemster.store.pool import Connection, statements

SQL = statements("client_files")


async def put(
    connection: Connection, account: AccountId, name: str, content: bytes, *, max_bytes: int
) -> None:
    """Call it in a transaction. Refuses what would exceed the size of all files together."""
    await SQL.lock_account(connection, account=account)
    others = await SQL.others_bytes(connection, account=account, name=name)
    if others + len(content) > max_bytes:
        raise Refused(
            f"Your files would have more than {max_bytes // MIB} MB: "
            "wait until unused ones are deleted."
        )
    await SQL.put(connection, account=account, name=name, content=content)


async def touch(connection: Connection, account: AccountId, name: str) -> bool:
    """Returns whether there is such a file; it then stays for the whole time again."""
    return await SQL.touch(connection, account=account, name=name) is not None


async def read(
    connection: Connection, account: AccountId, names: Collection[str]
) -> dict[str, bytes]:
    """Files that do not exist are missing in the result."""
    rows = SQL.read(connection, account=account, names=sorted(names))
    return {row["name"]: bytes(row["content"]) async for row in rows}


async def delete_unused(connection: Connection, *, unused_s: float, limit: int) -> int:
    """Returns how many were deleted."""
    return int(await SQL.delete_unused(connection, unused_s=float(unused_s), limit=limit))
