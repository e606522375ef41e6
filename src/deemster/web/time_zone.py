"""The time zone in which a page shows times: the one that the visitor chose, or UTC."""

from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from starlette.requests import HTTPConnection

COOKIE: Final = "deemster_time_zone"
UTC: Final = "UTC"
AREAS: Final = (
    "Africa",
    "America",
    "Antarctica",
    "Asia",
    "Atlantic",
    "Australia",
    "Europe",
    "Indian",
    "Pacific",
)
"""Other names in the database are old names of the same zones."""


@cache
def time_zones() -> tuple[str, ...]:
    """The names that a visitor can choose, in the order of a list."""
    places = (name for name in available_timezones() if name.partition("/")[0] in AREAS)
    return (UTC, *sorted(places))


def time_zone_of(request: HTTPConnection) -> ZoneInfo:
    chosen = request.cookies.get(COOKIE, UTC)
    return ZoneInfo(chosen if chosen in time_zones() else UTC)
