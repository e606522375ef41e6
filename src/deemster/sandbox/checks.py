"""Tries each layer of the sandbox on this machine, and suggests fixes for those that fail."""

import os
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

from deemster.domain.limits import MIB, Limits
from deemster.domain.run_status import RunStatus
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import Command, Layers
from deemster.sandbox.runner import PACKAGED_RUNNER, SandboxFault

OLDEST_KERNEL = (5, 14)
PATIENT = Limits(cpu_ms=60_000, wall_ms=120_000)
"""A slow or busy machine must not look like one without a layer."""

ALLOW_NAMESPACES = (
    "Allow users to create user namespaces (sysctl kernel.unprivileged_userns_clone=1, "
    "kernel.apparmor_restrict_unprivileged_userns=0, user.max_user_namespaces=10000), or start "
    "Deemster as root; start a container with --privileged."
)
PROVIDE_CGROUPS = (
    "As root, mount the memory, pids and cpuacct controllers (or cgroup2); start a container "
    "with --privileged --cgroupns=private; as a user, start Deemster in a delegated cgroup: "
    "systemd-run --user --scope -p Delegate=yes deemster …"
)
FIXES = (
    (r"own-user-namespace|slot-namespaces|own-id-maps|uid_map|gid_map", ALLOW_NAMESPACES),
    (r"cgroup-", PROVIDE_CGROUPS),
    (
        r"mount-proc|init-proc",
        (
            "Parts of /proc are masked, as container engines do; start the container with "
            "--security-opt systempaths=unconfined."
        ),
    ),
    (
        r"load-",
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
    """How to fix it; the name is a key of `deemster doctor --json`."""
    required: bool = True


def suggest_fix(fault: str) -> str:
    return next((fix for pattern, fix in FIXES if re.search(pattern, fault)), "")


async def check_sandbox(runner: Path | None) -> AsyncIterator[Check]:
    """Yields each check as soon as it is done."""
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
    fix = "" if ok else "Reinstall Deemster, or set DEEMSTER_RUNNER to the runner's path."
    return Check("runner", ok, str(path), fix)


def check_privileges() -> Check:
    maps = Path("/proc/self/uid_map").read_text().split()
    if os.geteuid() == 0 and int(maps[2]) > 1:
        return Check("privileges", ok=True, detail="root: each box has its own uids")
    detail = "one uid: programs run under this user's uid, in namespaces"
    return Check("privileges", ok=True, detail=detail)


async def check_layers(name: str, layers: Layers, runner: Path | None) -> Check:
    try:
        async with Boxes.open(layers=layers, runner=runner) as boxes:
            report = await boxes.run(Command(("/bin/true",), limits=PATIENT))
    except SandboxFault as fault:
        return Check(name, ok=False, detail=str(fault), mend=suggest_fix(str(fault)))
    ok = report.status is RunStatus.OK
    return Check(name, ok, "works" if ok else f"/bin/true ended with {report.status}")


async def check_seccomp(runner: Path | None) -> Check:
    name = "seccomp filter"
    try:
        async with Boxes.open(layers=Layers.SECCOMP, runner=runner) as boxes:
            report = await boxes.run(Command(("/bin/sync",), limits=PATIENT))
    except SandboxFault as fault:
        return Check(name, ok=False, detail=str(fault), mend=suggest_fix(str(fault)))
    ok = (report.status, report.syscall) == (RunStatus.FORBIDDEN_SYSCALL, "sync")
    detail = "refuses and names calls" if ok else f"allowed sync ({report.status})"
    return Check(
        name,
        ok,
        detail,
        "" if ok else "Please report this as a bug: the filter must refuse it.",
    )


async def check_cgroup(runner: Path | None) -> Check:
    """Checks that the kernel enforces a memory limit, not only that it can be set."""
    name = "cgroups: memory, processes, CPU time"
    limits = replace(
        PATIENT, memory_bytes=16 * MIB, scratch_bytes=64 * MIB, file_bytes=64 * MIB
    )
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
        else f"the kernel did not enforce a memory limit ({report.status})"
    )
    return Check(name, ok, detail, "" if ok else PROVIDE_CGROUPS)


def cgroup_version() -> str:
    """Returns the version that the memory controller uses: a host may have both."""
    mounts = Path("/proc/self/mountinfo").read_text()
    v1 = re.search(r" - cgroup \S+ \S*\bmemory\b", mounts)
    v2 = " - cgroup2 " in mounts
    return ("1 (hybrid)" if v2 else "1") if v1 else "2"


def check_peak() -> Check:
    name = "peak memory"
    kernel = re.match(r"(\d+)\.(\d+)", os.uname().release)
    old = kernel is not None and (int(kernel[1]), int(kernel[2])) < (5, 19)
    if cgroup_version() == "2" and old:
        detail = "sampled: this kernel has no memory.peak"
        fix = "Use Linux 5.19 or newer for exact peaks; limits are exact anyway."
        return Check(name, ok=False, detail=detail, mend=fix, required=False)
    return Check(name, ok=True, detail="recorded by the kernel")


def check_swap() -> Check:
    swap = len(Path("/proc/swaps").read_text().splitlines()) > 1
    detail = (
        "on: programs don't use it, but swapping by other processes may slow them down"
        if swap
        else "off"
    )
    fix = "Turn swap off (swapoff -a) for steady timings." if swap else ""
    return Check("swap", ok=not swap, detail=detail, mend=fix, required=False)
