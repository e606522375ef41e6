"""The address of the API: free or in use, and its URL."""

import asyncio
import errno
import socket

import pytest

from deemster.domain.errors import Refused
from deemster.wiring.address import Address, ask, find_free, reason


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:80"),
        ("0.0.0.0", "http://127.0.0.1:80"),
        ("::", "http://[::1]:80"),
        ("::1", "http://[::1]:80"),
        ("judge.example.org", "http://judge.example.org:80"),
    ],
)
def test_an_address_has_a_url_by_which_this_machine_reaches_it(host: str, url: str) -> None:
    assert Address(host, 80).url == url


def test_port_zero_means_any_free_port() -> None:
    found = find_free("127.0.0.1", 0)
    with socket.create_server(("127.0.0.1", found.port)):
        pass


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_a_port_in_use_is_refused(host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Refused, match=f"uses port {port} .*--port"):
            find_free(host, port)


def test_a_host_of_another_machine_is_refused() -> None:
    with pytest.raises(Refused, match=r"Cannot listen on 192\.0\.2\.1"):
        find_free("192.0.2.1", 8000)


def test_the_error_for_a_privileged_port_says_so() -> None:
    fault = PermissionError(errno.EACCES, "Permission denied")
    assert reason(fault, "127.0.0.1", 80).startswith("Only root may listen on port 80")


async def test_an_answer_of_another_program_is_an_error() -> None:
    async def chat(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"220 mail ready\r\n")
        writer.close()

    server = await asyncio.start_server(chat, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(OSError, match="does not answer as Deemster"):
            await ask(Address("127.0.0.1", port), "/readyz")
