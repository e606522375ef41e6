"""D3: bodies over a real connection, which arrive in pieces, are too long, or never arrive."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator

import pytest
import uvicorn
from fastapi import FastAPI
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from deemster.api.http import body
from deemster.api.http.body import BODY_BYTES
from deemster.store.pool import Pool
from deemster.wiring import http_connection
from deemster.wiring.http_connection import HEAD_BYTES, HttpConnection
from tests.api.conftest import User, make_user, make_worker, program
from tests.builders import make_problem
from tests.waiting import until

PIECE = 64 * 1024
TRAILERS_BEGUN = (
    b"POST /v1/session HTTP/1.1\r\nHost: judge\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX-Long: "
)


@pytest.fixture
async def port(app: FastAPI) -> AsyncIterator[int]:
    async with serving(app) as port:
        yield port


@contextlib.asynccontextmanager
async def serving(app: ASGIApp) -> AsyncIterator[int]:
    config = uvicorn.Config(
        app, host="127.0.0.1", port=0, http=HttpConnection, log_config=None, access_log=False
    )
    server = uvicorn.Server(config)
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]
    async with asyncio.TaskGroup() as group:
        group.create_task(server.serve())
        await until(lambda: server.started)
        yield server.servers[0].sockets[0].getsockname()[1]
        server.should_exit = True


@pytest.fixture
async def user(pool: Pool) -> User:
    await make_problem(pool)
    await make_worker(pool)
    return await make_user(pool, "ada")


def head(user: User, *lines: str) -> bytes:
    given = (
        "POST /v1/submissions HTTP/1.1",
        "Host: judge",
        f"Authorization: Bearer {user.token}",
        "Content-Type: application/json",
        *lines,
    )
    return ("\r\n".join(given) + "\r\n\r\n").encode()


async def answer_of(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
    return (
        int(lines[0].split()[1]),
        headers,
        await reader.readexactly(int(headers["content-length"])),
    )


async def test_one_connection_serves_many_requests(port: int, user: User) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    content = json.dumps(program()).encode()
    for _ in range(3):
        writer.write(head(user, f"Content-Length: {len(content)}") + content)
        status, _, _ = await answer_of(reader)
        assert status == 202
    writer.close()


async def test_a_body_may_arrive_in_pieces(port: int, user: User) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head(user, "Transfer-Encoding: chunked"))
    for byte in json.dumps(program()):
        writer.write(f"1\r\n{byte}\r\n".encode())
        await writer.drain()
    writer.write(b"0\r\n\r\n")
    assert (await answer_of(reader))[0] == 202
    writer.close()


async def test_a_content_length_over_the_maximum_is_refused_before_the_body_is_sent(
    port: int, user: User
) -> None:
    """D3, A6: and without a 100 Continue."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head(user, f"Content-Length: {BODY_BYTES + 1}", "Expect: 100-continue"))
    status, headers, content = await answer_of(reader)
    assert status == 413
    assert headers["connection"] == "close"
    assert json.loads(content)["type"] == "urn:deemster:error:too_large"
    assert await reader.read() == b""
    writer.close()


async def test_a_body_without_a_length_is_cut_off_at_the_maximum(port: int, user: User) -> None:
    """D3: a client that sends without end is cut off."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head(user, "Transfer-Encoding: chunked"))
    sent = 0
    answered = asyncio.Event()

    async def flood() -> None:
        nonlocal sent
        with contextlib.suppress(ConnectionError):
            while not answered.is_set():
                writer.write(f"{PIECE:x}\r\n".encode() + b" " * PIECE + b"\r\n")
                await writer.drain()
                sent += PIECE

    async with asyncio.TaskGroup() as group:
        flooding = group.create_task(flood())
        status, _, content = await answer_of(reader)
        answered.set()
        flooding.cancel()
    assert status == 413
    assert json.loads(content)["type"] == "urn:deemster:error:too_large"
    assert sent >= BODY_BYTES - PIECE
    writer.close()


async def test_a_body_of_the_largest_size_is_read(port: int, user: User) -> None:
    content = json.dumps(program()).encode().ljust(BODY_BYTES)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head(user, f"Content-Length: {len(content)}") + content)
    assert (await answer_of(reader))[0] == 202
    writer.close()


async def test_a_body_that_does_not_arrive_times_out(
    port: int, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(body, "BODY_TIMEOUT_S", 0.1)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head(user, "Content-Length: 100") + b"{")
    status, headers, content = await answer_of(reader)
    assert (status, headers["connection"]) == (408, "close")
    assert json.loads(content)["type"] == "urn:deemster:error:too_slow"
    writer.close()


async def test_a_client_that_disconnects_leaves_no_submission(
    port: int, user: User, log_lines: list[dict[str, object]]
) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head(user, "Content-Length: 100") + b"{")
    await writer.drain()
    writer.close()
    found = await until(
        lambda: [line for line in log_lines if line["event"] == "request.answered"]
    )
    assert [line["status"] for line in found] == [499]
    assert not [line for line in log_lines if line["event"] == "request.crashed"]


async def test_an_invalid_content_length_does_no_harm(port: int, user: User) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head(user, f"Content-Length: {'9' * 5000}"))
    answer = await reader.read()
    assert b" 400 " in answer or b" 413 " in answer
    writer.close()
    await test_one_connection_serves_many_requests(port, user)


@pytest.mark.parametrize(
    "begun",
    [b"GET /healthz HTTP/1.1\r\nX-Long: ", TRAILERS_BEGUN],
    ids=["headers", "trailers"],
)
@pytest.mark.parametrize("piece", [b"x" * PIECE, b"X-Many: x\r\n" * 5000], ids=["one", "many"])
async def test_headers_and_trailers_without_end_are_cut_off(
    port: int, user: User, monkeypatch: pytest.MonkeyPatch, begun: bytes, piece: bytes
) -> None:
    """D3: before authentication."""
    monkeypatch.setattr(body, "BODY_TIMEOUT_S", 1)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(begun)
    answered = asyncio.Event()

    async def flood() -> None:
        with contextlib.suppress(ConnectionError):
            while not answered.is_set():
                writer.write(piece)
                await writer.drain()

    async with asyncio.TaskGroup() as group:
        group.create_task(flood())
        try:
            status = await reader.readline()
        except ConnectionError:
            status = b""  # what was sent meanwhile may end it before we have read
        finally:
            answered.set()
    assert status in {b"HTTP/1.1 400 Bad Request\r\n", b""}
    writer.close()
    await test_one_connection_serves_many_requests(port, user)


async def test_d3_trailers_are_no_headers_of_the_request() -> None:
    async def show_headers(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        while (await receive()).get("more_body"):
            pass
        names = [name.decode() for name, _ in scope["headers"]]
        await PlainTextResponse(" ".join(names))(scope, receive, send)

    async with serving(show_headers) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST / HTTP/1.1\r\nHost: judge\r\nTransfer-Encoding: chunked\r\n\r\n")
        writer.write(b"2\r\n{}\r\n0\r\nCookie: a=b\r\nHost: other\r\n\r\n")
        _, _, names = await answer_of(reader)
        writer.close()
    assert names == b"host transfer-encoding"


async def test_headers_may_arrive_in_pieces_and_after_a_long_body(
    port: int, user: User
) -> None:
    content = json.dumps(program()).encode().ljust(3 * HEAD_BYTES)
    asked = head(user, f"Content-Length: {len(content)}") + content
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    half = len(asked) + 40
    writer.write((asked * 2)[:half])
    assert (await answer_of(reader))[0] == 202
    writer.write((asked * 2)[half:])
    assert (await answer_of(reader))[0] == 202
    writer.close()


@pytest.mark.parametrize("begun", [b"", b"GET /healthz HTTP/1.1\r\nHost: j"])
async def test_d3_a_silent_connection_is_closed(
    port: int, monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    monkeypatch.setattr(http_connection, "HEAD_S", 0.1)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(begun)
    assert await reader.read() == b""
    writer.close()


async def test_d3_a_second_request_on_a_connection_times_out_too(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    monkeypatch.setattr(http_connection, "HEAD_S", 0.1)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: judge\r\n\r\nGET /heal")
    assert (await answer_of(reader))[0] == 200
    assert await reader.read() == b""
    writer.close()
