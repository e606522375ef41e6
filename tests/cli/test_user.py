"""`deemster user`: accounts, and tokens of which only a hash is kept (O6)."""

from deemster.domain.account import Role
from deemster.store import accounts
from deemster.store.pool import Pool, connection
from tests.cli.conftest import Deemster


async def test_an_account_is_added_and_gets_a_token(operate: Deemster, pool: Pool) -> None:
    added = operate("user", "add", "ada", "--role", "author", "--json")
    assert added.code == 0, added.err
    assert added.json["role"] == "author"
    token = operate("user", "token", "ada", "--name", "laptop", "--days", "3")
    assert token.code == 0, token.err
    async with connection(pool) as acquired:
        found = await accounts.of_token(acquired, token.out.decode().strip())
    assert found is not None
    assert (found.id, found.name, found.role) == (added.json["id"], "ada", Role.AUTHOR)


async def test_all_accounts_are_listed(operate: Deemster, pool: Pool) -> None:
    async with connection(pool) as acquired:
        await accounts.add(acquired, "ada", Role.USER)
        await accounts.add(acquired, "grace", Role.ADMIN)
    listed = operate("user", "list", "--json").json["users"]
    assert [(each["name"], each["role"]) for each in listed] == [
        ("ada", "user"),
        ("grace", "admin"),
    ]
    assert b"grace" in operate("user", "list").out


async def test_a_name_is_given_once(operate: Deemster, pool: Pool) -> None:
    async with connection(pool) as acquired:
        await accounts.add(acquired, "ada", Role.USER)
    done = operate("user", "add", "ada")
    assert done.code == 2
    assert "There is an account ada already" in done.err


def test_wrong_names_are_told(operate: Deemster) -> None:
    assert "can't be called" in operate("user", "add", "../x").err
    assert "There is no account nobody" in operate("user", "token", "nobody").err


def test_without_a_database_it_says_what_to_do(deemster: Deemster) -> None:
    done = deemster("user", "list")
    assert done.code == 2
    assert "start `deemster up`" in done.err
    assert done.err.count("\n") == 1
