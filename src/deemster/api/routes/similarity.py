"""Similar submissions: of one submission, of a problem, and as an archive for Dolos (P6)."""

import asyncio
from collections.abc import AsyncIterator
from tempfile import SpooledTemporaryFile
from typing import IO, Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from deemster.api.app_state import AppState, app_state
from deemster.api.authentication import Caller, actor_of
from deemster.api.http.body import json_response
from deemster.api.http.errors import errors
from deemster.api.http.paging import cut
from deemster.api.lookups import visible_submission
from deemster.api.models.similarity import (
    ClusterOut,
    DolosQuery,
    SimilarityPage,
    SimilarityQuery,
    SimilarList,
    cluster_out,
    pair_out,
    position_of,
    progress_out,
    similar_list,
)
from deemster.api.models.submissions import SUBMISSIONS_PATH
from deemster.api.problems import known_problem
from deemster.domain.ids import ProblemId
from deemster.domain.similarity import clusters
from deemster.domain.submission import SubmissionView
from deemster.pipeline.similarity.dolos import (
    DolosArchive,
    first_starter,
    languages_like,
    most_used,
)
from deemster.store import audit, similarity
from deemster.store.inline_artifacts import fetch
from deemster.store.pool import Connection, connection

router = APIRouter(tags=["similarity"])
PATH: Final = "/v1/problems/{id}/similarity"
ZIP_TYPE: Final = "application/zip"
MAX_EXPORTED: Final = 5000
IN_MEMORY_BYTES: Final = 8 << 20
CHUNK_BYTES: Final = 1 << 16


@router.get(
    SUBMISSIONS_PATH + "/{id}/similar", response_model=SimilarList, responses=errors(404)
)
async def list_similar(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Lists submissions of other users that are similar to one, the most similar first."""
    async with connection(app_state(request).pool) as acquired:
        view = await original(acquired, caller, await visible_submission(acquired, caller, id))
        status = await similarity.status(acquired, view.id)
        pairs = await similarity.list_of_submission(acquired, view.id)
    return json_response(similar_list(view.id, status, pairs))


async def original(
    acquired: Connection, caller: Caller, view: SubmissionView
) -> SubmissionView:
    """A rejudged submission is compared under the id that it had first."""
    while view.rejudge_of is not None:
        view = await visible_submission(acquired, caller, view.rejudge_of)
    return view


@router.get(PATH, response_model=SimilarityPage, responses=errors(404, 422))
async def show_similarity(
    request: Request,
    _caller: Caller,
    id: str,  # noqa: A002
    query: Annotated[SimilarityQuery, Query()],
) -> Response:
    """Lists pairs of similar submissions of a problem, the most similar first: of every two
    users the most similar pair. Clusters are groups of submissions that pairs connect.
    """
    async with connection(app_state(request).pool) as acquired:
        problem = await known_problem(acquired, id)
        progress = await similarity.progress(acquired, problem)
        found = await similarity.page_of_problem(
            acquired,
            problem,
            at_least=query.thousandths,
            after=query.position,
            limit=query.limit + 1,
        )
        groups = await find_clusters(acquired, problem, query) if not query.cursor else []
    page, cursor = cut(found, query.limit, position_of)
    return json_response(
        SimilarityPage(
            items=[pair_out(pair) for pair in page],
            next_cursor=cursor,
            progress=progress_out(progress),
            clusters=groups,
        )
    )


async def find_clusters(
    acquired: Connection, problem: ProblemId, query: SimilarityQuery
) -> list[ClusterOut]:
    links = await similarity.list_links(acquired, problem, at_least=query.thousandths)
    groups = clusters(links)
    names = await similarity.author_names(
        acquired, {each for group in groups for each in group}
    )
    return [cluster_out(group, names) for group in groups]


@router.get(
    PATH + "/dolos",
    response_class=Response,
    responses={200: {"content": {ZIP_TYPE: {}}}, **errors(404, 422)},
)
async def export_for_dolos(
    request: Request,
    caller: Caller,
    id: str,  # noqa: A002
    query: Annotated[DolosQuery, Query()],
) -> Response:
    """Returns a ZIP archive for Dolos: of each user the newest accepted program, or else the
    newest one, in one language, with a table of their authors and times.
    """
    state = app_state(request)
    async with connection(state.pool) as acquired:
        problem = await known_problem(acquired, id)
        await audit.record(acquired, actor_of(request, caller), "similarity.export", problem)
    file = SpooledTemporaryFile(IN_MEMORY_BYTES)  # noqa: SIM115 - closed when it was sent
    try:
        await write_archive(state, problem, query.language, file)
    except BaseException:
        file.close()
        raise
    headers = {"Content-Disposition": f'attachment; filename="{problem}.zip"'}
    return StreamingResponse(chunks_of(file), media_type=ZIP_TYPE, headers=headers)


async def write_archive(
    state: AppState, problem: ProblemId, language: str | None, file: IO[bytes]
) -> None:
    catalogue = state.dependencies.catalogue
    async with connection(state.pool) as acquired:
        if language is None:
            authors = await similarity.authors_by_language(acquired, problem)
            language = most_used(catalogue, authors)
        languages = languages_like(catalogue, language) if language else []
        found = await similarity.list_newest(acquired, problem, languages, limit=MAX_EXPORTED)
        starters = await similarity.starters(acquired, problem)
    archive = DolosArchive(file, catalogue)
    starter = first_starter(catalogue, languages, starters)
    if starter is not None:
        archive.add_template(starter, starters[starter])
    for submission in found:
        async with connection(state.pool) as acquired:
            packed = await fetch(acquired, state.dependencies.artifacts, submission.source)
        await asyncio.to_thread(archive.add, submission, packed)
    await asyncio.to_thread(archive.close)
    file.seek(0)


async def chunks_of(file: IO[bytes]) -> AsyncIterator[bytes]:
    with file:
        while chunk := await asyncio.to_thread(file.read, CHUNK_BYTES):
            yield chunk
