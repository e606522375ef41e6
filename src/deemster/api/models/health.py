"""Response models of the health checks and of the root path."""

from deemster.api.models.field_types import ResponseModel


class AliveOut(ResponseModel):
    alive: bool


class PartOut(ResponseModel):
    ok: bool
    detail: str


class HealthOut(ResponseModel):
    ready: bool
    """Whether database, queue and artifact store answer. Workers are not needed to accept
    submissions and to show results.
    """
    database: PartOut
    queue: PartOut
    workers: PartOut
    artifacts: PartOut


class RootOut(ResponseModel):
    service: str
    docs: str
    openapi: str
