"""`/healthz` and `/readyz` for monitoring, and `/`, which names the documentation."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from deemster.api.app_state import app_state
from deemster.api.http.body import json_response
from deemster.api.models.health import AliveOut, HealthOut, RootOut

router = APIRouter(tags=["health"])


@router.get("/healthz", response_model=AliveOut)
async def check_alive() -> Response:
    """Answers as long as this process runs; does not check database or queue."""
    return json_response(AliveOut(alive=True))


@router.get(
    "/readyz",
    response_model=HealthOut,
    responses={503: {"model": HealthOut, "description": "A part of the judge does not answer"}},
)
async def check_ready(request: Request) -> Response:
    """Checks each part of the judge. Without workers it is ready: it accepts submissions, which
    wait; the part `workers` tells it.
    """
    report = await app_state(request).health.report()
    return json_response(report, 200 if report.ready else 503)


@router.get("/", response_model=RootOut)
async def show_root() -> Response:
    return json_response(RootOut(service="deemster", docs="/docs", openapi="/openapi.json"))
