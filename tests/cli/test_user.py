"""`deemster user` manages accounts, passwords and tokens (O6)."""

from typing import Any

import pytest

from deemster.api.auth.passwords import HASHER
from deemster.domain.account import Account, Role, Scope
from deemster.store import accounts, sessions
from deemster.store.pool import Pool, connection
from tests.cli.conftest import Deemster


async def make(pool: Pool, name: str = "ada", role: Role = Role.USER) -> Account:
    async with connection(pool) as acquired:
        return await accounts.add(acquired, name, role)


async def audit_entries(pool: Pool) -> list[tuple[str, dict[str, Any]]]:
    async with connection(pool) as acquired:
        rows = await acquired.fetch("SELECT actor, act, details FROM audit ORDER BY id")
    assert all(row["actor"].endswith("by command") for row in rows)
    return [(row["act"], row["details"]) for row in rows]


async def test_an_account_is_added_and_gets_a_token(operate: Deemster, pool: Pool) -> None:
    added = operate("user", "add", "ada", "--role", "author", "--json")
    assert added.code == 0, added.err
    assert added.json["role"] == "author"
    token = operate("user", "token", "ada", "--name", "laptop", "--days", "3")
    assert token.code == 0, token.err
    async with connection(pool) as acquired:
        found = await accounts.find_by_token(acquired, token.out.decode().strip())
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


async def test_a_name_can_be_used_only_once(operate: Deemster, pool: Pool) -> None:
    async with connection(pool) as acquired:
        await accounts.add(acquired, "ada", Role.USER)
    done = operate("user", "add", "ada")
    assert done.code == 2
    assert "The account ada exists already" in done.err


async def test_a_name_is_found_in_any_case_and_shown_as_it_was_added(
    operate: Deemster, pool: Pool
) -> None:
    await make(pool, "Ada")
    assert "The account ada exists already" in operate("user", "add", "ada").err
    assert operate("user", "role", "ADA", "author").out == b"Ada is author now.\n"
    assert operate("user", "token", "ada").code == 0
    assert len(operate("user", "tokens", "aDA", "--json").json["tokens"]) == 1


def test_invalid_and_unknown_names_are_errors(operate: Deemster) -> None:
    assert "can't be the name of an account" in operate("user", "add", "../x").err
    assert "There is no account nobody" in operate("user", "token", "nobody").err


def test_an_error_without_a_database_says_what_to_do(deemster: Deemster) -> None:
    done = deemster("user", "list")
    assert done.code == 2
    assert "start `deemster up`" in done.err
    assert done.err.count("\n") == 1


async def test_a_password_is_set_and_ends_the_log_ins(
    deemster: Deemster, database_url: str, pool: Pool
) -> None:
    """O6: the password is read from standard input, and is never printed."""
    account = await make(pool)
    async with connection(pool) as acquired:
        session = await sessions.begin(acquired, account.id, keep_s=60)
    assert session is not None
    words = "three plain words"
    done = deemster(
        *("user", "password", "ada", "--stdin"),
        stdin=f"{words}\n".encode(),
        DEEMSTER_DATABASE_URL=database_url,
    )
    assert done.code == 0, done.err
    assert words not in done.out.decode() + done.err
    async with connection(pool) as acquired:
        found = await accounts.credentials_by_name(acquired, "ada")
        assert await sessions.find_account(acquired, session.digest) is None
    assert found is not None
    assert found.password is not None
    assert HASHER.verify(found.password, words)
    assert await audit_entries(pool) == [("user.password", {})]


def test_a_short_password_is_refused(deemster: Deemster, database_url: str) -> None:
    done = deemster(
        *("user", "password", "ada", "--stdin"),
        stdin=b"short\n",
        DEEMSTER_DATABASE_URL=database_url,
    )
    assert done.code == 2
    assert "at least 10 characters" in done.err


async def test_tokens_are_listed_and_revoked(operate: Deemster, pool: Pool) -> None:
    await make(pool)
    made = operate(
        *("user", "token", "ada", "--name", "CI", "--days", "3"),
        *("--scope", "read", "--scope", "submit"),
    )
    assert made.code == 0, made.err
    token = made.out.decode().strip()
    listed = operate("user", "tokens", "ada", "--json").json["tokens"]
    assert [(each["name"], each["scopes"]) for each in listed] == [("CI", ["read", "submit"])]
    assert token not in str(listed)
    async with connection(pool) as acquired:
        found = await accounts.find_by_token(acquired, token)
    assert found is not None
    assert found.scopes == {Scope.READ, Scope.SUBMIT}
    assert b"read submit" in operate("user", "tokens", "ada").out
    done = operate("user", "revoke", listed[0]["id"])
    assert done.code == 0, done.err
    assert b"revoked" in operate("user", "tokens", "ada").out
    async with connection(pool) as acquired:
        assert await accounts.find_by_token(acquired, token) is None
    assert [act for act, _ in await audit_entries(pool)] == ["token.make", "token.revoke"]
    assert "There is no token tok_none" in operate("user", "revoke", "tok_none").err


async def test_the_role_of_the_last_admin_can_not_be_changed(
    operate: Deemster, pool: Pool
) -> None:
    await make(pool)
    assert operate("user", "role", "ada", "admin").code == 0
    done = operate("user", "role", "ada", "user")
    assert done.code == 2
    assert "last admin" in done.err
    await make(pool, "grace", Role.ADMIN)
    assert operate("user", "role", "ada", "author").code == 0
    assert await audit_entries(pool) == [
        ("user.change", {"role": "admin"}),
        ("user.change", {"role": "author"}),
    ]


async def test_a_disabled_account_loses_its_tokens_for_good(
    operate: Deemster, pool: Pool
) -> None:
    await make(pool)
    token = operate("user", "token", "ada").out.decode().strip()
    assert operate("user", "disable", "ada").code == 0
    assert b"disabled" in operate("user", "list").out
    assert operate("user", "enable", "ada").code == 0
    assert b"disabled" not in operate("user", "list").out
    async with connection(pool) as acquired:
        assert await accounts.find_by_token(acquired, token) is None


@pytest.mark.parametrize(
    "arguments", [("tokens",), ("disable",), ("enable",), ("role", "author"), ("token",)]
)
def test_an_unknown_account_is_an_error(operate: Deemster, arguments: tuple[str, ...]) -> None:
    command, *more = arguments
    done = operate("user", command, "nobody", *more)
    assert done.code == 2
    assert "There is no account nobody" in done.err


async def test_o6_a_token_has_only_the_scopes_of_the_role_by_default(
    operate: Deemster, pool: Pool
) -> None:
    for role in Role:
        await make(pool, role, role)
        assert operate("user", "token", role).code == 0
    shown = {
        role: set(operate("user", "tokens", role, "--json").json["tokens"][0]["scopes"])
        for role in Role
    }
    assert shown[Role.USER] == {"read", "submit", "account"}
    assert shown[Role.AUTHOR] == {"read", "submit", "account", "problems"}
    assert shown[Role.ADMIN] == set(Scope)


async def test_a_table_is_not_wrapped_when_the_output_is_no_terminal(
    operate: Deemster, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    account = await make(pool, "a" * 64)
    heading, row = operate("user", "list").out.decode().splitlines()
    assert heading.split() == ["name", "role", "created", "id"]
    assert {"a" * 64, account.id} <= set(row.split())
