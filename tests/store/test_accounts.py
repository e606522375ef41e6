"""O6: accounts and sessions, also with requests at the same time."""

import asyncio

import asyncpg
import pytest

from deemster.domain.account import Role, Scope
from deemster.domain.errors import Conflict, NotFound
from deemster.domain.ids import AccountId
from deemster.store import accounts, identities, sessions
from deemster.store.accounts import AccountUpdate
from deemster.store.pool import Pool, connection, transaction
from tests.waiting import until

OLD, NEW = "$argon2id$old", "$argon2id$new"


async def make(pool: Pool, name: str = "ada", role: Role = Role.USER) -> AccountId:
    async with connection(pool) as acquired:
        account = await accounts.add(acquired, name, role)
        await accounts.set_password(acquired, account.id, OLD)
    return account.id


async def test_no_session_begins_with_a_password_that_was_just_changed(pool: Pool) -> None:
    """O6: the password was checked before the change."""
    account = await make(pool)
    async with connection(pool) as acquired:
        await accounts.set_password(acquired, account, NEW)
        assert await sessions.begin(acquired, account, keep_s=60, password=OLD) is None
        assert await sessions.begin(acquired, account, keep_s=60, password=NEW) is not None


async def is_a_lock_awaited(pool: Pool) -> bool:
    async with connection(pool) as acquired:
        waiting = await acquired.fetchval(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
    return bool(waiting)


async def test_a_log_in_waits_while_its_account_is_being_disabled(pool: Pool) -> None:
    """O6: otherwise its session would be valid when the account is enabled again."""
    account = await make(pool)

    async def log_in() -> sessions.NewSession | None:
        async with connection(pool) as acquired:
            return await sessions.begin(acquired, account, keep_s=60)

    async with asyncio.TaskGroup() as group, transaction(pool) as acquired:
        await accounts.update(acquired, account, AccountUpdate(disabled=True))
        logging_in = group.create_task(log_in())
        await until(lambda: is_a_lock_awaited(pool))
        assert not logging_in.done()
    assert logging_in.result() is None
    async with connection(pool) as acquired:
        assert await acquired.fetchval("SELECT count(*) FROM session") == 0


async def test_disabling_also_revokes_a_token_that_is_being_created(
    pool: Pool,
) -> None:
    """O6: otherwise it would be valid when the account is enabled again."""
    account = await make(pool)

    async def disable() -> None:
        async with transaction(pool) as acquired:
            await accounts.update(acquired, account, AccountUpdate(disabled=True))

    async with asyncio.TaskGroup() as group, transaction(pool) as acquired:
        await accounts.add_token(acquired, account, "x")
        disabling = group.create_task(disable())

        async def has_reached_the_lock() -> bool:
            return disabling.done() or await is_a_lock_awaited(pool)

        await until(has_reached_the_lock)
    async with connection(pool) as acquired:
        rows = await acquired.fetch("SELECT revoked_at FROM token")
    assert [row["revoked_at"] is not None for row in rows] == [True]


async def test_a_password_that_has_just_changed_is_not_replaced(pool: Pool) -> None:
    """O6: a request that proved the old password meanwhile is too late."""
    account = await make(pool)
    async with connection(pool) as acquired:
        await accounts.replace_password(acquired, account, old=OLD, password=NEW)
        with pytest.raises(Conflict, match="changed by another request"):
            await accounts.replace_password(acquired, account, old=OLD, password=OLD)
        with pytest.raises(Conflict):
            await accounts.replace_password(acquired, account, old=None, password=OLD)
        found = await accounts.credentials_by_id(acquired, account)
    assert found is not None
    assert found.password == NEW


async def test_disabling_ends_all_sessions_and_tokens(pool: Pool) -> None:
    account, other = await make(pool), await make(pool, "bob")
    async with transaction(pool) as acquired:
        digests = set()
        for each in (account, other):
            session = await sessions.begin(acquired, each, keep_s=60)
            assert session is not None
            token = await accounts.add_token(acquired, each, "x")
            digests |= (
                {session.digest, accounts.token_digest(token)} if each == account else set()
            )
        ended = await accounts.update(acquired, account, AccountUpdate(disabled=True))
    assert set(ended) == digests
    async with connection(pool) as acquired:
        for digest in digests:
            assert await sessions.find_account(acquired, digest) is None
            assert await accounts.find_by_token_digest(acquired, digest) is None
        assert await accounts.find_by_token(acquired, token) is not None


async def test_the_last_admin_can_not_be_removed(pool: Pool) -> None:
    root = await make(pool, "root", Role.ADMIN)
    user = await make(pool)
    for change in (AccountUpdate(role=Role.AUTHOR), AccountUpdate(disabled=True)):
        with pytest.raises(Conflict, match="last admin"):
            async with transaction(pool) as acquired:
                await accounts.update(acquired, root, change)
    async with transaction(pool) as acquired:
        await accounts.update(acquired, user, AccountUpdate(disabled=True))
        await accounts.update(acquired, root, AccountUpdate(role=Role.ADMIN, tier=1))


async def test_a_missing_account_can_not_be_changed(pool: Pool) -> None:
    with pytest.raises(NotFound):
        async with transaction(pool) as acquired:
            await accounts.update(acquired, AccountId("usr_none"), AccountUpdate(tier=1))


async def test_names_are_unique_whatever_their_case(pool: Pool) -> None:
    """O6: also of requests at the same time; the name is shown as it was chosen."""

    async def register(name: str) -> str | None:
        async with connection(pool) as acquired:
            account = await accounts.add_if_name_is_free(acquired, name, Role.USER)
        return account.name if account is not None else None

    names = ["ada", "Ada", "aDa", "adA", "ADA"]
    [chosen] = filter(None, await asyncio.gather(*map(register, names)))
    async with connection(pool) as acquired:
        for name in names:
            known = await accounts.find_by_name(acquired, name)
            credentials = await accounts.credentials_by_name(acquired, name)
            assert known is not None
            assert credentials is not None
            assert known.name == credentials.account.name == chosen
        with pytest.raises(Conflict, match="case does not matter"):
            await accounts.add(acquired, "ADa", Role.USER)
        with pytest.raises(asyncpg.UniqueViolationError):
            await acquired.execute("INSERT INTO account VALUES ('usr_2', 'ADa', 'user')")


async def test_a_name_that_equals_an_id_is_not_an_id(pool: Pool) -> None:
    account = await make(pool)
    async with connection(pool) as acquired:
        await acquired.execute("UPDATE account SET id = 'usr_1' WHERE id = $1", account)
        assert await accounts.credentials_by_name(acquired, "usr_1") is None
        found = await accounts.credentials_by_id(acquired, AccountId("usr_1"))
    assert found is not None
    assert found.account.name == "ada"


async def test_a_rehash_never_undoes_a_new_password(pool: Pool) -> None:
    account = await make(pool)
    async with connection(pool) as acquired:
        await accounts.set_password(acquired, account, NEW)
        await accounts.rehash_password(acquired, account, old=OLD, password=OLD)
        found = await accounts.credentials_by_name(acquired, "ada")
    assert found is not None
    assert found.password == NEW


@pytest.mark.parametrize("bad", ["plain words", "$2b$12$abc", "$argon2i$v=19$x"])
async def test_the_table_accepts_only_hashes(pool: Pool, bad: str) -> None:
    account = await make(pool)
    with pytest.raises(asyncpg.CheckViolationError):
        async with connection(pool) as acquired:
            await accounts.set_password(acquired, account, bad)


async def test_a_token_has_at_least_one_known_scope(pool: Pool) -> None:
    account = await make(pool)
    async with connection(pool) as acquired:
        token = await accounts.add_token(
            acquired, account, "x", scopes=frozenset({Scope.READ, Scope.METRICS})
        )
        found = await accounts.find_by_token(acquired, token)
        assert found is not None
        assert found.scopes == {Scope.READ, Scope.METRICS}
        with pytest.raises(asyncpg.CheckViolationError):
            await accounts.add_token(acquired, account, "x", scopes=frozenset())


async def test_many_first_requests_of_a_subject_create_one_account(pool: Pool) -> None:
    async def first_request() -> AccountId:
        async with transaction(pool) as acquired:
            await identities.lock(acquired, "issuer", "subject")
            known = await identities.find(acquired, "issuer", "subject")
            if known is not None:
                return known.account.id
            account = await accounts.add(acquired, "ada", Role.USER)
            await identities.add(acquired, "issuer", "subject", account.id)
            return account.id

    found = await asyncio.gather(*(first_request() for _ in range(8)))
    assert len(set(found)) == 1
