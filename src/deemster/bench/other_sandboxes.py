"""Prepares other sandboxes on this machine to run `true` about as isolated as ours does."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deemster.domain.limits import MIB
from deemster.sandbox.visible_files import system_view, top_links

PROGRAM = "/bin/true"
SEARCH_PATH = "/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin"
MEMORY_BYTES = 256 * MIB
PROCESSES = 64
PROBE_TIMEOUT_S = 20

# Each peer gets pid, net, ipc, uts and mount namespaces of its own, no privileges, the same
# read-only root if its options allow it, and cgroup limits for memory and processes if the peer
# and the host support them.

Argv = tuple[str, ...]


class NotUsable(Exception):
    """A peer is installed but does not work; the text is its error message."""


@dataclass(frozen=True, slots=True)
class Peers:
    argv: Mapping[str, Argv]
    skipped: Mapping[str, str]


@contextmanager
def open_peers() -> Iterator[Peers]:
    """The peers that are installed and work."""
    argv: dict[str, Argv] = {}
    skipped: dict[str, str] = {}
    with ExitStack() as stack:
        for name, (command, prepare) in PEERS.items():
            path = shutil.which(command, path=SEARCH_PATH)
            if path is None:
                continue
            try:
                argv[name] = stack.enter_context(prepare(path))
            except NotUsable as fault:
                skipped[name] = str(fault)
        yield Peers(argv, skipped)


def works(argv: Argv) -> Argv:
    """The command, after it ran once without an error."""
    try:
        done = subprocess.run(argv, capture_output=True, timeout=PROBE_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as fault:
        raise NotUsable(str(fault)) from fault
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
        raise NotUsable(lines[-1] if lines else f"exit code {done.returncode}")
    return argv


def first_that_works(*candidates: Argv) -> Argv:
    for argv in candidates[:-1]:
        try:
            return works(argv)
        except NotUsable:
            continue
    return works(candidates[-1])


@contextmanager
def bubblewrap(path: str) -> Iterator[Argv]:
    isolation = ("--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL")
    binds = [
        part for bind in system_view().binds for part in ("--ro-bind", bind.source, bind.target)
    ]
    links = [part for text, place in top_links() for part in ("--symlink", text, place)]
    mounts = (*map(str, binds), *links, "--proc", "/proc", "--dev", "/dev")
    scratch = ("--tmpfs", "/tmp")  # noqa: S108
    yield works((path, *isolation, *mounts, *scratch, "--clearenv", PROGRAM))


@contextmanager
def isolate(path: str) -> Iterator[Argv]:
    box: Argv = (path, "--cg", "--box-id=99")
    limits: Argv = (f"--processes={PROCESSES}", "--time=2", "--wall-time=10")
    try:
        works((*box, "--init"))
        limits = (*limits, f"--cg-mem={MEMORY_BYTES // 1024}")
    except NotUsable:
        box = (path, "--box-id=99")
        works((*box, "--init"))
    try:
        yield works((*box, "--silent", *limits, "--run", "--", PROGRAM))
    finally:
        subprocess.run((*box, "--cleanup"), capture_output=True, check=False)


@contextmanager
def nsjail(path: str) -> Iterator[Argv]:
    shown = [name for name in ("/usr", "/bin", "/lib", "/lib64") if Path(name).exists()]
    mounts = [part for name in shown for part in ("-R", name)]
    plain = (path, "-Mo", "-Q", "--user", "65534", "--group", "65534", *mounts)
    limits = ("--cgroup_mem_max", str(MEMORY_BYTES), "--cgroup_pids_max", str(PROCESSES))
    run = ("--", PROGRAM)
    yield first_that_works(
        (*plain, *limits, "--use_cgroupv2", *run), (*plain, *limits, *run), (*plain, *run)
    )


@contextmanager
def oci_runtime(path: str) -> Iterator[Argv]:
    with tempfile.TemporaryDirectory(prefix="deemster-bench-") as name:
        bundle = Path(name)
        make_root(bundle / "rootfs")
        container = ("run", "--bundle", name, f"deemster-bench-{os.getpid()}")
        write_config(bundle, limited=True)
        try:
            argv = works((path, *container))
        except NotUsable:
            write_config(bundle, limited=False)
            argv = works((path, *container))
        yield argv


def make_root(root: Path) -> None:
    for name in ("usr", "proc", "dev", "tmp"):
        (root / name).mkdir(parents=True)
    for name in ("bin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")


def write_config(bundle: Path, *, limited: bool) -> None:
    resources = {"memory": {"limit": MEMORY_BYTES}, "pids": {"limit": PROCESSES}}
    config: dict[str, Any] = {
        "ociVersion": "1.0.2",
        "process": {
            "terminal": False,
            "user": {"uid": 65534, "gid": 65534},
            "args": [PROGRAM],
            "env": [],
            "cwd": "/",
            "noNewPrivileges": True,
            "capabilities": {"bounding": [], "effective": [], "permitted": []},
        },
        "root": {"path": "rootfs", "readonly": True},
        "mounts": [
            {
                "destination": "/usr",
                "source": "/usr",
                "type": "bind",
                "options": ["bind", "ro"],
            },
            {"destination": "/proc", "source": "proc", "type": "proc"},
            {"destination": "/tmp", "source": "tmpfs", "type": "tmpfs"},  # noqa: S108
        ],
        "linux": {
            "namespaces": [
                {"type": kind} for kind in ("pid", "network", "ipc", "uts", "mount")
            ],
            "resources": resources if limited else {},
        },
    }
    (bundle / "config.json").write_text(json.dumps(config))


Prepare = Callable[[str], AbstractContextManager[Argv]]

PEERS: Mapping[str, tuple[str, Prepare]] = {
    "bubblewrap": ("bwrap", bubblewrap),
    "isolate": ("isolate", isolate),
    "nsjail": ("nsjail", nsjail),
    "crun": ("crun", oci_runtime),
    "runc": ("runc", oci_runtime),
}
