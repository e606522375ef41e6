"""Judge0's routes, fields, statuses and errors, without a worker."""

import base64
import dataclasses
import io
import re
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from judge0.base_types import Config

from deemster.api import admission
from deemster.api.app import create_app
from deemster.api.compat.judge0_languages import judge0_languages
from deemster.api.compat.judge0_request import execute_request
from deemster.domain.account import Role, Scope
from deemster.domain.execution import CompileResult, ExecutionResult, Stream
from deemster.domain.ids import execution_of_uuid, new_execution_id
from deemster.domain.lifecycle import State
from deemster.domain.run_status import RunStatus
from deemster.pipeline.deliver.judge0_format import (
    COMPILE_FAILED,
    COMPILE_OUTPUT,
    Judge0Submission,
)
from deemster.settings import Settings
from deemster.settings.ceilings import ceiling_of
from deemster.store import accounts, executions
from deemster.store.pool import Pool, connection
from tests.api.compat.conftest import shown
from tests.api.conftest import (
    CATALOGUE,
    MakeDependencies,
    make_user,
    make_worker,
    running,
)

CREATE = "/judge0/submissions"
BATCH = f"{CREATE}/batch"
PROGRAM = {"language_id": 71, "source_code": "print(1)"}
CONFIG_KEYS = 39
CONFIG = {
    "cpu_time_limit": 5,
    "max_cpu_time_limit": 15,
    "cpu_extra_time": 1,
    "max_cpu_extra_time": 5,
    "wall_time_limit": 10,
    "max_wall_time_limit": 20,
    "memory_limit": 128000,
    "max_memory_limit": 512000,
    "stack_limit": 64000,
    "max_stack_limit": 128000,
    "max_processes_and_or_threads": 60,
    "max_max_processes_and_or_threads": 120,
    "max_file_size": 1024,
    "max_max_file_size": 4096,
    "number_of_runs": 1,
    "max_number_of_runs": 20,
    "max_extract_size": 10240,
    "enable_callbacks": True,
    "callbacks_max_tries": 3,
    "callbacks_timeout": 5,
    "enable_wait_result": True,
    "maintenance_mode": False,
    "enable_network": False,
    "allow_enable_network": False,
    "enable_batched_submissions": True,
    "max_submission_batch_size": 20,
    "enable_submission_delete": True,
}
STATUS_NAMES = {
    1: "In Queue",
    2: "Processing",
    3: "Accepted",
    4: "Wrong Answer",
    5: "Time Limit Exceeded",
    6: "Compilation Error",
    7: "Runtime Error (SIGSEGV)",
    8: "Runtime Error (SIGXFSZ)",
    9: "Runtime Error (SIGFPE)",
    10: "Runtime Error (SIGABRT)",
    11: "Runtime Error (NZEC)",
    12: "Runtime Error (Other)",
    13: "Internal Error",
    14: "Exec Format Error",
}
IDS_OF_OTHERS = {44, 47, 57, 58, 66, 70, 83, 84, 86, 87, 88}
"""Languages of Judge0 that are not offered here."""


@pytest.fixture
async def client(
    make_dependencies: MakeDependencies, pool: Pool
) -> AsyncIterator[httpx.AsyncClient]:
    """With Judge0's header for the token of a user."""
    user = await make_user(pool, "ada")
    async with running(create_app(make_dependencies(compat=["judge0"]))) as opened:
        opened.headers["X-Auth-Token"] = user.token
        yield opened


@pytest.fixture
async def admin(client: httpx.AsyncClient, pool: Pool) -> dict[str, str]:
    """Judge0's header for an admin's token."""
    return {"X-Auth-User": (await make_user(pool, "root", Role.ADMIN)).token}


def zipped(**files: bytes) -> str:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in files.items():
            opened.writestr(name, content)
    return base64.b64encode(archive.getvalue()).decode()


def unzipped(archive: str) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(archive))) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


async def create(client: httpx.AsyncClient, **fields: Any) -> str:
    answer = await client.post(CREATE, json={**PROGRAM, **fields})
    assert answer.status_code == 201, answer.text
    assert list(answer.json()) == ["token"]
    token: str = answer.json()["token"]
    return token


async def test_the_api_is_there_only_if_it_is_switched_on(
    make_dependencies: MakeDependencies,
) -> None:
    async with running(create_app(make_dependencies())) as client:
        assert (await client.get("/judge0/about")).status_code == 404


INFO: dict[str, Any] = {
    "about": lambda found: (
        found.json().keys() == {"version", "homepage", "source_code", "maintainer"}
        and found.json()["version"] == "1.13.1"
    ),
    "ce/about": lambda found: found.json()["version"] == "1.13.1",
    "extra/about": lambda found: found.json()["version"] == "1.13.1-extra",
    "version": lambda found: found.text == "1.13.1",
    "isolate": lambda found: "Deemster" in found.text,
    "license": lambda found: "Apache" in found.text,
    "statuses": lambda found: (
        {each["id"]: each["description"] for each in found.json()} == STATUS_NAMES
    ),
    "languages": lambda found: {"id": 71, "name": "Python (3.11.2)"} in found.json(),
    "extra/languages": lambda found: [each["id"] for each in found.json()] == [1, 10],
    "languages/all": lambda found: (
        {"id": 50, "name": "C (GCC 12.2.0)", "is_archived": False} in found.json()
    ),
    "languages/50": lambda found: (
        set(found.json())
        == {"id", "name", "is_archived", "source_file", "compile_cmd", "run_cmd"}
        and found.json()["source_file"] == "main.c"
    ),
    "config_info": lambda found: (
        found.json().keys() == Config.model_fields.keys()
        and len(found.json()) == CONFIG_KEYS
        and found.json() | CONFIG == found.json()
    ),
    "workers": lambda found: (
        set(found.json()[0])
        == {"queue", "size", "available", "idle", "working", "paused", "failed"}
    ),
    "system_info": lambda found: found.json()["Workers"] == 1,
    "statistics": lambda found: found.json()["submissions"] == {"total": 0},
}


async def test_routes_that_describe_the_service(client: httpx.AsyncClient, pool: Pool) -> None:
    worker = await make_worker(pool, "python3", "c")
    async with connection(pool) as acquired:
        await acquired.execute(
            "UPDATE worker SET versions = $1 WHERE id = $2",
            {"python3": "CPython 3.11.2", "c": "GCC 12.2.0 (Debian 12.2.0-14)"},
            worker,
        )
    for path, is_right in INFO.items():
        answer = await client.get(f"/judge0/{path}")
        assert answer.status_code == 200, (path, answer.text)
        assert is_right(answer), (path, answer.text)


def test_languages_have_the_ids_of_judge0() -> None:
    found = judge0_languages(CATALOGUE, {}, extra=False)
    assert found.keys() == set(range(43, 90)) - IDS_OF_OTHERS
    names = {
        43: "text",
        45: "nasm",
        46: "bash",
        51: "csharp",
        60: "go",
        62: "java",
        71: "python3",
    }
    assert {number: found[number].language.id for number in names} == names
    assert {found[number].language.id for number in (48, 49, 50, 75)} == {"c"}
    assert {found[number].language.id for number in (52, 53, 54, 76)} == {"cpp17"}
    page = (Path(__file__).parents[3] / "docs" / "coming-from-judge0.md").read_text()
    listed = re.search(r"not ([\d, and]+)\.", page)
    assert listed is not None
    assert set(map(int, re.findall(r"\d+", listed[1]))) == IDS_OF_OTHERS
    extra = judge0_languages(CATALOGUE, {}, extra=True)
    assert {number: each.language.id for number, each in extra.items()} == {
        1: "c",
        2: "cpp17",
        4: "java",
        9: "nim",
        10: "python3",
        22: "csharp",
        89: "bash",
    }


@pytest.mark.parametrize("prefix", ["/judge0", "/judge0/ce", "/judge0/extra"])
async def test_what_does_not_exist_is_not_found(client: httpx.AsyncClient, prefix: str) -> None:
    for path in (
        *("languages/999", "languages/x", "languages/-1", "languages/²"),
        *("submissions/x", f"submissions/{uuid4()}", "submissions/%00", "nothing", "a/b/c"),
    ):
        answer = await client.get(f"{prefix}/{path}")
        assert (answer.status_code, list(answer.json())) == (404, ["error"]), path
    for method, path in (("PUT", "submissions"), ("POST", "about"), ("DELETE", "languages")):
        answer = await client.request(method, f"{prefix}/{path}")
        assert (answer.status_code, answer.json()) == (404, {"error": "Not Found"})


def nested(depth: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


NESTED = nested(900)
INVALID: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "no source": ({"source_code": None}, {"source_code": "can't be blank"}),
    "no language": ({"language_id": None}, {"language_id": "can't be blank"}),
    "unknown language": (
        {"language_id": 1000},
        {"language_id": "language with id 1000 doesn't exist"},
    ),
    "a language that is no number": ({"language_id": [71]}, {"language_id": "doesn't exist"}),
    "a language that is true": ({"language_id": True}, {"language_id": "doesn't exist"}),
    "nested language": ({"language_id": NESTED}, {"language_id": "doesn't exist"}),
    "source that is no text": ({"source_code": {}}, {"source_code": "is not a string"}),
    "nested input": ({"stdin": NESTED}, {"stdin": "is not a string"}),
    "expected output that is no text": (
        {"expected_output": True},
        {"expected_output": "is not a string"},
    ),
    "arguments that are no text": (
        {"command_line_arguments": ["a"]},
        {"command_line_arguments": "is not a string"},
    ),
    "NUL in arguments": ({"command_line_arguments": "a\0b"}, {"base": "NUL character"}),
    "options that are no text": (
        {"language_id": 50, "compiler_options": {"a": 1}},
        {"compiler_options": "is not a string"},
    ),
    "files that are no text": (
        {"additional_files": ["x"]},
        {"additional_files": "is not a string"},
    ),
    "flag that is a list": (
        {"redirect_stderr_to_stdout": [1]},
        {"redirect_stderr_to_stdout": "is not true or false"},
    ),
    "number that is a list": ({"memory_limit": [1]}, {"memory_limit": "is not a number"}),
    "number that is true": ({"stack_limit": True}, {"stack_limit": "is not a number"}),
    "huge number": ({"memory_limit": 10**400}, {"memory_limit": "is not a number"}),
    "negative numbers": (
        {"stack_limit": -1, "max_file_size": -1, "max_processes_and_or_threads": 0},
        {
            "stack_limit": "must be greater than or equal to 0",
            "max_file_size": "must be greater than or equal to 0",
            "max_processes_and_or_threads": "must be greater than or equal to 1",
        },
    ),
    "no runs": ({"number_of_runs": 0}, {"number_of_runs": "greater than or equal to 1"}),
    "several errors": (
        {"cpu_time_limit": 16, "cpu_extra_time": -1, "number_of_runs": "x"},
        {
            "cpu_time_limit": "must be less than or equal to 15",
            "cpu_extra_time": "must be greater than or equal to 0",
            "number_of_runs": "is not a number",
        },
    ),
    "wall time": ({"wall_time_limit": 0.5}, {"wall_time_limit": "greater than or equal to 1"}),
    "memory": ({"memory_limit": 2047}, {"memory_limit": "greater than or equal to 2048"}),
    "more memory": ({"memory_limit": 512001}, {"memory_limit": "less than or equal to 512000"}),
    "stack": ({"stack_limit": 128001}, {"stack_limit": "less than or equal to 128000"}),
    "processes": (
        {"max_processes_and_or_threads": 121},
        {"max_processes_and_or_threads": "less than or equal to 120"},
    ),
    "file size": ({"max_file_size": 4097}, {"max_file_size": "less than or equal to 4096"}),
    "runs": ({"number_of_runs": 21}, {"number_of_runs": "less than or equal to 20"}),
    "not a number": ({"cpu_time_limit": "nan"}, {"cpu_time_limit": "is not a number"}),
    "infinite": ({"cpu_time_limit": "inf"}, {"cpu_time_limit": "less than or equal"}),
    "network": ({"enable_network": True}, {"enable_network": "cannot be enabled"}),
    "time per process": (
        {"enable_per_process_and_thread_time_limit": True},
        {"enable_per_process_and_thread_time_limit": "cannot be enabled"},
    ),
    "memory per process": (
        {"enable_per_process_and_thread_memory_limit": "true"},
        {"enable_per_process_and_thread_memory_limit": "cannot be enabled"},
    ),
    "callback to a private address": (
        {"callback_url": "http://127.0.0.1/x"},
        {"callback_url": "is a private address"},
    ),
    "callback with another scheme": (
        {"callback_url": "ftp://example.org"},
        {"callback_url": "write it as https://host/path"},
    ),
    "callback that is no text": ({"callback_url": [1]}, {"callback_url": "write it as"}),
    "long callback": (
        {"callback_url": "https://example.org/" + "x" * 2048},
        {"callback_url": "is too long (maximum is 2048 characters)"},
    ),
    "compiler options of Python": (
        {"compiler_options": "-O2"},
        {"compiler_options": "setting compiler options for Python is not allowed"},
    ),
    "long compiler options": (
        {"language_id": 50, "compiler_options": "x" * 513},
        {"compiler_options": "is too long (maximum is 512 characters)"},
    ),
    "long arguments": (
        {"command_line_arguments": "x" * 513},
        {"command_line_arguments": "is too long"},
    ),
    "open quotation mark": (
        {"command_line_arguments": "'x"},
        {"command_line_arguments": "open quotation mark"},
    ),
    "not an archive": ({"additional_files": "AAAA"}, {"additional_files": "not a zip archive"}),
    "large archive": (
        {"additional_files": zipped(x=b"x" * (10241 << 10))},
        {"additional_files": "larger than 10240 KB"},
    ),
    "archive of many files": (
        {"additional_files": zipped(**{f"f{each}": b"" for each in range(300)})},
        {"additional_files": "more than 250 files"},
    ),
    "file outside": (
        {"additional_files": zipped(**{"../x": b""})},
        {"base": "can't be the name of a source file"},
    ),
    "multi-file program without files": (
        {"language_id": 89, "source_code": None},
        {"additional_files": "can't be blank"},
    ),
    "multi-file program without a script": (
        {"language_id": 89, "source_code": None, "additional_files": zipped(x=b"")},
        {"additional_files": "no script with the name run"},
    ),
    "multi-file program with a source": (
        {"language_id": 89, "additional_files": zipped(run=b"")},
        {"source_code": "should be blank"},
    ),
}


@pytest.mark.parametrize("case", list(INVALID))
async def test_invalid_fields_are_named(client: httpx.AsyncClient, case: str) -> None:
    fields, expected = INVALID[case]
    answer = await client.post(CREATE, json={**PROGRAM, **fields})
    assert answer.status_code == 422, answer.text
    found = answer.json()
    assert found.keys() == expected.keys()
    for name, text in expected.items():
        assert len(found[name]) == 1
        assert text in found[name][0]


MALFORMED: dict[str, tuple[str, str, Any, int, str]] = {
    "fields": ("POST", f"{CREATE}?fields=stdout,x,y", PROGRAM, 400, "invalid fields: [x, y]"),
    "fields of one": ("GET", f"{CREATE}/x?fields=z", None, 400, "invalid fields: [z]"),
    "no JSON": ("POST", CREATE, b"{", 400, "not valid JSON"),
    "no object": ("POST", CREATE, [], 400, "not a JSON object"),
    "empty batch": ("POST", BATCH, {"submissions": []}, 400, "at least one submission"),
    "no batch": ("POST", BATCH, {}, 400, "at least one submission"),
    "large batch": ("POST", BATCH, {"submissions": [PROGRAM] * 21}, 400, "equal to 20"),
    "no tokens": ("GET", f"{BATCH}?tokens=", None, 400, "at least one submission"),
    "many tokens": ("GET", f"{BATCH}?tokens=" + "a," * 21, None, 400, "equal to 20"),
    "not UTF-8": ("POST", CREATE, b'{"source_code": "\xff"}', 400, "not valid JSON"),
    "surrogate": ("POST", CREATE, b'{"stdin": "\\ud800"}', 400, "not valid JSON"),
    "NaN": ("POST", CREATE, b'{"cpu_time_limit": NaN}', 400, "not valid JSON"),
    "deep JSON": ("POST", CREATE, b"[" * 100_000, 400, "not valid JSON"),
    "long number": ("POST", CREATE, b'{"x": ' + b"9" * 10_000 + b"}", 400, "not valid JSON"),
    "large body": ("POST", CREATE, b" " * ((32 << 20) + 1), 413, "send less"),
    "batch that is no list": ("POST", BATCH, {"submissions": {"a": 1}}, 400, "at least one"),
    "list": ("GET", CREATE, None, 403, "role"),
    "delete": ("DELETE", f"{CREATE}/x", None, 403, "role"),
}


@pytest.mark.parametrize("case", list(MALFORMED))
async def test_other_errors_have_judge0_s_shape(client: httpx.AsyncClient, case: str) -> None:
    method, path, body, status, text = MALFORMED[case]
    given = {"content": body} if isinstance(body, bytes) else {"json": body}
    answer = await client.request(method, path, **given)
    assert answer.status_code == status, answer.text
    assert list(answer.json()) == ["error"]
    assert text in answer.json()["error"]


async def test_tokens_come_in_judge0_s_headers_too(
    client: httpx.AsyncClient, admin: dict[str, str], pool: Pool
) -> None:
    """O6"""
    user = client.headers.pop("X-Auth-Token")
    path = "/judge0/authenticate"
    answer = await client.post(path)
    assert (answer.status_code, answer.content) == (401, b"")
    for headers, status in (
        ({"X-Auth-Token": user}, 200),
        ({"Authorization": f"Bearer {user}"}, 200),
        ({"X-Auth-Token": "wrong"}, 401),
        ({"X-Auth-Token": user, "Authorization": "Bearer wrong"}, 401),
    ):
        answer = await client.post(path, headers=headers)
        assert (answer.status_code, answer.content) == (status, b""), headers
    answer = await client.post("/judge0/authorize", headers={"X-Auth-Token": user})
    assert (answer.status_code, answer.content) == (403, b"")
    answer = await client.post(path, headers={"X-Auth-Token": "wrong"})
    assert answer.headers["www-authenticate"].startswith("Bearer")
    both = {"X-Auth-Token": user, **admin}
    assert (await client.post("/judge0/authorize", headers=both)).status_code == 200
    async with connection(pool) as acquired:
        account = await accounts.add(acquired, "reader", Role.USER)
        reads = await accounts.add_token(
            acquired, account.id, "x", scopes=frozenset({Scope.READ})
        )
    answer = await client.post(CREATE, json=PROGRAM, headers={"X-Auth-Token": reads})
    assert answer.status_code == 403


async def test_all_fields_are_shown_with_their_defaults(client: httpx.AsyncClient) -> None:
    token = await create(
        client,
        stdin="in",
        expected_output="out",
        additional_files=zipped(x=b"y"),
        command_line_arguments="a b",
        cpu_time_limit="2.5",
    )
    shown = (await client.get(f"{CREATE}/{token}?fields=*")).json()
    assert shown.pop("created_at").endswith("Z")
    assert unzipped(shown.pop("additional_files")) == {"x": b"y"}
    assert shown == {
        "source_code": "print(1)",
        "language_id": 71,
        "stdin": "in",
        "expected_output": "out",
        "stdout": None,
        "status_id": 1,
        "finished_at": None,
        "time": None,
        "memory": None,
        "stderr": None,
        "token": token,
        "compiler_options": None,
        "command_line_arguments": "a b",
        "number_of_runs": 1,
        "cpu_time_limit": "2.5",
        "cpu_extra_time": "1.0",
        "wall_time_limit": "10.0",
        "memory_limit": 128000,
        "stack_limit": 64000,
        "max_processes_and_or_threads": 60,
        "enable_per_process_and_thread_time_limit": False,
        "enable_per_process_and_thread_memory_limit": False,
        "max_file_size": 1024,
        "redirect_stderr_to_stdout": False,
        "enable_network": False,
        "compile_output": None,
        "post_execution_filesystem": None,
        "exit_code": None,
        "exit_signal": None,
        "message": None,
        "wall_time": None,
        "callback_url": None,
        "status": {"id": 1, "description": "In Queue"},
        "language": {"id": 71, "name": "Python"},
    }
    chosen = await client.get(f"{CREATE}/{token}?fields=stdin,status_id&base64_encoded=true")
    assert chosen.json() == {"stdin": "aW4=\n", "status_id": 1}


async def test_base64_covers_source_input_and_expected_output(
    client: httpx.AsyncClient, admin: dict[str, str]
) -> None:
    """As in Ruby, line breaks and missing padding do no harm."""
    body = {
        "language_id": "71",
        "source_code": "cHJpbnQo\nMSk",
        "stdin": "AP8=",
        "expected_output": "",
    }
    answer = await client.post(f"{CREATE}?base64_encoded=true", json=body)
    token = answer.json()["token"]
    path = f"{CREATE}/{token}?fields=source_code,stdin,expected_output"
    shown = (await client.get(f"{path}&base64_encoded=true")).json()
    assert shown == {
        "source_code": "cHJpbnQoMSk=\n",
        "stdin": "AP8=\n",
        "expected_output": None,
    }
    query = "fields=stdin"
    for shown_by in (path, f"{BATCH}?tokens={token}&{query}"):
        plain = await client.get(shown_by)
        assert plain.status_code == 400
        assert "use base64_encoded=true" in plain.json()["error"]
    plain = await client.get(f"{CREATE}?{query}", headers=admin)
    assert (plain.status_code, "one or more" in plain.json()["error"]) == (400, True)


async def test_a_batch_has_an_answer_for_each(client: httpx.AsyncClient) -> None:
    bad = {"language_id": 71}
    answer = await client.post(BATCH, json={"submissions": [PROGRAM, bad, PROGRAM, 5]})
    assert answer.status_code == 201
    first, second, third, fourth = answer.json()
    assert second == {"source_code": ["can't be blank"]}
    assert fourth == {"language_id": ["can't be blank"]}
    assert first["token"] != third["token"]
    tokens = f"{third['token']},nobody,{first['token']}"
    for params, headers in (({"tokens": tokens}, {}), ({}, {"tokens": tokens})):
        answer = await client.get(BATCH, params=params, headers=headers)
        found = answer.json()["submissions"]
        assert [each and each["token"] for each in found] == [
            *(third["token"], None, first["token"])
        ]
    assert (await client.post(BATCH, json={"submissions": [bad]})).status_code == 422
    # A batch never waits, and its answer has no other fields.
    answer = await client.post(f"{BATCH}?wait=true&fields=x", json={"submissions": [PROGRAM]})
    assert (answer.status_code, list(answer.json()[0])) == (201, ["token"])


async def test_lists_are_split_as_in_ruby(client: httpx.AsyncClient) -> None:
    token = await create(client)
    answer = await client.get(f"{BATCH}?tokens= {token} ,,&fields= token,status_id,")
    assert answer.json() == {"submissions": [{"token": token, "status_id": 1}]}
    answer = await client.get(f"{BATCH}?tokens=,{token}&fields=,")
    assert [each is None for each in answer.json()["submissions"]] == [True, False]


LIMITS: dict[str, tuple[dict[str, Any], int, str]] = {
    "rate": ({"executions_per_minute_user": 1}, 429, "You run programs too fast"),
    "queue": ({"queue_high": 1, "queue_low": 0}, 503, "queue is full"),
    "requests": ({"requests_per_second_user": 1}, 429, "You send requests too fast"),
}


@pytest.mark.parametrize("case", LIMITS)
async def test_d1_d2_limits_have_judge0_s_shape(
    make_dependencies: MakeDependencies,
    pool: Pool,
    monkeypatch: pytest.MonkeyPatch,
    case: str,
) -> None:
    settings, status, text = LIMITS[case]
    monkeypatch.setattr(admission, "KEPT_S", 0)
    user = await make_user(pool, "ada")
    app = create_app(make_dependencies(compat=["judge0"], **settings))
    async with running(app) as client:
        client.headers["X-Auth-Token"] = user.token
        await create(client)
        for path, body in ((CREATE, PROGRAM), (BATCH, {"submissions": [PROGRAM]})):
            answer = await client.post(path, json=body)
            assert answer.status_code == status, answer.text
            assert list(answer.json()) == ["error"]
            assert text in answer.json()["error"]
            assert int(answer.headers["retry-after"]) >= 1
    async with connection(pool) as acquired:
        assert await acquired.fetchval("SELECT count(*) FROM work") == 1


async def test_a_limit_that_is_reached_within_a_batch_is_told_for_each(
    make_dependencies: MakeDependencies, pool: Pool
) -> None:
    user = await make_user(pool, "ada")
    app = create_app(make_dependencies(compat=["judge0"], executions_per_minute_user=2))
    async with running(app) as client:
        client.headers["X-Auth-Token"] = user.token
        answer = await client.post(BATCH, json={"submissions": [PROGRAM] * 3})
    assert answer.status_code == 201
    assert [list(each) for each in answer.json()] == [["token"], ["token"], ["base"]]


async def test_q15_without_workers_the_operator_may_refuse(
    make_dependencies: MakeDependencies, pool: Pool
) -> None:
    user = await make_user(pool, "ada")
    app = create_app(make_dependencies(compat=["judge0"], without_workers="refuse"))
    async with running(app) as client:
        answer = await client.post(CREATE, json=PROGRAM, headers={"X-Auth-Token": user.token})
    assert (answer.status_code, list(answer.json())) == (503, ["error"])


async def test_a11_submissions_of_others_are_not_found(
    client: httpx.AsyncClient, pool: Pool
) -> None:
    token = await create(client)
    for same in (token, token.upper(), execution_of_uuid(UUID(token))):
        assert (await client.get(f"{CREATE}/{same}")).json()["token"] == token
    other = {"X-Auth-Token": (await make_user(pool, "bob")).token}
    path = f"{CREATE}/{token}"
    assert (await client.get(path)).status_code == 200
    assert (await client.get(path, headers=other)).status_code == 404
    answer = await client.get(f"{BATCH}?tokens={token}", headers=other)
    assert answer.json() == {"submissions": [None]}
    # An execution that did not come by this API has no fields of Judge0.
    user = {"Authorization": f"Bearer {client.headers['X-Auth-Token']}"}
    body = {"language": "python3", "source_code": "1"}
    started = (await client.post("/v1/executions", json=body, headers=user)).json()
    answer = await client.get(f"{CREATE}/{started['execution_id']}")
    assert answer.status_code == 404


async def test_admins_list_and_delete(
    client: httpx.AsyncClient, admin: dict[str, str], pool: Pool
) -> None:
    tokens = [await create(client) for _ in range(3)]
    page = (await client.get(f"{CREATE}?page=2&per_page=2", headers=admin)).json()
    assert [each["token"] for each in page["submissions"]] == tokens[:1]
    assert page["meta"] == {
        "current_page": 2,
        "next_page": None,
        "prev_page": 1,
        "total_pages": 2,
        "total_count": 3,
    }
    for query, text in (("page=0", "invalid page: 0"), ("per_page=-1", "invalid per_page: -1")):
        answer = await client.get(f"{CREATE}?{query}", headers=admin)
        assert (answer.status_code, answer.json()["error"]) == (400, text)
    path = f"{CREATE}/{tokens[0]}"
    answer = await client.delete(path, headers=admin)
    assert answer.status_code == 400
    assert answer.json()["error"].endswith("because its status is 1 (In Queue)")
    async with connection(pool) as acquired:
        await acquired.execute(
            "UPDATE work SET state = 'CANCELLED', finished_at = now() WHERE id = $1",
            execution_of_uuid(UUID(tokens[0])),
        )
    answer = await client.delete(f"{path}?fields=source_code,status_id", headers=admin)
    assert answer.json() == {"source_code": "cHJpbnQoMSk=\n", "status_id": 13}
    assert (await client.get(path)).status_code == 404


def test_every_field_reaches_the_execution() -> None:
    most = ceiling_of(Settings(data_dir=Path("/nowhere")))
    find = judge0_languages(CATALOGUE, {}, extra=False).get
    fields: dict[str, Any] = {
        "language_id": 50,
        "source_code": "int main() {}",
        "stdin": "in",
        "compiler_options": "-O2 -DX='a b'",
        "command_line_arguments": "a 'b c'",
        "number_of_runs": 3,
        "cpu_time_limit": 1.5,
        "wall_time_limit": "2.5",
        "memory_limit": 4096,
        "stack_limit": 1000,
        "max_processes_and_or_threads": 7,
        "max_file_size": 12,
        "redirect_stderr_to_stdout": "true",
        "additional_files": zipped(**{"./d/x.h": b"x"}),
    }
    asked = execute_request(fields, as_base64=False, find_language=find, most=most)
    assert (asked.language, asked.main, asked.stdin) == ("c", "main.c", b"in")
    assert asked.files == {"main.c": b"int main() {}", "d/x.h": b"x"}
    assert list(asked.args) == ["a", "b c"]
    assert list(asked.options.compile_args) == ["-O2", "-DX=a b"]
    assert (asked.options.runs, asked.options.stderr_to_stdout) == (3, True)
    assert dataclasses.asdict(asked.limits) == {
        "cpu_ms": 1500,
        "wall_ms": 2500,
        "memory_bytes": 4096 << 10,
        "processes": 7,
        "output_bytes": 12 << 10,
        "file_bytes": 12 << 10,
        "stack_bytes": 1000 << 10,
        "cores": most.cores,
    }
    unlimited = {"cpu_time_limit": 0, "stack_limit": 0, "max_file_size": 0}
    limits = execute_request(
        {**fields, **unlimited}, as_base64=False, find_language=find, most=most
    ).limits
    assert (limits.cpu_ms, limits.stack_bytes) == (2500, 0)
    assert (limits.output_bytes, limits.file_bytes) == (most.output_bytes, most.file_bytes)


def test_base64_covers_the_message_and_has_short_lines() -> None:
    result = ExecutionResult(RunStatus.SIGNALLED, signal=11)
    ended = shown(result, stdout=b"x" * 50, stderr=b"").view
    client_fields = {"language": {"id": 50, "name": "C"}, "checks_syntax": False}
    view = dataclasses.replace(ended, id=new_execution_id(), client=client_fields)
    submission = Judge0Submission(view, {Stream.STDOUT: b"x" * 50})
    found = submission.fields(["message", "stdout", "stderr"], None, as_base64=True)
    assert found["stderr"] is None
    assert base64.b64decode(found["message"]) == b"Caught fatal signal 11"
    assert [len(line) for line in found["stdout"].split("\n")] == [60, 8, 0]


@pytest.mark.parametrize(("said", "status"), [("started: Exec format error", 14), ("", 11)])
def test_f1_a_program_that_the_kernel_cannot_execute_has_status_14(
    said: str, status: int
) -> None:
    stderr = f"The program can't be {said}.\n".encode()
    ended = shown(ExecutionResult(RunStatus.NONZERO_EXIT, exit_code=126), stderr=stderr).view
    view = dataclasses.replace(ended, id=new_execution_id(), client={"checks_syntax": False})
    submission = Judge0Submission(view, {Stream.STDERR: stderr})
    assert submission.status == status
    assert submission.message == (
        "The program can't be started: Exec format error."
        if status == 14
        else "Exited with error status 126"
    )


OK = RunStatus.OK
ENDS: dict[str, tuple[State, ExecutionResult | None, str, int, dict[str, Any]]] = {
    "waiting": (State.QUEUED, None, "", 1, {"finished_at": None}),
    "running": (State.RUNNING, None, "partial", 2, {"stdout": None}),
    "right": (State.COMPLETED, ExecutionResult(OK), "a \nb\n\n", 3, {"exit_code": 0}),
    "wrong": (State.COMPLETED, ExecutionResult(OK), "b", 4, {"message": None}),
    "signal": (
        State.COMPLETED,
        ExecutionResult(RunStatus.SIGNALLED, signal=13),
        "",
        12,
        {"exit_signal": 13, "exit_code": 0, "message": "Caught fatal signal 13"},
    ),
    "system call": (State.COMPLETED, ExecutionResult(RunStatus.FORBIDDEN_SYSCALL), "", 12, {}),
    "memory, killed": (State.COMPLETED, ExecutionResult(RunStatus.MEMORY_LIMIT), "", 12, {}),
    "memory, told by the program": (
        State.COMPLETED,
        ExecutionResult(RunStatus.MEMORY_LIMIT, exit_code=1),
        "",
        11,
        {},
    ),
    "compiler too slow": (
        State.COMPLETED,
        ExecutionResult(
            RunStatus.COMPILE_ERROR, compile=CompileResult(RunStatus.WALL_LIMIT, "x", 1)
        ),
        "",
        6,
        {"compile_output": "Compilation time limit exceeded."},
    ),
    "compile script": (
        State.COMPLETED,
        ExecutionResult(
            RunStatus.NONZERO_EXIT,
            exit_code=1,
            returned_files={COMPILE_FAILED: b"\n", COMPILE_OUTPUT: b"why"},
        ),
        "",
        6,
        {"compile_output": "why", "exit_code": None},
    ),
    "fault of the judge": (State.FAILED, None, "", 13, {"time": None}),
    "cancelled": (State.CANCELLED, None, "", 13, {"message": "The submission was cancelled."}),
}


async def test_each_end_has_its_status(client: httpx.AsyncClient, pool: Pool) -> None:
    """Ends that a real program can't have at will; the others are in tests/system."""
    token = await create(client, language_id=50, expected_output="a\nb")
    async with connection(pool) as acquired:
        view = await executions.get(acquired, execution_of_uuid(UUID(token)))
    assert view is not None
    for name, (state, result, stdout, status, expected) in ENDS.items():
        ended = dataclasses.replace(
            view, state=state, result=result, finished_at=view.submitted_at
        )
        submission = Judge0Submission(ended, {Stream.STDOUT: stdout.encode()})
        found = submission.fields(["status_id", *expected], None, as_base64=False)
        assert found == {"status_id": status, **expected}, name
