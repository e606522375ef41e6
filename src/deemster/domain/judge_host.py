"""Judge hosts: machines that judge over HTTP and have no secret but their own key (M1, M4)."""

import base64
import binascii
import hashlib
import hmac
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NewType

from deemster.domain.errors import Refused

JudgeHostId = NewType("JudgeHostId", str)
JudgeId = NewType("JudgeId", str)
"""Of one dispatch of a task to a host; never used again (M2)."""
JUDGE_HOST: Final = "hst"
JUDGE: Final = "jdg"
KEY_PREFIX: Final = "dmh_"
NAME_PATTERN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


class JudgeOn(StrEnum):
    """Where jobs run."""

    WORKERS = "workers"
    """Local workers only."""
    HOSTS = "hosts"
    HOSTS_FIRST = "hosts-first"
    """Judge hosts, and local workers when no host has a free slot."""


class Purpose(StrEnum):
    """Why a host gets a task."""

    RUN = "run"
    CHECK = "check"
    """The same submission was judged by another host, to compare their results (M5)."""
    DECIDE = "decide"
    """Two hosts disagreed."""


TASKS_AHEAD: Final = 1
"""Submissions and analyses that a host has beyond its slots, so that it need not wait for the
server between two of them."""
CHECKS_AHEAD: Final = TASKS_AHEAD + 1
"""The same, when a second host checks a result (M5): hosts that are never idle check, too."""


@dataclass(frozen=True, slots=True)
class HostKey:
    """The only secret of a host. The server derives it, and stores nothing of it."""

    host: JudgeHostId
    secret: bytes

    @property
    def text(self) -> str:
        """What an admin gives to the host."""
        encoded = base64.urlsafe_b64encode(self.secret).decode().rstrip("=")
        return f"{KEY_PREFIX}{self.host.partition('_')[2]}.{encoded}"


def derive_key(installation_secret: bytes, host: JudgeHostId, generation: int) -> HostKey:
    """A new generation makes all earlier keys of the host useless."""
    text = f"deemster judge host {host} {generation}".encode()
    return HostKey(host, hmac.new(installation_secret, text, hashlib.sha256).digest())


def parse_key(text: str) -> HostKey:
    """Reads a key as its admin pasted it."""
    number, dot, encoded = text.strip().removeprefix(KEY_PREFIX).partition(".")
    try:
        secret = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
    except (binascii.Error, ValueError):
        secret = b""
    if not text.strip().startswith(KEY_PREFIX) or not dot or len(secret) != 32:
        raise Refused(
            "This is not the key of a judge host: an admin makes one with "
            "`deemster host add NAME`, and it begins with dmh_."
        )
    return HostKey(JudgeHostId(f"{JUDGE_HOST}_{number}"), secret)


def check_name(name: str) -> str:
    if not NAME_PATTERN.fullmatch(name) or name.startswith(f"{JUDGE_HOST}_"):
        raise Refused(
            f"{name[:80]!r} can't be the name of a judge host: use up to 63 letters, digits, "
            "dots, dashes and underscores; begin with a letter or digit, and not with "
            f"{JUDGE_HOST}_."
        )
    return name
