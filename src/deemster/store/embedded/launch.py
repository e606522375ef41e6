"""Launches the programs of the embedded Postgres as children that end with this process."""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from typing import IO, Any

from deemster.domain.errors import DeemsterError, Refused, Unavailable
from deemster.store.embedded import exec_as_user, server_log
from deemster.store.embedded.data_directory import Home
from deemster.store.embedded.programs import installation, libraries


async def launch(
    home: Home, program: str, arguments: Sequence[str], lock: int, log: IO[Any]
) -> asyncio.subprocess.Process:
    """The child inherits the lock."""
    places = {"programs": installation(), "libraries": libraries()}
    if program == "initdb":
        places |= {"cluster": home.half_made}
    else:
        places |= {"cluster": home.cluster, "socket": home.socket}
    order = {
        "parent": os.getpid(),
        "user": None if home.owner.is_me else (home.owner.uid, home.owner.gid),
        "user_name": home.owner.name,
        "places": {name: str(path) for name, path in places.items()},
        "program": program,
        "arguments": arguments,
    }
    # No thread may do this: the kernel counts the end of the thread as that of the parent.
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-IS",
        exec_as_user.__file__,
        json.dumps(order),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        pass_fds=[lock],
        start_new_session=True,  # a Ctrl-C is for the supervisor, which stops us last
    )


def failure(home: Home, code: int) -> DeemsterError:
    said = server_log.tail(home.log)
    if code == exec_as_user.REFUSED:
        return Refused(said.splitlines()[-1])
    return Unavailable(
        f"The embedded Postgres ended with code {code} instead of starting; see {home.log},"
        f" which ends with:\n{said}"
    )
