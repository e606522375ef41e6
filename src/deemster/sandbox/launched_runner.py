"""Runners that the launcher starts for a process that is not root."""

import json
import os
import socket
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Final

from deemster.sandbox.command import Layers
from deemster.sandbox.runner_start import RunnerOptions

MAX_MESSAGE: Final = 1 << 16
ANSWER_S: Final = 30.0
SYSTEM_DIRECTORIES: Final = tuple(
    map(
        Path,
        (
            *("/usr", "/bin", "/lib", "/lib32", "/lib64", "/opt", "/etc"),
            *("/var/lib/gems", "/var/lib/ghc"),
        ),
    )
)


class LaunchedRunner:
    def __init__(self, pid: int, channel: socket.socket) -> None:
        self.pid = pid
        self._channel = channel
        self._asking = threading.Lock()

    def kill(self) -> None:
        self._send({"kill": True})

    def wait(self, timeout: float | None = None) -> None:
        """The launcher closes the channel when the runner has ended."""
        with self._asking:
            try:
                self._channel.settimeout(timeout)
                while self._channel.recv(MAX_MESSAGE):
                    pass
            except TimeoutError:
                raise subprocess.TimeoutExpired("deemster-runner", timeout or 0) from None
            except OSError:  # also if somebody has waited before
                pass
            self._channel.close()

    def move(self, cores: Collection[int]) -> None:
        """Moves all boxes and the programs in them to these cores."""
        self._ask({"move": sorted(cores)})

    def own_terminal(self, terminal: int, uid: int) -> None:
        """Makes a terminal that this process has opened belong to the programs of a box."""
        self._ask({"terminal": uid}, [terminal])

    def _send(self, wish: dict[str, object], descriptors: Sequence[int] = ()) -> None:
        try:
            socket.send_fds(self._channel, [json.dumps(wish).encode()], descriptors)
        except OSError as fault:
            raise ChildProcessError("the sandbox runner has ended") from fault

    def _ask(self, wish: dict[str, object], descriptors: Sequence[int] = ()) -> None:
        with self._asking:
            self._send(wish, descriptors)
            receive_answer(self._channel)


class LauncherClient:
    """The end of the launcher's socket that this process has inherited."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests

    @property
    def descriptor(self) -> int:
        return self._requests.fileno()

    def start(
        self, options: RunnerOptions, control: int, config_fds: Sequence[int]
    ) -> LaunchedRunner:
        """Raises OSError if the launcher refuses or has ended."""
        request = {
            "slots": options.slots,
            "layers": options.layers.value,
            "cpus": options.cpus,
            "share_cpus": options.share_cpus,
            "low_priority": options.low_priority,
        }
        channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        channel.settimeout(ANSWER_S)
        try:
            with theirs:
                packet = json.dumps(request).encode()
                descriptors = [theirs.fileno(), control, *config_fds]
                socket.send_fds(self._requests, [packet], descriptors)
            return LaunchedRunner(receive_answer(channel)["pid"], channel)
        except BaseException:
            channel.close()
            raise


def receive_answer(channel: socket.socket) -> dict[str, Any]:
    packet = channel.recv(MAX_MESSAGE)
    if not packet:
        raise ChildProcessError("the sandbox runner has ended")
    received: dict[str, Any] = json.loads(packet)
    if "error" in received:
        raise PermissionError(0, f"the launcher refuses: {received['error']}")
    return received


def start_launcher(
    executable: Path, layers: Layers, below: Sequence[Path], uid: int, read_mib_per_s: int
) -> LauncherClient:
    """Starts the launcher as a child of this process, which is still root."""
    own = (sysconfig.get_path("scripts"), sysconfig.get_path("purelib"))
    policy = {
        "executable": str(executable),
        "layers": layers.value,
        "below": [str(path.resolve()) for path in below],
        "binds_below": [str(path) for path in (*SYSTEM_DIRECTORIES, *map(Path, own))],
        "uid": uid,
        "read_mib_per_s": read_mib_per_s,
    }
    requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        subprocess.Popen(
            [
                *(sys.executable, "-I", "-m", "deemster.sandbox.launcher"),
                *(str(theirs.fileno()), json.dumps(policy)),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
            cwd="/",
        )
    os.set_inheritable(requests.fileno(), False)
    return LauncherClient(requests)


class _Inherited:
    client: LauncherClient | None = None


def use_launcher(client: LauncherClient) -> None:
    """From now on the launcher starts all runners of this process."""
    _Inherited.client = client


def inherit_launcher(descriptor: int) -> None:
    """For a process that has got the socket from the one that started it."""
    os.set_inheritable(descriptor, False)
    use_launcher(LauncherClient(socket.socket(fileno=descriptor)))


def launcher_in_use() -> LauncherClient | None:
    return _Inherited.client
