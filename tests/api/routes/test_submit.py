"""A1, I1, I2, Q15: submissions are accepted once, even if requests are repeated."""

import asyncio
import base64
from typing import Any

import httpx
import pytest

from deemster.api.app import create_app
from deemster.domain.ids import ProblemId
from deemster.domain.source import MAX_FILES
from deemster.store.pool import Pool, connection
from deemster.store.problems import ProblemSummary
from tests.api.conftest import (
    Api,
    MakeDependencies,
    change_problem,
    make_user,
    make_worker,
    program,
    running,
)
from tests.builders import make_problem

PATH = "/v1/submissions"


@pytest.fixture(autouse=True)
async def problem(pool: Pool) -> ProblemSummary:
    await make_worker(pool)
    return await make_problem(pool)


async def count(pool: Pool, table: str = "submission") -> int:
    async with connection(pool) as acquired:
        found: int = await acquired.fetchval(f"SELECT count(*) FROM {table}")
    return found


async def test_a_submission_is_accepted_before_anything_runs(ada: Api, pool: Pool) -> None:
    """A1."""
    answer = await ada.post(PATH, program())
    assert answer.status_code == 202, answer.text
    body = answer.json()
    assert set(body) == {"id", "status", "problem_id", "language", "submitted_at"}
    assert body["status"] == "queued"
    assert body["problem_id"] == "prob_sum"
    assert body["language"] == "python3"
    assert body["id"].startswith("sub_")
    assert body["submitted_at"].endswith("Z")
    assert answer.headers["location"] == f"{PATH}/{body['id']}"
    assert "warning" not in answer.headers
    async with connection(pool) as acquired:
        row = await acquired.fetchrow("SELECT * FROM submission")
        outbox = await acquired.fetchval("SELECT work_id FROM outbox")
    assert row is not None
    assert (row["id"], row["account_id"], row["state"]) == (body["id"], ada.user.id, "PENDING")
    assert outbox == body["id"]


async def test_a_language_may_be_named_by_an_alias(ada: Api) -> None:
    answer = await ada.post(PATH, program(language="C++", source_code="int main(){}"))
    assert answer.json()["language"] == "cpp"


async def test_a6_a_language_that_no_worker_has_is_refused_and_creates_nothing(
    ada: Api, pool: Pool
) -> None:
    """A6, D2."""
    for path in (PATH, "/v1/executions"):
        body = {"language": "rust", "source_code": "fn main() {}"}
        answer = await ada.post(path, program(**body) if path == PATH else body)
        assert answer.status_code == 422, answer.text
        assert answer.json()["code"] == "language_not_available"
        assert "has Rust: use one of cpp, python3." in answer.json()["detail"]
    assert await count(pool, "work") == 0


async def test_files_are_sent_as_text_or_base64(ada: Api) -> None:
    content = bytes(range(256))
    files = [
        {"name": "main.py", "content": "import data\n"},
        {"name": "lib/data.bin", "content_base64": base64.b64encode(content).decode()},
    ]
    body = {"problem_id": "prob_sum", "language": "python3", "files": files}
    accepted = await ada.post(PATH, {**body, "main": "main.py"})
    assert accepted.status_code == 202, accepted.text
    source = await ada.get(f"{accepted.headers['location']}/source")
    assert source.json() == {
        "id": accepted.json()["id"],
        "language": "python3",
        "main": "main.py",
        "files": sorted(files, key=lambda file: file["name"]),
    }


async def test_a_large_source_is_returned_unchanged(ada: Api, pool: Pool) -> None:
    """J11: it is too large to be stored in the database."""
    await change_problem(pool, id=ProblemId("prob_long"), source_bytes=1 << 20)
    source = "x = 'ä'\n" * 20_000
    answer = await ada.post(PATH, program("prob_long", source_code=source))
    assert answer.status_code == 202, answer.text
    shown = await ada.get(f"{answer.headers['location']}/source")
    assert shown.json()["files"] == [{"name": "main.py", "content": source}]
    assert await count(pool, "artifact") == 0


async def test_a_repeated_key_gets_the_same_response(ada: Api, pool: Pool) -> None:
    """I1."""
    first = await ada.post(PATH, program(), key="again")
    second = await ada.post(PATH, program(), key="again")
    assert (first.status_code, second.status_code) == (202, 202)
    assert first.content == second.content
    assert first.headers["location"] == second.headers["location"]
    assert await count(pool) == 1


async def test_fifty_concurrent_repeats_create_one_submission(ada: Api, pool: Pool) -> None:
    """I1: one row, one job, fifty equal responses."""
    answers = await asyncio.gather(
        *(ada.post(PATH, program(), key="at once") for _ in range(50))
    )
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.content for answer in answers}) == 1
    assert await count(pool) == 1
    assert await count(pool, "outbox") == 1
    assert await count(pool, "work_event") == 1


@pytest.mark.parametrize(
    "other",
    [
        {"source_code": "print(2)"},
        {"language": "cpp"},
        {"webhook_url": "https://example.org/hook"},
    ],
)
async def test_a_key_with_another_request_is_refused(
    ada: Api, pool: Pool, other: dict[str, Any]
) -> None:
    """I2."""
    assert (await ada.post(PATH, program(), key="mine")).status_code == 202
    answer = await ada.post(PATH, program(**other), key="mine")
    assert answer.status_code == 422
    assert answer.json()["type"] == "urn:deemster:error:idempotency_key_reused"
    assert await count(pool) == 1


EXECUTION = {"language": "python3", "source_code": "print(1)"}
REQUESTS = {"/v1/executions": EXECUTION, PATH: program()}


@pytest.mark.parametrize("first", REQUESTS)
async def test_i2_submissions_and_executions_share_the_keys_of_a_user(
    make_dependencies: MakeDependencies, pool: Pool, first: str
) -> None:
    """D2: the refused request starts no interval and leaves nothing."""
    (other,) = REQUESTS.keys() - {first}
    async with running(create_app(make_dependencies(submit_interval_s=3600))) as client:
        ada = Api(client, await make_user(pool, "ada"))
        assert (await ada.post(first, REQUESTS[first], key="k")).status_code == 202
        intervals = await count(pool, "pace")
        for _ in range(2):
            reused = await ada.post(other, REQUESTS[other], key="k")
            assert reused.status_code == 422, reused.text
            assert reused.json()["type"] == "urn:deemster:error:idempotency_key_reused"
        assert (await count(pool, "work"), await count(pool, "pace")) == (1, intervals)
        accepted = await ada.post(other, REQUESTS[other], key="another")
        assert accepted.status_code == 202, accepted.text


async def test_i2_a_reached_limit_does_not_hide_that_a_key_was_used_for_an_execution(
    make_dependencies: MakeDependencies, pool: Pool
) -> None:
    async with running(create_app(make_dependencies(submits_per_minute_user=1))) as client:
        ada = Api(client, await make_user(pool, "ada"))
        assert (await ada.post("/v1/executions", EXECUTION, key="k")).status_code == 202
        assert (await ada.post(PATH, program())).status_code == 202
        assert (await ada.post(PATH, program())).status_code == 429
        assert (await ada.post(PATH, program(), key="k")).status_code == 422


async def test_keys_belong_to_their_accounts(ada: Api, bob: Api, pool: Pool) -> None:
    """I2."""
    first = await ada.post(PATH, program(), key="same")
    second = await bob.post(PATH, program(source_code="print(3)"), key="same")
    assert second.status_code == 202
    assert first.json()["id"] != second.json()["id"]
    assert await count(pool) == 2


@pytest.mark.parametrize("key", ["", "k" * 256])
async def test_a_key_that_is_too_long_is_refused(ada: Api, key: str) -> None:
    answer = await ada.post(PATH, program(), key=key)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "Idempotency-Key"


FILE = {"name": "main.py", "content": "print(1)"}
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a field too many": ({"sourcecode": "x"}, "sourcecode"),
    "a field called like a place": ({"query": "x"}, "query"),
    "a field with a long name": ({"x" * 1000: 1}, "x" * 100),
    "no problem": ({"problem_id": None}, "problem_id"),
    "an empty problem": ({"problem_id": ""}, "problem_id"),
    "a NUL in the problem": ({"problem_id": "prob_\0"}, "problem_id"),
    "a number as language": ({"language": 3}, "language"),
    "a NUL in the language": ({"language": "c\0"}, "language"),
    "both sources": ({"files": [FILE]}, "the request"),
    "no source": ({"source_code": None}, "the request"),
    "main without files": ({"main": "main.py"}, "the request"),
    "a number as source": ({"source_code": 1}, "source_code"),
    "no files": ({"source_code": None, "files": []}, "files"),
    "too many files": ({"source_code": None, "files": [FILE] * (MAX_FILES + 1)}, "files"),
    "two files of a name": ({"source_code": None, "files": [FILE, FILE]}, "the request"),
    "a file without a name": (
        {"source_code": None, "files": [{"name": "", "content": "x"}]},
        "files.0.name",
    ),
    "a file without content": ({"source_code": None, "files": [{"name": "a.py"}]}, "files.0"),
    "a file with two contents": (
        {"source_code": None, "files": [{**FILE, "content_base64": "eA=="}]},
        "files.0",
    ),
    "a file with a field too many": (
        {"source_code": None, "files": [{**FILE, "mode": 7}]},
        "files.0.mode",
    ),
    "no base64": (
        {"source_code": None, "files": [{"name": "a.py", "content_base64": "?"}]},
        "files.0.content_base64",
    ),
    "a webhook that is none": ({"webhook_url": "ftp://example.org"}, "webhook_url"),
    "a webhook with a password": ({"webhook_url": "https://me:x@example.org"}, "webhook_url"),
    "a webhook with a space": ({"webhook_url": "https://example.org/a b"}, "webhook_url"),
    "a webhook with a wrong port": ({"webhook_url": "https://h:99999/"}, "webhook_url"),
}


@pytest.mark.parametrize("what", WRONG)
async def test_an_invalid_field_is_named(ada: Api, pool: Pool, what: str) -> None:
    """A6: the field, but not its content; nothing is created."""
    change, field = WRONG[what]
    body = {name: value for name, value in program(**change).items() if value is not None}
    answer = await ada.post(PATH, body)
    assert answer.status_code == 422, answer.text
    problem = answer.json()
    assert problem["type"] == "urn:deemster:error:invalid"
    assert [each["field"] for each in problem["errors"]] == [field]
    assert field in problem["detail"]
    assert await count(pool) == 0


async def test_far_too_many_invalid_fields_get_a_short_response(ada: Api) -> None:
    """The response must not be larger than the request."""
    body = program() | {f"field{number}": 1 for number in range(50_000)}
    answer = await ada.post(PATH, body)
    assert answer.status_code == 422
    assert len(answer.content) < 1000


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"problem_id": "prob_unheard"}, 404, "not_found"),
        ({"problem_id": "sum"}, 404, "not_found"),
        ({"language": "klingon"}, 422, "refused"),
        ({"source_code": ""}, 422, "refused"),
        ({"source_code": "x" * (64 * 1024 + 1)}, 422, "refused"),
    ],
)
async def test_a_source_that_the_problem_does_not_accept_is_refused(
    ada: Api, pool: Pool, change: dict[str, str], status: int, code: str
) -> None:
    answer = await ada.post(PATH, program(**change))
    assert answer.status_code == status, answer.text
    assert answer.json()["type"] == f"urn:deemster:error:{code}"
    assert await count(pool) == 0


@pytest.mark.parametrize(
    "text",
    [
        b"{",
        b"",
        b'{"problem_id": "\\ud800"}',
        b"\xff\xfe",
        b"[" * 200_000,
        b'{"a": NaN',
    ],
)
async def test_a_body_that_is_not_json_is_malformed(ada: Api, text: bytes) -> None:
    headers = {**ada.user.headers, "Content-Type": "application/json"}
    answer = await ada.client.post(PATH, content=text, headers=headers)
    assert answer.status_code == 400, answer.text
    assert answer.json()["type"] == "urn:deemster:error:malformed"


@pytest.mark.parametrize("text", [b"[]", b"3", b"null", b'"x"'])
async def test_json_that_is_not_an_object_is_invalid(ada: Api, text: bytes) -> None:
    headers = {**ada.user.headers, "Content-Type": "application/json"}
    answer = await ada.client.post(PATH, content=text, headers=headers)
    assert answer.status_code == 422, answer.text


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", None])
async def test_only_json_is_accepted(ada: Api, kind: str | None) -> None:
    headers = {**ada.user.headers, **({"Content-Type": kind} if kind else {})}
    answer = await ada.client.post(PATH, content=b"{}", headers=headers)
    assert answer.status_code == 415
    assert answer.json()["type"] == "urn:deemster:error:wrong_media_type"


async def test_json_may_name_its_character_set(ada: Api) -> None:
    headers = {**ada.user.headers, "Content-Type": "Application/JSON; charset=utf-8"}
    answer = await ada.client.post(PATH, content=b'{"language": "c"}', headers=headers)
    assert answer.status_code == 422


async def without_workers(pool: Pool) -> None:
    async with connection(pool) as acquired:
        await acquired.execute("UPDATE worker SET draining_at = now()")


async def test_without_workers_a_submission_is_accepted_with_a_warning(
    ada: Api, pool: Pool
) -> None:
    """Q15: a draining worker does not count."""
    await without_workers(pool)
    answer = await ada.post(PATH, program())
    assert answer.status_code == 202
    assert "No worker takes jobs" in answer.headers["warning"]


async def test_without_workers_a_setting_refuses_submissions(
    pool: Pool, make_dependencies: MakeDependencies
) -> None:
    """Q15, I1: a repeat still gets its first response."""
    user = await make_user(pool, "ada")
    accepting = create_app(make_dependencies())
    async with running(accepting) as client:
        first = await Api(client, user).post(PATH, program(), key="before")
    await without_workers(pool)
    async with running(create_app(make_dependencies(without_workers="refuse"))) as client:
        ada = Api(client, user)
        answer = await ada.post(PATH, program())
        assert answer.status_code == 503
        assert answer.json()["type"] == "urn:deemster:error:no_workers"
        assert int(answer.headers["retry-after"]) > 0
        assert (await ada.post(PATH, program(), key="new")).status_code == 503
        again = await ada.post(PATH, program(), key="before")
    assert again.status_code == 202
    assert again.content == first.content
    assert await count(pool) == 1


async def test_no_body_is_read_before_authentication(client: httpx.AsyncClient) -> None:
    """D3: without a token, no byte of the body is read."""
    asked = 0

    async def body() -> Any:
        nonlocal asked
        asked += 1
        yield b"{}"

    headers = {"Content-Type": "application/json"}
    answer = await client.post(PATH, content=body(), headers=headers)
    assert answer.status_code == 401
    assert asked == 0
