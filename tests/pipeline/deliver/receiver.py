"""A webhook receiver on this machine, which answers as a test wants."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


Answering = Callable[[Request, asyncio.StreamWriter], Coroutine[None, None, None]]


def status(code: int, *headers: str, body: bytes = b"") -> Answering:
    async def answer(_: Request, writer: asyncio.StreamWriter) -> None:
        lines = (f"HTTP/1.1 {code} So", f"Content-Length: {len(body)}", *headers)
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        await writer.drain()

    return answer


def raw(content: bytes) -> Answering:
    async def answer(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(content)
        await writer.drain()

    return answer


async def silence(_: Request, __: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


OK = status(200)


@dataclass(slots=True)
class Receiver:
    """Gives the `answers` in turn, and then repeats the last one."""

    answers: list[Answering] = field(default_factory=lambda: [OK])
    got: list[Request] = field(default_factory=list)
    connections: int = 0
    open_now: int = 0
    most_open: int = 0
    host: str = "127.0.0.1"
    port: int = 0
    scheme: str = "http"
    serving: set[asyncio.Task[None]] = field(default_factory=set)
    names_asked: list[str] = field(default_factory=list)
    """By TLS clients."""

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.host}:{self.port}/hook"

    @property
    def ids(self) -> list[str]:
        return [each.headers["webhook-id"] for each in self.got]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.serving.add(task)
        task.add_done_callback(self.serving.discard)
        self.connections += 1
        self.open_now += 1
        self.most_open = max(self.most_open, self.open_now)
        try:
            # Cancelled when the receiver ends, which is no news to anybody.
            with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
                request = await read_request(reader)
                self.got.append(request)
                turn = min(len(self.got), len(self.answers)) - 1
                gone = asyncio.Event()
                async with asyncio.TaskGroup() as group:
                    watching = group.create_task(until_gone(reader, gone))
                    answering = group.create_task(self.answers[turn](request, writer))
                    leaving = group.create_task(gone.wait())
                    await asyncio.wait(
                        {answering, leaving}, return_when=asyncio.FIRST_COMPLETED
                    )
                    for task in (watching, answering, leaving):
                        task.cancel()
        finally:
            self.open_now -= 1
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


async def until_gone(reader: asyncio.StreamReader, gone: asyncio.Event) -> None:
    """After its request the client sends nothing, so reading returns at the end."""
    with suppress(ConnectionError):
        await reader.read(1)
    gone.set()


async def read_request(reader: asyncio.StreamReader) -> Request:
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines if line)
    lowered = {name.lower(): value for name, value in headers.items()}
    body = await reader.readexactly(int(lowered["content-length"]))
    method, path, _ = first.split(" ")
    return Request(method, path, lowered, body)


@asynccontextmanager
async def receiving(
    *answers: Answering,
    host: str = "127.0.0.1",
    port: int = 0,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[Receiver]:
    receiver = Receiver(list(answers) or [OK], host=host)
    if tls is not None:
        receiver.scheme = "https"
        tls.sni_callback = lambda _, name, __: receiver.names_asked.append(name or "")
    server = await asyncio.start_server(receiver.serve, host, port, ssl=tls)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()
        for task in receiver.serving:
            task.cancel()
        await asyncio.gather(*receiver.serving, return_exceptions=True)
