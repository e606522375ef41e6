"""Starts the runner's executable, with arguments that say what its boxes are made of."""

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from deemster.sandbox.command import Layers
from deemster.sandbox.visible_files import top_links

PACKAGED_RUNNER: Final = Path(__file__).parent / "bin" / "deemster-runner"


@dataclass(frozen=True, slots=True)
class RunnerOptions:
    slots: int
    layers: Layers
    below: tuple[Path, ...]
    """Directories are attached only from below these."""
    executable: Path
    cpus: tuple[int, ...] = ()
    share_cpus: bool = False
    low_priority: bool = False
    read_mib_per_s: int = 0
    """Most that the programs of a slot read from each disk; 0 means no limit."""
    keep_page_cache: bool = False
    """Only for trusted programs: the launcher never permits it."""


class RunnerProcess(Protocol):
    """A runner that this process, or the launcher, has started."""

    @property
    def pid(self) -> int: ...

    def kill(self) -> None: ...

    def wait(self, timeout: float | None = None) -> object:
        """Raises subprocess.TimeoutExpired."""


def runner_arguments(options: RunnerOptions, config_fds: Sequence[int]) -> list[str]:
    """`config_fds` has the descriptors of the two filters, the views and the profiles."""
    arguments = [str(options.executable), "--slots", str(options.slots)]
    arguments += ["--layers", str(options.layers.value)]
    arguments += ["--deny-filter", str(config_fds[0]), "--notify-filter", str(config_fds[1])]
    arguments += ["--views", str(config_fds[2])]
    for fd in config_fds[3:]:
        arguments += ["--profile", str(fd)]
    for target, path in top_links():
        arguments += ["--link", target, path]
    for directory in options.below:
        arguments += ["--below", str(directory)]
    for cpu in options.cpus:
        arguments += ["--cpu", str(cpu)]
    arguments += ["--share-cpus", str(int(options.share_cpus))]
    if options.low_priority:
        arguments += ["--low-priority", "1"]
    if options.read_mib_per_s:
        arguments += ["--read-mib-per-s", str(options.read_mib_per_s)]
    if options.keep_page_cache:
        arguments += ["--keep-page-cache", "1"]
    return arguments


def as_file(data: bytes) -> int:
    """A file in memory with this content."""
    fd = os.memfd_create("config", os.MFD_CLOEXEC)
    os.write(fd, data)
    return fd


def spawn_runner(
    options: RunnerOptions, control: int, config_fds: Sequence[int]
) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        runner_arguments(options, config_fds),
        stdin=control,
        stdout=subprocess.DEVNULL,
        pass_fds=config_fds,
        start_new_session=True,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
        cwd="/",
    )
