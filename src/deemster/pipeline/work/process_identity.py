"""Names a process so that no other process, before or after it, has the same name."""

import os
import socket
from pathlib import Path

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def host_name() -> str:
    """Containers of one machine may share its name, and number their processes apart."""
    pid_namespace = Path("/proc/self/ns/pid").stat().st_ino
    return f"{socket.gethostname()}/{pid_namespace}"


def process_name(pid: int | None = None) -> str | None:
    """A process as no other is called, ever; None: there is none of that number."""
    pid = pid or os.getpid()
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        boot = BOOT_ID.read_text().strip()
    except OSError:
        return None
    state, started = fields[0], fields[19]
    return None if state in "ZX" else f"{boot}:{pid}:{started}"


def is_alive(name: str) -> bool:
    """Of a process of this host, by its name."""
    number = name.split(":")[1]
    return process_name(int(number)) == name
