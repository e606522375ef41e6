"""Typed input, cursors and recordings of executions, without a worker (E5, E7)."""

import json
from typing import Any

import pytest

from deemster.api.models.live_input import INPUT_BODY_BYTES, INPUT_BYTES
from deemster.domain.execution import ProgramIo
from deemster.domain.ids import ExecutionId
from deemster.store import executions
from deemster.store.pool import Pool, connection
from tests.api.conftest import Api
from tests.builders import end_execution, make_execution, start_execution, write_output


def path_of(execution: ExecutionId, what: str) -> str:
    return f"/v1/executions/{execution}/{what}"


async def typed(pool: Pool, execution: ExecutionId) -> list[tuple[str, bytes]]:
    async with connection(pool) as acquired:
        found = await executions.input_after(acquired, execution, 0)
    return [(each.kind, each.content) for each in found]


async def audited(pool: Pool) -> list[tuple[str, str]]:
    async with connection(pool) as acquired:
        rows = await acquired.fetch("SELECT actor, act FROM audit ORDER BY id")
    return [(row["actor"], row["act"]) for row in rows]


async def test_each_kind_of_input_is_stored(ada: Api, pool: Pool) -> None:
    execution = await make_execution(pool, ada.user.id)
    for body in (
        {"data": "é\n"},
        {"data_base64": "/wA="},
        {"rows": 50, "columns": 132},
        {"signal": "SIGINT"},
        {"end": True},
    ):
        answer = await ada.post(path_of(execution, "input"), body)
        assert answer.status_code == 204, answer.text
    assert await typed(pool, execution) == [
        ("data", "é\n".encode()),
        ("data", b"\xff\0"),
        ("resize", b"\0\x32\0\x84"),
        ("signal", b"SIGINT"),
        ("end", b""),
    ]


REFUSED: dict[str, tuple[bytes, int]] = {
    "nothing": (b"{}", 422),
    "two kinds": (b'{"data": "a", "end": true}', 422),
    "half a size": (b'{"rows": 3}', 422),
    "an unknown signal": (b'{"signal": "SIGSTOP"}', 422),
    "an unknown field": (b'{"data": "a", "key": "k"}', 422),
    "no JSON": (b"data", 400),
    "half a character": (rb'{"data": "\ud800"}', 400),
    "too much text": (json.dumps({"data": "é" * INPUT_BYTES}).encode(), 422),
    "too many bytes": (json.dumps({"data_base64": "A" * 2 * INPUT_BYTES}).encode(), 422),
    "a large body": (json.dumps({"data": "a" * INPUT_BODY_BYTES}).encode(), 413),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_d3_bad_input_is_refused_and_not_stored(ada: Api, pool: Pool, case: str) -> None:
    execution = await make_execution(pool, ada.user.id)
    body, status = REFUSED[case]
    answer = await ada.client.post(
        path_of(execution, "input"),
        content=body,
        headers={**ada.user.headers, "Content-Type": "application/json"},
    )
    assert answer.status_code == status, answer.text
    assert await typed(pool, execution) == []


async def test_a_body_without_end_is_not_read(ada: Api, pool: Pool) -> None:
    """D3: the response comes before the client has sent all."""
    execution = await make_execution(pool, ada.user.id)
    sent = 0

    async def body() -> Any:
        nonlocal sent
        yield b'{"data": "'
        for _ in range(10_000):
            sent += 1
            yield b"x" * 65536

    answer = await ada.client.post(
        path_of(execution, "input"),
        content=body(),
        headers={**ada.user.headers, "Content-Type": "application/json"},
    )
    assert answer.status_code == 413
    assert sent < 20


async def test_i1_input_with_a_key_is_typed_once(ada: Api, pool: Pool) -> None:
    execution = await make_execution(pool, ada.user.id)
    path = path_of(execution, "input")
    for _ in range(2):
        assert (await ada.post(path, {"data": "a"}, key="k")).status_code == 204
    assert (await ada.post(path, {"data": "b"}, key="k")).status_code == 422
    assert await typed(pool, execution) == [("data", b"a")]


async def test_only_a_running_program_with_typed_input_gets_it(ada: Api, pool: Pool) -> None:
    batch = await make_execution(pool, ada.user.id, io=ProgramIo.BATCH)
    ended = await make_execution(pool, ada.user.id)
    await end_execution(pool, await start_execution(pool, ended))
    for execution in (batch, ended):
        answer = await ada.post(path_of(execution, "input"), {"data": "a"})
        assert answer.status_code == 409, answer.text


async def test_a11_other_users_cannot_type_and_admins_are_recorded(
    ada: Api, bob: Api, admin: Api, pool: Pool
) -> None:
    execution = await make_execution(pool, ada.user.id)
    path = path_of(execution, "input")
    assert (await bob.post(path, {"data": "b"})).status_code == 404
    assert (await ada.post(path, {"data": "a"})).status_code == 204
    assert await audited(pool) == []
    assert (await admin.post(path, {"data": "r"})).status_code == 204
    assert await audited(pool) == [("root", "execution.type")]
    assert await typed(pool, execution) == [("data", b"a"), ("data", b"r")]


@pytest.mark.parametrize(
    "cursor", ["9999999999.1", "1.9999999999", "1", "1.2.3", "-1.2", "x", "\u0661.\u0661"]
)
async def test_a_cursor_that_no_event_has_is_refused(ada: Api, pool: Pool, cursor: str) -> None:
    execution = await make_execution(pool, ada.user.id)
    answer = await ada.get(path_of(execution, "events"), params={"after": cursor})
    assert answer.status_code == 422, answer.text


async def test_e7_a_recording_has_characters_that_chunks_have_cut(ada: Api, pool: Pool) -> None:
    execution = await make_execution(pool, ada.user.id)
    running = await start_execution(pool, execution)
    text = "é€😀".encode()
    await write_output(pool, running, *(text[each : each + 1] for each in range(len(text))))
    await write_output(pool, running, b"\xff!\xe2", first=100)
    await end_execution(pool, running)
    answer = await ada.get(path_of(execution, "recording"))
    head, *lines = map(json.loads, answer.text.splitlines())
    assert (head["version"], head["width"], head["height"]) == (2, 80, 24)
    assert "".join(line[2] for line in lines) == "é€😀\ufffd!\ufffd"
    assert all(line[1] == "o" and line[2] for line in lines)
    times = [line[0] for line in lines]
    assert times == sorted(times)


async def test_e7_a_recording_has_the_sizes_of_the_terminal(ada: Api, pool: Pool) -> None:
    body = {"language": "python3", "source_code": "1", "io": "terminal", "columns": 100}
    execution = (await ada.post("/v1/executions", body)).json()["execution_id"]

    async def head_and_lines() -> tuple[dict[str, Any], list[Any]]:
        answer = await ada.get(path_of(execution, "recording"))
        head, *lines = map(json.loads, answer.text.splitlines())
        return head, lines

    head, lines = await head_and_lines()
    assert (head["width"], head["height"], lines) == (100, 24, [])
    await ada.post(path_of(execution, "input"), {"rows": 40, "columns": 120})
    running = await start_execution(pool, execution)
    await ada.post(path_of(execution, "input"), {"rows": 50, "columns": 132})
    await write_output(pool, running, b"early", b"late")
    async with connection(pool) as acquired:
        await acquired.execute("UPDATE execution_output SET at_ms = 3600000 * (number - 1)")
    head, lines = await head_and_lines()
    assert (head["width"], head["height"]) == (120, 40)
    assert [line[1:] for line in lines] == [["o", "early"], ["r", "132x50"], ["o", "late"]]
