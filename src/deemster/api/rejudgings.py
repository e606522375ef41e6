"""Rejudges sets of submissions on trial, and applies or drops the new verdicts."""

from starlette.requests import Request

from deemster.api.app_state import AppState, app_state
from deemster.api.authentication import actor_of
from deemster.api.http.paging import PageQuery, cut
from deemster.api.lookups import account_by_id_or_name, visible_submission
from deemster.api.models.rejudgings import (
    ChangePage,
    RejudgingIn,
    RejudgingOut,
    RejudgingPage,
    change_out,
    item_out,
    rejudging_out,
)
from deemster.domain.account import Account
from deemster.domain.errors import NotFound, Refused
from deemster.domain.ids import GENERATED_ID, ContestId, ProblemId, RejudgingId, SubmissionId
from deemster.pipeline.verdict import rejudging_set
from deemster.pipeline.verdict.rejudge import rejudge
from deemster.store import rejudgings
from deemster.store.pool import connection, transaction
from deemster.store.rejudgings import RejudgingFilter


async def create_rejudging(
    request: Request, caller: Account, asked: RejudgingIn
) -> RejudgingId:
    """Creates all trials; if this is interrupted, the judge continues."""
    state = app_state(request)
    wanted = await to_filter(state, asked)
    async with transaction(state.pool) as writing:
        actor = actor_of(request, caller)
        rejudging = await rejudging_set.begin(writing, wanted, actor, asked.reason)
    await rejudging_set.stage_all(state.pool, rejudging)
    return rejudging


async def rejudge_one(request: Request, caller: Account, submission: str) -> SubmissionId:
    """Replaces a submission by a new one with the same source, at once."""
    state = app_state(request)
    async with transaction(state.pool) as writing:
        view = await visible_submission(writing, caller, submission)
        accepted = await rejudge(writing, view.id, actor=actor_of(request, caller))
    state.cache_invalidation.forget_work(view.id, view.account)
    return accepted.id


async def list_rejudgings(state: AppState, query: PageQuery) -> RejudgingPage:
    """Newest first."""
    before = RejudgingId(query.last_id) if query.last_id else None
    async with connection(state.pool) as acquired:
        found = await rejudgings.page(acquired, before=before, limit=query.limit + 1)
    page, cursor = cut(found, query.limit, lambda each: each.id)
    return RejudgingPage(items=list(map(item_out, page)), next_cursor=cursor)


async def show_rejudging(state: AppState, given: str) -> RejudgingOut:
    """With the number of verdicts that change from which to which."""
    overview = await rejudging_set.overview(state.pool, checked(given))
    async with connection(state.pool) as acquired:
        matrix = await rejudgings.verdict_matrix(acquired, overview.rejudging.id)
    return rejudging_out(overview, matrix)


async def list_changes(state: AppState, given: str, query: PageQuery) -> ChangePage:
    """Submissions whose verdict or score changes, and trials that can't be applied."""
    after = SubmissionId(query.last_id) if query.last_id else None
    async with connection(state.pool) as acquired:
        found = await rejudgings.get(acquired, checked(given))
        if found is None:
            raise unknown_rejudging()
        limit = query.limit + 1
        rows = await rejudgings.list_changes(acquired, found.id, after=after, limit=limit)
    page, cursor = cut(rows, query.limit, lambda change: change.old)
    return ChangePage(items=list(map(change_out, page)), next_cursor=cursor)


async def apply_rejudging(request: Request, caller: Account, given: str) -> RejudgingOut:
    state = app_state(request)
    done = await rejudging_set.apply(state.pool, checked(given), actor_of(request, caller))
    state.cache_invalidation.forget_submissions()
    return rejudging_out(done)


async def drop_rejudging(request: Request, caller: Account, given: str) -> RejudgingOut:
    state = app_state(request)
    done = await rejudging_set.drop(state.pool, checked(given), actor_of(request, caller))
    state.cache_invalidation.forget_submissions()
    return rejudging_out(done)


async def to_filter(state: AppState, asked: RejudgingIn) -> RejudgingFilter:
    account = None
    if asked.user is not None:
        async with connection(state.pool) as acquired:
            account = await account_by_id_or_name(acquired, asked.user)
        if account is None:
            raise Refused(f"There is no account {asked.user}.")
    catalogue = state.dependencies.catalogue
    return RejudgingFilter(
        problem=ProblemId(asked.problem) if asked.problem else None,
        contest=ContestId(asked.contest) if asked.contest else None,
        verdict=asked.verdict,
        language=catalogue.named(asked.language).id if asked.language else None,
        account=account,
        submitted_from=asked.submitted_from,
        submitted_to=asked.submitted_to,
        ids=sorted({SubmissionId(each) for each in asked.ids}) if asked.ids else None,
        outdated=True if asked.outdated else None,
    )


def checked(given: str) -> RejudgingId:
    if not GENERATED_ID.fullmatch(given):
        raise unknown_rejudging()
    return RejudgingId(given)


def unknown_rejudging() -> NotFound:
    return NotFound("There is no such rejudging: see GET /v1/admin/rejudgings.")
