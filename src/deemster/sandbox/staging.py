"""Lets Python put files into a scratch directory that belong to the program."""

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from deemster.sandbox.runner import SandboxFault

Stage = Callable[[int], object]
"""Puts files into the scratch, given as a descriptor, before the program starts."""

CAPABILITY_VERSION: Final = 0x20080522
LIBC: Final = ctypes.CDLL(None, use_errno=True)


class _CapabilityHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _CapabilityData(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


def stage_as_program(stage: Stage, scratch: int) -> None:
    """Calls `stage` so that its files belong to the program; blocks, so use a thread."""
    with program_file_ids(scratch):
        stage(scratch)


@contextmanager
def program_file_ids(scratch: int) -> Iterator[None]:
    """Makes this thread create files under the program's ids, with its own read access.

    The scratch accepts only the ids of its user namespace: root itself can't create a file
    there. Without root there is only one id, and nothing to do.
    """
    root = os.fstat(scratch)
    if root.st_uid == os.geteuid():
        yield
        return
    # The namespace's root owns the scratch; its programs have the next id.
    user, group = root.st_uid + 1, root.st_gid + 1
    held = _get_capabilities()
    own_group, own_user = _set_id("setfsgid", group), _set_id("setfsuid", user)
    try:
        _set_capabilities(held)  # leaving uid 0 dropped those about files
        yield
    finally:
        _set_id("setfsuid", own_user)
        _set_id("setfsgid", own_group)
        _set_capabilities(held)


def _set_id(call: str, number: int) -> int:
    """Sets the id of this thread only; the call reports no failure, so this checks it."""
    change = getattr(LIBC, call)
    before = change(ctypes.c_uint(number))
    if change(ctypes.c_uint(0xFFFFFFFF)) != number:
        raise SandboxFault(
            f"The sandbox can't create files in a box: {call}({number}) was refused."
        )
    return int(before)


def _get_capabilities() -> ctypes.Array[_CapabilityData]:
    held = (_CapabilityData * 2)()
    if LIBC.capget(ctypes.byref(_CapabilityHeader(CAPABILITY_VERSION, 0)), held):
        raise OSError(ctypes.get_errno(), "capget")
    return held


def _set_capabilities(held: ctypes.Array[_CapabilityData]) -> None:
    if LIBC.capset(ctypes.byref(_CapabilityHeader(CAPABILITY_VERSION, 0)), held):
        raise OSError(ctypes.get_errno(), "capset")
