"""Puts files into a scratch directory that belong to the program, before the program starts."""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from deemster.sandbox import wire
from deemster.sandbox.runner import SandboxFault


class Scratch:
    """The empty scratch directory of a run that has not started; all calls block.

    The kernel lets no user of the host create a file there. So the run's init creates each
    file under the program's ids, and sends a descriptor to write to. Paths are relative.
    """

    def __init__(self, staging: socket.socket) -> None:
        self._staging = staging

    @contextmanager
    def new_file(self, path: str, mode: int) -> Iterator[int]:
        """Creates a file with exactly this mode and opens it for writing."""
        descriptor = self._request(wire.StageKind.FILE, mode, path)
        assert descriptor is not None
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def make_directory(self, path: str, mode: int = 0o777) -> None:
        self._request(wire.StageKind.DIRECTORY, mode, path)

    def make_link(self, path: str, target: str) -> None:
        self._request(wire.StageKind.LINK, 0, path, target)

    def _request(self, kind: wire.StageKind, mode: int, *texts: str) -> int | None:
        packet = wire.pack_stage_request(kind, mode, texts)
        try:
            self._staging.send(packet)
            answer, descriptors, _, _ = socket.recv_fds(
                self._staging, wire.STAGE_ANSWER.size, 1
            )
        except OSError:
            answer, descriptors = b"", []
        if not answer:
            raise SandboxFault("The sandbox slot died while files were staged; try again.")
        error = wire.unpack_stage_answer(answer)
        if error:
            raise OSError(error, os.strerror(error), texts[0])
        return descriptors[0] if descriptors else None


Stage = Callable[[Scratch], object]
"""Puts files into the scratch directory of a run."""
