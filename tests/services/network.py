"""A network namespace of a test, which one cable connects with this machine."""

import random
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path

BENCHMARKS = IPv4Network("198.18.0.0/15")
"""Addresses for tests of networks (RFC 2544), which the internet does not have."""
PREFIX = 30
"""Room for the two ends of a cable."""


class NoNetwork(Exception):
    """This machine can't make network namespaces."""


@dataclass(frozen=True, slots=True)
class Network:
    namespace: str
    near_end: str
    """The interface on this machine."""
    near_address: str
    far_address: str

    @property
    def command(self) -> list[str]:
        """Runs a command in the namespace; `ip netns exec` would hide the cgroups from it."""
        return ["nsenter", f"--net={Path('/run/netns', self.namespace)}"]

    def cut(self) -> None:
        """At the far end: without the near one, packets would take the default route."""
        ip("-n", self.namespace, "link", "set", "far", "down")

    def mend(self) -> None:
        ip("-n", self.namespace, "link", "set", "far", "up")


@contextmanager
def new_network() -> Iterator[Network]:
    """Raises NoNetwork. Nothing of it is left after the block."""
    with reserved_subnet() as (number, subnet):
        near, far = (str(address) for address in subnet.hosts())
        network = Network(f"deemster-test-{number}", f"dmtest{number}", near, far)
        try:
            connect(network)
            yield network
        finally:
            for removal in (
                ("link", "delete", network.near_end),
                ("netns", "delete", network.namespace),
            ):
                with suppress(NoNetwork):
                    ip(*removal)


def connect(network: Network) -> None:
    inside = ("-n", network.namespace)
    ip("netns", "add", network.namespace)
    far_end = ("peer", "name", "far", "netns", network.namespace)
    ip("link", "add", network.near_end, "type", "veth", *far_end)
    near, far = f"{network.near_address}/{PREFIX}", f"{network.far_address}/{PREFIX}"
    ip("address", "add", near, "dev", network.near_end)
    ip("link", "set", network.near_end, "up")
    ip(*inside, "address", "add", far, "dev", "far")
    ip(*inside, "link", "set", "lo", "up")
    ip(*inside, "link", "set", "far", "up")


@contextmanager
def reserved_subnet() -> Iterator[tuple[int, IPv4Network]]:
    """No other run of the suite has it: only one process can bind an abstract address."""
    most = BENCHMARKS.num_addresses >> (32 - PREFIX)
    with socket.socket(socket.AF_UNIX) as reservation:
        while True:
            number = random.randrange(most)
            with suppress(OSError):
                reservation.bind(f"\0deemster-test-subnet-{number}")
                break
        first = BENCHMARKS.network_address + (number << (32 - PREFIX))
        yield number, IPv4Network((first, PREFIX))


def ip(*arguments: str) -> None:
    try:
        subprocess.run(["ip", *arguments], check=True, capture_output=True, timeout=60)
    except FileNotFoundError as fault:
        raise NoNetwork("there is no command `ip`") from fault
    except subprocess.CalledProcessError as fault:
        raise NoNetwork(f"ip {' '.join(arguments)}: {fault.stderr.decode().strip()}") from fault
