"""Pages of admins, and of authors who manage their problems."""

from typing import Final

from starlette.routing import Route

from deemster.web.pages.admin import (
    audit_and_settings,
    dead_letters,
    overview,
    problems,
    rejudgings,
    submissions,
    user_import,
    users,
    webhooks,
    workers,
)

ROUTES: Final[list[Route]] = [
    *overview.ROUTES,
    *workers.ROUTES,
    *submissions.ROUTES,
    *dead_letters.ROUTES,
    *rejudgings.ROUTES,
    *problems.ROUTES,
    *users.ROUTES,
    *user_import.ROUTES,
    *webhooks.ROUTES,
    *audit_and_settings.ROUTES,
]
