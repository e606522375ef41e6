"""The time zone in which a page shows times: the visitor's, or that of the settings."""

from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from starlette.requests import HTTPConnection

from deemster.api.app_state import app_state

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
    if is_time_zone_known(request):
        return ZoneInfo(request.cookies[COOKIE])
    return ZoneInfo(app_state(request).settings.page_time_zone)


def is_time_zone_known(request: HTTPConnection) -> bool:
    """Otherwise the script of the page tells that of the browser, for the next page."""
    return request.cookies.get(COOKIE) in time_zones()
