"""O6: JWTs of another issuer: believed when it signed them for us, and then only."""

import asyncio
import base64
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
import jwt
import pytest

from deemster.api.app import create_app
from deemster.api.auth import keys
from deemster.api.auth.issuer_client import IssuerDown
from deemster.api.auth.keys import IssuerKeys
from deemster.domain.account import Role
from deemster.domain.errors import Refused
from deemster.store.pool import Pool, connection
from tests.api.auth.little_issuer import AUDIENCE, Key, LittleIssuer, issuing
from tests.api.auth.people import deeds, make_person, serving
from tests.api.conftest import Api, MakeDependencies
from tests.waiting import PATIENCE_S, until

PATH = "/v1/session"


@pytest.fixture
async def issuer() -> AsyncIterator[LittleIssuer]:
    async with issuing() as running:
        yield running


@pytest.fixture
async def judge(
    issuer: LittleIssuer, make_dependencies: MakeDependencies
) -> AsyncIterator[httpx.AsyncClient]:
    dependencies = make_dependencies(
        jwt_issuer=issuer.url, jwt_audience=AUDIENCE, jwt_role_claim="roles"
    )
    async with serving(dependencies) as client:
        yield client


async def ask(client: httpx.AsyncClient, token: str) -> httpx.Response:
    return await client.get(PATH, headers={"Authorization": f"Bearer {token}"})


async def test_who_is_vouched_for_gets_an_account_and_keeps_it(
    issuer: LittleIssuer, judge: httpx.AsyncClient, pool: Pool
) -> None:
    answers = await asyncio.gather(
        *(ask(judge, issuer.token(preferred_username="ada", jti=str(n))) for n in range(5))
    )
    assert [answer.status_code for answer in answers] == [200] * 5, answers[0].text
    assert {answer.json()["user"]["id"] for answer in answers} == {
        answers[0].json()["user"]["id"]
    }
    assert answers[0].json()["user"]["name"] == "ada"
    assert answers[0].json()["user"]["role"] == "user"
    assert [deed[1] for deed in await deeds(pool)] == ["user.add"]
    issuer.subject = "s-2"
    other = (await ask(judge, issuer.token(preferred_username="ada"))).json()["user"]
    assert other["name"] == "ada-2"


@pytest.mark.parametrize("algorithm", ["RS256", "PS256", "ES256", "EdDSA"])
async def test_signatures_of_public_keys_are_taken(
    issuer: LittleIssuer, judge: httpx.AsyncClient, algorithm: str
) -> None:
    issuer.keys = [Key.new("k", algorithm)]
    assert (await ask(judge, issuer.token())).status_code == 200


NOW = int(time.time())
WRONG: dict[str, dict[str, Any]] = {
    "it has expired": {"exp": NOW - 3600},
    "it is not good yet": {"nbf": NOW + 3600},
    "it is not meant for this judge": {"aud": "another"},
    "it is of another issuer": {"iss": "https://evil.example"},
    "a claim is missing": {"exp": None},
    "its subject is no name": {"sub": "a\x00b"},
}


@pytest.mark.parametrize("said", WRONG)
async def test_what_is_not_for_us_or_not_now_is_refused(
    issuer: LittleIssuer, judge: httpx.AsyncClient, said: str, pool: Pool
) -> None:
    answer = await ask(judge, issuer.token(**WRONG[said]))
    assert answer.status_code == 401
    assert said in answer.json()["detail"]
    async with connection(pool) as acquired:
        assert await acquired.fetchval("SELECT count(*) FROM account") == 0


async def test_claims_that_must_be_there_must_be_there(
    issuer: LittleIssuer, judge: httpx.AsyncClient
) -> None:
    for claim in ("iss", "sub", "aud", "exp"):
        assert (await ask(judge, issuer.token(**{claim: None}))).status_code == 401, claim


def part(told: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(told).encode()).rstrip(b"=").decode()


async def test_a_signature_by_a_shared_secret_or_by_nobody_is_none(
    issuer: LittleIssuer, judge: httpx.AsyncClient
) -> None:
    """Not even if the secret is the issuer's public key, as anybody knows it."""
    head, claims, signature = issuer.token().split(".")
    for algorithm in ("none", "None", "", "HS256", None, ["ES256"], {"a": 1}):
        forged = f"{part({'alg': algorithm, 'typ': 'JWT', 'kid': 'one'})}.{claims}."
        secret = json.dumps(issuer.keys[0].public).encode()
        seal = hmac.new(secret, forged.rstrip(".").encode(), hashlib.sha256).digest()
        mac = base64.urlsafe_b64encode(seal).rstrip(b"=").decode()
        for token in (forged, forged + signature, forged + mac):
            assert (await ask(judge, token)).status_code == 401, algorithm
    other = issuer.token(sub="admin").split(".")[1]
    assert (await ask(judge, f"{head}.{other}.{signature}")).status_code == 401


async def test_a_key_serves_the_algorithm_that_it_is_for(
    issuer: LittleIssuer, judge: httpx.AsyncClient
) -> None:
    elliptic = issuer.keys[0]
    rsa = Key.new("one", "RS256")
    forged = jwt.encode({"sub": "x"}, rsa.private, "RS256", headers={"kid": elliptic.kid})
    assert (await ask(judge, forged)).status_code == 401


@pytest.mark.parametrize(
    "token",
    [
        "..",
        "a.b.c",
        f"{part([])}.x.y",
        "e30.e30.e30",
        f"{part({'alg': 'ES256', 'kid': 7})}.a.b",
    ],
)
async def test_what_is_no_jwt_is_refused_and_harms_nobody(
    judge: httpx.AsyncClient, token: str
) -> None:
    assert (await ask(judge, token)).status_code == 401


async def test_deep_and_long_ones_are_refused(judge: httpx.AsyncClient) -> None:
    deep = base64.urlsafe_b64encode(b"[" * 9000).decode().rstrip("=")
    assert (await ask(judge, f"{deep}.x.y")).status_code == 401
    assert (await ask(judge, f"{'x' * 20_000}.x.y")).status_code == 401


async def test_a_new_key_is_fetched_and_a_withdrawn_one_is_no_good(
    issuer: LittleIssuer, judge: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The issuer changes its keys, as issuers do."""
    monkeypatch.setattr(keys, "AGAIN_S", 0)
    old = issuer.keys[0]
    assert (await ask(judge, issuer.token())).status_code == 200
    issuer.keys = [Key.new("two")]
    assert (await ask(judge, issuer.token())).status_code == 200
    assert (await ask(judge, issuer.token(old, jti="again"))).status_code == 401


class Clock:
    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


async def test_unknown_keys_make_us_ask_once_in_thirty_seconds(issuer: LittleIssuer) -> None:
    """However many name one, and however many at once."""
    clock = Clock()

    async def where() -> str:
        return f"{issuer.url}/keys"

    known = IssuerKeys(where, clock)
    await asyncio.gather(*(known.find(f"x{number}", "ES256") for number in range(50)))
    assert issuer.fetched == 1
    clock.now_s += 29
    assert await known.find("two", "ES256") is None
    assert issuer.fetched == 1
    clock.now_s += 2
    issuer.keys = [Key.new("two")]
    assert await known.find("two", "ES256") is not None
    assert await known.find("one", "ES256") is None, "it was withdrawn"
    assert issuer.fetched == 2


async def test_known_keys_outlast_an_issuer_that_is_away(issuer: LittleIssuer) -> None:
    clock = Clock()

    async def where() -> str:
        return f"{issuer.url}/keys"

    known = IssuerKeys(where, clock)
    assert await known.find("one", "ES256") is not None
    await issuer.stop()
    clock.now_s += 3600
    assert await known.find("one", "ES256") is not None
    clock.now_s += 24 * 3600
    with pytest.raises(IssuerDown):
        await known.find("one", "ES256")


async def test_an_issuer_that_hangs_is_asked_by_one_not_by_all_in_line() -> None:
    clock = Clock()
    asked = 0

    async def where() -> str:
        nonlocal asked
        asked += 1
        await asyncio.sleep(0)
        clock.now_s += 8
        raise IssuerDown("It took eight seconds.")

    known = IssuerKeys(where, clock)
    answers = await asyncio.gather(
        *(known.find("one", "ES256") for _ in range(20)), return_exceptions=True
    )
    assert {type(answer) for answer in answers} == {IssuerDown}
    assert asked == 1


async def test_nobody_waits_for_an_issuer_that_hangs_with_a_key_that_is_known(
    issuer: LittleIssuer,
) -> None:
    clock = Clock()
    hangs, goes_on = asyncio.Event(), asyncio.Event()
    goes_on.set()

    async def where() -> str:
        hangs.set()
        await goes_on.wait()
        return f"{issuer.url}/keys"

    known = IssuerKeys(where, clock)
    assert await known.find("one", "ES256") is not None
    clock.now_s += 3600
    hangs.clear()
    goes_on.clear()
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        first = group.create_task(known.find("one", "ES256"))
        await hangs.wait()
        assert await known.find("one", "ES256") is not None
        assert not first.done()
        goes_on.set()
    assert issuer.fetched == 2


async def test_without_its_issuer_only_jwts_suffer(
    issuer: LittleIssuer, judge: httpx.AsyncClient, ada: Api
) -> None:
    await issuer.stop()
    answer = await ask(judge, issuer.token())
    assert answer.status_code == 503
    assert "retry-after" in answer.headers
    assert issuer.url not in answer.text
    assert (await judge.get(PATH, headers=ada.user.headers)).status_code == 200


async def test_a_name_elsewhere_is_no_claim_to_an_account_here(
    issuer: LittleIssuer, judge: httpx.AsyncClient, pool: Pool
) -> None:
    mine = await make_person(pool, "root", Role.ADMIN)
    told = (await ask(judge, issuer.token(preferred_username="Root"))).json()["user"]
    assert told["id"] != mine
    assert told["name"] == "Root-2", "whatever its case, it is not free"
    assert told["role"] == "user"


@pytest.mark.parametrize(
    ("wanted", "name"),
    [("ada@example.org", "ada-example.org"), ("--é--", "user"), ("", "s-1"), (7, "s-1")],
)
async def test_names_are_made_fit(
    issuer: LittleIssuer, judge: httpx.AsyncClient, wanted: object, name: str
) -> None:
    answer = await ask(judge, issuer.token(preferred_username=wanted))
    assert answer.json()["user"]["name"] == name


@pytest.mark.parametrize(
    ("claim", "role"),
    [
        ("admin", "admin"),
        (["staff", "author"], "author"),
        (["user", "admin"], "admin"),
        ("king", "user"),
        ({"admin": True}, "user"),
        (None, "user"),
    ],
)
async def test_the_claim_names_the_role(
    issuer: LittleIssuer, judge: httpx.AsyncClient, claim: object, role: str
) -> None:
    assert (await ask(judge, issuer.token(roles=claim))).json()["user"]["role"] == role


async def test_a_role_follows_its_issuer_down(
    issuer: LittleIssuer, judge: httpx.AsyncClient, pool: Pool
) -> None:
    """Also for what was made meanwhile: nobody stays more than the claim says."""
    await make_person(pool, "root", Role.ADMIN)
    first = issuer.token(roles="admin")
    made = await judge.post(
        "/v1/tokens", json={"name": "x"}, headers={"Authorization": f"Bearer {first}"}
    )
    headers = {"Authorization": f"Bearer {made.json()['token']}"}
    assert (await judge.get("/v1/admin/users", headers=headers)).status_code == 200
    assert (await ask(judge, issuer.token(roles="user"))).json()["user"]["role"] == "user"

    async def is_down() -> bool:
        return (await judge.get("/v1/admin/users", headers=headers)).status_code == 403

    await until(is_down)
    assert [deed[1] for deed in await deeds(pool)] == ["user.add", "token.make", "user.change"]


async def test_an_older_token_does_not_bring_a_role_back(
    issuer: LittleIssuer, judge: httpx.AsyncClient, pool: Pool
) -> None:
    """It is good until it expires, but its issuer has said otherwise since."""
    await make_person(pool, "root", Role.ADMIN)
    said = [  # how long ago, which role, and what holds then
        (60, "admin", "admin"),
        (40, "user", "user"),
        (50, "admin", "user"),
        (20, "user", "user"),
        (30, "author", "user"),
        (20, "author", "author"),
        (25, "user", "author"),
        (10, "admin", "admin"),
    ]
    for ago_s, role, holds in said:
        answer = await ask(judge, issuer.token(roles=role, iat=NOW - ago_s))
        assert answer.json()["user"]["role"] == holds, (ago_s, role)


async def test_a_token_that_tells_no_time_raises_nobody(
    issuer: LittleIssuer, judge: httpx.AsyncClient, pool: Pool
) -> None:
    """It may be an old one; to lower someone it is good enough."""
    said: list[tuple[dict[str, Any], str, str]] = [
        ({"iat": None}, "user", "user"),
        ({"iat": None}, "author", "user"),
        ({"iat": str(NOW)}, "author", "user"),
        ({}, "author", "author"),
        ({"iat": None, "jti": "2"}, "user", "user"),
    ]
    for claims, role, holds in said:
        answer = await ask(judge, issuer.token(roles=role, **claims))
        assert answer.json()["user"]["role"] == holds, (claims, role)


async def test_who_is_disabled_here_is_not_let_in_by_their_issuer(
    issuer: LittleIssuer, judge: httpx.AsyncClient, pool: Pool
) -> None:
    assert (await ask(judge, issuer.token())).status_code == 200
    async with connection(pool) as acquired:
        await acquired.execute("UPDATE account SET disabled_at = now()")
    answer = await ask(judge, issuer.token(jti="new"))
    assert answer.status_code == 401
    assert "disabled" in answer.json()["detail"]


async def test_bad_jwts_are_counted_as_unknown_tokens_are(
    issuer: LittleIssuer, make_dependencies: MakeDependencies
) -> None:
    dependencies = make_dependencies(
        jwt_issuer=issuer.url, jwt_audience=AUDIENCE, strangers_per_minute_ip=1
    )
    async with serving(dependencies) as client:
        assert (await ask(client, "a.b.c")).status_code == 401
        assert (await ask(client, "a.b.c")).status_code == 429
        assert (await ask(client, issuer.token())).status_code == 200


async def test_without_the_setting_a_jwt_is_an_unknown_token(
    issuer: LittleIssuer, client: httpx.AsyncClient
) -> None:
    assert (await ask(client, issuer.token())).status_code == 401
    assert issuer.fetched == 0


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"jwt_issuer": "https://i.example"}, "jwt_audience"),
        ({"oidc_client_id": "x"}, "jwt_issuer"),
        ({"oidc_client_id": "x", "jwt_issuer": "https://i.example"}, "public_url"),
        ({"public_url": "judge.example"}, "public_url"),
    ],
)
async def test_settings_that_would_not_work_are_told_at_the_start(
    make_dependencies: MakeDependencies, settings: dict[str, str], said: str
) -> None:
    with pytest.raises(Refused, match=said):
        create_app(make_dependencies(**settings))
