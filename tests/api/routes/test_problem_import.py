"""`/v1/problems` for authors: import, revise, retire; limits, owners and audit log."""

import asyncio
import io
import tarfile
import zipfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from deemster.api.app import create_app
from deemster.api.http import upload
from deemster.domain.account import Role
from deemster.domain.ids import AccountId
from deemster.domain.limits import MIB
from deemster.problems.importing import MAX_UPLOADS, UPLOADS_PER_ACCOUNT
from deemster.problems.new_package import make_package
from deemster.store import audit
from deemster.store.audit import AuditEntry
from deemster.store.pool import Pool, connection
from tests.api.conftest import (
    Api,
    MakeDependencies,
    make_user,
    make_worker,
    program,
    running,
)
from tests.builders import make_submission

PATH = "/v1/problems"
ZIP = "application/zip"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    (tmp_path / "packages").mkdir()
    return make_package(tmp_path / "packages", "mine")


@pytest.fixture
async def eve(client: httpx.AsyncClient, pool: Pool) -> Api:
    return Api(client, await make_user(pool, "eve", Role.AUTHOR))


@pytest.fixture
async def mallory(client: httpx.AsyncClient, pool: Pool) -> Api:
    return Api(client, await make_user(pool, "mallory", Role.AUTHOR))


def zipped(package: Path, *, within: str | None = "mine") -> bytes:
    """`within` is the package's directory, or None."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(package.rglob("*")):
            if path.is_file():
                name = path.relative_to(package)
                archive.write(path, f"{within}/{name}" if within else str(name))
    return made.getvalue()


def tarred(package: Path, mode: str) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=mode) as archive:  # type: ignore[call-overload]
        archive.add(package, "mine")
    return made.getvalue()


async def send(
    api: Api,
    content: Any,
    path: str = PATH,
    *,
    method: str = "POST",
    kind: str = ZIP,
    key: str | None = None,
    **options: Any,
) -> httpx.Response:
    headers = {**api.user.headers, "Content-Type": kind}
    if key is not None:
        headers["Idempotency-Key"] = key
    return await api.client.request(method, path, content=content, headers=headers, **options)


def left(tmp_path: Path) -> list[Path]:
    """Files of interrupted uploads."""
    staging = tmp_path / "revisions" / "staging"
    return list(staging.iterdir()) if staging.exists() else []


async def audit_entries(pool: Pool) -> list[AuditEntry]:
    async with connection(pool) as acquired:
        return await audit.page(acquired, before=None, limit=100)


def add_case(package: Path, name: str = "more") -> None:
    (package / "data" / "secret" / f"{name}.in").write_text("1 2\n")
    (package / "data" / "secret" / f"{name}.ans").write_text("3\n")


def found(directory: Path, name: str) -> list[Path]:
    return list(directory.rglob(name))


async def test_an_imported_problem_can_be_solved_at_once(
    eve: Api, ada: Api, pool: Pool, package: Path, tmp_path: Path
) -> None:
    answer = await send(eve, zipped(package))
    assert answer.status_code == 201, answer.text
    result = answer.json()
    assert (result["id"], result["revision"], result["changed"]) == ("prob_mine", 1, True)
    assert answer.headers["location"] == f"{PATH}/prob_mine"
    shown = (await ada.get(f"{PATH}/prob_mine")).json()
    assert (shown["title"], shown["cases"]) == (result["title"], result["cases"])
    assert (await ada.post("/v1/submissions", program("prob_mine"))).status_code == 202
    [entry] = await audit_entries(pool)
    assert (entry.act, entry.target, entry.account) == (
        *("problem.import", "prob_mine", eve.user.id),
    )
    assert left(tmp_path) == []


@pytest.mark.parametrize(
    ("mode", "kind"),
    [
        ("w", "application/x-tar"),
        ("w:gz", "application/gzip"),
        ("w:xz", "application/octet-stream; charset=binary"),
    ],
)
async def test_tar_archives_are_accepted(eve: Api, package: Path, mode: str, kind: str) -> None:
    answer = await send(eve, tarred(package, mode), kind=kind)
    assert (answer.status_code, answer.json()["id"]) == (201, "prob_mine"), answer.text


async def test_i1_the_same_package_is_the_same_revision(
    eve: Api, pool: Pool, package: Path
) -> None:
    content = zipped(package)
    both = await asyncio.gather(send(eve, content), send(eve, content))
    assert sorted(answer.status_code for answer in both) == [200, 201]
    again = await send(eve, tarred(package, "w"), kind="application/x-tar")
    assert (again.status_code, again.json()["revision"]) == (200, 1)
    assert again.json()["changed"] is False
    assert len({answer.json()["digest"] for answer in (*both, again)}) == 1
    assert len(await audit_entries(pool)) == 1


async def test_i1_a_late_retry_changes_nothing(
    eve: Api, ada: Api, pool: Pool, package: Path
) -> None:
    """It restores neither an old revision nor a retired problem."""
    old = zipped(package)
    add_case(package)
    new = zipped(package)
    first = await send(eve, old, key="1")
    second = await send(eve, new, key="2")
    assert (first.status_code, second.status_code) == (201, 201)
    again = await send(eve, old, key="1")
    assert (again.status_code, again.text) == (201, first.text)
    assert again.headers["location"] == first.headers["location"]
    assert (await ada.get(f"{PATH}/prob_mine")).json()["revision"] == 2
    await eve.delete(f"{PATH}/prob_mine")
    assert (await send(eve, new, key="2")).text == second.text
    assert (await ada.get(f"{PATH}/prob_mine")).status_code == 404
    assert len(await audit_entries(pool)) == 3
    assert (await send(eve, old)).json()["changed"], "without a key it is meant"


async def test_i1_of_two_concurrent_imports_with_one_key_one_is_done(
    eve: Api, pool: Pool, package: Path
) -> None:
    content = zipped(package)
    times = UPLOADS_PER_ACCOUNT
    both = await asyncio.gather(*(send(eve, content, key="k") for _ in range(times)))
    assert [answer.status_code for answer in both] == [201] * times
    assert len({answer.text for answer in both}) == 1
    assert len(await audit_entries(pool)) == 1


async def test_i2_a_key_is_valid_for_one_package_and_one_id(
    eve: Api, mallory: Api, package: Path
) -> None:
    content = zipped(package)
    assert (await send(eve, content, key="k")).status_code == 201
    named = await send(eve, content, key="k", params={"id": "prob_other"})
    add_case(package)
    for refused in (named, await send(eve, zipped(package), key="k")):
        assert refused.status_code == 422
        assert refused.json()["type"].endswith("idempotency_key_reused")
    theirs = await send(mallory, content, key="k", params={"id": "prob_theirs"})
    assert theirs.status_code == 201, "keys belong to who used them"
    assert (await send(eve, b"no archive", key="2")).status_code == 422
    mended = await send(eve, zipped(package), key="2")
    assert mended.status_code == 201, "what was refused keeps no key"


async def test_j9_a_changed_package_is_a_new_revision(eve: Api, package: Path) -> None:
    first = (await send(eve, zipped(package))).json()
    add_case(package)
    answer = await send(eve, zipped(package))
    assert answer.status_code == 201
    second = answer.json()
    assert (second["revision"], second["cases"]) == (2, first["cases"] + 1)
    revised = await send(eve, zipped(package), f"{PATH}/prob_mine", method="PUT")
    assert (revised.status_code, revised.json()["changed"]) == (200, False)
    add_case(package, "third")
    other = zipped(package, within="other")
    revised = await send(eve, other, f"{PATH}/prob_mine", method="PUT")
    assert revised.json()["id"] == "prob_mine", "the path says which problem it is"
    assert (revised.json()["revision"], revised.json()["changed"]) == (3, True)


async def test_authors_change_their_own_problems_and_admins_change_all(
    eve: Api, mallory: Api, admin: Api, package: Path
) -> None:
    """O6: problems of other authors are not found."""
    await send(eve, zipped(package))
    add_case(package)
    content = zipped(package)
    assert (await send(mallory, content, f"{PATH}/prob_mine", method="PUT")).status_code == 404
    taken = await send(mallory, content)
    assert (taken.status_code, taken.json()["type"]) == (409, "urn:deemster:error:not_yours")
    assert (await mallory.delete(f"{PATH}/prob_mine")).status_code == 404
    assert (await eve.get(f"{PATH}/prob_mine")).json()["revision"] == 1
    assert (await send(admin, content, f"{PATH}/prob_mine", method="PUT")).status_code == 200
    assert (await eve.delete(f"{PATH}/prob_mine")).status_code == 200, "it stays its owner's"


async def test_of_two_authors_who_want_the_same_id_one_gets_it(
    eve: Api, mallory: Api, package: Path
) -> None:
    mine = zipped(package)
    add_case(package)
    other = zipped(package)
    answers = await asyncio.gather(send(eve, mine), send(mallory, other))
    assert sorted(answer.status_code for answer in answers) == [201, 409]
    winner = next(answer for answer in answers if answer.status_code == 201).json()
    shown = (await eve.get(f"{PATH}/prob_mine")).json()
    assert (shown["revision"], shown["cases"]) == (1, winner["cases"])


async def test_only_authors_can_import(ada: Api, package: Path) -> None:
    """O6"""
    assert (await send(ada, zipped(package))).status_code == 403
    assert (await send(ada, b"", f"{PATH}/prob_x", method="PUT")).status_code == 403
    assert (await ada.delete(f"{PATH}/prob_x")).status_code == 403


async def test_an_unknown_problem_can_not_be_revised_or_retired(
    eve: Api, admin: Api, package: Path
) -> None:
    for name in ("prob_none", "none", "x" * 500, "prob_a%00b"):
        for api in (eve, admin):
            revised = await send(api, zipped(package), f"{PATH}/{name}", method="PUT")
            assert revised.status_code == 404, revised.text
            assert (await api.delete(f"{PATH}/{name}")).status_code == 404


async def test_a_retired_problem_is_hidden_and_can_be_restored(
    eve: Api, ada: Api, pool: Pool, package: Path
) -> None:
    await send(eve, zipped(package))
    old = (await ada.post("/v1/submissions", program("prob_mine"))).json()["id"]
    answer = await eve.delete(f"{PATH}/prob_mine")
    assert answer.json() == {"id": "prob_mine", "retired": True}
    assert (await ada.get(PATH)).json()["items"] == []
    assert (await ada.get(f"{PATH}/prob_mine")).status_code == 404
    assert (await ada.post("/v1/submissions", program("prob_mine"))).status_code == 404
    assert (await ada.show(old))["problem_id"] == "prob_mine"
    assert (await ada.get(f"/v1/submissions/{old}/source")).status_code == 200
    assert (await eve.delete(f"{PATH}/prob_mine")).status_code == 200, "again is no harm"
    back = await send(eve, zipped(package))
    assert (back.status_code, back.json()["revision"]) == (201, 1)
    assert (await ada.get(f"{PATH}/prob_mine")).status_code == 200
    assert (await ada.post("/v1/submissions", program("prob_mine"))).status_code == 202
    acts = [entry.act for entry in await audit_entries(pool)]
    assert acts == ["problem.import", "problem.retire", "problem.import"]


async def test_a_package_without_a_time_limit_is_refused(eve: Api, package: Path) -> None:
    settings = package / "problem.yaml"
    lines = settings.read_text().splitlines()
    kept = [line for line in lines if not line.strip().startswith("time_limit:")]
    assert len(kept) < len(lines)
    settings.write_text("\n".join(kept) + "\n")
    answer = await send(eve, zipped(package))
    assert answer.status_code == 422
    assert "`deemster problem import`" in answer.json()["detail"]


async def test_x5_a_package_above_the_operators_ceiling_is_refused(
    make_dependencies: MakeDependencies, pool: Pool, package: Path
) -> None:
    app = create_app(make_dependencies(problem_time_s=0.5, problem_cases=2))
    async with running(app) as client:
        answer = await send(
            Api(client, await make_user(pool, "eve", Role.AUTHOR)), zipped(package)
        )
    assert answer.status_code == 422
    detail = answer.json()["detail"]
    assert "but at most 0.5 s are allowed here" in detail
    assert "raise the setting problem_cases" in detail


async def test_a_package_without_a_name_needs_an_id(eve: Api, package: Path) -> None:
    content = zipped(package, within=None)
    answer = await send(eve, content)
    assert answer.status_code == 422
    assert "?id=prob_" in answer.json()["detail"]
    named = await send(eve, content, params={"id": "prob_chosen-1"})
    assert (named.status_code, named.json()["id"]) == (201, "prob_chosen-1")


@pytest.mark.parametrize("given", ["Other!", "prob_", "prob_" + "x" * 65, "../x", "prob_a\0"])
async def test_an_invalid_problem_id_is_refused(eve: Api, package: Path, given: str) -> None:
    answer = await send(eve, zipped(package), params={"id": given})
    assert answer.status_code == 422, answer.text


def broken(package: Path) -> Iterator[tuple[bytes, str]]:
    whole = zipped(package)
    yield b"no archive at all", "a known archive"
    yield b"", "a known archive"
    yield whole[: len(whole) // 2], "damaged"
    (package / "problem.yaml").write_text("problem_format_version: [")
    yield zipped(package), "problem.yaml"


async def test_a_broken_package_is_refused_with_the_readers_message(
    eve: Api, pool: Pool, package: Path, tmp_path: Path
) -> None:
    """A6, A11: the message names the fault, but no path of the server."""
    for content, words in broken(package):
        answer = await send(eve, content)
        assert answer.status_code == 422, answer.text
        assert words in answer.json()["detail"]
        assert str(tmp_path) not in answer.text
        assert "staging" not in answer.text
        assert left(tmp_path) == []
    assert (await eve.get(PATH)).json()["items"] == []
    assert await audit_entries(pool) == []


async def test_file_names_outside_the_package_are_refused(eve: Api, tmp_path: Path) -> None:
    """J8"""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("mine/../../../evil", "x")
    answer = await send(eve, made.getvalue())
    assert answer.status_code == 422
    assert found(tmp_path, "evil") == []


async def test_j8_a_link_that_leaves_an_uploaded_package_is_refused(
    eve: Api, package: Path
) -> None:
    link = tarfile.TarInfo("mine/statement/problem.de.pdf")
    link.type, link.linkname = tarfile.SYMTYPE, "../../../mine.pdf"
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        archive.add(package, "mine")
        archive.addfile(link)
    answer = await send(eve, made.getvalue(), kind="application/x-tar")
    assert answer.status_code == 422
    assert "leads outside of the package" in answer.json()["detail"]
    assert (await eve.get(PATH)).json()["items"] == []


async def test_only_archives_are_accepted(eve: Api, package: Path) -> None:
    """A6"""
    for kind in ("application/json", "text/plain", ""):
        answer = await send(eve, zipped(package), kind=kind)
        assert answer.status_code == 415
        assert ZIP in answer.json()["detail"]


@pytest.fixture
async def narrow(
    make_dependencies: MakeDependencies, pool: Pool
) -> AsyncIterator[tuple[FastAPI, Api]]:
    """An API with a limit of one megabyte per package."""
    app = create_app(make_dependencies(package_mb=1))
    async with running(app) as client:
        yield app, Api(client, await make_user(pool, "eve", Role.AUTHOR))


async def test_d3_an_upload_that_announces_too_much_is_refused_unread(
    narrow: tuple[FastAPI, Api],
) -> None:
    _, eve = narrow
    asked = 0

    async def parts() -> AsyncIterator[bytes]:
        nonlocal asked
        asked += 1
        yield b"x"

    headers = {**eve.user.headers, "Content-Type": ZIP, "Content-Length": str(MIB + 1)}
    answer = await eve.client.post(PATH, content=parts(), headers=headers)
    assert (answer.status_code, asked) == (413, 0)
    assert answer.headers["connection"] == "close"


async def test_d3_an_upload_without_a_length_is_counted(
    narrow: tuple[FastAPI, Api], tmp_path: Path
) -> None:
    _, eve = narrow
    sent = 0

    async def parts() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(100):
            sent += 1
            yield bytes(MIB // 4)

    answer = await send(eve, parts())
    assert answer.status_code == 413
    assert sent <= 6
    assert left(tmp_path) == []


async def test_d3_an_upload_that_does_not_arrive_times_out(
    eve: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload, "CHUNK_TIMEOUT_S", 0.05)

    async def parts() -> AsyncIterator[bytes]:
        yield b"PK\x03\x04"
        await asyncio.Event().wait()

    answer = await send(eve, parts())
    assert answer.status_code == 408
    assert left(tmp_path) == []


async def test_d3_an_upload_that_trickles_times_out(
    eve: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload, "SLOW_S", 0.0)
    monkeypatch.setattr(upload, "SLOWEST_BYTES_PER_S", 10**12)
    sent = 0

    async def parts() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(1000):
            sent += 1
            yield b"x"

    answer = await send(eve, parts())
    assert answer.status_code == 408
    assert sent < 1000
    assert left(tmp_path) == []


async def test_o8_a_package_whose_checker_no_machine_can_run_is_refused(
    eve: Api, package: Path, pool: Pool
) -> None:
    """O8: with the list of languages that are available."""
    await make_worker(pool, "python3", "c")
    checker = package / "output_validator" / "check.rs"
    checker.parent.mkdir()
    checker.write_text("fn main() {}")
    answer = await send(eve, zipped(package))
    assert (answer.status_code, answer.json()["code"]) == (422, "language_not_available")
    assert "output_validator" in answer.json()["detail"]
    assert "use one of c, python3." in answer.json()["detail"]
    checker.rename(checker.with_name("check.py"))
    assert (await send(eve, zipped(package))).status_code == 201


async def test_an_interrupted_upload_leaves_no_files(
    app: FastAPI, eve: Api, tmp_path: Path
) -> None:
    said = iter(
        [
            {"type": "http.request", "body": bytes(2 * MIB), "more_body": True},
            {"type": "http.disconnect"},
        ]
    )
    seen: list[list[Path]] = []

    async def receive() -> Any:
        seen.append(left(tmp_path))
        return next(said)

    async def answered(_message: Any) -> None:
        raise AssertionError("nobody is there to be answered")

    scope = {
        "type": "http",
        "method": "POST",
        "path": PATH,
        "raw_path": PATH.encode(),
        "query_string": b"",
        "headers": [
            (b"authorization", f"Bearer {eve.user.token}".encode()),
            (b"content-type", ZIP.encode()),
        ],
    }
    await app(scope, receive, answered)
    assert len(seen[-1]) == 1, "it was there while it came"
    assert left(tmp_path) == []


@pytest.mark.parametrize(
    ("uploading", "status"),
    [
        ([f"usr_{number}" for number in range(MAX_UPLOADS)], 429),
        (["usr_1"] * UPLOADS_PER_ACCOUNT, 201),
        (["eve"] * UPLOADS_PER_ACCOUNT, 429),
    ],
    ids=["many authors", "another author", "the same author"],
)
async def test_d3_concurrent_imports_are_limited(
    app: FastAPI,
    eve: Api,
    package: Path,
    tmp_path: Path,
    uploading: Sequence[str],
    status: int,
) -> None:
    """D3: so that uploads can't fill the disk, and those of one author don't delay others."""
    importer = app.state.app_state.dependencies.importer
    async with AsyncExitStack() as stack:
        for name in uploading:
            account = eve.user.id if name == "eve" else AccountId(name)
            await stack.enter_async_context(importer.upload_directory(account))
        answer = await send(eve, zipped(package))
        assert answer.status_code == status
        assert status != 429 or int(answer.headers["retry-after"]) > 0
    assert (await send(eve, zipped(package))).status_code in {200, 201}
    assert left(tmp_path) == []


async def test_a_problem_imported_by_a_command_belongs_to_the_admins(
    eve: Api, admin: Api, pool: Pool, package: Path
) -> None:
    await make_submission(pool)  # for prob_sum, which nobody owns
    assert (await eve.delete(f"{PATH}/prob_sum")).status_code == 404
    taken = await send(eve, zipped(package), params={"id": "prob_sum"})
    assert taken.status_code == 409
    assert (await admin.delete(f"{PATH}/prob_sum")).status_code == 200


async def test_o6_a_draft_is_seen_only_by_its_author_until_it_is_published(
    eve: Api, mallory: Api, ada: Api, admin: Api, pool: Pool, package: Path
) -> None:
    path = f"{PATH}/prob_mine"
    answer = await send(eve, zipped(package), params={"publish": "false"})
    assert (answer.status_code, answer.json()["published"]) == (201, False)
    for stranger in (ada, mallory):
        assert (await stranger.get(path)).status_code == 404
        refused = await stranger.post("/v1/submissions", program("prob_mine"))
        assert refused.status_code == 404
        assert (await stranger.get(f"{PATH}?drafts=true")).json()["items"] == []
    for insider in (eve, admin):
        assert (await insider.get(path)).json()["published"] is False
        tried = await insider.post("/v1/submissions", program("prob_mine"))
        assert tried.status_code == 202, tried.text
        drafts = (await insider.get(f"{PATH}?drafts=true")).json()["items"]
        assert [each["id"] for each in drafts] == ["prob_mine"]
        assert (await insider.get(PATH)).json()["items"] == []
    add_case(package)
    revised = await send(eve, zipped(package), path, method="PUT")
    assert (revised.json()["revision"], revised.json()["published"]) == (2, False)
    assert (await mallory.post(f"{path}/publish")).status_code == 404
    assert (await eve.post(f"{path}/publish")).json()["changed"] is True
    assert (await eve.post(f"{path}/publish")).json()["changed"] is False
    assert (await ada.get(path)).json()["published"] is True
    assert (await ada.post("/v1/submissions", program("prob_mine"))).status_code == 202
    assert (await eve.get(f"{PATH}?drafts=true")).json()["items"] == []
    assert (await audit_entries(pool))[0].act == "problem.publish"


async def test_a_published_problem_does_not_become_a_draft(eve: Api, package: Path) -> None:
    assert (await send(eve, zipped(package))).status_code == 201
    add_case(package)
    refused = await send(eve, zipped(package), params={"publish": "false"})
    assert refused.status_code == 409
    assert "is published" in refused.json()["detail"]


async def test_a11_only_the_author_and_admins_download_a_package(
    eve: Api, mallory: Api, ada: Api, admin: Api, package: Path
) -> None:
    """The download is the same revision when it is imported again."""
    first = (await send(eve, zipped(package))).json()
    path = f"{PATH}/prob_mine/package"
    assert (await ada.get(path)).status_code == 403
    assert (await mallory.get(path)).status_code == 404
    for insider in (eve, admin):
        answer = await insider.get(path)
        assert answer.headers["content-type"] == "application/x-tar"
        assert 'filename="prob_mine.tar"' in answer.headers["content-disposition"]
    again = await send(eve, answer.content, kind="application/x-tar")
    assert (again.status_code, again.json()["digest"]) == (200, first["digest"])
    with tarfile.open(fileobj=io.BytesIO(answer.content)) as tar:
        assert "mine/problem.yaml" in tar.getnames()


async def test_w1_statements_attachments_and_samples_are_downloaded(
    eve: Api, ada: Api, package: Path
) -> None:
    """A11: nothing else of a package, and nothing of a problem that is not published."""
    files = {"attachments/start.py": b"start", "attachments/more/data.bin": b"\xff" * 5}
    for name, content in {**files, "statement/problem.de.pdf": b"%PDF-1.4"}.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_bytes(content)
    answer = await send(eve, zipped(package), f"{PATH}?publish=false")
    assert answer.status_code == 201, answer.text
    problem = f"{PATH}/{answer.json()['id']}"
    assert (await ada.get(f"{problem}/files/start.py")).status_code == 404
    assert (await eve.client.post(f"{problem}/publish", headers=eve.user.headers)).is_success

    shown = (await ada.get(problem)).json()
    listed = {each["name"]: each["bytes"] for each in shown["files"]}
    assert listed == {"mine.de.pdf": 8, "start.py": 5, "data.bin": 5}
    for name, size_bytes in listed.items():
        sent = await ada.get(f"{problem}/files/{name}")
        assert len(sent.content) == size_bytes
        assert sent.headers["content-disposition"].startswith("attachment")
    for name in ("problem.yaml", "1.in", "..%2Fproblem.yaml"):
        assert (await ada.get(f"{problem}/files/{name}")).status_code == 404
    packed = zipfile.ZipFile(io.BytesIO((await ada.get(f"{problem}/samples")).content))
    inputs = [packed.read(name).decode() for name in packed.namelist() if name.endswith(".in")]
    assert inputs == [each["input"] for each in shown["samples"]]
    assert len(packed.namelist()) == 2 * len(inputs)
