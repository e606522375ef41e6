"""A program for test_privileges.py: becomes an ordinary user and chooses a sandbox."""

import asyncio
import json
import os

from deemster.privileges.drop import interpreter_paths
from deemster.privileges.mounts import make_reachable
from deemster.privileges.service_user import ServiceUser
from deemster.settings import load_settings
from deemster.wiring.strongest_sandbox import choose_layers

USER = ServiceUser("ordinary", 23456, 23456)


def main() -> None:
    make_reachable(interpreter_paths(), USER)
    os.setgroups([])
    os.setresgid(USER.gid, USER.gid, USER.gid)
    os.setresuid(USER.uid, USER.uid, USER.uid)
    settings, weakness = asyncio.run(choose_layers(load_settings()))
    again, more = asyncio.run(choose_layers(settings))
    assert (again, more) == (settings, None)
    print(json.dumps({"without": sorted(settings.sandbox_without), "weakness": weakness}))


if __name__ == "__main__":
    main()
