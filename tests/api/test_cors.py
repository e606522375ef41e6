"""Web pages of the origins in the setting `cors_origins` may call the API, and no others."""

import pytest

from deemster.api.app import create_app
from tests.api.conftest import MakeDependencies, running

ORIGIN = "https://ide.example.org"


@pytest.mark.parametrize(
    ("allowed", "expected"), [([ORIGIN], ORIGIN), (["*"], "*"), (["https://x.example"], None)]
)
async def test_a_page_may_call_the_api_if_its_origin_is_allowed(
    make_dependencies: MakeDependencies, allowed: list[str], expected: str | None
) -> None:
    async with running(create_app(make_dependencies(cors_origins=allowed))) as client:
        asked = {"Origin": ORIGIN, "Access-Control-Request-Method": "POST"}
        preflight = await client.options(
            "/v1/executions",
            headers={**asked, "Access-Control-Request-Headers": "authorization"},
        )
        assert preflight.headers.get("access-control-allow-origin") == expected
        answer = await client.get("/v1/executions", headers={"Origin": ORIGIN})
        assert answer.status_code == 401
        assert answer.headers.get("access-control-allow-origin") == expected
        assert "access-control-allow-credentials" not in answer.headers


@pytest.mark.parametrize(
    "path",
    [
        *("/judge0/submissions?wait=true", "/judge0/extra/languages"),
        *("/api/v2/execute", "/api/v2/piston/runtimes", "/api/v2/nothing"),
        *("/jobe/index.php/restapi/runs", "/run_code"),
    ],
)
async def test_pages_may_call_compatible_apis_directly(
    make_dependencies: MakeDependencies, path: str
) -> None:
    """F1 to F4: also the header of Judge0, and an error."""
    compat = ["judge0", "piston", "jobe", "sandboxfusion"]
    app = create_app(make_dependencies(cors_origins=[ORIGIN], compat=compat))
    async with running(app) as client:
        asked = {
            "Origin": ORIGIN,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "content-type, x-auth-token, authorization",
        }
        preflight = await client.options(path, headers=asked)
        assert preflight.status_code == 200
        assert preflight.headers["access-control-allow-origin"] == ORIGIN
        allowed = preflight.headers["access-control-allow-headers"]
        assert {"content-type", "x-auth-token"} <= set(allowed.split(", "))
        answer = await client.post(path, json={}, headers={"Origin": ORIGIN})
        assert answer.status_code in {401, 403, 404}
        assert answer.headers["access-control-allow-origin"] == ORIGIN


async def test_without_the_setting_no_page_of_another_origin_is_allowed(
    make_dependencies: MakeDependencies,
) -> None:
    async with running(create_app(make_dependencies())) as client:
        answer = await client.get("/healthz", headers={"Origin": ORIGIN})
        assert answer.status_code == 200
        assert "access-control-allow-origin" not in answer.headers
