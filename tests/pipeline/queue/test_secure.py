"""Redis with authentication, behind TLS (Q11)."""

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import redis.asyncio as redis_client

from deemster.pipeline.queue.engine import QueueDown
from deemster.pipeline.queue.producer import Producer
from tests.pipeline.queue.stores import Seen, make_job, working
from tests.services.redis import OwnRedis

SECRET = "pä/ss:w@rd"
QUOTED = "p%C3%A4%2Fss%3Aw%40rd"


@pytest.fixture
async def protected_redis(tmp_path: Path) -> AsyncIterator[str]:
    """host:port of a Redis that has only the user `judge`."""
    async with OwnRedis(tmp_path / "redis") as server:
        async with redis_client.from_url(server.url) as client:
            await client.acl_setuser(
                "judge",
                enabled=True,
                passwords=[f"+{SECRET}"],
                keys=["deemster:prod:*"],
                categories=["+@all"],
            )
            await client.acl_setuser("default", enabled=False)
        yield urlsplit(server.url).netloc
        await server.kill()


async def test_a_user_with_a_password_can_use_the_queue(protected_redis: str) -> None:
    """Permission for the keys of one environment is enough."""
    seen, url = Seen(), f"redis://judge:{QUOTED}@{protected_redis}/0"
    async with Producer.open(url, "prod") as producer, working(url, "prod", seen):
        await producer.send([make_job(1), make_job(2)])
        await seen.has([make_job(1), make_job(2)])
        await producer.trim()
        await producer.depths()


@pytest.mark.parametrize("user", ["", "judge:wr0ng@"])
async def test_wrong_credentials_are_refused_without_revealing_the_password(
    protected_redis: str, user: str
) -> None:
    async with Producer.open(f"redis://{user}{protected_redis}/0", "prod") as producer:
        with pytest.raises(QueueDown) as down:
            await producer.send([make_job(1)])
    assert "wr0ng" not in str(down.value)


async def test_the_queue_works_over_tls(protected_redis: str, tmp_path: Path) -> None:
    """The server's certificate must come from the authority that the URL names."""
    certificate, stranger = authority(tmp_path / "ours"), authority(tmp_path / "other")
    seen = Seen()
    async with tls_proxy(protected_redis, certificate) as port:
        url = f"rediss://judge:{QUOTED}@localhost:{port}/0?ssl_ca_certs="
        trusting, doubting = f"{url}{certificate / 'cert.pem'}", f"{url}{stranger / 'cert.pem'}"
        async with Producer.open(trusting, "prod") as producer, working(trusting, "prod", seen):
            await producer.send([make_job(1)])
            await seen.has([make_job(1)])
        async with Producer.open(doubting, "prod") as producer:
            with pytest.raises(QueueDown, match="certificate"):
                await producer.send([make_job(2)])


def authority(directory: Path) -> Path:
    openssl = shutil.which("openssl")
    assert openssl, "The tests make certificates with openssl: install it."
    directory.mkdir()
    subprocess.run(
        [
            *(openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost"),
            *("-keyout", directory / "key.pem", "-out", directory / "cert.pem"),
        ],
        check=True,
        capture_output=True,
    )
    return directory


@asynccontextmanager
async def tls_proxy(target: str, certificate: Path) -> AsyncIterator[int]:
    """Works like stunnel: the wheel's Redis is built without TLS."""
    host, _, port = target.partition(":")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")

    async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65536):
                sink.write(data)
                await sink.drain()
        except OSError:
            pass
        finally:
            sink.close()

    async def join(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back_reader, back_writer = await asyncio.open_connection(host, int(port))
        async with asyncio.TaskGroup() as group:
            group.create_task(pump(reader, back_writer))
            group.create_task(pump(back_reader, writer))

    server = await asyncio.start_server(join, "localhost", 0, ssl=context)
    async with server:
        yield int(server.sockets[0].getsockname()[1])
