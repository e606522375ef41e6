"""Capabilities of this process, and the flag that it never gains privileges again."""

import ctypes
import os
from collections.abc import Collection
from enum import IntEnum
from pathlib import Path
from typing import Any, Final


class Capability(IntEnum):
    CHOWN = 0
    DAC_OVERRIDE = 1
    DAC_READ_SEARCH = 2
    FOWNER = 3
    KILL = 5
    SETGID = 6
    SETUID = 7
    SETPCAP = 8
    NET_BIND_SERVICE = 10
    SYS_ADMIN = 21
    SYS_NICE = 23
    SYS_RESOURCE = 24


PR_SET_PDEATHSIG, PR_GET_PDEATHSIG = 1, 2
PR_SET_KEEPCAPS, PR_CAPBSET_READ, PR_CAPBSET_DROP = 8, 23, 24
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 36, 38, 47
PR_CAP_AMBIENT_RAISE, PR_CAP_AMBIENT_CLEAR_ALL = 2, 4
VERSION: Final = 0x20080522
LIBC: Final = ctypes.CDLL(None, use_errno=True)


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Data(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


def held() -> frozenset[Capability]:
    """The capabilities that this process has, of those that Deemster uses."""
    mask = int(read_status("CapEff"), 16)
    return frozenset(each for each in Capability if mask >> each & 1)


def read_status(field: str, process: int | str = "self") -> str:
    """Returns a field of /proc/PID/status."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return value.strip()
    raise KeyError(field)


def change_user(uid: int, gid: int, keep: Collection[Capability] = ()) -> None:
    """Becomes another user for good and keeps only these capabilities.

    Call this before the first thread starts. Programs that this process executes have no
    capabilities, unless `give_to_children` is called.
    """
    death_signal = ctypes.c_int()
    call("prctl", PR_GET_PDEATHSIG, ctypes.byref(death_signal), 0, 0, 0)
    call("prctl", PR_SET_KEEPCAPS, int(bool(keep)), 0, 0, 0)
    drop_bounding_set(keep)
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    keep_only(keep)
    # The change of user has reset it.
    call("prctl", PR_SET_PDEATHSIG, death_signal.value, 0, 0, 0)
    forbid_new_privileges()


def keep_only(kept: Collection[Capability]) -> None:
    mask = sum(1 << capability for capability in kept)
    words = [mask & 0xFFFFFFFF, mask >> 32]
    data = (_Data * 2)(*[_Data(word, word, word) for word in words])
    call("capset", ctypes.byref(_Header(VERSION, 0)), data)
    give_nothing_to_children()


def give_to_children(capability: Capability) -> None:
    """Lets programs that this process executes have a capability that it kept."""
    call("prctl", PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, int(capability), 0, 0)


def give_nothing_to_children() -> None:
    call("prctl", PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)


def drop_bounding_set(kept: Collection[Capability] = ()) -> None:
    """Takes all other capabilities from every program that this process will execute."""
    number = 0
    while LIBC.prctl(PR_CAPBSET_READ, number, 0, 0, 0) >= 0:
        if number not in kept:
            call("prctl", PR_CAPBSET_DROP, number, 0, 0, 0)
        number += 1


def forbid_new_privileges() -> None:
    """From now on no setuid program gives this process or its children more privileges."""
    call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def become_subreaper() -> None:
    """Orphaned descendants become children of this process, not of the system's init."""
    call("prctl", PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def call(name: str, *arguments: Any) -> None:
    if getattr(LIBC, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), name)
