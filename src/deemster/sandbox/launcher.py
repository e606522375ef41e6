"""The only process of a service that stays root besides the runners: it starts the runners.

Deemster runs this module as a program before it gives up root. The service's processes inherit
one end of a socket and can ask for four things: a runner with the arguments that are fixed here
and checked options; the end of such a runner; other CPU cores for its boxes; and a terminal for
a program in them. Whatever they send, nothing but the runner's executable is started, and a
runner sees only the directories that were given at the start.

A child of this process serves the requests. If it is killed, its runners end and another child
takes its place; the service only sees that its runners have ended.
"""

import json
import math
import os
import selectors
import signal
import socket
import stat
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from deemster.privileges.capabilities import (
    Capability,
    become_subreaper,
    drop_bounding_set,
    forbid_new_privileges,
    held,
    keep_only,
)
from deemster.sandbox.command import Bind, Layers, unpack_views
from deemster.sandbox.cores import children_of, move_descendants
from deemster.sandbox.launched_runner import MAX_MESSAGE
from deemster.sandbox.runner_start import RunnerOptions, as_file, spawn_runner

if TYPE_CHECKING:
    import subprocess

CAPABILITIES: Final = frozenset(
    {
        Capability.SYS_ADMIN,  # namespaces and mounts
        *(Capability.SETUID, Capability.SETGID),  # the ids of boxes
        *(Capability.CHOWN, Capability.FOWNER),  # cgroups that belong to boxes, terminals
        *(Capability.DAC_OVERRIDE, Capability.DAC_READ_SEARCH),  # files of the service's user
        Capability.KILL,
        *(Capability.SYS_NICE, Capability.SYS_RESOURCE),  # cores, rlimits, OOM scores
    }
)
"""What the launcher and the runners keep."""

RESTART_PAUSE_S: Final = 0.1
"""Pause before another child serves, in case it fails again and again."""
END_S: Final = 30.0
"""Time in which a runner must end after the process that asked for it has gone."""
VIEWS: Final = 4
"""Index of the views among the descriptors: after two channels and two filters."""
MAX_VIEWS_BYTES: Final = 16 << 20
PTY_MAJORS: Final = range(136, 144)
BOX_UIDS: Final = range(1_900_000_000, 1 << 31)


@dataclass(frozen=True, slots=True)
class LauncherPolicy:
    """What was fixed when the launcher was started, by root."""

    executable: Path
    layers: int
    below: tuple[Path, ...]
    """Directories below which the runner attaches what a run needs."""
    binds_below: tuple[Path, ...]
    """Directories from which boxes are built. Only root may be able to write there."""
    uid: int
    """The service's user."""
    read_mib_per_s: int = 0
    """Most that the programs of a slot read from each disk; 0 means no limit."""

    def check(self, given: Any) -> RunnerOptions:
        """Returns the options of a runner; the service may choose some of them."""
        if given["layers"] != self.layers:
            raise ValueError("these are not the layers that the operator has chosen")
        return RunnerOptions(
            slots=int(given["slots"]),
            layers=Layers(self.layers),
            below=self.below,
            executable=self.executable,
            cpus=tuple(int(cpu) for cpu in given["cpus"]),
            share_cpus=bool(given["share_cpus"]),
            low_priority=bool(given["low_priority"]),
            read_mib_per_s=self.read_mib_per_s,
        )

    def check_views(self, descriptor: int) -> bytes:
        """Returns the views that boxes may show, with the real paths of their files."""
        given = os.pread(descriptor, MAX_VIEWS_BYTES, 0)
        return b"".join(
            replace(
                view,
                binds=tuple(
                    self._check_bind(str(each.source), each.target) for each in view.binds
                ),
            ).pack()
            for view in unpack_views(given)
        )

    def _check_bind(self, source: str, target: str) -> Bind:
        real = Path(source).resolve(strict=True)
        if not any(real.is_relative_to(each) for each in self.binds_below):
            raise ValueError(f"{source} is not in a directory of the system")
        if any(real.is_relative_to(each) for each in self.below):
            raise ValueError(f"{source} is in a directory of the service")
        return Bind(real, target)


@dataclass(slots=True)
class Running:
    process: "subprocess.Popen[bytes]"
    channel: socket.socket | None
    """To the process that asked for the runner; None after that has gone."""
    end_by: float = math.inf


class Launcher:
    def __init__(self, policy: LauncherPolicy, requests: socket.socket) -> None:
        self._policy = policy
        self._requests = requests
        self._running: list[Running] = []
        self._selector = selectors.DefaultSelector()
        self._selector.register(requests, selectors.EVENT_READ, self._accept)
        self._children, ours = socket.socketpair()
        for end in (self._children, ours):
            end.setblocking(False)
        self._ours = ours
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(ours.fileno())
        self._selector.register(self._children, selectors.EVENT_READ, self._drain)
        self._ended = False

    def serve(self) -> None:
        """Returns after the last process of the service has ended, and all runners, too."""
        while not self._ended or self._running:
            for key, _ in self._selector.select(self._timeout_s()):
                key.data()
            self._reap()

    def _timeout_s(self) -> float | None:
        first = min((each.end_by for each in self._running), default=math.inf)
        return None if first == math.inf else max(0.0, first - time.monotonic())

    def _drain(self) -> None:
        with suppress(BlockingIOError):
            while self._children.recv(4096):
                pass

    def _accept(self) -> None:
        packet, descriptors, flags, _ = socket.recv_fds(self._requests, MAX_MESSAGE, 253)
        if not packet:
            self._selector.unregister(self._requests)
            self._ended = True
            return
        try:
            if not flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC) and len(descriptors) >= 6:
                self._start(packet, descriptors)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _start(self, packet: bytes, descriptors: Sequence[int]) -> None:
        channel = socket.socket(fileno=os.dup(descriptors[0]))
        try:
            options = self._policy.check(json.loads(packet))
            views = as_file(self._policy.check_views(descriptors[VIEWS]))
            try:
                policy = [*descriptors[2:VIEWS], views, *descriptors[VIEWS + 1 :]]
                process = spawn_runner(options, descriptors[1], policy)
            finally:
                os.close(views)
        except (OSError, ValueError, TypeError, KeyError) as fault:
            answer(channel, error=str(fault)[:500])
            channel.close()
            return
        running = Running(process, channel)
        self._running.append(running)
        self._selector.register(channel, selectors.EVENT_READ, lambda: self._serve(running))
        answer(channel, pid=process.pid)

    def _serve(self, running: Running) -> None:
        channel = running.channel
        assert channel is not None
        try:
            packet, descriptors, _, _ = socket.recv_fds(channel, MAX_MESSAGE, 1)
        except OSError:
            packet, descriptors = b"", []
        try:
            if not packet:
                self._forget(running)
                running.end_by = time.monotonic() + END_S
            else:
                self._obey(running, channel, json.loads(packet), descriptors)
        except (OSError, ValueError, TypeError, KeyError) as fault:
            answer(channel, error=str(fault)[:500])
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _obey(
        self, running: Running, channel: socket.socket, wish: Any, descriptors: Sequence[int]
    ) -> None:
        match wish:
            case {"kill": True}:
                running.process.kill()
            case {"move": [*cores]} if running.process.poll() is None:
                move_descendants(running.process.pid, {int(core) for core in cores})
                answer(channel)
            case {"terminal": int(uid)} if uid in BOX_UIDS and len(descriptors) == 1:
                check_terminal(descriptors[0], self._policy.uid)
                os.fchown(descriptors[0], uid, -1)
                answer(channel)
            case _:
                raise ValueError("the launcher does not know this request")

    def _reap(self) -> None:
        now = time.monotonic()
        for running in list(self._running):
            if running.process.poll() is not None:
                self._forget(running)
                self._running.remove(running)
            elif now >= running.end_by:
                running.process.kill()
                running.end_by = math.inf

    def _forget(self, running: Running) -> None:
        """Closes the channel, by which the service learns that the runner has ended."""
        if running.channel is not None:
            self._selector.unregister(running.channel)
            running.channel.close()
            running.channel = None


def keep_serving(policy: LauncherPolicy, requests: socket.socket) -> None:
    """Serves in a child process, and starts another one if that is killed.

    The runners of a killed one become children of this process, which ends them: nobody could
    move them or ask for their end any more.
    """
    become_subreaper()
    while True:
        serving = os.fork()
        if serving == 0:
            Launcher(policy, requests).serve()
            return
        ended, status = os.wait()
        while ended != serving:
            ended, status = os.wait()
        if status == 0:
            return
        for runner in children_of(os.getpid()):
            with suppress(ProcessLookupError):
                os.kill(runner, signal.SIGTERM)
        time.sleep(RESTART_PAUSE_S)


def answer(channel: socket.socket, **content: object) -> None:
    with suppress(OSError):
        channel.send(json.dumps(content).encode())


def check_terminal(descriptor: int, owner: int) -> None:
    """Only a terminal that the service itself has opened may get another owner."""
    found = os.fstat(descriptor)
    is_terminal = stat.S_ISCHR(found.st_mode) and os.major(found.st_rdev) in PTY_MAJORS
    if not is_terminal or found.st_uid != owner:
        raise ValueError("this is not a terminal of the service")


def main() -> None:
    """Arguments: the descriptor of the socket, and the policy as JSON."""
    given = json.loads(sys.argv[2])
    policy = LauncherPolicy(
        Path(given["executable"]),
        given["layers"],
        tuple(map(Path, given["below"])),
        tuple(map(Path, given["binds_below"])),
        given["uid"],
        given["read_mib_per_s"],
    )
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it ends after all others
    drop_bounding_set(CAPABILITIES)
    keep_only(CAPABILITIES & held())
    forbid_new_privileges()
    keep_serving(policy, socket.socket(fileno=int(sys.argv[1])))


if __name__ == "__main__":
    main()
