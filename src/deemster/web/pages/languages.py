"""`/languages`: how programs read and write, and how each language is compiled and run."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

from starlette.responses import Response

from deemster.api.lookups import installed_versions
from deemster.web.first_programs import FIRST_PROGRAMS
from deemster.web.page import PageRequest, page_route


async def show_languages(page: PageRequest) -> Response:
    """Those that a live worker has; all if no worker lives."""
    installed = installed_versions(await page.state.live_workers.get())
    languages = [
        each
        for each in page.state.dependencies.catalogue
        if not installed or each.id in installed
    ]
    return page.render(
        "languages.html",
        languages=languages,
        versions=installed,
        first_programs=FIRST_PROGRAMS,
        options_of=options_of,
    )


def options_of(argv: Sequence[str]) -> list[str]:
    """The options of a command line, without paths that the judge fills in."""
    return [
        each
        for each, following in zip_longest(argv, argv[1:], fillvalue="")
        if "{" not in each and "{output}" not in following
    ]


ROUTES: Final = [page_route("/languages", show_languages)]
