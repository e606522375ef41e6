"""Lists the routes of the compatible APIs that the setting `compat` names."""

from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Final

from starlette.routing import BaseRoute

from deemster.api.compat import jobe, judge0, piston, sandboxfusion
from deemster.api.compat.heng import routes as heng
from deemster.domain.errors import Refused

ROUTES: Final[Mapping[str, Sequence[BaseRoute]]] = {
    "heng": heng.routes,
    "jobe": jobe.routes,
    "judge0": judge0.routes,
    "piston": piston.routes,
    "sandboxfusion": sandboxfusion.routes,
}
MCP: Final = "mcp"


def compat_routes(names: Iterable[str]) -> list[BaseRoute]:
    return [
        route
        for name in dict.fromkeys(names)
        for route in (mcp_routes() if name == MCP else ROUTES[name])
    ]


def mcp_routes() -> Sequence[BaseRoute]:
    if find_spec(MCP) is None:
        raise Refused(
            "The setting compat names mcp, whose package is not installed: "
            "run pip install 'deemster[mcp]', or leave out mcp."
        )
    from deemster.api.compat import mcp  # noqa: PLC0415 # its package is optional

    return mcp.routes
