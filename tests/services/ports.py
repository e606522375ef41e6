"""Reserves TCP ports for servers that tests restart."""

import atexit
import random
import socket
from contextlib import suppress

reservations: list[socket.socket] = []


def reserved_port() -> int:
    """A port of this process until it ends, also while no server listens on it.

    It is below the ports that the system gives to clients, and no other run of the suite takes
    it: only one process of the machine can bind an abstract address.
    """
    while True:
        port = random.randrange(20_000, 32_000)
        with (
            suppress(OSError),
            socket.socket() as probe,
            socket.socket(socket.AF_UNIX) as reservation,
        ):
            probe.bind(("127.0.0.1", port))
            reservation.bind(f"\0deemster-test-port-{port}")
            reservations.append(reservation.dup())
            return port


@atexit.register
def give_ports_back() -> None:
    for each in reservations:
        each.close()
