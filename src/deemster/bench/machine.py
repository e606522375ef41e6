"""Describes the machine on which figures were measured."""

import os
from pathlib import Path
from typing import Any


def describe_machine() -> dict[str, Any]:
    cores = len(os.sched_getaffinity(0))
    return {"cores": cores, "kernel": os.uname().release, "cgroup": cgroup_layout()}


def cgroup_layout() -> str:
    root = Path("/sys/fs/cgroup")
    if (root / "cgroup.controllers").exists():
        return "v2"
    return "hybrid" if (root / "unified").exists() else "v1"
