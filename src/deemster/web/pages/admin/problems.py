"""`/admin/problems`: import packages, and verify, publish, download and retire problems."""

import re
from typing import Final

from starlette.responses import Response

from deemster.api.models.problems import ImportedOut, ProblemQuery
from deemster.api.models.verifications import VerificationOut
from deemster.api.problem_import import (
    import_archive,
    package_response,
    publish_problem,
    retire_problem,
)
from deemster.api.problems import managed_problems
from deemster.api.verification import read_verification, start_verification
from deemster.domain.errors import DeemsterError, Refused
from deemster.domain.ids import SLUG_LENGTH, parse_problem_id
from deemster.domain.limits import MIB
from deemster.problems.importing import UNNAMED
from deemster.web.forms import SHOWN
from deemster.web.page import PageRequest, page_route
from deemster.web.upload import read_upload

PROBLEMS: Final = "/admin/problems"
PROBLEM: Final = PROBLEMS + "/{id}"
NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9_-]+")
ENDINGS: Final = re.compile(r"(\.tar)?\.(zip|kpp|tar|tgz|gz|bz2|xz)$")


async def show_problems(page: PageRequest) -> Response:
    return await problem_list(page)


async def problem_list(
    page: PageRequest,
    imported: ImportedOut | None = None,
    verification: VerificationOut | None = None,
    error: DeemsterError | None = None,
) -> Response:
    query = page.query(ProblemQuery)
    return page.render(
        "admin/problems.html",
        found=await managed_problems(page.state, page.account, query),
        drafts=query.drafts,
        imported=imported,
        verification=verification,
        error=error,
    )


async def import_problem(page: PageRequest) -> Response:
    imported = verification = None
    try:
        imported, is_verified = await receive_package(page)
        if is_verified:
            verification = await start_verification(page.request, page.account, imported.id)
    except SHOWN as refusal:
        return await problem_list(page, imported, error=refusal)
    return await problem_list(page, imported, verification)


async def receive_package(page: PageRequest) -> tuple[ImportedOut, bool]:
    """Also returns whether its examples are to be judged."""
    max_bytes = page.state.settings.package_mb * MIB
    async with page.state.dependencies.importer.upload_directory(page.account.id) as directory:
        received = directory / "received"
        with received.open("xb") as stream:
            form = await read_upload(page, stream, max_bytes)
        if not form.size_bytes:
            raise Refused("Choose the file of a package: a zip or tar.")
        given = form.fields.get("id", "").strip()
        archive = directory / archive_name(form.filename)
        received.rename(archive)
        imported = await import_archive(
            page.request,
            page.account,
            archive,
            parse_problem_id(given) if given else None,
            publish=False if "draft" in form.fields else None,
        )
        return imported, "verify" in form.fields


def archive_name(filename: str) -> str:
    """The name of the file that was chosen, as far as it can be the id of a problem."""
    base = ENDINGS.sub("", re.split(r"[/\\]", filename)[-1].lower())
    return NOT_IN_NAMES.sub("-", base)[:SLUG_LENGTH].strip("-_") or UNNAMED


async def show_verification(page: PageRequest) -> Response:
    found = await read_verification(page.request, page.account, page.parameter("id"))
    return page.render("admin/verification.html", verification=found)


async def verify(page: PageRequest) -> Response:
    problem = page.parameter("id")
    await start_verification(page.request, page.account, problem, again=True)
    return page.redirect(f"{PROBLEMS}/{problem}/verification")


async def publish(page: PageRequest) -> Response:
    await publish_problem(page.request, page.account, page.parameter("id"))
    return page.redirect(f"{PROBLEMS}?done=published")


async def retire(page: PageRequest) -> Response:
    await retire_problem(page.request, page.account, page.parameter("id"))
    return page.redirect(f"{PROBLEMS}?done=retired")


async def download(page: PageRequest) -> Response:
    return await package_response(page.request, page.account, page.parameter("id"))


ROUTES: Final = [
    page_route(PROBLEMS, show_problems),
    page_route(PROBLEMS, import_problem, "POST", is_upload=True),
    page_route(PROBLEM + "/publish", publish, "POST"),
    page_route(PROBLEM + "/retire", retire, "POST"),
    page_route(PROBLEM + "/verification", show_verification),
    page_route(PROBLEM + "/verification", verify, "POST"),
    page_route(PROBLEM + "/package", download),
]
