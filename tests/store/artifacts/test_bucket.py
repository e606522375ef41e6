"""Artifacts in a bucket: its address, its keys, and servers that do not answer."""

import asyncio
import traceback
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from deemster.domain.errors import Refused, Unavailable
from deemster.store.artifacts import ArtifactMissing, Artifacts
from deemster.store.artifacts.s3 import parse_address
from tests.services.s3 import SECRET, OwnS3, own_s3
from tests.waiting import PATIENCE_S

NOTHING = "0" * 64
Call = Callable[[Artifacts], Coroutine[object, object, object]]
CALLS: dict[str, Call] = {
    "put": lambda artifacts: artifacts.put(b"content"),
    "get": lambda artifacts: artifacts.get(NOTHING),
    "exists": lambda artifacts: artifacts.exists(NOTHING),
    "ping": lambda artifacts: artifacts.ping(),
}


# ---- addresses ----


def test_an_address_has_bucket_prefix_keys_endpoint_and_region() -> None:
    found = parse_address(
        "s3://AK%2FID:s3cr%2Fet%2B@my-bucket/some/prefix/?endpoint=https://s3.lan:9000&region=x"
    )
    assert (found.bucket, found.prefix) == ("my-bucket", "some/prefix")
    assert (found.key, found.secret) == ("AK/ID", "s3cr/et+")
    assert (found.endpoint, found.region) == ("https://s3.lan:9000", "x")
    assert str(found) == "s3://my-bucket/some/prefix at https://s3.lan:9000"


def test_the_bucket_alone_is_an_address() -> None:
    found = parse_address("s3://bucket")
    assert (found.bucket, found.prefix, found.endpoint) == ("bucket", "", None)
    assert (found.key, found.secret, found.region) == (None, None, "us-east-1")


@pytest.mark.parametrize(
    "url",
    [
        "http://KEY:s3cret@bucket",
        "s3:///s3cret",
        "s3://KEY:s3cret/more@bucket",
        "s3://KEY:s3cret@bucket:80",
        "s3://KEY:s3cret@b",
        "s3://KEY@bucket/s3cret",
        "s3://:s3cret@bucket",
        "s3://bucket?secret=s3cret",
        "s3://bucket?s3cret",
        "s3://bucket?endpoint=ftp://s3cret",
        "s3://[s3cret",
    ],
)
def test_a_wrong_address_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(Refused, match="DEEMSTER_ARTIFACTS_URL") as refusal:
        parse_address(url)
    assert "s3cret" not in str(refusal.value)


def test_the_secret_is_in_no_text_of_an_address() -> None:
    found = parse_address("s3://KEY:s3cret@bucket")
    assert "s3cret" not in f"{found} {found!r}"


# ---- wrong keys, wrong bucket ----


@pytest.mark.parametrize("call", CALLS)
async def test_wrong_keys_are_reported_but_not_shown(
    s3: OwnS3, tmp_path: Path, call: str
) -> None:
    artifacts = Artifacts.open(s3.url("x", secret="wr0ng"), tmp_path)
    with pytest.raises(Unavailable, match="DEEMSTER_ARTIFACTS_URL") as fault:
        await CALLS[call](artifacts)
    assert "403" in str(fault.value)
    text = "".join(traceback.format_exception(fault.value))
    assert "wr0ng" not in text
    assert SECRET not in text
    assert "Signature" not in text


@pytest.mark.parametrize("call", ["put", "ping"])
async def test_a_missing_bucket_is_reported(s3: OwnS3, tmp_path: Path, call: str) -> None:
    artifacts = Artifacts.open(s3.url("x", bucket="nowhere"), tmp_path)
    with pytest.raises(Unavailable, match="that its bucket exists"):
        await CALLS[call](artifacts)


async def test_two_prefixes_of_a_bucket_are_two_stores(s3: OwnS3, tmp_path: Path) -> None:
    one, two = (Artifacts.open(s3.url(prefix), tmp_path) for prefix in ("one", "one/two"))
    digest = await one.put(b"content")
    assert not await two.exists(digest)
    with pytest.raises(ArtifactMissing):
        await two.get(digest)


# ---- no answer ----


@pytest.mark.parametrize("call", CALLS)
async def test_a_store_that_is_down_is_reported(tmp_path: Path, call: str) -> None:
    artifacts = Artifacts.open("s3://K:S@bucket?endpoint=http://127.0.0.1:9", tmp_path)
    with pytest.raises(Unavailable, match="check that it is up"):
        await CALLS[call](artifacts)


async def test_a_store_that_comes_back_works_again(tmp_path: Path) -> None:
    with own_s3() as server:
        artifacts = Artifacts.open(server.url("x"), tmp_path)
        digest = await artifacts.put(b"content")
        server.stop()
        with pytest.raises(Unavailable):
            await artifacts.get(digest)
        await asyncio.to_thread(server.start)
        assert await artifacts.get(digest) == b"content"
        await artifacts.put(b"more")


@asynccontextmanager
async def hanging_server(answer: bytes) -> AsyncIterator[str]:
    """Sends this answer, then nothing more, and leaves the connection open."""
    connections: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        port = server.sockets[0].getsockname()[1]
        yield f"s3://K:S@bucket?endpoint=http://127.0.0.1:{port}"
    finally:
        server.close()
        for writer in connections:
            writer.close()


@pytest.mark.parametrize("call", CALLS)
async def test_a_silent_store_ends_in_a_timeout(tmp_path: Path, call: str) -> None:
    async with hanging_server(b"") as url, asyncio.timeout(PATIENCE_S):
        artifacts = Artifacts.open(url, tmp_path, timeout_s=0.5)
        with pytest.raises(Unavailable):
            await CALLS[call](artifacts)


async def test_a_store_that_stops_in_the_middle_ends_in_a_timeout(
    tmp_path: Path,
) -> None:
    head = (
        b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nETag: "x"\r\n'
        b"Last-Modified: Sun, 01 Nov 2026 00:00:00 GMT\r\n\r\n"
    )
    async with hanging_server(head + b"half of it") as url, asyncio.timeout(PATIENCE_S):
        artifacts = Artifacts.open(url, tmp_path, timeout_s=0.5)
        with pytest.raises(Unavailable):
            await artifacts.get(NOTHING)
        with pytest.raises(Unavailable):
            await artifacts.get_file("a/b", tmp_path / "target", max_bytes=2000)


async def test_a_store_that_hangs_leaves_other_threads_free(tmp_path: Path) -> None:
    """Behind these calls, the other thread would have to wait for nearly all of them."""
    async with hanging_server(b"") as url, asyncio.timeout(PATIENCE_S):
        artifacts = Artifacts.open(url, tmp_path, timeout_s=0.5)
        async with asyncio.TaskGroup() as group:
            calls = [group.create_task(outcome(artifacts)) for _ in range(40)]
            await asyncio.sleep(0)  # each call has reached its thread
            ended = await asyncio.to_thread(lambda: sum(call.done() for call in calls))
            assert ended < len(calls) / 2
        assert all(isinstance(call.result(), Unavailable) for call in calls)


async def outcome(artifacts: Artifacts) -> Unavailable | None:
    try:
        await artifacts.get(NOTHING)
    except Unavailable as fault:
        return fault
    return None
