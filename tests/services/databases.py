"""Lends databases to tests. One that a test has given back is emptied and lent again.

A new database costs more than most tests: its files are copied and removed, and each of its
first connections builds its caches anew.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import psycopg
from psycopg import Connection, sql

from tests.services.postgres import with_database

MAX_USES = 150
"""Emptied tables and indexes keep the space of their rows."""
MAX_ROWS = 2_000
"""A database in which a test left more is not lent again."""
END_OTHERS = """
SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
  AND NOT (application_name = 'deemster test' AND state = 'idle')"""
"""Without the connections of the kept pool, which the next test gets."""
SCHEMAS = """
SELECT nspname FROM pg_namespace
WHERE nspname NOT LIKE 'pg\\_%' AND nspname <> 'information_schema'"""
DEFINITIONS = """
SELECT (SELECT md5(string_agg(concat(oid, relname, relkind, relacl), ',' ORDER BY oid))
        FROM pg_class WHERE relnamespace = 'public'::regnamespace),
       (SELECT md5(string_agg(concat(oid, prosrc), ',' ORDER BY oid))
        FROM pg_proc WHERE pronamespace = 'public'::regnamespace),
       (SELECT md5(string_agg(concat(oid, conbin), ',' ORDER BY oid)) FROM pg_constraint),
       (SELECT md5(string_agg(concat(oid, tgenabled), ',' ORDER BY oid)) FROM pg_trigger),
       (SELECT md5(string_agg(concat(attrelid, attname, atttypid, attnotnull, attacl), ','
                              ORDER BY attrelid, attnum))
        FROM pg_attribute WHERE attrelid IN
            (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace)),
       (SELECT count(*) FROM pg_db_role_setting),
       (SELECT string_agg(extname, ',') FROM pg_extension)"""
TABLES = (
    "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'"
)
SEQUENCES = "SELECT sequencename, start_value FROM pg_sequences WHERE schemaname = 'public'"


@dataclass(frozen=True, slots=True)
class Rows:
    """What a table held, to find a change and to put it back."""

    digest: str
    copied: bytes


@dataclass(slots=True)
class Lent:
    """A database, what it held when it was new, and how often it was lent."""

    name: str
    inside: Connection
    definitions: object
    schemas: frozenset[str]
    rows: dict[str, Rows | None]
    """None for a table that was empty."""
    sequences: dict[str, int]
    find_filled: bytes
    """The statement that lists the tables with rows."""
    uses: int = 0


@dataclass(slots=True)
class Databases:
    connection: Connection
    """To a database that no test changes."""
    url: str
    _free: list[Lent] = field(default_factory=list)

    @contextmanager
    def lend(self, template: str) -> Iterator[str]:
        """Nobody else uses the database, and it is as new; afterwards nobody uses it."""
        lent = self._free.pop() if self._free else self._create(template)
        lent.uses += 1
        try:
            yield with_database(self.url, lent.name)
        finally:
            if lent.uses < MAX_USES and empty(lent):
                self._free.append(lent)
            else:
                self._drop(lent)

    def close(self) -> None:
        while self._free:
            self._drop(self._free.pop())

    def _create(self, template: str) -> Lent:
        name = f"test_{uuid.uuid4().hex}"
        create(self.connection, name, template)
        inside = psycopg.connect(with_database(self.url, name), autocommit=True)
        inside.execute("SET session_replication_role = replica")  # deletes in any order
        tables = [table for (table,) in inside.execute(TABLES).fetchall()]
        return Lent(
            name,
            inside,
            inside.execute(DEFINITIONS).fetchone(),
            schemas_in(inside),
            {table: read_rows(inside, table) for table in tables},
            dict(inside.execute(SEQUENCES).fetchall()),
            find_filled(tables).as_bytes(inside),
        )

    def _drop(self, lent: Lent) -> None:
        lent.inside.close()
        drop(self.connection, lent.name)


def empty(lent: Lent) -> bool:
    """Returns False if the test changed more than rows, left many, or ended this connection."""
    try:
        lent.inside.execute(END_OTHERS)
        for schema in schemas_in(lent.inside) - lent.schemas:
            statement = sql.SQL("DROP SCHEMA {} CASCADE")
            lent.inside.execute(statement.format(sql.Identifier(schema)))
        return (
            lent.inside.execute(DEFINITIONS).fetchone() == lent.definitions
            and restore(lent)
            and reset_sequences(lent)
        )
    except psycopg.OperationalError:
        return False


def restore(lent: Lent) -> bool:
    """Deletes the rows of the test, and puts back what it changed.

    Returns False if there were many rows.
    """
    deleted = sum(
        delete(lent.inside, table) for table in filled(lent) if lent.rows[table] is None
    )
    for table, rows in lent.rows.items():
        if rows is not None and digest(lent.inside, table) != rows.digest:
            deleted += delete(lent.inside, table)
            put_back(lent.inside, table, rows)
    return deleted <= MAX_ROWS


def delete(connection: Connection, table: str) -> int:
    statement = sql.SQL("DELETE FROM {}").format(sql.Identifier(table))
    return connection.execute(statement).rowcount


def put_back(connection: Connection, table: str, rows: Rows) -> None:
    statement = sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(table))
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.write(rows.copied)


def filled(lent: Lent) -> list[str]:
    return [name for (name,) in lent.inside.execute(lent.find_filled).fetchall()]


def find_filled(tables: list[str]) -> sql.Composed:
    look = sql.SQL("SELECT {} WHERE EXISTS (SELECT FROM {})")
    looks = [look.format(sql.Literal(each), sql.Identifier(each)) for each in tables]
    return sql.SQL(" UNION ALL ").join(looks)


def reset_sequences(lent: Lent) -> bool:
    lent.inside.execute(
        "SELECT setval(name, start, false) "
        "FROM unnest(%s::text[], %s::bigint[]) AS sequence (name, start)",
        [list(lent.sequences), list(lent.sequences.values())],
    )
    return True


def schemas_in(connection: Connection) -> frozenset[str]:
    return frozenset(name for (name,) in connection.execute(SCHEMAS))


def read_rows(connection: Connection, table: str) -> Rows | None:
    found = digest(connection, table)
    if found is None:
        return None
    statement = sql.SQL("COPY {} TO STDOUT").format(sql.Identifier(table))
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        return Rows(found, b"".join(map(bytes, copy)))


def digest(connection: Connection, table: str) -> str | None:
    statement = sql.SQL("SELECT md5(string_agg(r::text, '' ORDER BY r::text)) FROM {} r")
    row = connection.execute(statement.format(sql.Identifier(table))).fetchone()
    assert row is not None
    found: str | None = row[0]
    return found


@contextmanager
def cloned(connection: Connection, url: str, template: str) -> Iterator[str]:
    """The URL of a new database like the template, gone afterwards whoever still uses it."""
    name = f"test_{uuid.uuid4().hex}"
    create(connection, name, template)
    try:
        yield with_database(url, name)
    finally:
        drop(connection, name)


def create(connection: Connection, name: str, template: str) -> None:
    # The other strategy writes each page to the log as well: half as fast for ours.
    statement = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY")
    connection.execute(statement.format(sql.Identifier(name), sql.Identifier(template)))


def drop(connection: Connection, name: str) -> None:
    statement = sql.SQL("DROP DATABASE {} WITH (FORCE)")
    connection.execute(statement.format(sql.Identifier(name)))
