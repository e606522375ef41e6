"""Starts the programs of the embedded Postgres as children that end with this process."""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from typing import IO, Any

from deemster.domain.errors import DeemsterError, Refused, Unavailable
from deemster.store.embedded import exec_as_user, server_log
from deemster.store.embedded.data_directory import ClusterHome
from deemster.store.embedded.programs import installation, libraries


async def launch(
    home: ClusterHome, program: str, arguments: Sequence[str], lock: int, log: IO[Any]
) -> asyncio.subprocess.Process:
    """Starts `program`; the child inherits the lock."""
    directories = {"programs": installation(), "libraries": libraries()}
    if program == "initdb":
        directories |= {"cluster": home.new_cluster}
    else:
        directories |= {"cluster": home.cluster, "socket": home.socket}
    request = {
        "parent": os.getpid(),
        "user": None if home.owner.is_current else (home.owner.uid, home.owner.gid),
        "user_name": home.owner.name,
        "directories": {name: str(path) for name, path in directories.items()},
        "program": program,
        "arguments": arguments,
    }
    # Not in a thread: the kernel counts the end of that thread as the parent's.
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-IS",
        exec_as_user.__file__,
        json.dumps(request),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        pass_fds=[lock],
        start_new_session=True,  # a Ctrl-C goes to the supervisor, which stops this last
    )


def failure(home: ClusterHome, code: int) -> DeemsterError:
    text = server_log.tail(home.log)
    if code == exec_as_user.REFUSED:
        return Refused(text.splitlines()[-1])
    return Unavailable(
        f"The embedded Postgres ended with code {code} instead of starting; see {home.log},"
        f" which ends with:\n{text}"
    )
