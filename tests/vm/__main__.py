"""The command line of tests/vm/run: builds the virtual machine and runs tests in it."""

import argparse
import shlex
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType

from tests.vm import disks, kernel
from tests.vm.host import (
    CACHE,
    REPOSITORY,
    TimeLimitError,
    VmError,
    prepare_cache,
    require,
    say,
)
from tests.vm.machine import Machine

KERNEL_PACKAGE = "linux-image-cloud-amd64"
LOCK = REPOSITORY / "requirements-dev.lock"
TESTS = "tests/sandbox"
ROOTLESS_TESTS = "rootless and not soak"
NO_TESTS_COLLECTED = 5
TIME_LIMIT_STATUS = 124
NO_RESULT_STATUS = 125


def main() -> int:
    options, pytest_arguments = _parser().parse_known_args()
    steps = _steps(options, pytest_arguments)
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGALRM, _give_up)
    signal.setitimer(signal.ITIMER_REAL, options.time_limit)
    try:
        statuses = _run(options, steps)
    except TimeLimitError:
        say(f"stopped: not finished after {options.time_limit:g} s")
        return TIME_LIMIT_STATUS
    except VmError as error:
        say(str(error))
        return NO_RESULT_STATUS
    for name in steps:
        say(f"step {name}: {statuses.get(name, 'no result, the machine stopped')}")
    return _overall(steps, statuses, selective=bool(pytest_arguments))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tests/vm/run",
        description="Run the sandbox tests in a virtual machine that has only cgroup v2.",
        epilog="Other arguments go to pytest. Exits with the first status that is not 0,"
        f" {TIME_LIMIT_STATUS} at the time limit, {NO_RESULT_STATUS} if the machine failed.",
        allow_abbrev=False,
    )
    parser.add_argument("--shell-command", metavar="CMD", help="run this instead of pytest")
    parser.add_argument(
        *("--as", "--user"),
        dest="user",
        choices=("root", "student", "both"),
        help="root, or an ordinary user in a delegated cgroup (default: both; root for CMD)",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--kernel-package", metavar="NAME", default=KERNEL_PACKAGE)
    which.add_argument("--kernel", metavar="PATH", type=Path, help="a vmlinuz or a .deb")
    parser.add_argument("--lock", metavar="PATH", type=Path, default=LOCK)
    parser.add_argument(
        "--delegate",
        metavar="CONTROLLERS",
        default="cpuset cpu memory pids",
        help="controllers of the student's cgroup (default: %(default)s)",
    )
    parser.add_argument(
        "--systemd",
        action="store_true",
        help="boot systemd, and run the student's step by `systemd-run --user --scope`",
    )
    parser.add_argument(
        "--time-limit",
        metavar="SECONDS",
        type=float,
        default=3600,
        help="limit for the whole run (default: 3600)",
    )
    parser.add_argument("--keep", action="store_true", help="keep the files of this run")
    return parser


def _steps(options: argparse.Namespace, pytest_arguments: list[str]) -> dict[str, str]:
    """Returns a shell script for each step; a step's name ends with the user's name."""
    if options.shell_command:
        script, rootless_script, users = options.shell_command, options.shell_command, "root"
    else:
        # The student can't write to the repository.
        storage = 'HYPOTHESIS_STORAGE_DIRECTORY="$HOME/.hypothesis"'
        pytest = f"env {storage} .venv/bin/python -m pytest -p no:cacheprovider"
        extra = shlex.join(_with_tests(pytest_arguments))
        script, users = f"exec {pytest} {extra}", "both"
        rootless_script = f"exec {pytest} -m {shlex.quote(ROOTLESS_TESTS)} {extra}"
    steps = {"1-root": script, "2-student": rootless_script}
    users = options.user or users
    return {name: steps[name] for name in steps if users == "both" or name.endswith(users)}


def _with_tests(pytest_arguments: list[str]) -> list[str]:
    named = [argument.split("::")[0] for argument in pytest_arguments]
    if any((REPOSITORY / name).exists() for name in named):
        return pytest_arguments
    return [*pytest_arguments, TESTS]


def _run(options: argparse.Namespace, steps: dict[str, str]) -> dict[str, int]:
    prepare_cache()
    require({"qemu-system-x86_64": "qemu-system-x86", "mke2fs": "e2fsprogs"})
    if not options.lock.is_file():
        raise VmError(
            f"{options.lock} does not exist: give the locked requirements with --lock"
        )
    chosen = (
        kernel.from_file(options.kernel)
        if options.kernel
        else kernel.from_package(options.kernel_package)
    )
    system = disks.system()
    venv = disks.venv(options.lock, system.python)
    folder = Path(tempfile.mkdtemp(prefix="run-", dir=CACHE))
    try:
        say("packing the working tree")
        disks.working_tree(
            folder / "tree.tar", steps, options.delegate, systemd=options.systemd
        )
        (folder / "initramfs").write_bytes(kernel.initramfs(chosen))
        machine = Machine(
            kernel=chosen.image,
            initramfs=folder / "initramfs",
            disks={"base": system.image, "venv": venv, "tree": folder / "tree.tar"},
            folder=folder,
        )
        say(f"starting {chosen.image.name}")
        started = time.monotonic()
        statuses = machine.run()
        say(f"the machine ran for {time.monotonic() - started:.0f} s")
        return statuses
    finally:
        if options.keep:
            say(f"kept {folder}")
        else:
            shutil.rmtree(folder)


def _overall(steps: dict[str, str], statuses: dict[str, int], *, selective: bool) -> int:
    """Returns the first failure; with pytest arguments, one step may have no tests."""
    found = [statuses.get(name, NO_RESULT_STATUS) for name in steps]
    if selective and 0 in found:
        found = [0 if status == NO_TESTS_COLLECTED else status for status in found]
    return next((status for status in found if status != 0), 0)


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _give_up(_signal: int, _frame: FrameType | None) -> None:
    raise TimeLimitError


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
