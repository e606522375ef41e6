"""The rights of the service's database role: it reads and writes rows, and owns no table."""

from deemster.store.pool import Connection, OwnConnection, connect, statements

SQL = statements("grants")


async def create_application(url: str, role: str) -> None:
    """Creates the role in an embedded database, to which `url` connects as the owner."""
    connection = await connect(url)
    try:
        async with connection.transaction():
            await SQL.name_application(connection, role=role)
            await SQL.create_application(connection)
    finally:
        await connection.close()


async def role_of(url: str) -> str:
    """Returns the name of the role as which a URL connects."""
    connection = await connect(url)
    try:
        return str(await SQL.current_role(connection))
    finally:
        await connection.close()


async def grant_rows(connection: Connection | OwnConnection, role: str) -> None:
    await SQL.name_application(connection, role=role)
    await SQL.grant_rows(connection)
