"""Lists the routes of the compatible APIs that the setting `compat` names."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from starlette.routing import BaseRoute

from deemster.api.compat import jobe, judge0, piston, sandboxfusion

ROUTES: Final[Mapping[str, Sequence[BaseRoute]]] = {
    "jobe": jobe.routes,
    "judge0": judge0.routes,
    "piston": piston.routes,
    "sandboxfusion": sandboxfusion.routes,
}


def compat_routes(names: Iterable[str]) -> list[BaseRoute]:
    return [route for name in dict.fromkeys(names) for route in ROUTES[name]]
