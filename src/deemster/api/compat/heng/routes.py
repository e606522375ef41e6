"""The route `POST /c/v1/judges` of heng-controller (M6)."""

import asyncio
from io import BytesIO
from typing import Final

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from deemster.api.app_state import AppState, app_state
from deemster.api.authentication import actor_of
from deemster.api.compat.error_answers import answering_errors, error_as, message_of
from deemster.api.compat.heng.downloads import Downloads, content_of, known_digest
from deemster.api.compat.heng.languages import language_of, source_name
from deemster.api.compat.heng.signed_request import Signer, read_signed
from deemster.api.compat.heng.task import DirectFile, Executable, JudgeTask
from deemster.api.compat.heng.task_problem import TaskProblem
from deemster.api.compat.runnable_languages import installed
from deemster.api.http.direct_route import DirectRoute
from deemster.api.http.errors import TooSlow, UnknownPath, invalid_body, kind_of
from deemster.api.permissions import HENG_JUDGES, HENG_ROOT, METHODS, OTHER_PATHS
from deemster.domain.errors import DeemsterError, Refused
from deemster.domain.language import Language
from deemster.domain.source import SOURCE_BYTES
from deemster.domain.submission import HengTask
from deemster.pipeline.accept.submissions import SubmitRequest
from deemster.public_addresses import is_plainly_private

SOURCE_FIELD: Final = "judge.user.source"


async def create_judge(request: Request) -> Response:
    """Answers when the task is stored; its program runs later."""
    signer, body = await read_signed(request)
    state = app_state(request)
    await state.admission.admit_heng_task()
    try:
        task = JudgeTask.model_validate_json(body)
    except ValidationError as fault:
        raise invalid_body(fault) from None
    check_callbacks(state, task)
    language = await user_language(state, task.judge.user)
    limit_s = state.settings.heng_import_s
    try:
        async with asyncio.timeout(limit_s):
            asked = await submit_request(request, signer, task, language)
    except TimeoutError:
        raise TooSlow(
            f"The files of the task were not fetched and stored within {limit_s:g} s: make "
            "them smaller, or raise DEEMSTER_HENG_IMPORT_S."
        ) from None
    await state.dependencies.accept.submit(signer.account, asked)
    state.cache_invalidation.forget_list(signer.account.id)
    return Response(status_code=201)


async def submit_request(
    request: Request, signer: Signer, task: JudgeTask, language: Language
) -> SubmitRequest:
    """Stores the data of the task and fetches the program."""
    state, user = app_state(request), task.judge.user
    downloads = Downloads(state.settings.webhook_allow_private)
    source = await user_source(downloads, user)
    actor = actor_of(request, signer.account)
    problem = await TaskProblem(state, actor, task, downloads).stored()
    return SubmitRequest(
        problem,
        language.id,
        {source_name(language, user, source): source},
        webhook_url=task.callback_urls.finish,
        heng=HengTask(
            signer.access_key, task.callback_urls.update, user.limit.compiler.message
        ),
    )


async def user_language(state: AppState, user: Executable) -> Language:
    language = language_of(state.dependencies.catalogue, user, "judge.user")
    versions = await installed(state)
    if versions and language.id not in versions:
        raise Refused(f"judge.user.environment.language: no worker has {language.id}.")
    return language


async def user_source(downloads: Downloads, user: Executable) -> bytes:
    if isinstance(user.source, DirectFile):
        known_digest(user.source, SOURCE_FIELD)  # refuses a wrong hashsum
        return content_of(user.source)
    fetched = BytesIO()
    await downloads.fetch(user.source, fetched, SOURCE_BYTES, SOURCE_FIELD)
    return fetched.getvalue()


def check_callbacks(state: AppState, task: JudgeTask) -> None:
    """Refuses plainly private addresses early; the delivery checks all addresses (H3)."""
    if state.settings.webhook_allow_private:
        return
    for name, url in task.callback_urls.model_dump().items():
        if is_plainly_private(url):
            raise Refused(f"callbackUrls.{name}: this is a private address, use a public one.")


async def unknown_path(request: Request) -> Response:
    raise UnknownPath(f"There is no {request.method} {request.url.path} here.")


def answer_error(fault: DeemsterError) -> Response:
    """An `ErrorResponse` of heng-protocol; its code is the HTTP status."""
    body = {"code": kind_of(type(fault)).status, "message": message_of(fault)}
    return error_as(body, fault)


routes: Final[list[BaseRoute]] = [
    DirectRoute(HENG_JUDGES, answering_errors(create_judge, answer_error), methods=["POST"]),
    DirectRoute(
        HENG_ROOT + OTHER_PATHS,
        answering_errors(unknown_path, answer_error),
        methods=list(METHODS),
    ),
]
