"""M6: tasks of heng clients: their signature, their fields, and what becomes of them."""

import asyncio
import hashlib
import io
import socket
import time
import zipfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from deemster.api.app import create_app
from deemster.domain.account import Role
from deemster.domain.ids import RevisionDigest
from deemster.problems.revision import RevisionStore
from deemster.store.pool import Pool, connection
from tests.api.conftest import Api, MakeDependencies, make_user, running
from tests.heng_client import HengClient, limit, make_client, program, remote, task

SECRET = b"a secret for tests"
Change = Callable[[dict[str, Any]], object]


@pytest.fixture
async def oj(make_dependencies: MakeDependencies, pool: Pool) -> AsyncIterator[HengClient]:
    app = create_app(make_dependencies(compat=["heng"], webhook_allow_private=True))
    async with running(app) as http:
        yield await make_client(pool, http, SECRET)


async def count(pool: Pool, table: str) -> int:
    async with connection(pool) as acquired:
        found: int = await acquired.fetchval(f"SELECT count(*) FROM {table}")
    return found


async def rows(pool: Pool, query: str) -> list[dict[str, Any]]:
    async with connection(pool) as acquired:
        return [dict(row) for row in await acquired.fetch(query)]


# ---- what is stored ----


async def test_a_task_becomes_a_submission_for_an_unlisted_problem(
    oj: HengClient, pool: Pool
) -> None:
    answer = await oj.send(task())
    assert (answer.status_code, answer.content) == (201, b"")
    (found,) = await rows(
        pool,
        "SELECT w.*, p.unlisted, p.stages AS follow_up, p.owner_id, h.access_key, h.update_url,"
        " h.message_bytes FROM work w JOIN problem p ON p.id = w.problem_id"
        " JOIN heng_task h ON h.work_id = w.id",
    )
    assert found["state"] == "PENDING"
    assert found["language"] == "python3"
    assert (found["webhook_format"], found["webhook_url"]) == (
        "heng",
        "https://oj.example.org/finish",
    )
    assert (found["access_key"], found["update_url"], found["message_bytes"]) == (
        oj.access_key,
        "https://oj.example.org/update",
        1000,
    )
    assert found["unlisted"]
    assert found["follow_up"] == []
    assert found["owner_id"] == found["account_id"]
    (update,) = await rows(pool, "SELECT * FROM webhook_delivery")
    assert (update["kind"], update["ordinal"]) == ("submission.confirmed", 1)


async def test_the_same_data_is_one_problem(oj: HengClient, pool: Pool) -> None:
    """Also for programs in other languages; other limits, cases or policies are others."""
    same = [
        task(),
        task(program("int main() {}", "cpp")),
        task(callbacks="https://other.example.org"),
        {**task(), "dynamicFiles": [*task()["dynamicFiles"], remote("unused", "x")]},
    ]
    for each in same:
        assert (await oj.send(each)).status_code == 201
    assert await count(pool, "problem") == 1
    other = program()
    other["limit"] = limit(3000)
    for each in (task(other), task(policy="fuse"), task(cases=(("1 2\n", "3\n"),))):
        assert (await oj.send(each)).status_code == 201
    assert await count(pool, "problem") == 4
    assert await count(pool, "work") == 7


async def test_m6_a_problem_of_another_author_never_judges_a_task(
    oj: HengClient, pool: Pool
) -> None:
    """M6: the id follows from the task, so an author who knows it could import one before."""
    assert (await oj.send(task())).status_code == 201
    eve = await make_user(pool, "eve", Role.AUTHOR)
    async with connection(pool) as acquired:
        await acquired.execute("UPDATE problem SET unlisted = false, owner_id = $1", eve.id)
    assert (await oj.send(task())).status_code == 409
    assert await count(pool, "work") == 1


async def test_tasks_of_two_accounts_have_two_problems(oj: HengClient, pool: Pool) -> None:
    other = await make_client(pool, oj.http, SECRET, "other")
    assert (await oj.send(task())).status_code == 201
    assert (await other.send(task())).status_code == 201
    assert await count(pool, "problem") == 2


async def test_concurrent_tasks_with_new_data_import_it_once(
    oj: HengClient, pool: Pool
) -> None:
    answers = await asyncio.gather(*(oj.send(task()) for _ in range(5)))
    assert [each.status_code for each in answers] == [201] * 5
    assert await count(pool, "problem_revision") == 1
    assert await count(pool, "work") == 5


async def test_limits_for_users_do_not_apply(
    make_dependencies: MakeDependencies, pool: Pool
) -> None:
    """A heng client submits for many users."""
    strict = {"submit_interval_s": 3600, "daily_quota": 1, "submits_per_minute_user": 1}
    app = create_app(make_dependencies(compat=["heng"], **strict))
    async with running(app) as http:
        client = await make_client(pool, http, SECRET)
        answers = [(await client.send(task())).status_code for _ in range(3)]
    assert answers == [201] * 3


async def test_nobody_sees_or_uses_the_problem(oj: HengClient, pool: Pool) -> None:
    await oj.send(task())
    (found,) = await rows(pool, "SELECT id FROM problem")
    api = Api(oj.http, await make_user(pool, "root", Role.ADMIN))
    assert (await api.get("/v1/problems")).json()["items"] == []
    assert (await api.get(f"/v1/problems/{found['id']}")).status_code == 404
    submission = {"problem_id": found["id"], "language": "python3", "source_code": "1"}
    assert (await api.post("/v1/submissions", submission)).status_code == 404


async def test_the_package_has_the_jurys_program_and_all_limits(
    oj: HengClient, pool: Pool, tmp_path: Path
) -> None:
    jury = program("int main() {}", "cpp", version="c++20", testlib=True)
    jury["limit"]["runtime"] = {"memory": 64 << 20, "cpuTime": 777, "output": 1234}
    for each in (task(spj=jury, policy="fuse"), task(interactor=jury)):
        assert (await oj.send(each)).status_code == 201
    store = RevisionStore(tmp_path / "revisions", 1 << 30)
    for row in await rows(pool, "SELECT digest FROM problem_revision ORDER BY number, digest"):
        async with store.opened(RevisionDigest(row["digest"])) as revision:
            problem = revision.problem
        limits = problem.limits
        assert (limits.time_ms, limits.memory_bytes, limits.output_bytes) == (
            2000,
            256 << 20,
            16 << 20,
        )
        assert (limits.validation_ms, limits.validation_output_bytes) == (777, 1234)
        assert limits.validation_memory_bytes == 64 << 20
        interactive = problem.interactor is not None
        assert problem.tests.stop_at_reject is not interactive
        check = problem.interactor or problem.checker
        assert check.programs[0].language == "cpp"  # type: ignore[union-attr]
        assert check.programs[0].path == "files/main.cpp"  # type: ignore[union-attr]


# ---- files ----


def archive(**files: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in files.items():
            opened.writestr(name, content)
    return packed.getvalue()


@dataclass(slots=True)
class FileServer:
    """Answers every request with the same content."""

    content: bytes
    code: int
    url: str = ""
    fetched: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self.fetched += 1
        head = f"HTTP/1.1 {self.code} So\r\nContent-Length: {len(self.content)}\r\n\r\n"
        writer.write(head.encode() + self.content)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def serving_file(content: bytes, code: int = 200) -> AsyncIterator[FileServer]:
    files = FileServer(content, code)
    server = await asyncio.start_server(files.serve, "127.0.0.1", 0)
    files.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/data.zip"
    async with server:
        yield files


def with_data(url: str, hashsum: str | None = None) -> dict[str, Any]:
    found = task(cases=(("", "3\n"),))
    file = {"type": "url", "url": url} | ({"hashsum": hashsum} if hashsum else {})
    found["test"]["cases"] = [{"input": "tests/1.in", "output": "out0"}]
    return {**found, "data": file}


async def test_cases_name_files_in_an_archive(oj: HengClient, pool: Pool) -> None:
    """With a hashsum the archive is fetched once; without one it may have changed."""
    packed = archive(**{"tests/1.in": "1 2\n", "unused": "x"})
    hashsum = hashlib.sha256(packed).hexdigest()
    async with serving_file(packed) as files:
        for _ in range(2):
            answer = await oj.send(with_data(files.url, hashsum.upper()))
            assert answer.status_code == 201, answer.text
        assert files.fetched == 1
        assert (await oj.send(with_data(files.url))).status_code == 201
        assert files.fetched == 2
    assert await count(pool, "problem") == 1


async def test_a_program_can_come_from_a_url(oj: HengClient, pool: Pool) -> None:
    async with serving_file(b"print(3)") as files:
        asked = task()
        asked["judge"]["user"]["source"] = {"type": "url", "url": files.url}
        assert (await oj.send(asked)).status_code == 201
    (stored,) = await rows(
        pool, "SELECT a.content FROM artifact a JOIN work w ON w.source = a.digest"
    )
    assert b"print(3)" in stored["content"]


@pytest.mark.parametrize(
    ("content", "code", "hashsum", "message"),
    [
        (b"no zip", 200, None, "known archive"),
        (archive(other="x"), 200, None, "'tests/1.in' is neither one of dynamicFiles nor"),
        (b"", 404, None, "data.url: the server answered 404, not 200."),
        (b"", 302, None, "data.url: the server answered 302, not 200."),
        (b"x", 200, "0" * 64, "data.hashsum: the file has another SHA-256"),
    ],
)
async def test_bad_files_are_refused_and_leave_nothing(
    oj: HengClient, pool: Pool, content: bytes, code: int, hashsum: str | None, message: str
) -> None:
    async with serving_file(content, code) as files:
        answer = await oj.send(with_data(files.url, hashsum))
    assert answer.status_code == 422
    assert message in answer.json()["message"]
    assert (await count(pool, "problem"), await count(pool, "work")) == (0, 0)


async def test_h3_files_and_callbacks_have_public_addresses(
    make_dependencies: MakeDependencies, pool: Pool
) -> None:
    app = create_app(make_dependencies(compat=["heng"]))
    async with running(app) as http, serving_file(b"x") as files:
        client = await make_client(pool, http, SECRET)
        private = task(callbacks="http://127.0.0.1:1")
        for asked, message in (
            (with_data(files.url), "data.url: the URL leads to a private address."),
            (private, "callbackUrls.update: this is a private address, use a public one."),
        ):
            answer = await client.send(asked)
            assert (answer.status_code, answer.json()["message"]) == (422, message)
        assert files.fetched == 0


async def test_a_server_that_does_not_answer_ends_the_request(
    make_dependencies: MakeDependencies, pool: Pool
) -> None:
    quick = {"webhook_allow_private": True, "heng_import_s": 0.2}
    app = create_app(make_dependencies(compat=["heng"], **quick))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        async with running(app) as http:
            client = await make_client(pool, http, SECRET)
            url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
            answer = await client.send(with_data(url))
    assert answer.status_code == 408
    assert "within 0.2 s" in answer.json()["message"]
    assert await count(pool, "work") == 0


# ---- fields ----


def change(*path: str | int, to: object) -> Change:
    def apply(asked: dict[str, Any]) -> None:
        found: Any = asked
        for step in path[:-1]:
            found = found[step]
        found[path[-1]] = to

    return apply


def remove(*path: str | int) -> Change:
    def apply(asked: dict[str, Any]) -> None:
        found: Any = asked
        for step in path[:-1]:
            found = found[step]
        del found[path[-1]]

    return apply


USER = ("judge", "user")
ENVIRONMENT = (*USER, "environment")
OPTIONS = (*ENVIRONMENT, "options")
RUNTIME = (*USER, "limit", "runtime")
COMPILER = (*USER, "limit", "compiler")
REFUSED: list[tuple[str, Change, str]] = [
    *(
        (f"without-{path[-1]}", remove(*path), f"{'.'.join(path)}: this field is required")
        for path in (
            *(("judge",), ("test",), ("callbackUrls",)),
            *(("callbackUrls", "update"), ("callbackUrls", "finish")),
            *(("judge", "type"), USER, (*USER, "source"), ENVIRONMENT, (*USER, "limit")),
            *((*ENVIRONMENT, name) for name in ("language", "system", "arch")),
            *((*RUNTIME, name) for name in ("memory", "cpuTime", "output")),
            *((*COMPILER, name) for name in ("memory", "cpuTime", "output", "message")),
            *(("test", "cases"), ("test", "policy")),
        )
    ),
    *(
        (f"unknown-in-{'-'.join(map(str, path[:-1]))}", change(*path, to=1), "unknown field")
        for path in (
            *(("unknown",), ("judge", "unknown"), (*USER, "unknown"), ("test", "unknown")),
            *((*ENVIRONMENT, "arguments"), (*RUNTIME, "unknown"), (*COMPILER, "unknown")),
            *((*USER, "source", "authorization"), ("dynamicFiles", 0, "id")),
            ("callbackUrls", "unknown"),
        )
    ),
    ("type", change("judge", "type", to="other"), "'normal', 'special' or 'interactive'"),
    ("special", change("judge", "type", to="special"), "spj belongs to the type special"),
    ("spj", change("judge", "spj", to=program()), "spj belongs to the type special"),
    ("interactive", change("judge", "type", to="interactive"), "interactor belongs to"),
    ("windows", change(*ENVIRONMENT, "system", to="Windows"), "programs run on Linux"),
    ("beos", change(*ENVIRONMENT, "system", to="BeOS"), "'Windows', 'Linux' or 'Darwin'"),
    ("mips", change(*ENVIRONMENT, "arch", to="mips"), "programs run on x64"),
    ("language", change(*ENVIRONMENT, "language", to="verilog"), "no language 'verilog'"),
    ("option", change(*OPTIONS, to={"o2": True}), "options.o2: this option is not offered"),
    ("policy", change("test", "policy", to="some"), "'fuse' or 'all'"),
    ("no-case", change("test", "cases", to=[]), "test.cases"),
    ("many-cases", change("test", "cases", to=[{"input": "a", "output": "b"}] * 1001), "1000"),
    ("no-file", change("test", "cases", 0, "input", to="gone"), "a case names 'gone'"),
    ("twice", change("dynamicFiles", 1, "name", to="in0"), "have the same name"),
    ("builtin", change("dynamicFiles", 0, "type", to="builtin"), "builtin are not offered"),
    ("file-type", change(*USER, "source", "type", to="ftp"), "'direct', 'url'"),
    ("no-content", remove(*USER, "source", "content"), "this field is required"),
    ("hashsum", change(*USER, "source", "hashsum", to="0" * 64), "judge.user.source.hashsum"),
    ("short-hashsum", change(*USER, "source", "hashsum", to="0"), "hashsum"),
    (
        "file-hashsum",
        change("dynamicFiles", 0, "file", "hashsum", to="0" * 64),
        "dynamicFiles.0.file.hashsum: the file has another SHA-256",
    ),
    ("memory", change(*RUNTIME, "memory", to=1), "runtime.memory"),
    ("huge-memory", change(*RUNTIME, "memory", to=1 << 40), "runtime.memory"),
    ("time", change(*RUNTIME, "cpuTime", to=0), "runtime.cpuTime"),
    ("long-time", change(*RUNTIME, "cpuTime", to=1 << 30), "runtime.cpuTime"),
    ("output", change(*RUNTIME, "output", to=-1), "runtime.output"),
    ("message", change(*COMPILER, "message", to=-1), "compiler.message"),
    ("update", change("callbackUrls", "update", to="ftp://x"), "callbackUrls.update"),
    ("finish", change("callbackUrls", "finish", to=""), "callbackUrls.finish"),
    ("empty", change(*USER, "source", "content", to=""), "The source is empty"),
    ("large", change(*USER, "source", "content", to="#" * (1 << 21)), "source"),
]


async def test_a_field_that_can_not_be_honoured_is_refused_by_name(
    oj: HengClient, pool: Pool
) -> None:
    for name, apply, message in REFUSED:
        asked = deepcopy(task())
        apply(asked)
        answer = await oj.send(asked)
        shown = answer.json()
        assert answer.status_code in {413, 422}, (name, shown)
        assert shown["code"] == answer.status_code
        assert message in shown["message"], (name, shown)
    assert await count(pool, "work") == 0


LANGUAGES: list[tuple[str, dict[str, object], str, str]] = [
    ("c", {}, "c", "main.c"),
    ("c", {"version": "c11", "o2": True, "lm": True, "static": False}, "c", "main.c"),
    ("cpp", {}, "cpp17", "main.cpp"),
    ("CPP", {"version": "c++20"}, "cpp", "main.cpp"),
    ("cpp", {"version": "c++23", "static": True}, "cpp23", "main.cpp"),
    ("java", {}, "java", "Main.java"),
    ("java", {"className": "Sum"}, "java", "Sum.java"),
    ("python", {}, "python3", "main.py"),
    ("js", {}, "javascript", "main.js"),
    ("pascal", {}, "pascal", "main.pas"),
    ("rust", {}, "rust", "main.rs"),
    ("plaintext", {}, "text", "main.txt"),
]
BAD_OPTIONS: list[tuple[str, dict[str, object], str]] = [
    ("cpp", {"version": "c++99"}, "judge.user.environment.options.version: 'c++99'"),
    ("cpp", {"version": "java"}, "options.version: 'java' is not offered"),
    ("c", {"version": "c++17"}, "options.version: 'c++17' is not offered"),
    ("cpp", {"o2": False}, "options.o2: programs are always compiled with -O2"),
    ("cpp", {"o3": True}, "options.o3: this option is not offered"),
    ("java", {"className": "../x"}, "options.className: this is not the name of a class"),
    ("java", {"stackSize": 1}, "options.stackSize: this option is not offered"),
    ("python", {"version": "2"}, "options.version: this option is not offered"),
]


async def test_languages_and_options_of_heng(oj: HengClient, pool: Pool) -> None:
    for name, options, _, _ in LANGUAGES:
        answer = await oj.send(task(program("x", name, **options)))
        assert answer.status_code == 201, (name, answer.text)
    found = await rows(
        pool,
        "SELECT w.language, convert_from(a.content, 'utf8') AS packed FROM work w"
        " JOIN artifact a ON a.digest = w.source ORDER BY w.id",
    )
    assert [row["language"] for row in found] == [each[2] for each in LANGUAGES]
    for row, (*_, file) in zip(found, LANGUAGES, strict=True):
        assert file in row["packed"]
    for name, options, message in BAD_OPTIONS:
        answer = await oj.send(task(program("x", name, **options)))
        assert answer.status_code == 422
        assert message in answer.json()["message"]


# ---- the signature ----


async def test_a_request_without_a_valid_signature_is_refused(
    oj: HengClient, pool: Pool
) -> None:
    asked, now = task(), time.time()
    stranger = HengClient(oj.http, "hak_" + "0" * 26, oj.secret_key)
    liar = HengClient(oj.http, oj.access_key, "guessed")
    requests = [
        (stranger.send(asked), "unknown or was revoked"),
        (liar.send(asked), "signature does not match"),
        (oj.send(asked, x_heng_accesskey="x"), "unknown or was revoked"),
        (oj.send(asked, x_heng_accesskey=""), "x-heng-accesskey is missing"),
        (oj.send(asked, x_heng_nonce=""), "x-heng-nonce is missing"),
        (oj.send(asked, x_heng_nonce="other"), "signature does not match"),
        (oj.send(asked, nonce="n" * 129), "x-heng-nonce has more than 128"),
        (oj.send(asked, x_heng_timestamp=""), "x-heng-timestamp is missing"),
        (oj.send(asked, x_heng_timestamp="soon"), "not a number of seconds"),
        (oj.send(asked, x_heng_timestamp=str(int(now) + 40)), "signature does not match"),
        (oj.send(asked, x_heng_signature=""), "x-heng-signature is missing"),
        (oj.send(asked, x_heng_signature="0" * 64), "signature does not match"),
        (oj.send(asked, content_type="application/json"), "signature does not match"),
        (oj.send(asked, timestamp=now - 100), "s old: requests are valid for 60 s"),
        (oj.send(asked, timestamp=now + 100), "s ahead: requests are valid for 60 s"),
    ]
    for request, message in requests:
        answer = await request
        assert (answer.status_code, answer.json()["code"]) == (403, 403)
        assert message in answer.json()["message"]
    assert (await count(pool, "work"), await count(pool, "heng_nonce")) == (0, 0)
    accepted = [
        oj.send(asked, timestamp=now - 50),
        oj.send(asked, timestamp=now + 50),
        oj.send(asked, query="b=2&A=%20"),
    ]
    assert [(await each).status_code for each in accepted] == [201] * 3


async def test_a_nonce_is_used_once_in_two_minutes(oj: HengClient, pool: Pool) -> None:
    other = await make_client(pool, oj.http, SECRET, "other")
    assert (await oj.send(task(), nonce="n")).status_code == 201
    again = await oj.send(task(), nonce="n")
    assert (again.status_code, again.json()["message"]) == (
        403,
        "x-heng-nonce was used before: use a new one for each request.",
    )
    assert (await other.send(task(), nonce="n")).status_code == 201
    both = await asyncio.gather(oj.send(task(), nonce="m"), oj.send(task(), nonce="m"))
    assert sorted(each.status_code for each in both) == [201, 403]
    async with connection(pool) as acquired:
        await acquired.execute("UPDATE heng_nonce SET used_at = now() - interval '121 seconds'")
    assert (await oj.send(task(), nonce="n")).status_code == 201


async def test_odd_bodies_and_paths_get_errors_of_heng(oj: HengClient) -> None:
    for body in (b"", b"{", b"[]", b"null", b'{"judge": 1}', b"\xff"):
        answer = await oj.send(body)
        assert answer.status_code in {400, 422}
        assert answer.json().keys() == {"code", "message"}
    for method, path in (("GET", "/c/v1/judges"), ("POST", "/c/v1/other")):
        answer = await oj.http.request(method, path)
        assert (answer.status_code, answer.json()["code"]) == (404, 404)


async def test_strangers_are_slowed_down(
    make_dependencies: MakeDependencies, pool: Pool
) -> None:
    app = create_app(make_dependencies(compat=["heng"], refused_logins_per_minute_ip=2))
    async with running(app) as http:
        await make_client(pool, http, SECRET)
        stranger = HengClient(http, "hak_" + "0" * 26, "x")
        answers = [(await stranger.send(task())).status_code for _ in range(3)]
    assert answers == [403, 403, 429]


async def test_tasks_are_refused_when_too_many_wait(
    make_dependencies: MakeDependencies, pool: Pool
) -> None:
    full = {"queue_high": 1, "queue_low": 0}
    app = create_app(make_dependencies(compat=["heng"], **full))
    async with running(app) as http:
        client = await make_client(pool, http, SECRET)
        assert (await client.send(task())).status_code == 201
        app.state.app_state.admission._load_shedder._measured.forget(None)
        answer = await client.send(task())
    assert (answer.status_code, answer.json()["code"]) == (503, 503)
    assert "Retry-After" in answer.headers


# ---- keys ----


async def test_an_admin_creates_lists_and_revokes_access_keys(
    make_dependencies: MakeDependencies, pool: Pool
) -> None:
    app = create_app(make_dependencies(compat=["heng"]))
    async with running(app) as http:
        root = Api(http, await make_user(pool, "root", Role.ADMIN))
        user = Api(http, await make_user(pool, "oj"))
        path = f"/v1/admin/users/{user.user.id}/heng-keys"
        assert (await user.post(path, {"name": "mine"})).status_code == 403
        created = await root.post(path, {"name": "the judge"}, key="once")
        assert created.status_code == 201
        assert (
            await root.post(path, {"name": "the judge"}, key="once")
        ).json() == created.json()
        key = created.json()
        client = HengClient(http, key["access_key"], key["secret_key"])
        assert (await client.send(task())).status_code == 201

        (listed,) = (await root.get(path)).json()["items"]
        assert listed == {name: key[name] for name in listed}
        assert "secret_key" not in listed
        assert key["secret_key"] not in str(await rows(pool, "SELECT * FROM heng_access_key"))

        for _ in range(2):
            revoked = await root.delete(f"{path}/{key['access_key']}")
            assert (revoked.status_code, revoked.json()["revoked"]) == (200, True)
        assert (await client.send(task())).status_code == 403
        assert (await root.delete(f"{path}/hak_x")).status_code == 404
        actions = await rows(pool, "SELECT act FROM audit WHERE act LIKE 'heng%' ORDER BY id")
    assert [row["act"] for row in actions] == ["heng_key.make", "heng_key.revoke"]


async def test_a_disabled_account_sends_no_tasks(oj: HengClient, pool: Pool) -> None:
    async with connection(pool) as acquired:
        await acquired.execute("UPDATE account SET disabled_at = now()")
    assert (await oj.send(task())).status_code == 403


async def test_without_the_setting_there_is_no_such_api(
    make_dependencies: MakeDependencies, pool: Pool
) -> None:
    async with running(create_app(make_dependencies())) as http:
        client = await make_client(pool, http, SECRET)
        assert (await client.send(task())).status_code == 404
