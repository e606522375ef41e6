"""Tries each layer of the cage on this machine, and says how to mend what doesn't hold."""

import os
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from deemster.domain.limits import MIB, Limits
from deemster.domain.run_status import RunStatus
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import Command, Layers
from deemster.sandbox.runner import PACKAGED_RUNNER, SandboxFault

OLDEST_KERNEL = (5, 14)
CGROUP_ROOT = Path("/sys/fs/cgroup")

ALLOW_NAMESPACES = (
    "Let users make user namespaces (sysctl kernel.unprivileged_userns_clone=1, "
    "kernel.apparmor_restrict_unprivileged_userns=0, user.max_user_namespaces=10000), or start "
    "Deemster as root; in a container, start that with --privileged."
)
GET_CGROUPS = (
    "As root, mount the memory, pids and cpuacct controllers (or cgroup2); in a container, "
    "start that with --privileged --cgroupns=private; as a user, start Deemster in a group of "
    "its own: systemd-run --user --scope -p Delegate=yes deemster …"
)
MENDS = (
    (r"own-user-namespace|slot-namespaces|own-id-maps|uid_map|gid_map", ALLOW_NAMESPACES),
    (r"cgroup-", GET_CGROUPS),
    (
        r"mount-proc|init-proc",
        (
            "Something covers parts of /proc, as container engines do; start the container "
            "with --security-opt systempaths=unconfined."
        ),
    ),
    (
        r"load-f",
        "Use a kernel with CONFIG_SECCOMP_FILTER and SECCOMP_RET_USER_NOTIF (5.0).",
    ),
    (r"clone-bind|clone-device|root-|mount-", "Run `deemster doctor` as root to compare."),
)


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    ok: bool
    detail: str
    mend: str = ""
    required: bool = True


def suggest_fix(fault: str) -> str:
    return next((mend for pattern, mend in MENDS if re.search(pattern, fault)), "")


async def check_sandbox(runner: Path | None) -> AsyncIterator[Check]:
    """Each check as soon as it is known."""
    yield check_kernel()
    yield check_runner(runner or PACKAGED_RUNNER)
    yield check_privileges()
    for layers, name in (
        (Layers(0), "mount, user and pid namespaces"),
        (Layers.PID, "a pid namespace for each run"),
        (Layers.NET, "network namespace"),
        (Layers.IPC, "ipc namespace"),
        (Layers.UTS, "uts namespace"),
    ):
        yield await check_layers(name, layers, runner)
    yield await check_seccomp(runner)
    yield await check_cgroup(runner)
    yield check_peak()
    yield check_swap()
    yield await check_layers("all layers together", Layers.ALL, runner)


def check_kernel() -> Check:
    release = os.uname().release
    numbers = re.match(r"(\d+)\.(\d+)", release)
    version = (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)
    ok = version >= OLDEST_KERNEL
    oldest = ".".join(map(str, OLDEST_KERNEL))
    return Check(
        "kernel", ok, f"Linux {release}", "" if ok else f"Use Linux {oldest} or newer."
    )


def check_runner(path: Path) -> Check:
    ok = os.access(path, os.X_OK)
    mend = "" if ok else "Reinstall Deemster, or set DEEMSTER_RUNNER to the runner's path."
    return Check("runner", ok, str(path), mend)


def check_privileges() -> Check:
    maps = Path("/proc/self/uid_map").read_text().split()
    if os.geteuid() == 0 and int(maps[2]) > 1:
        return Check("privileges", ok=True, detail="root: each box has ids of its own")
    detail = "one id: programs run under this user's own, in namespaces"
    return Check("privileges", ok=True, detail=detail)


async def check_layers(name: str, layers: Layers, runner: Path | None) -> Check:
    try:
        async with Boxes.open(layers=layers, runner=runner) as boxes:
            report = await boxes.run(Command(("/bin/true",)))
    except SandboxFault as fault:
        return Check(name, ok=False, detail=str(fault), mend=suggest_fix(str(fault)))
    ok = report.status is RunStatus.OK
    return Check(name, ok, "holds" if ok else f"a program that does nothing: {report.status}")


async def check_seccomp(runner: Path | None) -> Check:
    name = "seccomp filter"
    try:
        async with Boxes.open(layers=Layers.SECCOMP, runner=runner) as boxes:
            command = Command(("/usr/bin/unshare", "--net", "/bin/true"), profile="compiler")
            report = await boxes.run(command)
    except SandboxFault as fault:
        return Check(name, ok=False, detail=str(fault), mend=suggest_fix(str(fault)))
    ok = (report.status, report.syscall) == (RunStatus.FORBIDDEN_SYSCALL, "unshare")
    detail = "refuses and names calls" if ok else f"let unshare pass ({report.status})"
    return Check(name, ok, detail, "" if ok else "Report this: the filter must refuse it.")


async def check_cgroup(runner: Path | None) -> Check:
    """A memory limit must be kept by the kernel, not only be written."""
    name = "cgroups: memory, processes, CPU time"
    limits = Limits(memory_bytes=16 * MIB, scratch_bytes=64 * MIB, file_bytes=64 * MIB)
    fill = ("/bin/dd", "if=/dev/zero", "of=/work/fill", "bs=1M", "count=64")
    try:
        async with Boxes.open(layers=Layers.CGROUP, runner=runner) as boxes:
            report = await boxes.run(Command(fill, limits=limits))
    except SandboxFault as fault:
        return Check(name, ok=False, detail=str(fault), mend=suggest_fix(str(fault)))
    ok = report.status is RunStatus.MEMORY_LIMIT
    detail = (
        f"version {cgroup_version()}"
        if ok
        else f"a memory limit was not kept ({report.status})"
    )
    return Check(name, ok, detail, "" if ok else GET_CGROUPS)


def cgroup_version() -> str:
    """By controller: a host may have both."""
    mounts = Path("/proc/self/mountinfo").read_text()
    v1 = re.search(r" - cgroup \S+ \S*\bmemory\b", mounts)
    v2 = " - cgroup2 " in mounts
    return ("1 (hybrid)" if v2 else "1") if v1 else "2"


def check_peak() -> Check:
    name = "peak memory"
    kernel = re.match(r"(\d+)\.(\d+)", os.uname().release)
    old = kernel is not None and (int(kernel[1]), int(kernel[2])) < (5, 19)
    if cgroup_version() == "2" and old:
        detail = "sampled: this kernel keeps no memory.peak"
        mend = "Use Linux 5.19 or newer for exact peaks; limits are exact without it."
        return Check(name, ok=False, detail=detail, mend=mend, required=False)
    return Check(name, ok=True, detail="kept by the kernel")


def check_swap() -> Check:
    swap = len(Path("/proc/swaps").read_text().splitlines()) > 1
    detail = (
        "on: programs don't use it, but the rest of the machine may slow them"
        if swap
        else "off"
    )
    mend = "Turn swap off (swapoff -a) for steady timings." if swap else ""
    return Check("swap", ok=not swap, detail=detail, mend=mend, required=False)
