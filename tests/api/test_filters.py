"""A8: the filters of all lists treat values that do not exist in the same way."""

from collections.abc import AsyncIterator

import httpx

from deemster.domain.account import Role
from deemster.domain.ids import new_id
from deemster.store.pool import Pool
from tests.api.conftest import Api, make_user

PAGING = {"cursor", "limit"}
SEARCHES = {
    ("/v1/problems", "q"),
    ("/v1/problems", "tag"),
    ("/v1/admin/users", "name"),
    ("/v1/admin/audit", "actor"),
    ("/v1/admin/audit", "act"),
    ("/v1/admin/audit", "target"),
}
"""These look for texts, and may find nothing. The audit log names also what was deleted."""
UNKNOWN_IDS = {
    "user": new_id("usr"),
    "contest": new_id("con"),
    "session_id": new_id("ses"),
    "problem": "prob_unknown",
    "problem_id": "prob_unknown",
}


async def filters(client: httpx.AsyncClient) -> AsyncIterator[tuple[str, str]]:
    """All lists of the API that have pages, with each of their filters."""
    document = (await client.get("/openapi.json")).json()
    for path, methods in document["paths"].items():
        names = {each["name"] for each in methods.get("get", {}).get("parameters", [])}
        if names >= PAGING and "{" not in path:
            for name in sorted(names - PAGING):
                yield path, name


async def test_a8_every_filter_refuses_what_does_not_exist(admin: Api) -> None:
    """404 for an object that does not exist, 422 for a word that the judge does not know."""
    seen = set()
    async for path, name in filters(admin.client):
        if (path, name) in SEARCHES:
            continue
        seen.add((path, name))
        answer = await admin.get(path, params={name: "klingon-9"})
        assert answer.status_code in {404, 422}, (path, name)
        if name in UNKNOWN_IDS:
            answer = await admin.get(path, params={name: UNKNOWN_IDS[name]})
            assert answer.status_code == 404, (path, name)
    assert {("/v1/executions", "session_id"), ("/v1/submissions", "user")} <= seen


async def test_a8_the_sessions_of_an_account_filter_its_executions(
    ada: Api, admin: Api, pool: Pool
) -> None:
    """A11: the session of another account does not exist; admins see it."""
    made = await ada.post("/v1/code-sessions", {"language": "python3"})
    query = {"session_id": made.json()["session_id"]}
    eve = Api(ada.client, await make_user(pool, "eve", Role.AUTHOR))
    for caller, status in ((ada, 200), (admin, 200), (eve, 404)):
        assert (await caller.get("/v1/executions", params=query)).status_code == status
    other = {**query, "user": "eve"}
    assert (await admin.get("/v1/executions", params=other)).status_code == 404
