"""Judge0's routes that describe the service: languages, statuses, limits, workers, version."""

import platform
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from deemster import __version__
from deemster.api.app_state import app_state
from deemster.api.authentication import BEARER
from deemster.api.compat.judge0_config import config_info
from deemster.api.compat.judge0_languages import Judge0Language, judge0_languages
from deemster.api.compat.judge0_request import API
from deemster.api.http.errors import Forbidden, Unauthorised, kind_of
from deemster.api.lookups import installed_versions
from deemster.domain.errors import NotFound
from deemster.domain.job import QueueName
from deemster.pipeline.deliver.judge0_format import STATUSES
from deemster.store import executions
from deemster.store.pool import connection

VERSION: Final = "1.13.1"
"""Clients choose language ids by this version."""


def is_extra(request: Request) -> bool:
    return request.url.path.startswith("/judge0/extra/")


async def languages_of(request: Request) -> dict[int, Judge0Language]:
    state = app_state(request)
    installed = installed_versions(await state.live_workers.get())
    return judge0_languages(state.dependencies.catalogue, installed, extra=is_extra(request))


async def languages(request: Request) -> Response:
    await BEARER(request)
    return JSONResponse([each.summary() for each in (await languages_of(request)).values()])


async def all_languages(request: Request) -> Response:
    await BEARER(request)
    found = (await languages_of(request)).values()
    return JSONResponse([{**each.summary(), "is_archived": False} for each in found])


async def show_language(request: Request) -> Response:
    await BEARER(request)
    number = request.path_params["id"]
    known = await languages_of(request)
    found = known.get(int(number)) if number.isdecimal() and len(number) < 9 else None
    if found is None:
        raise NotFound("There is no language with this id.")
    return JSONResponse(found.details())


async def statuses(request: Request) -> Response:
    await BEARER(request)
    return JSONResponse(
        [{"id": number, "description": text} for number, text in STATUSES.items()]
    )


async def config(request: Request) -> Response:
    await BEARER(request)
    state = app_state(request)
    most = state.executions.accept.most
    return JSONResponse(config_info(most, state.settings))


async def workers(request: Request) -> Response:
    await BEARER(request)
    state = app_state(request)
    alive = await state.live_workers.get()
    depths = await state.dependencies.queues.depths()
    depth = depths.get(QueueName.INTERACTIVE)
    available = len(alive) * state.settings.execution_slots
    working = min(depth.active if depth else 0, available)
    return JSONResponse(
        [
            {
                "queue": QueueName.INTERACTIVE,
                "size": depth.backlog if depth else 0,
                "available": available,
                "idle": available - working,
                "working": working,
                "paused": 0,
                "failed": depth.failed if depth else 0,
            }
        ]
    )


async def system_info(request: Request) -> Response:
    """Describes the machines of the workers, not that of the API."""
    await BEARER(request)
    alive = await app_state(request).live_workers.get()
    return JSONResponse(
        {
            "Architecture": platform.machine(),
            "Workers": len(alive),
            "Hosts": len({each.host for each in alive}),
            "Slots": sum(each.slots for each in alive),
        }
    )


async def statistics(request: Request) -> Response:
    await BEARER(request)
    known = await languages_of(request)
    async with connection(app_state(request).pool) as acquired:
        total = await executions.count_of_api(acquired, API)
    answer: dict[str, Any] = {
        "submissions": {"total": total},
        "languages": [each.summary() for each in known.values()],
    }
    return JSONResponse(answer)


async def about(request: Request) -> Response:
    return JSONResponse(
        {
            "version": version_of(request),
            "homepage": app_state(request).settings.public_url,
            "source_code": None,
            "maintainer": f"Deemster {__version__}",
        }
    )


async def version(request: Request) -> Response:
    return PlainTextResponse(version_of(request))


def version_of(request: Request) -> str:
    return VERSION + ("-extra" if is_extra(request) else "")


async def isolate(_request: Request) -> Response:
    return PlainTextResponse(f"The sandbox of Deemster {__version__}\n")


async def license_text(_request: Request) -> Response:
    return PlainTextResponse("Deemster: Apache License, version 2.0\n")


async def authenticate(request: Request) -> Response:
    """Also answers /authorize, which needs the permissions of an admin."""
    try:
        await BEARER(request)
    except (Unauthorised, Forbidden) as fault:
        kind = kind_of(type(fault))
        return Response(status_code=kind.status, headers=dict(kind.headers))
    return Response(status_code=200)
