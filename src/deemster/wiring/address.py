"""The address on which the API listens: checks that its port is free, and asks the API."""

import asyncio
import errno
import json
import socket
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Final

from deemster.domain.errors import Refused

ANSWER_S: Final = 5.0
MAX_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Address:
    host: str
    """As given; it may mean all addresses of this machine."""
    port: int

    @property
    def local_host(self) -> str:
        """The host by which this machine reaches the API."""
        try:
            given = ip_address(self.host)
        except ValueError:
            return self.host
        if not given.is_unspecified:
            return self.host
        return "127.0.0.1" if given.version == 4 else "::1"

    @property
    def url(self) -> str:
        local_host = f"[{self.local_host}]" if ":" in self.local_host else self.local_host
        return f"http://{local_host}:{self.port}"


def find_free(host: str, port: int) -> Address:
    """Refuses a port that is in use; port 0 finds a free one."""
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            # As the server does, so that closed connections of a former server do not matter.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
            return Address(host, probe.getsockname()[1])
    except OSError as fault:
        raise Refused(f"{reason(fault, host, port)}, or choose another with --port.") from fault


def reason(fault: OSError, host: str, port: int) -> str:
    if fault.errno == errno.EADDRINUSE:
        return f"Another program uses port {port} of {host}: stop it"
    if fault.errno == errno.EACCES:
        return f"Only root may listen on port {port}: run Deemster as root"
    return f"Cannot listen on {host}, port {port} ({fault.strerror}): check --host"


async def ask(address: Address, path: str) -> tuple[int, Any]:
    """Returns the status and the JSON of a GET; raises OSError if nothing answers."""
    request = f"GET {path} HTTP/1.1\r\nHost: {address.local_host}\r\nConnection: close\r\n\r\n"
    try:
        async with asyncio.timeout(ANSWER_S):
            reader, writer = await asyncio.open_connection(address.local_host, address.port)
            try:
                writer.write(request.encode())
                answer = await reader.read(MAX_BYTES)
                while more := await reader.read(MAX_BYTES):
                    answer += more
            finally:
                writer.close()
        head, _, body = answer.partition(b"\r\n\r\n")
        return int(head.split(None, 2)[1]), json.loads(body)
    except (ValueError, IndexError) as fault:
        raise OSError(f"{address.url} does not answer as Deemster") from fault
