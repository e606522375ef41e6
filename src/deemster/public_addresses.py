"""Allows requests to URLs that users give only at public addresses, or at those that an
operator allows, and connects only to addresses that were checked (protection against SSRF, H3).
"""

import asyncio
import ipaddress
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from enum import StrEnum
from functools import cache
from typing import Final
from urllib.parse import urlsplit

import httpcore
import httpx
from httpcore import SOCKET_OPTION

from deemster import __version__

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# In addition to Python's own list, which depends on its version.
CLOSED: Final = tuple(
    map(
        ipaddress.ip_network,
        (
            "0.0.0.0/8",  # this host
            "10.0.0.0/8",
            "100.64.0.0/10",  # carriers' NAT
            "127.0.0.0/8",
            "169.254.0.0/16",  # link-local, and the metadata of clouds
            "172.16.0.0/12",
            "192.0.0.0/24",  # protocol assignments
            "192.0.2.0/24",  # documentation
            "192.88.99.0/24",  # 6to4 relays
            "192.168.0.0/16",
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, and broadcast
            "2001::/23",  # protocol assignments, Teredo among them
            "2001:db8::/32",
            "2002::/16",  # 6to4: leads to any IPv4 address
            "3fff::/20",  # documentation
        ),
    )
)
UNICAST: Final = ipaddress.IPv6Network("2000::/3")
"""All of IPv6 that is assigned for global use."""
NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
MAX_ADDRESSES: Final = 4
"""Most addresses of one name that a request tries."""
PORTS: Final = {"http": 80, "https": 443}
LOCAL_NAMES: Final = ("localhost", "localdomain", "local", "internal", "home.arpa")

Lookup = Callable[[str, int], Awaitable[Sequence[Address]]]
"""Returns all addresses of a host; raises OSError if there is none."""


class DestinationFault(StrEnum):
    """Why a URL can't be used, without details of our network (A11)."""

    UNREADABLE = "url_unreadable"
    UNKNOWN_NAME = "name_not_found"
    NOT_ALLOWED = "address_not_allowed"


class BadDestination(Exception):
    def __init__(self, fault: DestinationFault) -> None:
        super().__init__(fault)
        self.fault = fault


@asynccontextmanager
async def open_response(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes | None = None,
    *,
    connect_s: float,
    look_up: Lookup,
    allow_private: bool,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[httpcore.Response]:
    """Sends one request to the addresses that were checked, and follows no redirect.

    The caller reads the body of the response, and sets the time limit.
    """
    target = target_of(url)
    addresses = await checked_addresses(target, look_up, allow_private=allow_private)
    whole = {
        "Host": target.netloc.decode("ascii"),
        "User-Agent": f"deemster/{__version__}",
        "Accept": "*/*",
        "Connection": "close",
        **headers,
    }
    if tls is None and target.scheme == "https":
        tls = default_tls()
    # A pool for one request: a connection that is kept open would outlive its check.
    backend = PinnedBackend(addresses, connect_s)
    async with (
        httpcore.AsyncConnectionPool(ssl_context=tls, network_backend=backend) as connections,
        connections.stream(
            method, wire_url(target), headers=[*whole.items()], content=body
        ) as response,
    ):
        yield response


def target_of(url: str) -> httpx.URL:
    try:
        target = httpx.URL(url)
    except httpx.InvalidURL:
        raise BadDestination(DestinationFault.UNREADABLE) from None
    is_port = target.port is None or 0 < target.port < 1 << 16
    if target.scheme not in PORTS or not target.host or not is_port or target.userinfo:
        raise BadDestination(DestinationFault.UNREADABLE)
    return target


def port_of(target: httpx.URL) -> int:
    return target.port if target.port is not None else PORTS[target.scheme]


def wire_url(target: httpx.URL) -> httpcore.URL:
    return httpcore.URL(
        scheme=target.raw_scheme,
        host=target.raw_host,
        port=target.port,
        target=target.raw_path,
    )


async def checked_addresses(
    target: httpx.URL,
    look_up: Lookup,
    *,
    allow_private: bool = False,
    allowed: Sequence[Network] = (),
) -> Sequence[Address]:
    """Resolves the host once: the connection goes to the addresses that were checked.

    Addresses must be public, or in an `allowed` network, unless `allow_private`.
    """
    try:
        found = await look_up(target.raw_host.decode("ascii"), port_of(target))
    except OSError:
        raise BadDestination(DestinationFault.UNKNOWN_NAME) from None
    if not found:
        raise BadDestination(DestinationFault.UNKNOWN_NAME)
    # One private address refuses them all: no host has both by accident.
    if not allow_private and not all(is_allowed(each, allowed) for each in found):
        raise BadDestination(DestinationFault.NOT_ALLOWED)
    return found


def is_tls_fault(fault: BaseException | None) -> bool:
    """Looks through the exceptions that libraries wrap around an SSLError."""
    while fault is not None and not isinstance(fault, ssl.SSLError):
        fault = fault.__cause__ or fault.__context__
    return fault is not None


@cache
def default_tls() -> ssl.SSLContext:
    """Trusts the bundled certificate authorities and those of this machine.

    The first call takes 60 ms: do it when there is something to send.
    """
    context = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()
    return context


def is_public(address: Address) -> bool:
    """Whether the address is on the public internet."""
    if isinstance(address, ipaddress.IPv6Address):
        within = address.ipv4_mapped or nat64_of(address)
        if within is not None:
            return is_public(within)
        if address.scope_id is not None or address not in UNICAST:
            return False
    is_closed = any(address in network for network in CLOSED)
    return address.is_global and not address.is_multicast and not is_closed


def is_allowed(address: Address, networks: Sequence[Network]) -> bool:
    return is_public(address) or any(address in network for network in networks)


def nat64_of(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Networks without IPv4 reach it by these addresses, which count as the IPv4 ones."""
    return ipaddress.IPv4Address(address.packed[-4:]) if address in NAT64 else None


def is_plainly_private(url: str) -> bool:
    """Whether the URL is private without a look-up of its host.

    Other hosts are resolved for each request, because their addresses can change.
    """
    try:
        host = (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return False
    literal = literal_of(host)
    if literal is not None:
        return not is_public(literal)
    return any(host == name or host.endswith(f".{name}") for name in LOCAL_NAMES)


def literal_of(host: str) -> Address | None:
    """Parses an address as URLs may write it: also `2130706433`, `0x7f.1`, `017700000001`."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except (OSError, ValueError):
        return None


async def look_up(host: str, port: int) -> Sequence[Address]:
    # One thread per look-up: a resolver that hangs would exhaust a pool, and the process would
    # wait for the pool's threads at its end.
    loop = asyncio.get_running_loop()
    found: asyncio.Future[Sequence[Address]] = loop.create_future()

    def resolve_future(addresses: Sequence[Address] | Exception) -> None:
        if found.done():
            return  # the caller was cancelled
        if isinstance(addresses, Exception):
            found.set_exception(addresses)
        else:
            found.set_result(addresses)

    def work() -> None:
        result: Sequence[Address] | Exception
        try:
            result = resolve(host, port)
        except (OSError, ValueError) as fault:
            result = OSError(f"{type(fault).__name__}")
        with suppress(RuntimeError):  # the loop is closed by now
            loop.call_soon_threadsafe(resolve_future, result)

    threading.Thread(target=work, name="lookup", daemon=True).start()
    return await found


def resolve(host: str, port: int) -> Sequence[Address]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    # Without duplicates, in the order that the system prefers.
    return list(dict.fromkeys(ipaddress.ip_address(each[4][0]) for each in found))


class PinnedBackend(httpcore.AsyncNetworkBackend):
    """Connects one request to addresses that were checked, whatever the name means by now."""

    def __init__(self, addresses: Sequence[Address], connect_s: float) -> None:
        self._addresses = addresses[:MAX_ADDRESSES]
        self._connect_s = connect_s
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - as httpcore calls it
        local_address: str | None = None,
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        # An address that does not answer must leave time for the others.
        alone = len(self._addresses) == 1
        each_s = self._connect_s if alone else self._connect_s / 2 / len(self._addresses)
        fault: Exception = httpcore.ConnectError("no address")
        for address in self._addresses:
            try:
                return await self._network.connect_tcp(
                    str(address), port, each_s, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as failed:
                fault = failed
        raise fault

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109 - as httpcore calls it
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        raise httpcore.UnsupportedProtocol("The URL names a host, not a Unix socket.")

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)
