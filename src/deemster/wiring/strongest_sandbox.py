"""Chooses the strongest sandbox that an ordinary user has on this machine (X8)."""

import os
from pathlib import Path
from typing import Final

from deemster.sandbox.checks import check_cgroup, check_layers
from deemster.sandbox.command import Layers
from deemster.settings import Settings
from deemster.wiring.layers import layers_of

SYSTEMD: Final = Path("/run/systemd/system")
USER_CONTROLLERS: Final = "/sys/fs/cgroup/user.slice/user-{0}.slice/user@{0}.service"


async def choose_layers(settings: Settings) -> tuple[Settings, str | None]:
    """Returns the settings, and a sentence for the operator if a layer had to be left out.

    Only `deemster up` and `deemster languages`, which runs trusted programs, choose for
    themselves. A worker refuses to start without a layer, unless the operator leaves that out
    by name.
    """
    layers = layers_of(settings)
    if Layers.CGROUP not in layers or (await check_cgroup(settings.runner)).ok:
        return settings, None
    without = await check_layers("all but cgroups", layers & ~Layers.CGROUP, settings.runner)
    if not without.ok:
        return settings, None  # something else is missing, and the worker says what
    chosen = settings.model_copy(
        update={"sandbox_without": settings.sandbox_without | {"cgroup"}}
    )
    return chosen, (
        "Limits of memory and CPU time are less exact than they could be, because this user "
        f"has no cgroup of its own: {more_exact(os.geteuid())}"
    )


def more_exact(uid: int) -> str:
    """Names the one command that gives more."""
    delegated = Path(USER_CONTROLLERS.format(uid)) / "cgroup.controllers"
    if SYSTEMD.exists() and delegated.exists() and "memory" in delegated.read_text().split():
        return "start `systemd-run --user --scope -p Delegate=yes ./dev up` instead."
    return "start `sudo ./dev up` instead."
