"""O6: accounts and log-ins, and what holds when several things happen at once."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from deemster.api.auth.passwords import hash_password
from deemster.domain.account import Role, Scope
from deemster.domain.errors import Conflict, NotFound
from deemster.domain.ids import AccountId
from deemster.store import accounts, identities, sessions
from deemster.store.accounts import AccountUpdate
from deemster.store.pool import Pool, connection, open_pool, transaction
from tests.waiting import until

OLD, NEW = hash_password("the old password"), hash_password("the new password")


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    async with open_pool(database_url, name="test") as opened:
        yield opened


async def make(pool: Pool, name: str = "ada", role: Role = Role.USER) -> AccountId:
    async with connection(pool) as acquired:
        account = await accounts.add(acquired, name, role)
        await accounts.set_password(acquired, account.id, OLD)
    return account.id


async def test_a_log_in_by_a_password_that_has_just_changed_is_none(pool: Pool) -> None:
    """O6: it was looked at before the change, and comes after it."""
    account = await make(pool)
    async with connection(pool) as acquired:
        await accounts.set_password(acquired, account, NEW)
        assert await sessions.begin(acquired, account, keep_s=60, password=OLD) is None
        assert await sessions.begin(acquired, account, keep_s=60, password=NEW) is not None


async def is_someone_waiting(pool: Pool) -> bool:
    async with connection(pool) as acquired:
        waiting = await acquired.fetchval(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
    return bool(waiting)


async def test_a_log_in_waits_for_who_is_just_being_disabled(pool: Pool) -> None:
    """O6: it is not in the middle of it, and so not left when the account is enabled again."""
    account = await make(pool)

    async def log_in() -> sessions.NewSession | None:
        async with connection(pool) as acquired:
            return await sessions.begin(acquired, account, keep_s=60)

    async with asyncio.TaskGroup() as group, transaction(pool) as acquired:
        await accounts.update(acquired, account, AccountUpdate(disabled=True))
        coming = group.create_task(log_in())
        await until(lambda: is_someone_waiting(pool))
        assert not coming.done()
    assert coming.result() is None
    async with connection(pool) as acquired:
        assert await acquired.fetchval("SELECT count(*) FROM session") == 0


async def test_who_is_disabled_loses_also_the_token_that_is_just_being_made(
    pool: Pool,
) -> None:
    """O6: else it would be good when the account is enabled again."""
    account = await make(pool)

    async def disable() -> None:
        async with transaction(pool) as acquired:
            await accounts.update(acquired, account, AccountUpdate(disabled=True))

    async with asyncio.TaskGroup() as group, transaction(pool) as acquired:
        await accounts.add_token(acquired, account, "x")
        disabling = group.create_task(disable())

        async def is_told() -> bool:
            return disabling.done() or await is_someone_waiting(pool)

        await until(is_told)
    async with connection(pool) as acquired:
        rows = await acquired.fetch("SELECT revoked_at FROM token")
    assert [row["revoked_at"] is not None for row in rows] == [True]


async def test_a_password_that_has_just_changed_is_not_replaced(pool: Pool) -> None:
    """O6: who proved the old one meanwhile comes too late."""
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


async def test_who_is_disabled_loses_everything_in_one_step(pool: Pool) -> None:
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


async def test_the_last_admin_stays_unless_there_is_another(pool: Pool) -> None:
    root = await make(pool, "root", Role.ADMIN)
    user = await make(pool)
    for change in (AccountUpdate(role=Role.AUTHOR), AccountUpdate(disabled=True)):
        with pytest.raises(Conflict, match="last admin"):
            async with transaction(pool) as acquired:
                await accounts.update(acquired, root, change)
    async with transaction(pool) as acquired:
        await accounts.update(acquired, user, AccountUpdate(disabled=True))
        await accounts.update(acquired, root, AccountUpdate(role=Role.ADMIN, tier=1))


async def test_what_is_not_there_is_not_changed(pool: Pool) -> None:
    with pytest.raises(NotFound):
        async with transaction(pool) as acquired:
            await accounts.update(acquired, AccountId("usr_none"), AccountUpdate(tier=1))


async def test_a_name_is_one_accounts_in_whatever_case(pool: Pool) -> None:
    """O6: also of those who want it at once; it is shown as it was chosen."""

    async def come(name: str) -> str | None:
        async with connection(pool) as acquired:
            account = await accounts.add_if_name_is_free(acquired, name, Role.USER)
        return account.name if account is not None else None

    names = ["ada", "Ada", "aDa", "adA", "ADA"]
    [chosen] = filter(None, await asyncio.gather(*map(come, names)))
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


async def test_a_name_like_an_id_is_not_taken_for_one(pool: Pool) -> None:
    account = await make(pool)
    async with connection(pool) as acquired:
        await acquired.execute("UPDATE account SET id = 'usr_1' WHERE id = $1", account)
        assert await accounts.credentials_by_name(acquired, "usr_1") is None
        found = await accounts.credentials_by_id(acquired, AccountId("usr_1"))
    assert found is not None
    assert found.account.name == "ada"


async def test_a_renewed_hash_never_undoes_a_new_password(pool: Pool) -> None:
    account = await make(pool)
    async with connection(pool) as acquired:
        await accounts.set_password(acquired, account, NEW)
        await accounts.rehash_password(acquired, account, old=OLD, password=OLD)
        found = await accounts.credentials_by_name(acquired, "ada")
    assert found is not None
    assert found.password == NEW


@pytest.mark.parametrize("bad", ["plain words", "$2b$12$abc", "$argon2i$v=19$x"])
async def test_the_table_keeps_hashes_only(pool: Pool, bad: str) -> None:
    account = await make(pool)
    with pytest.raises(asyncpg.CheckViolationError):
        async with connection(pool) as acquired:
            await accounts.set_password(acquired, account, bad)


async def test_a_token_has_scopes_that_there_are(pool: Pool) -> None:
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


async def test_a_newcomer_of_many_requests_is_one_account(pool: Pool) -> None:
    async def come() -> AccountId:
        async with transaction(pool) as acquired:
            await identities.lock(acquired, "issuer", "subject")
            known = await identities.find(acquired, "issuer", "subject")
            if known is not None:
                return known.account.id
            account = await accounts.add(acquired, "ada", Role.USER)
            await identities.add(acquired, "issuer", "subject", account.id)
            return account.id

    found = await asyncio.gather(*(come() for _ in range(8)))
    assert len(set(found)) == 1
