"""Which addresses webhooks may go to: those of the public internet, in whatever form (H3)."""

import ipaddress
import socket
from typing import Final
from urllib.parse import urlsplit

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# Our own list, beside that of Python: what the latter knows depends on its version.
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
"""All of IPv6 that is given out for use between networks."""
NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
LOCAL_NAMES: Final = ("localhost", "localdomain", "local", "internal", "home.arpa")


def is_public(address: Address) -> bool:
    """Whether it leads out to the internet, and nowhere else."""
    if isinstance(address, ipaddress.IPv6Address):
        within = address.ipv4_mapped or nat64_of(address)
        if within is not None:
            return is_public(within)
        if address.scope_id is not None or address not in UNICAST:
            return False
    elsewhere = any(address in network for network in CLOSED)
    return address.is_global and not address.is_multicast and not elsewhere


def nat64_of(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Networks without IPv4 reach it through these, so they count as what they stand for."""
    return ipaddress.IPv4Address(address.packed[-4:]) if address in NAT64 else None


def is_plainly_private(url: str) -> bool:
    """Whether it can be told without asking anybody that this would be refused.

    Other names are looked up when they are used: what they mean can change at any time.
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
    """An address as it is written in URLs: also `2130706433`, `0x7f.1` and `017700000001`."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        pass
    try:
        # As the resolver reads it.
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except (OSError, ValueError):
        return None
