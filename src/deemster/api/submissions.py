"""Accepts, awaits and reads submissions for routes and compatible APIs (A1, A2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from deemster.api.admission import RateTokens
from deemster.api.app_state import AppState, app_state
from deemster.api.http.body import to_json
from deemster.api.http.idempotent_replay import pass_repeats
from deemster.api.http.paging import cut
from deemster.api.http.webhook_url import check_webhook_url
from deemster.api.lookups import (
    account_filter,
    contest_filter,
    problem_filter,
    unknown_submission,
    visible_submission,
)
from deemster.api.models.submissions import (
    SourceOut,
    Status,
    SubmissionOut,
    SubmissionPage,
    SubmissionQuery,
    file_out,
    item_out,
    submission_out,
)
from deemster.api.wait import waiting_request
from deemster.cache.cache import CacheEntry, Loaded
from deemster.cache.kinds import MY_SUBMISSIONS, RUNNING_STATUS_S, STATUS
from deemster.domain.account import Account, Role
from deemster.domain.errors import NotFound
from deemster.domain.ids import GENERATED_ID, SubmissionId
from deemster.domain.judgement import ContestantCase
from deemster.domain.lifecycle import SETTLED, WAITING
from deemster.domain.source import unpack_files
from deemster.domain.stored_analysis import StoredAnalysis
from deemster.domain.submission import AcceptedSubmission
from deemster.domain.verdict import Verdict
from deemster.pipeline.accept.submissions import SubmitRequest
from deemster.store import analyses, submissions
from deemster.store.inline_artifacts import fetch
from deemster.store.pool import Connection, connection


async def admit_submission(
    request: Request, caller: Account, key: str | None, tokens: RateTokens
) -> dict[str, str]:
    """Returns headers for the response. Call it before the source is read."""
    state = app_state(request)
    async with pass_repeats(state, caller, key):
        return await state.admission.admit(request, caller, tokens)
    return {}  # the request repeats an earlier one


async def accept_submission(
    state: AppState, caller: Account, asked: SubmitRequest, tokens: RateTokens
) -> AcceptedSubmission:
    """Call it for an admitted submission; it is judged later. A repeat uses up no rate."""
    async with pass_repeats(state, caller, asked.idempotency_key):
        check_webhook_url(asked.webhook_url, state.settings)
        await state.admission.admit_to_problem(asked.problem, caller, tokens)
    accepted, is_new = await state.dependencies.accept.submit(caller, asked)
    if not is_new:
        await tokens.give_back()
    state.cache_invalidation.forget_list(caller.id)
    return accepted


async def await_submission(
    state: AppState, caller: Account, submission: str, wait_s: float
) -> CacheEntry:
    """Returns the submission when it is judged, or after so many seconds."""

    async def is_settled() -> bool:
        async with connection(state.pool) as acquired:
            return (await visible_submission(acquired, caller, submission)).state in SETTLED

    if wait_s > 0:
        with waiting_request(state, caller, wait_s) as bounded_s:
            await state.feed.wait_until_settled(SubmissionId(submission), bounded_s, is_settled)
        state.cache_invalidation.forget_list(caller.id)
    return await cached_submission(state, caller, submission)


async def cached_submission(state: AppState, caller: Account, submission: str) -> CacheEntry:
    """The entry may be a moment old, but includes all events that this process has seen."""
    if not GENERATED_ID.fullmatch(submission):
        raise unknown_submission()

    async def load() -> Loaded | None:
        try:
            async with connection(state.pool) as acquired:
                found = await read_submission(acquired, caller, submission)
        except NotFound:
            return None
        is_running = found.status is Status.RUNNING
        return Loaded(to_json(found), keep_s=RUNNING_STATUS_S if is_running else None)

    entry = await state.cache.get_private(STATUS, caller, submission, load, subject=submission)
    if entry.body is None:
        raise unknown_submission()
    return entry


async def read_submission(
    acquired: Connection, caller: Account, submission: str
) -> SubmissionOut:
    view = await visible_submission(acquired, caller, submission)
    is_waiting = view.state in WAITING
    position = await submissions.queue_position(acquired, view) if is_waiting else None
    return submission_out(view, position)


async def list_visible(state: AppState, caller: Account, query: SubmissionQuery) -> bytes:
    """A `SubmissionPage` as JSON, newest first; only admins see those of others."""
    catalogue = state.dependencies.catalogue
    language = catalogue.named(query.language).id if query.language else None
    before = SubmissionId(query.last_id) if query.last_id else None

    async def load() -> Loaded:
        async with connection(state.pool) as acquired:
            wanted = submissions.SubmissionFilter(
                account=await account_filter(acquired, caller, query.user),
                problem=await problem_filter(acquired, caller, query.problem),
                contest=await contest_filter(acquired, query.contest),
                verdict=query.verdict,
                language=language,
                states=query.status.states if query.status else None,
            )
            limit = query.limit + 1
            found = await submissions.page(acquired, wanted, before=before, limit=limit)
        page, cursor = cut(found, query.limit, lambda view: view.id)
        items = [item_out(view) for view in page]
        return Loaded(to_json(SubmissionPage(items=items, next_cursor=cursor)))

    if before is not None or not asks_for_own(caller, query.user):
        return (await load()).body
    entry = await state.cache.get_private(
        MY_SUBMISSIONS, caller, query.model_dump_json(), load, subject=caller.id
    )
    assert entry.body is not None, "a list may be empty, but there is one"
    return entry.body


async def previous_submission(
    state: AppState, caller: Account, submission: str
) -> SubmissionId | None:
    """The submission of the same user to the same problem before this one."""
    async with connection(state.pool) as acquired:
        view = await visible_submission(acquired, caller, submission)
        same = submissions.SubmissionFilter(account=view.account, problem=view.problem)
        found = await submissions.page(acquired, same, before=view.id, limit=1)
    return found[0].id if found else None


def asks_for_own(caller: Account, user: str | None) -> bool:
    if user is None:
        return caller.role is not Role.ADMIN
    return user in {caller.id, caller.name}


@dataclass(frozen=True, slots=True)
class CasesAndAnalysis:
    """What pages show beside the submission itself; nothing of it is hidden test data."""

    cases: Sequence[ContestantCase]
    """Empty until the verdict is known."""
    analysis: StoredAnalysis | None


async def read_details(state: AppState, caller: Account, submission: str) -> CasesAndAnalysis:
    async with connection(state.pool) as acquired:
        view = await visible_submission(acquired, caller, submission)
        analysis = await analyses.get(acquired, view.id)
    judged = view.judgement if view.verdict is not None else None
    return CasesAndAnalysis(
        tuple(map(case_from_json, (judged or {}).get("cases", ()))), analysis
    )


def case_from_json(case: Mapping[str, Any]) -> ContestantCase:
    verdict = case["verdict"]
    return ContestantCase(
        case["number"],
        Verdict(verdict) if verdict else None,
        case["is_sample"],
        case["cpu_ms"],
        case["memory_kb"],
    )


async def read_source(state: AppState, caller: Account, submission: str) -> SourceOut:
    async with connection(state.pool) as acquired:
        view = await visible_submission(acquired, caller, submission)
        details = await submissions.submission_details(acquired, view.id)
        assert details is not None, "rows of submissions are never deleted"
        content = await fetch(acquired, state.dependencies.artifacts, details.source)
    files = [file_out(name, each) for name, each in unpack_files(content).items()]
    return SourceOut(id=view.id, language=view.language, main=details.main, files=files)
