"""A FastAPI server that only inserts one row: the bare minimum for accepting a submission."""

import sys
from typing import Final

import uvloop
from fastapi import FastAPI, Request
from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from deemster.domain.ids import SUBMISSION, new_id
from deemster.settings import load_settings
from deemster.store.pool import Pool
from deemster.wiring.api import DATABASE_CONNECTIONS, serve
from deemster.wiring.process import die_with_parent
from deemster.wiring.resources import open_database

TABLE: Final = """
CREATE TABLE IF NOT EXISTS bare (
    id           text PRIMARY KEY,
    problem_id   text NOT NULL,
    language     text NOT NULL,
    source       text NOT NULL,
    submitted_at timestamptz NOT NULL DEFAULT now())
"""
INSERT: Final = """
INSERT INTO bare (id, problem_id, language, source) VALUES ($1, $2, $3, $4)
RETURNING submitted_at
"""
COUNT: Final = "SELECT count(*) FROM bare WHERE id = ANY ($1::text[])"


class InsertRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    problem_id: str
    language: str
    source_code: str


class InsertResponse(BaseModel):
    id: str
    status: str
    problem_id: str
    language: str
    submitted_at: str


def make_app(pool: Pool) -> FastAPI:
    app = FastAPI()

    @app.get("/healthz")
    async def live() -> dict[str, bool]:
        return {"alive": True}

    @app.post("/v1/submissions", status_code=202)
    async def submit(request: Request) -> Response:
        """Parses the body as the API does, which is faster than the framework's way."""
        body = InsertRequest.model_validate_json(await request.body())
        new = new_id(SUBMISSION)
        submitted_at = await pool.fetchval(
            INSERT, new, body.problem_id, body.language, body.source_code
        )
        response = InsertResponse(
            id=new,
            status="queued",
            problem_id=body.problem_id,
            language=body.language,
            submitted_at=submitted_at.isoformat(),
        )
        return Response(response.model_dump_json(), 202, media_type="application/json")

    return app


async def run() -> None:
    settings = load_settings()
    async with open_database(settings, "bare", max_size=DATABASE_CONNECTIONS) as pool:
        await pool.execute(TABLE)
        await serve(make_app(pool), settings)


if __name__ == "__main__":
    die_with_parent(int(sys.argv[1]))
    uvloop.run(run())
