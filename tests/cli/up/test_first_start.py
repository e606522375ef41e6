"""O7: the first start creates an admin, a token and a secret; later starts keep them."""

import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from deemster.cli.up.first_start import is_without_password, make_admin
from deemster.domain.account import Role
from deemster.domain.errors import Refused
from deemster.settings import load_settings
from deemster.store import accounts, log_in_links
from deemster.store.pool import Connection, connect, set_json_codecs
from deemster.wiring.secret import secret_of


@pytest.fixture
async def connection(database_url: str) -> AsyncIterator[Connection]:
    opened = await connect(database_url)
    await set_json_codecs(opened)
    yield opened
    await opened.close()


def names_in(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir()]


async def test_o7_the_admins_token_is_created_once(
    connection: Connection, tmp_path: Path
) -> None:
    made = await make_admin(connection, tmp_path)
    assert made is not None
    token = made.token
    file = tmp_path / "admin.token"
    assert file.read_text() == f"{token}\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    admin = await accounts.find_by_token(connection, token)
    assert admin is not None
    assert (admin.name, admin.role) == ("admin", Role.ADMIN)
    assert await make_admin(connection, tmp_path) is None
    assert file.read_text() == f"{token}\n"
    assert names_in(tmp_path) == ["admin.token"]
    noted = await connection.fetch("SELECT actor, act, target, details FROM audit ORDER BY id")
    assert [row["act"] for row in noted] == ["user.add", "token.make", "user.link"]
    assert [row["target"] for row in noted] == [admin.id, admin.token, admin.id]
    assert token not in str(noted)


async def test_the_first_start_gives_an_admin_without_a_password_a_link(
    connection: Connection, tmp_path: Path
) -> None:
    """W3: the link logs the admin in once."""
    made = await make_admin(connection, tmp_path)
    assert made is not None
    assert made.link_code is not None
    assert await is_without_password(connection)
    owner = await log_in_links.use(connection, made.link_code)
    assert owner is not None
    assert owner.name == "admin"
    await accounts.set_password(connection, owner.id, "$argon2id$x")
    (tmp_path / "admin.token").unlink()
    again = await make_admin(connection, tmp_path)
    assert again is not None
    assert again.link_code is None
    assert not await is_without_password(connection)


async def test_o7_a_token_that_is_no_longer_valid_is_replaced(
    connection: Connection, tmp_path: Path
) -> None:
    """The database may have been restored, or the token revoked."""
    first = await make_admin(connection, tmp_path)
    await connection.execute("UPDATE token SET revoked_at = now()")
    second = await make_admin(connection, tmp_path)
    (tmp_path / "admin.token").unlink()
    third = await make_admin(connection, tmp_path)
    assert first is not None
    assert second is not None
    assert third is not None
    assert len({first.token, second.token, third.token}) == 3


async def test_an_account_named_admin_without_the_role_gets_no_token(
    connection: Connection, tmp_path: Path
) -> None:
    await accounts.add(connection, "admin", Role.USER)
    with pytest.raises(Refused, match="does not have the role admin"):
        await make_admin(connection, tmp_path)


def test_o7_the_secret_is_created_once_unless_the_operator_sets_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEMSTER_SECRET_KEY", "given by the operator")
    secret_of(load_settings(data_dir=tmp_path))
    assert not (tmp_path / "secret.key").exists()
    monkeypatch.delenv("DEEMSTER_SECRET_KEY")
    secret_of(load_settings(data_dir=tmp_path))
    first = (tmp_path / "secret.key").read_text()
    assert len(first) > 40
    assert stat.S_IMODE((tmp_path / "secret.key").stat().st_mode) == 0o600
    secret_of(load_settings(data_dir=tmp_path))
    assert (tmp_path / "secret.key").read_text() == first


@pytest.mark.parametrize("secret", ["", "short"])
def test_o7_a_short_secret_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, secret: str
) -> None:
    """An empty variable is a common mistake."""
    monkeypatch.setenv("DEEMSTER_SECRET_KEY", secret)
    with pytest.raises(Refused, match="DEEMSTER_SECRET_KEY"):
        secret_of(load_settings(data_dir=tmp_path))
    monkeypatch.delenv("DEEMSTER_SECRET_KEY")
    (tmp_path / "secret.key").write_text(f"{secret}\n")
    with pytest.raises(Refused, match=r"secret\.key"):
        secret_of(load_settings(data_dir=tmp_path))
