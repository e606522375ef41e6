"""Where the API listens: found free before anything starts, and reached while it runs."""

import asyncio
import errno
import json
import socket
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Final

from deemster.domain.errors import Refused

ANSWER_S: Final = 5.0
MOST_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Address:
    host: str
    """As it was asked for; it may stand for all of this machine's."""
    port: int

    @property
    def near(self) -> str:
        """How this machine itself gets there."""
        try:
            given = ip_address(self.host)
        except ValueError:
            return self.host
        if not given.is_unspecified:
            return self.host
        return "127.0.0.1" if given.version == 4 else "::1"

    @property
    def url(self) -> str:
        near = f"[{self.near}]" if ":" in self.near else self.near
        return f"http://{near}:{self.port}"


def find_free(host: str, port: int) -> Address:
    """Refused if another program has it; port 0 finds one that nobody has."""
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            # As the server does: what a server before it left behind is no obstacle.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
            return Address(host, probe.getsockname()[1])
    except OSError as fault:
        raise Refused(f"{reason(fault, host, port)}, or choose another with --port.") from fault


def reason(fault: OSError, host: str, port: int) -> str:
    if fault.errno == errno.EADDRINUSE:
        return f"Port {port} of {host} is taken by another program: stop that one"
    if fault.errno == errno.EACCES:
        return f"Only root may listen on port {port}: start Deemster as root"
    return f"Nothing can listen on {host}, port {port} ({fault.strerror}): look at --host"


async def ask(address: Address, path: str) -> tuple[int, Any]:
    """The status and the JSON of one GET; an OSError when nobody answers."""
    request = f"GET {path} HTTP/1.1\r\nHost: {address.near}\r\nConnection: close\r\n\r\n"
    try:
        async with asyncio.timeout(ANSWER_S):
            reader, writer = await asyncio.open_connection(address.near, address.port)
            try:
                writer.write(request.encode())
                answer = await reader.read(MOST_BYTES)
                while more := await reader.read(MOST_BYTES):
                    answer += more
            finally:
                writer.close()
        head, _, body = answer.partition(b"\r\n\r\n")
        return int(head.split(None, 2)[1]), json.loads(body)
    except (ValueError, IndexError) as fault:
        raise OSError(f"no answer of ours from {address.url}") from fault
