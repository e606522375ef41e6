"""Sends the files of a problem that contestants may download."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final
from urllib.parse import quote

from starlette.responses import Response, StreamingResponse

from deemster.api.app_state import AppState
from deemster.api.problems import visible_summary
from deemster.domain.account import Account
from deemster.domain.errors import NotFound
from deemster.problems.downloads import zip_samples
from deemster.problems.importing import Importer
from deemster.store.pool import connection
from deemster.store.problems import ProblemSummary

CHUNK_BYTES: Final = 256 * 1024
PDF: Final = "application/pdf"
OTHER: Final = "application/octet-stream"
ZIP: Final = "application/zip"


async def file_response(
    state: AppState, caller: Account, problem_id: str, name: str
) -> Response:
    summary = await readable_summary(state, caller, problem_id)
    for each in summary.details.get("downloads", ()):
        if each["name"] == name:
            content = chunks(state.dependencies.importer, summary.digest, each["path"])
            headers = {"Content-Length": str(each["bytes"]), **attachment(name)}
            media_type = PDF if name.endswith(".pdf") else OTHER
            return StreamingResponse(content, headers=headers, media_type=media_type)
    raise NotFound("The problem has no such file: GET /v1/problems/{id} lists its files.")


async def samples_response(state: AppState, caller: Account, problem_id: str) -> Response:
    summary = await readable_summary(state, caller, problem_id)
    async with state.dependencies.importer.opened(summary.digest) as revision:
        content = await asyncio.to_thread(zip_samples, revision.problem, revision.directory)
    headers = attachment(f"{summary.id.removeprefix('prob_')}-samples.zip")
    return Response(content, headers=headers, media_type=ZIP)


async def readable_summary(state: AppState, caller: Account, problem_id: str) -> ProblemSummary:
    async with connection(state.pool) as acquired:
        return await visible_summary(acquired, caller, problem_id)


async def chunks(importer: Importer, digest: str, path: str) -> AsyncIterator[bytes]:
    """Holds the revision while its file is sent."""
    async with importer.opened(digest) as revision:
        with (Path(revision.directory) / path).open("rb") as file:
            while content := await asyncio.to_thread(file.read, CHUNK_BYTES):
                yield content


def attachment(name: str) -> dict[str, str]:
    """A browser stores the file and never opens it as a page of this site."""
    return {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}
