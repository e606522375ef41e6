"""Becomes an ordinary user, who may use this Python wherever it is, and runs a command."""

import os
import sys
from pathlib import Path
from typing import Final

from deemster.privileges.drop import interpreter_paths
from deemster.privileges.mounts import make_reachable
from deemster.privileges.service_user import ServiceUser

USER: Final = ServiceUser("nobody", 65534, 65534)
"""Postgres needs a user who has a name."""


def become_ordinary(*paths: Path) -> None:
    """For good; the user can also reach these paths."""
    make_reachable([*interpreter_paths(), *paths], USER)
    os.setgroups([])
    os.setresgid(USER.gid, USER.gid, USER.gid)
    os.setresuid(USER.uid, USER.uid, USER.uid)


if __name__ == "__main__":
    become_ordinary(Path(sys.argv[1]))
    os.execv(sys.argv[2], sys.argv[2:])
