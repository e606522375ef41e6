"""O6: JWTs of an external issuer are accepted only if they are valid for this judge."""

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
from deemster.api.auth import issuer_keys
from deemster.api.auth.issuer_client import IssuerDown
from deemster.api.auth.issuer_keys import IssuerKeys
from deemster.domain.account import Role
from deemster.domain.errors import Refused
from deemster.store.pool import Pool, connection
from tests.api.auth.issuer_server import AUDIENCE, IssuerServer, Key
from tests.api.browser import audit_entries, make_person, serving
from tests.api.conftest import Api, MakeDependencies
from tests.waiting import PATIENCE_S, until

PATH = "/v1/session"


@pytest.fixture
async def judge(
    issuer: IssuerServer, make_dependencies: MakeDependencies
) -> AsyncIterator[httpx.AsyncClient]:
    dependencies = make_dependencies(
        jwt_issuer=issuer.url, jwt_audience=AUDIENCE, jwt_role_claim="roles"
    )
    async with serving(dependencies) as client:
        yield client


async def ask(client: httpx.AsyncClient, token: str) -> httpx.Response:
    return await client.get(PATH, headers={"Authorization": f"Bearer {token}"})


async def test_a_user_of_the_issuer_gets_an_account_and_keeps_it(
    issuer: IssuerServer, judge: httpx.AsyncClient, pool: Pool
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
    assert [entry[1] for entry in await audit_entries(pool)] == ["user.add"]
    issuer.subject = "s-2"
    other = (await ask(judge, issuer.token(preferred_username="ada"))).json()["user"]
    assert other["name"] == "ada-2"


@pytest.mark.parametrize("algorithm", ["RS256", "PS256", "ES256", "EdDSA"])
async def test_signatures_by_public_keys_are_accepted(
    issuer: IssuerServer, judge: httpx.AsyncClient, algorithm: str
) -> None:
    issuer.keys = [Key.new("k", algorithm)]
    assert (await ask(judge, issuer.token())).status_code == 200


NOW = int(time.time())
WRONG: dict[str, dict[str, Any]] = {
    "it has expired": {"exp": NOW - 3600},
    "it is not valid yet": {"nbf": NOW + 3600},
    "its audience is not this judge": {"aud": "another"},
    "it comes from another issuer": {"iss": "https://evil.example"},
    "a claim is missing": {"exp": None},
    "its subject is not a name": {"sub": "a\x00b"},
}


@pytest.mark.parametrize("said", WRONG)
async def test_a_jwt_with_wrong_claims_is_refused(
    issuer: IssuerServer, judge: httpx.AsyncClient, said: str, pool: Pool
) -> None:
    answer = await ask(judge, issuer.token(**WRONG[said]))
    assert answer.status_code == 401
    assert said in answer.json()["detail"]
    async with connection(pool) as acquired:
        assert await acquired.fetchval("SELECT count(*) FROM account") == 0


async def test_required_claims_are_required(
    issuer: IssuerServer, judge: httpx.AsyncClient
) -> None:
    for claim in ("iss", "sub", "aud", "exp"):
        assert (await ask(judge, issuer.token(**{claim: None}))).status_code == 401, claim


def part(result: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(result).encode()).rstrip(b"=").decode()


async def test_a_jwt_signed_by_a_shared_secret_or_not_at_all_is_refused(
    issuer: IssuerServer, judge: httpx.AsyncClient
) -> None:
    """Not even if the secret is the issuer's public key, which everyone knows."""
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


async def test_a_key_verifies_only_its_own_algorithm(
    issuer: IssuerServer, judge: httpx.AsyncClient
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
async def test_a_malformed_jwt_is_refused(judge: httpx.AsyncClient, token: str) -> None:
    assert (await ask(judge, token)).status_code == 401


async def test_deep_and_long_jwts_are_refused(judge: httpx.AsyncClient) -> None:
    deep = base64.urlsafe_b64encode(b"[" * 9000).decode().rstrip("=")
    assert (await ask(judge, f"{deep}.x.y")).status_code == 401
    assert (await ask(judge, f"{'x' * 20_000}.x.y")).status_code == 401


async def test_a_new_key_is_fetched_and_a_withdrawn_key_becomes_invalid(
    issuer: IssuerServer, judge: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The issuer rotates its keys."""
    monkeypatch.setattr(issuer_keys, "REFETCH_S", 0)
    old = issuer.keys[0]
    assert (await ask(judge, issuer.token())).status_code == 200
    issuer.keys = [Key.new("two")]
    assert (await ask(judge, issuer.token())).status_code == 200
    assert (await ask(judge, issuer.token(old, jti="again"))).status_code == 401


class Clock:
    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


async def test_unknown_keys_cause_one_fetch_in_thirty_seconds(issuer: IssuerServer) -> None:
    """Also for many concurrent tokens."""
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


async def test_known_keys_stay_valid_while_the_issuer_is_down(issuer: IssuerServer) -> None:
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


async def test_only_one_request_waits_for_an_issuer_that_hangs() -> None:
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


async def test_a_known_key_does_not_wait_for_an_issuer_that_hangs(
    issuer: IssuerServer,
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


async def test_without_the_issuer_other_tokens_work(
    issuer: IssuerServer, judge: httpx.AsyncClient, ada: Api
) -> None:
    await issuer.stop()
    answer = await ask(judge, issuer.token())
    assert answer.status_code == 503
    assert "retry-after" in answer.headers
    assert issuer.url not in answer.text
    assert (await judge.get(PATH, headers=ada.user.headers)).status_code == 200


async def test_a_name_at_the_issuer_gives_no_access_to_an_account_with_that_name(
    issuer: IssuerServer, judge: httpx.AsyncClient, pool: Pool
) -> None:
    mine = await make_person(pool, "root", Role.ADMIN)
    result = (await ask(judge, issuer.token(preferred_username="Root"))).json()["user"]
    assert result["id"] != mine
    assert result["name"] == "Root-2", "whatever its case, it is not free"
    assert result["role"] == "user"


@pytest.mark.parametrize(
    ("wanted", "name"),
    [("ada@example.org", "ada-example.org"), ("--é--", "user"), ("", "s-1"), (7, "s-1")],
)
async def test_names_of_the_issuer_are_adapted(
    issuer: IssuerServer, judge: httpx.AsyncClient, wanted: object, name: str
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
async def test_the_role_claim_sets_the_role(
    issuer: IssuerServer, judge: httpx.AsyncClient, claim: object, role: str
) -> None:
    assert (await ask(judge, issuer.token(roles=claim))).json()["user"]["role"] == role


async def test_the_issuer_can_lower_a_role(
    issuer: IssuerServer, judge: httpx.AsyncClient, pool: Pool
) -> None:
    """Also for tokens that were created meanwhile."""
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
    assert [entry[1] for entry in await audit_entries(pool)] == [
        "user.add",
        "token.make",
        "user.change",
    ]


async def test_an_older_token_does_not_restore_a_role(
    issuer: IssuerServer, judge: httpx.AsyncClient, pool: Pool
) -> None:
    """The old token has not expired, but the issuer has changed the role since."""
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


async def test_a_token_without_iat_raises_no_role(
    issuer: IssuerServer, judge: httpx.AsyncClient, pool: Pool
) -> None:
    """It may be old, so it can only lower a role."""
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


async def test_a_disabled_account_is_refused_with_a_valid_jwt(
    issuer: IssuerServer, judge: httpx.AsyncClient, pool: Pool
) -> None:
    assert (await ask(judge, issuer.token())).status_code == 200
    async with connection(pool) as acquired:
        await acquired.execute("UPDATE account SET disabled_at = now()")
    answer = await ask(judge, issuer.token(jti="new"))
    assert answer.status_code == 401
    assert "disabled" in answer.json()["detail"]


async def test_invalid_jwts_count_as_unknown_tokens(
    issuer: IssuerServer, make_dependencies: MakeDependencies
) -> None:
    dependencies = make_dependencies(
        jwt_issuer=issuer.url, jwt_audience=AUDIENCE, refused_logins_per_minute_ip=1
    )
    async with serving(dependencies) as client:
        assert (await ask(client, "a.b.c")).status_code == 401
        assert (await ask(client, "a.b.c")).status_code == 429
        assert (await ask(client, issuer.token())).status_code == 200


async def test_without_the_setting_a_jwt_is_an_unknown_token(
    issuer: IssuerServer, client: httpx.AsyncClient
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
async def test_inconsistent_settings_are_refused_at_the_start(
    make_dependencies: MakeDependencies, settings: dict[str, str], said: str
) -> None:
    with pytest.raises(Refused, match=said):
        create_app(make_dependencies(**settings))
