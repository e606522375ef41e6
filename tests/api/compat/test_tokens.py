"""O6: every compatible API takes a token wherever its clients can put one, and no other."""

import base64

import httpx
import pytest

from deemster.api.app import create_app
from deemster.store.pool import Pool
from tests.api.conftest import MakeDependencies, User, make_user, running

PATHS = {
    "judge0": "/judge0/languages",
    "piston": "/api/v2/runtimes",
    "jobe": "/jobe/index.php/restapi/languages",
    "sandboxfusion": "/run_code",
}
OWN_HEADERS = {"judge0": "X-Auth-Token", "jobe": "X-API-KEY"}


def basic(name: str, password: str = "") -> str:
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


async def status(client: httpx.AsyncClient, api: str, headers: dict[str, str]) -> int:
    if api == "sandboxfusion":
        answer = await client.post(PATHS[api], json={}, headers=headers)
    else:
        answer = await client.get(PATHS[api], headers=headers)
    return answer.status_code


@pytest.mark.parametrize("api", PATHS)
async def test_a_token_is_taken_from_every_header(
    make_dependencies: MakeDependencies, pool: Pool, api: str
) -> None:
    user: User = await make_user(pool, "ada")
    unknown = 403 if api == "jobe" else 401
    good = [
        user.headers,
        {"Authorization": user.token},
        {"Authorization": basic("token", user.token)},
        {"Authorization": basic(user.token)},
    ]
    bad = [
        {},
        {"Authorization": ""},
        {"Authorization": "nobody"},
        {"Authorization": "Bearer nobody"},
        {"Authorization": "Basic %"},
        {"Authorization": basic("ada", "nobody")},
        {"Authorization": basic("")},
        {"Authorization": f"Digest {user.token}"},
    ]
    if api in OWN_HEADERS:
        name = OWN_HEADERS[api]
        good.append({name: user.token})
        bad += [{name: "nobody"}, {name: user.token, "Authorization": "Bearer nobody"}]
    async with running(create_app(make_dependencies(compat=[api]))) as client:
        for headers in good:
            assert await status(client, api, headers) == 200, headers
        for headers in bad:
            assert await status(client, api, headers) == unknown, headers


@pytest.mark.parametrize("api", PATHS)
async def test_a_revoked_token_is_refused(
    make_dependencies: MakeDependencies, pool: Pool, api: str
) -> None:
    user = await make_user(pool, "ada")
    async with running(create_app(make_dependencies(compat=[api]))) as client:
        assert await status(client, api, user.headers) == 200
        (token,) = (await client.get("/v1/tokens", headers=user.headers)).json()["items"]
        await client.delete(f"/v1/tokens/{token['id']}", headers=user.headers)
        assert await status(client, api, user.headers) == (403 if api == "jobe" else 401)
