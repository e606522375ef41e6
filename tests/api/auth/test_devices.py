"""O6: guesses do not lock out an owner who has logged in before."""

import httpx
import pytest
from fastapi import FastAPI

from deemster.api.auth import throttle
from deemster.store import accounts
from deemster.store.accounts import AccountUpdate
from deemster.store.pool import Pool, transaction
from tests.api.browser import PASSWORD, browsing, log_in, make_person, serving
from tests.api.conftest import QUICK, MakeDependencies

DEVICE = "deemster_device"
WRONG = "wrong words here"
GUESSES = 2


@pytest.fixture(autouse=True)
def few_guesses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttle, "GUESSES", GUESSES)
    monkeypatch.setattr(throttle, "GUESS_EVERY_S", 3600)


async def come(
    app: FastAPI, password: str = PASSWORD, *, device: str | None = None, name: str = "ada"
) -> int:
    """Logs in from a browser that has only this cookie."""
    cookies = {DEVICE: device} if device is not None else None
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://judge", cookies=cookies
    ) as client:
        return (await log_in(client, name, password)).status_code


async def shut(app: FastAPI) -> None:
    """Strangers guess the password of ada until the limit."""
    assert [await come(app, WRONG) for _ in range(GUESSES + 1)] == [401] * GUESSES + [429]


async def test_o6_guesses_of_strangers_do_not_lock_out_the_owner(
    app: FastAPI, client: object, pool: Pool
) -> None:
    await make_person(pool)
    async with browsing(app) as browser:
        await shut(app)
        assert await come(app) == 429, "a browser that never logged in counts as a stranger"
        assert (await log_in(browser.client, "ADA")).status_code == 201
        again = await log_in(browser.client)
        assert again.status_code == 201
        change = {"current_password": PASSWORD, "password": "four rather plain words"}
        headers = {"X-CSRF-Token": again.json()["csrf_token"]}
        path = "/v1/account/password"
        changed = await browser.client.put(path, json=change, headers=headers)
        assert changed.status_code == 200, changed.text
        entered = await log_in(browser.client, password=change["password"])
        assert entered.status_code == 201, "it is known by the new password too"


async def test_the_device_cookie_is_protected_like_the_session_cookie_but_lasts_longer(
    app: FastAPI, client: object, make_dependencies: MakeDependencies, pool: Pool
) -> None:
    await make_person(pool)
    async with browsing(app) as browser:
        left = await browser.send("DELETE", "/v1/session")
        assert left.status_code == 200
        assert list(browser.client.cookies) == [DEVICE], "who logs out comes back some day"
        assert (await browser.client.get("/v1/session")).status_code == 401, "it is no log-in"
    async with serving(make_dependencies(public_url="https://judge.example")) as secure:
        session, device = (await log_in(secure)).headers.get_list("set-cookie")
    assert device.startswith(f"__Host-{DEVICE}=")
    for part in ("HttpOnly", "SameSite=lax", "Path=/", "Secure", f"Max-Age={180 * 86400}"):
        assert part in device
    assert "Max-Age=604800" in session


async def test_guesses_from_a_known_browser_are_limited_too(
    app: FastAPI, client: object, pool: Pool
) -> None:
    """D2: a stolen cookie permits a few guesses, which do not count for other browsers."""
    await make_person(pool)
    async with browsing(app) as browser:
        device = browser.client.cookies[DEVICE]
    guesses = [await come(app, WRONG, device=device) for _ in range(GUESSES)]
    assert guesses == [401] * GUESSES
    assert await come(app, device=device) == 429
    assert await come(app) == 201


async def test_an_invalid_device_cookie_counts_as_a_strange_browser(
    app: FastAPI, client: object, pool: Pool
) -> None:
    account = await make_person(pool)
    await make_person(pool, "bob")
    async with browsing(app) as hers, browsing(app, "bob") as his:
        mine, bobs = hers.client.cookies[DEVICE], his.client.cookies[DEVICE]
    await shut(app)
    invented = (bobs, f"x{mine}", mine[:-1], mine.partition(".")[0], ".")
    for device in invented:
        assert await come(app, device=device) == 429, device
    assert await come(app, WRONG, device=mine) == 401
    async with transaction(pool) as acquired:
        await accounts.update(acquired, account, AccountUpdate(disabled=True))
    assert await come(app, device=mine) == 429, "nobody is let in by that name now"
    async with transaction(pool) as acquired:
        await accounts.update(acquired, account, AccountUpdate(disabled=False))
        await accounts.set_password(acquired, account, QUICK.hash("another password"))
    assert await come(app, device=mine) == 429, "it was for the old password"


async def test_wrong_passwords_per_address_are_limited_even_from_known_browsers(
    make_dependencies: MakeDependencies, pool: Pool
) -> None:
    await make_person(pool)
    async with serving(make_dependencies(refused_logins_per_minute_ip=2)) as client:
        assert (await log_in(client)).status_code == 201
        assert DEVICE in client.cookies
        for name in ("one", "two"):
            assert (await log_in(client, name)).status_code == 401
        assert (await log_in(client)).status_code == 429
