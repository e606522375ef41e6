"""`/admin/problems`: import packages, and publish, download and retire problems."""

import re
from typing import Final

from starlette.responses import Response

from deemster.api.models.problems import ImportedOut, ProblemQuery
from deemster.api.problem_import import (
    import_archive,
    package_response,
    publish_problem,
    retire_problem,
)
from deemster.api.problems import managed_problems
from deemster.domain.errors import DeemsterError, Refused
from deemster.domain.ids import parse_problem_id
from deemster.domain.limits import MIB
from deemster.problems.importing import UNNAMED
from deemster.web.forms import SHOWN, status_of
from deemster.web.page import Page, page_route
from deemster.web.upload import read_upload

PROBLEMS: Final = "/admin/problems"
PROBLEM: Final = PROBLEMS + "/{id}"
NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9_-]+")
ENDINGS: Final = re.compile(r"(\.tar)?\.(zip|kpp|tar|tgz|gz|bz2|xz)$")


async def show_problems(page: Page) -> Response:
    return await problem_list(page)


async def problem_list(
    page: Page,
    imported: ImportedOut | None = None,
    error: DeemsterError | None = None,
) -> Response:
    query = page.query(ProblemQuery)
    return page.render(
        "admin/problems.html",
        status_of(error),
        found=await managed_problems(page.state, page.account, query),
        drafts=query.drafts,
        imported=imported,
        error=str(error) if error is not None else None,
    )


async def import_problem(page: Page) -> Response:
    try:
        imported = await receive_package(page)
    except SHOWN as refusal:
        return await problem_list(page, error=refusal)
    return await problem_list(page, imported)


async def receive_package(page: Page) -> ImportedOut:
    most_bytes = page.state.settings.package_mb * MIB
    async with page.state.dependencies.importer.upload_directory() as directory:
        received = directory / "received"
        with received.open("xb") as stream:
            form = await read_upload(page, stream, most_bytes)
        if not form.size_bytes:
            raise Refused("Choose the file of a package: a zip or tar.")
        given = form.fields.get("id", "").strip()
        archive = directory / archive_name(form.filename)
        received.rename(archive)
        return await import_archive(
            page.request,
            page.account,
            archive,
            parse_problem_id(given) if given else None,
            publish=False if "draft" in form.fields else None,
        )


def archive_name(filename: str) -> str:
    """The name of the file that was chosen, as far as it can be the id of a problem."""
    base = ENDINGS.sub("", re.split(r"[/\\]", filename)[-1].lower())
    return NOT_IN_NAMES.sub("-", base).strip("-_") or UNNAMED


async def publish(page: Page) -> Response:
    await publish_problem(page.request, page.account, page.parameter("id"))
    return page.redirect(f"{PROBLEMS}?done=published")


async def retire(page: Page) -> Response:
    await retire_problem(page.request, page.account, page.parameter("id"))
    return page.redirect(f"{PROBLEMS}?done=retired")


async def download(page: Page) -> Response:
    return await package_response(page.request, page.account, page.parameter("id"))


ROUTES: Final = [
    page_route(PROBLEMS, show_problems),
    page_route(PROBLEMS, import_problem, "POST", is_upload=True),
    page_route(PROBLEM + "/publish", publish, "POST"),
    page_route(PROBLEM + "/retire", retire, "POST"),
    page_route(PROBLEM + "/package", download),
]
