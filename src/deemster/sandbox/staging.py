"""Lets a caller put files into a scratch that belong to the program, whoever we are."""

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from deemster.sandbox.runner import SandboxFault

Stage = Callable[[int], object]
"""Puts what it wants into the scratch, given as a descriptor, before the program starts."""

CAPABILITY_VERSION: Final = 0x20080522
LIBC: Final = ctypes.CDLL(None, use_errno=True)


class _Whose(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Capabilities(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


def stage_as_program(stage: Stage, scratch: int) -> None:
    """Calls `stage` so that the files it makes are the program's. Blocking: for a thread."""
    with acting_as_program(scratch):
        stage(scratch)


@contextmanager
def acting_as_program(scratch: int) -> Iterator[None]:
    """This thread alone makes files under the program's ids; it still reads what we may read.

    The scratch knows the ids of its own user namespace only, so that root itself could make no
    file there. Without root there is one id, and nothing to do.
    """
    root = os.fstat(scratch)
    if root.st_uid == os.geteuid():
        yield
        return
    # The namespace's root owns the scratch, and its programs have the id after that.
    user, group = root.st_uid + 1, root.st_gid + 1
    held = _capabilities()
    own_group, own_user = _set_id("setfsgid", group), _set_id("setfsuid", user)
    try:
        _keep(held)  # leaving uid 0 took those about files away
        yield
    finally:
        _set_id("setfsuid", own_user)
        _set_id("setfsgid", own_group)
        _keep(held)


def _set_id(call: str, number: int) -> int:
    """Per thread, unlike setuid. It never says that it failed, so ask."""
    change = getattr(LIBC, call)
    before = change(ctypes.c_uint(number))
    if change(ctypes.c_uint(0xFFFFFFFF)) != number:
        raise SandboxFault(f"Files can't be put into a box: {call} to {number} was refused.")
    return int(before)


def _capabilities() -> ctypes.Array[_Capabilities]:
    held = (_Capabilities * 2)()
    if LIBC.capget(ctypes.byref(_Whose(CAPABILITY_VERSION, 0)), held):
        raise OSError(ctypes.get_errno(), "capget")
    return held


def _keep(held: ctypes.Array[_Capabilities]) -> None:
    if LIBC.capset(ctypes.byref(_Whose(CAPABILITY_VERSION, 0)), held):
        raise OSError(ctypes.get_errno(), "capset")
