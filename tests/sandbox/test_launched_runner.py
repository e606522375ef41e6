"""A runner that the launcher has started is waited for by its channel."""

import socket

from deemster.sandbox.launched_runner import LaunchedRunner


def test_a_runner_can_be_waited_for_again() -> None:
    """A worker that loses its runner and is being stopped waits for it at two places."""
    channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    runner = LaunchedRunner(1, channel)
    theirs.close()
    runner.wait(1)
    runner.wait(1)
