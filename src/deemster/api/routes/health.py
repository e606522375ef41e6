"""`/healthz` and `/readyz`, for whoever watches over the service; `/` for whoever strays in."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from deemster.api.health import HealthOut
from deemster.api.http.json_response import answer
from deemster.api.models.kinds import ResponseModel
from deemster.api.state import app_state

router = APIRouter(tags=["health"])


class AliveOut(ResponseModel):
    alive: bool


class PointerOut(ResponseModel):
    service: str
    docs: str
    openapi: str


@router.get("/healthz", response_model=AliveOut)
async def alive() -> Response:
    """This process answers, whatever it may depend on."""
    return answer(AliveOut(alive=True))


@router.get(
    "/readyz",
    response_model=HealthOut,
    responses={503: {"model": HealthOut, "description": "Some part is not there"}},
)
async def ready(request: Request) -> Response:
    """Part by part. Submissions may be accepted still when it is not: see Q2 and Q15."""
    report = await app_state(request).health.report()
    return answer(report, 200 if report.ready else 503)


@router.get("/", response_model=PointerOut)
async def pointer() -> Response:
    return answer(PointerOut(service="deemster", docs="/docs", openapi="/openapi.json"))
