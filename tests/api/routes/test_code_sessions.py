"""`/v1/code-sessions` without a worker: create, save, run a snapshot, delete (E1, E3, E6)."""

import asyncio
from typing import Any

import httpx
import pytest

from deemster.api.app import create_app
from deemster.domain.code_session import KEPT_BYTES, KEPT_VERSIONS
from deemster.domain.source import SOURCE_BYTES, unpack_files
from deemster.store.pool import Pool, connection
from tests.api.conftest import CATALOGUE, Api, MakeDependencies, make_user, running
from tests.builders import make_problem
from tests.waiting import until

PATH = "/v1/code-sessions"
NOBODY_HAS = "ses_" + "0" * 26


async def create(user: Api, source: str | None = "print(1)") -> str:
    """The path of a new session."""
    body = {"language": "python3", "template_code": source}
    answer = await user.post(PATH, body)
    assert answer.status_code == 201, answer.text
    return answer.headers["location"]


async def patch(
    user: Api, path: str, body: object, *, if_match: str | None = None
) -> httpx.Response:
    headers = user.user.headers | ({"If-Match": if_match} if if_match else {})
    return await user.client.patch(path, json=body, headers=headers)


async def save(user: Api, path: str, source: str) -> str:
    """The ETag of the saved version."""
    answer = await patch(user, path, {"source_code": source})
    assert answer.status_code == 200, answer.text
    return answer.headers["etag"]


async def count(pool: Pool, table: str) -> int:
    async with connection(pool) as acquired:
        return int(await acquired.fetchval(f"SELECT count(*) FROM {table}"))


def code_of(answer: httpx.Response) -> str:
    return str(answer.json()["type"].rpartition(":")[2])


@pytest.mark.parametrize("language", [each.id for each in CATALOGUE])
async def test_e1_each_language_has_a_default_template(ada: Api, language: str) -> None:
    answer = await ada.post(PATH, {"language": language})
    assert answer.status_code == 201, answer.text
    made = answer.json()
    assert made["session_id"].startswith("ses_")
    assert (made["status"], made["version"], made["language"]) == ("ACTIVE", 1, language)
    assert made["source_code"] == CATALOGUE.named(language).template
    assert answer.headers["etag"] == '"v1"'
    shown = await ada.get(answer.headers["location"])
    assert shown.json() == made
    assert shown.headers["etag"] == '"v1"'


async def test_e1_a_session_starts_with_the_given_source(ada: Api) -> None:
    for source in ("print('é')\r\n", ""):
        shown = (await ada.get(await create(ada, source))).json()
        assert shown["source_code"] == source
        assert "latest_execution_id" not in shown
    by_alias = await ada.post(PATH, {"language": "PY3"})
    assert by_alias.json()["language"] == "python3"


async def test_i1_a_key_creates_one_session(ada: Api, pool: Pool) -> None:
    first = await ada.post(PATH, {"language": "c"}, key="k")
    again = await ada.post(PATH, {"language": "c"}, key="k")
    assert first.json() == again.json()
    assert first.headers["etag"] == again.headers["etag"] == '"v1"'
    assert await count(pool, "code_session") == 1


REFUSED: dict[str, dict[str, Any]] = {
    "no language": {},
    "an unknown language": {"language": "klingon"},
    "an unknown field": {"language": "c", "source_code": "x"},
    "a NUL": {"language": "c", "template_code": "a\0b"},
    "a large source": {"language": "c", "template_code": "x" * (SOURCE_BYTES + 1)},
}


@pytest.mark.parametrize("case", REFUSED)
async def test_a_bad_session_is_refused_and_leaves_nothing(
    ada: Api, pool: Pool, case: str
) -> None:
    answer = await ada.post(PATH, REFUSED[case])
    assert answer.status_code == 422, answer.text
    assert await count(pool, "code_session") == 0


async def test_sessions_are_listed_in_pages_without_their_source(ada: Api, bob: Api) -> None:
    made = [(await create(ada)).rpartition("/")[2] for _ in range(3)]
    await create(bob)
    page = (await ada.get(PATH, params={"limit": 2})).json()
    assert [each["session_id"] for each in page["items"]] == [made[2], made[1]]
    assert all("source_code" not in each for each in page["items"])
    rest = (await ada.get(PATH, params={"cursor": page["next_cursor"]})).json()
    assert [each["session_id"] for each in rest["items"]] == [made[0]]
    assert rest["next_cursor"] is None


async def test_a_user_has_a_bounded_number_of_sessions(
    make_dependencies: MakeDependencies, pool: Pool
) -> None:
    """D2: also if many are created at once."""
    async with running(create_app(make_dependencies(code_sessions_per_user=3))) as client:
        ada = Api(client, await make_user(pool, "ada"))
        bob = Api(client, await make_user(pool, "bob"))
        answers = await asyncio.gather(*(ada.post(PATH, {"language": "c"}) for _ in range(8)))
        assert sorted(each.status_code for each in answers) == [201] * 3 + [409] * 5
        assert (await bob.post(PATH, {"language": "c"})).status_code == 201
        first = next(each for each in answers if each.status_code == 201)
        assert (await ada.delete(first.headers["location"])).status_code == 204
        assert (await ada.post(PATH, {"language": "c"})).status_code == 201


async def test_e1_a_user_has_one_session_for_each_problem(
    ada: Api, bob: Api, pool: Pool, make_dependencies: MakeDependencies
) -> None:
    """It does not count among the sessions whose number is bounded."""
    await make_problem(pool, "sum")
    body = {"language": "python3", "template_code": "first", "problem_id": "prob_sum"}
    made = await ada.post(PATH, body)
    assert (made.status_code, made.json()["problem_id"]) == (201, "prob_sum")
    again = await ada.post(PATH, {**body, "template_code": "second"})
    assert again.status_code == 200
    assert again.json() == made.json()
    assert (await bob.post(PATH, body)).status_code == 201
    assert (await ada.post(PATH, {**body, "problem_id": "prob_none"})).status_code == 404
    async with running(create_app(make_dependencies(code_sessions_per_user=1))) as client:
        user = Api(client, ada.user)
        await create(user)
        assert (await user.post(PATH, {"language": "c"})).status_code == 409
        await make_problem(pool, "product")
        assert (
            await user.post(PATH, {**body, "problem_id": "prob_product"})
        ).status_code == 201


async def test_e2_a_save_makes_a_version_only_if_the_content_changes(
    ada: Api, pool: Pool
) -> None:
    path = await create(ada, "a")
    for _ in range(3):
        answer = await patch(ada, path, {"source_code": "b"})
        assert (answer.status_code, answer.headers["etag"]) == (200, '"v2"')
        assert answer.json()["version"] == 2
        assert "source_code" not in answer.json()
    assert await count(pool, "code_version") == 2
    answer = await patch(ada, path, {"language": "ruby"})
    assert (answer.json()["version"], answer.json()["language"]) == (3, "ruby")
    assert (await patch(ada, path, {})).json()["version"] == 3
    shown = (await ada.get(path)).json()
    assert (shown["source_code"], shown["language"], shown["version"]) == ("b", "ruby", 3)


async def test_e2_an_outdated_if_match_changes_nothing(ada: Api) -> None:
    path = await create(ada, "a")
    first = await patch(ada, path, {"source_code": "b"}, if_match='"v1"')
    assert (first.status_code, first.headers["etag"]) == (200, '"v2"')
    for tag in ('"v1"', '"v3"', '"v999999999"', "v2", "nonsense", '"v1", "v7"'):
        answer = await patch(ada, path, {"source_code": "c"}, if_match=tag)
        assert (answer.status_code, code_of(answer)) == (412, "precondition_failed"), tag
    assert (await ada.get(path)).json()["source_code"] == "b"
    version = 2
    for tag in ('"v1", "v2"', "*", 'W/"v4"'):
        answer = await patch(ada, path, {"source_code": tag}, if_match=tag)
        version += 1
        assert (answer.status_code, answer.json()["version"]) == (200, version), tag


async def test_e2_a_repeated_save_succeeds_with_its_old_if_match(ada: Api) -> None:
    """The client did not get the first response."""
    path = await create(ada, "a")
    for _ in range(2):
        answer = await patch(ada, path, {"source_code": "b"}, if_match='"v1"')
        assert (answer.status_code, answer.json()["version"]) == (200, 2)


async def test_e2_one_of_many_saves_of_the_same_version_wins(ada: Api, pool: Pool) -> None:
    path = await create(ada, "start")
    answers = await asyncio.gather(
        *(patch(ada, path, {"source_code": str(each)}, if_match='"v1"') for each in range(12))
    )
    won = [each for each in answers if each.status_code == 200]
    assert len(won) == 1
    assert {each.status_code for each in answers} == {200, 412}
    shown = (await ada.get(path)).json()
    assert (shown["version"], shown["source_code"]) == (2, str(answers.index(won[0])))
    assert await count(pool, "code_version") == 2


async def test_e2_saves_at_once_without_if_match_are_all_versions(ada: Api) -> None:
    path = await create(ada, "start")
    tags = await asyncio.gather(*(save(ada, path, str(each)) for each in range(12)))
    assert sorted(tags, key=lambda tag: int(tag[2:-1])) == [f'"v{n}"' for n in range(2, 14)]
    last = next(str(each) for each, tag in enumerate(tags) if tag == '"v13"')
    assert (await ada.get(path)).json()["source_code"] == last
    for each, tag in enumerate(tags):
        version = (await ada.get(f"{path}/versions/{tag[2:-1]}")).json()
        assert version["source_code"] == str(each)


async def test_a_bad_save_is_refused_and_changes_nothing(ada: Api) -> None:
    path = await create(ada, "a")
    for body in (
        {"source_code": "x\0"},
        {"source_code": "x" * (SOURCE_BYTES + 1)},
        {"source_code": "x", "language": "klingon"},
        {"source_code": 5},
        {"version": 3},
    ):
        assert (await patch(ada, path, body)).status_code == 422
    shown = (await ada.get(path)).json()
    assert (shown["source_code"], shown["version"]) == ("a", 1)


async def test_e2_versions_are_listed_shown_restored_and_compared(ada: Api) -> None:
    path = await create(ada, "one\n")
    await patch(ada, path, {"source_code": "two\n", "language": "ruby"})
    await save(ada, path, "three\n")
    page = (await ada.get(f"{path}/versions", params={"limit": 2})).json()
    assert [(each["version"], each["size_bytes"]) for each in page["items"]] == [(3, 6), (2, 4)]
    rest = (await ada.get(f"{path}/versions", params={"cursor": page["next_cursor"]})).json()
    assert [each["version"] for each in rest["items"]] == [1]
    assert "source_code" not in rest["items"][0]
    shown = (await ada.get(f"{path}/versions/1")).json()
    assert (shown["source_code"], shown["language"]) == ("one\n", "python3")

    restored = await ada.post(f"{path}/versions/1/restore")
    assert (restored.status_code, restored.headers["etag"]) == (200, '"v4"')
    assert restored.json()["source_code"] == "one\n"
    assert restored.json()["language"] == "python3"
    assert (await ada.get(f"{path}/versions/4")).json()["restored_version"] == 1
    again = await ada.post(f"{path}/versions/1/restore")
    assert again.headers["etag"] == '"v4"'

    diff = await ada.get(f"{path}/diff", params={"from": 1, "to": 3})
    assert diff.headers["content-type"].startswith("text/x-diff")
    assert diff.text == "--- version 1\n+++ version 3\n@@ -1 +1 @@\n-one\n+three\n"
    assert (await ada.get(f"{path}/diff", params={"from": 1, "to": 4})).text == ""


async def test_i1_a_restore_that_is_sent_again_does_not_undo_later_saves(ada: Api) -> None:
    path = await create(ada, "one")
    await save(ada, path, "two")
    first = await ada.post(f"{path}/versions/1/restore", key="k")
    assert (first.status_code, first.headers["etag"]) == (200, '"v3"')
    await save(ada, path, "three")
    again = await ada.post(f"{path}/versions/1/restore", key="k")
    assert (again.json(), again.headers["etag"]) == (first.json(), '"v3"')
    assert (await ada.get(path)).json()["source_code"] == "three"
    assert (await ada.post(f"{path}/versions/2/restore", key="k")).status_code == 422


async def test_e2_a_restore_respects_if_match(ada: Api) -> None:
    path = await create(ada, "one")
    tag = await save(ada, path, "two")
    await save(ada, path, "three")
    headers = {**ada.user.headers, "If-Match": tag}
    answer = await ada.client.post(f"{path}/versions/1/restore", headers=headers)
    assert answer.status_code == 412
    assert (await ada.get(path)).json()["source_code"] == "three"


@pytest.mark.parametrize("number", ["0", "9", "-1", "x", "99999999999", "9" * 30])
async def test_a_version_that_does_not_exist_is_not_found(ada: Api, number: str) -> None:
    path = await create(ada)
    assert (await ada.get(f"{path}/versions/{number}")).status_code == 404
    assert (await ada.post(f"{path}/versions/{number}/restore")).status_code == 404
    diff = await ada.get(f"{path}/diff", params={"from": 1, "to": number})
    assert diff.status_code == (404 if number == "9" else 422)


async def test_e2_old_versions_are_deleted(ada: Api, pool: Pool) -> None:
    """By number, and by size: the current one always stays."""
    path = await create(ada, "first")
    async with connection(pool) as acquired:
        await acquired.execute("UPDATE code_session SET version = $1", KEPT_VERSIONS)
    await save(ada, path, "a")
    assert (await ada.get(f"{path}/versions/1")).status_code == 404
    large = SOURCE_BYTES - 1
    for digit in "0123456789":
        await save(ada, path, digit * large)
    page = (await ada.get(f"{path}/versions")).json()["items"]
    assert len(page) == KEPT_BYTES // large
    assert page[0]["version"] == KEPT_VERSIONS + 11
    assert (await ada.get(path)).json()["source_code"] == "9" * large


async def test_e3_a_run_has_a_snapshot_of_the_source(ada: Api, pool: Pool) -> None:
    path = await create(ada, "print('first')")
    asked = {"stdin": "in", "args": ["a"], "limits": {"wall_time_ms": 500}}
    answer = await ada.post(f"{path}/run", asked)
    assert answer.status_code == 202, answer.text
    accepted = answer.json()
    assert accepted["status"] == "QUEUED"
    assert answer.headers["location"] == f"/v1/executions/{accepted['execution_id']}"
    await save(ada, path, "print('second')")
    async with connection(pool) as acquired:
        (row,) = await acquired.fetch("SELECT * FROM execution")
    assert unpack_files(row["files"]) == {"main.py": b"print('first')"}
    assert (row["stdin"], row["args"], row["limits"]["wall_ms"]) == (b"in", ["a"], 500)
    shown = (await ada.get(answer.headers["location"])).json()
    assert shown["session_id"] == path.rpartition("/")[2]


async def test_e3_the_session_names_its_latest_execution(ada: Api) -> None:
    path = await create(ada)
    other = await create(ada)
    made = [(await ada.post(f"{path}/run", {})).json()["execution_id"] for _ in range(2)]
    assert (await ada.get(path)).json()["latest_execution_id"] == made[1]
    by_id = {each["session_id"]: each for each in (await ada.get(PATH)).json()["items"]}
    assert by_id[path.rpartition("/")[2]]["latest_execution_id"] == made[1]
    assert "latest_execution_id" not in by_id[other.rpartition("/")[2]]
    session = path.rpartition("/")[2]
    listed = (await ada.get("/v1/executions", params={"session_id": session})).json()
    assert [each["execution_id"] for each in listed["items"]] == made[::-1]
    answer = await patch(ada, path, {"source_code": "2"})
    assert answer.json()["latest_execution_id"] == made[1]


async def test_i1_a_repeated_run_after_an_edit_is_the_first_run(ada: Api, pool: Pool) -> None:
    path = await create(ada, "print(1)")
    first = await ada.post(f"{path}/run", {"stdin": "x"}, key="k")
    await save(ada, path, "print(2)")
    again = await ada.post(f"{path}/run", {"stdin": "x"}, key="k")
    assert first.json() == again.json()
    assert await count(pool, "execution") == 1
    assert (await ada.post(f"{path}/run", {"stdin": "y"}, key="k")).status_code == 422


async def test_a_run_that_cannot_be_done_is_refused(ada: Api, pool: Pool) -> None:
    path = await create(ada, "")
    assert (await ada.post(f"{path}/run", {})).status_code == 422
    await save(ada, path, "print(1)")
    for body in (
        {"limits": {"wall_time_ms": 3_600_000}},
        {"source_code": "print(2)"},
        {"stdin": "a", "stdin_base64": "YQ=="},
        {"io": "telepathy"},
    ):
        assert (await ada.post(f"{path}/run", body)).status_code == 422
    assert await count(pool, "work") == 0


async def test_e6_deleting_a_session_deletes_all_that_belongs_to_it(
    ada: Api, pool: Pool
) -> None:
    path = await create(ada)
    kept = await create(ada)
    await save(ada, path, "print(2)")
    run = [(await ada.post(f"{path}/run", {})).headers["location"] for _ in range(3)]
    await ada.delete(run[0])
    other = (await ada.post(f"{kept}/run", {})).headers["location"]
    assert (await ada.delete(path)).status_code == 204
    for gone in (path, *run):
        assert (await ada.get(gone)).status_code == 404
    assert (await ada.delete(path)).status_code == 404
    assert (await ada.get(other)).json()["status"] == "QUEUED"
    for table in ("code_session", "code_version", "execution", "work", "outbox"):
        assert await count(pool, table) == 1, table


async def test_e6_of_a_delete_and_other_requests_at_once_none_leaves_anything(
    ada: Api, pool: Pool
) -> None:
    for _ in range(5):
        path = await create(ada)
        answers = await asyncio.gather(
            *(ada.post(f"{path}/run", {}) for _ in range(4)),
            *(patch(ada, path, {"source_code": str(each)}) for each in range(4)),
            ada.delete(path),
            *(ada.post(f"{path}/run", {}) for _ in range(4)),
            ada.delete(path),
        )
        statuses = {each.status_code for each in answers}
        assert statuses <= {200, 202, 204, 404}, [each.text for each in answers]
        assert [each.status_code for each in answers].count(204) == 1
        for table in ("code_session", "code_version", "execution", "work"):
            assert await count(pool, table) == 0, table


async def test_a_run_of_a_session_that_was_deleted_in_between_is_not_found(
    ada: Api, pool: Pool
) -> None:
    """The session is deleted after the run has read it."""
    path = await create(ada)
    async with connection(pool) as acquired, asyncio.TaskGroup() as group:
        deleting = acquired.transaction()
        await deleting.start()
        await acquired.execute("DELETE FROM code_session")
        run = group.create_task(ada.post(f"{path}/run", {}))
        statement = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        async with connection(pool) as looking:
            await until(lambda: looking.fetchval(statement))
        await deleting.commit()
        answer = await run
    assert answer.status_code == 404, answer.text
    assert await count(pool, "work") == 0


async def test_a11_a_session_of_another_account_does_not_exist(
    ada: Api, bob: Api, admin: Api
) -> None:
    path = await create(ada)
    for stranger in (bob, admin):
        for missing in (path, f"{PATH}/{NOBODY_HAS}", f"{PATH}/nonsense"):
            answers = [
                await stranger.get(missing),
                await patch(stranger, missing, {"source_code": "x"}),
                await stranger.post(f"{missing}/run", {}),
                await stranger.get(f"{missing}/versions"),
                await stranger.get(f"{missing}/versions/1"),
                await stranger.post(f"{missing}/versions/1/restore"),
                await stranger.get(f"{missing}/diff", params={"from": 1, "to": 1}),
                await stranger.delete(missing),
            ]
            assert {each.status_code for each in answers} == {404}
        assert (await stranger.get(PATH)).json()["items"] == []
    assert (await ada.get(path)).json()["version"] == 1
