"""Looks up objects that several routes need, and refuses those that the caller may not see."""

from collections.abc import Iterable

from deemster.api.http.errors import Forbidden
from deemster.domain.account import Account, Role
from deemster.domain.errors import NotFound, Refused
from deemster.domain.ids import (
    GENERATED_ID,
    AccountId,
    ContestId,
    ProblemId,
    SubmissionId,
    parse_problem_id,
)
from deemster.domain.submission import SubmissionView
from deemster.store import accounts, contests, problems, submissions
from deemster.store.accounts import AccountView
from deemster.store.contests import Contest
from deemster.store.pool import Connection
from deemster.store.workers import WorkerView


def may_see(caller: Account, owner: AccountId) -> bool:
    return caller.id == owner or caller.role is Role.ADMIN


async def visible_submission(
    acquired: Connection, caller: Account, submission: str
) -> SubmissionView:
    """Does not reveal whether a submission of another account exists (A11)."""
    view = await known_submission(acquired, caller, submission)
    if not may_see(caller, view.account):
        raise unknown_submission()
    return view


async def known_submission(
    reading: Connection, caller: Account, submission: str
) -> SubmissionView:
    """Only admins see trials of a rejudging before it is applied, and examples of packages;
    the author who owns the problem sees its examples, too.
    """
    view = None
    if GENERATED_ID.fullmatch(submission):
        view = await submissions.get(reading, SubmissionId(submission))
    if view is None or (view.staged_in is not None and caller.role is not Role.ADMIN):
        raise unknown_submission()
    if view.example is not None and not await teaches(reading, caller, view):
        raise unknown_submission()
    return view


async def teaches(reading: Connection, caller: Account, view: SubmissionView) -> bool:
    """Whether the caller is an admin, or the author who owns the submission's problem."""
    if caller.role is not Role.AUTHOR:
        return caller.role is Role.ADMIN
    ownership = await problems.get_ownership(reading, view.problem)
    return ownership is not None and ownership.owner == caller.id


def unknown_submission() -> NotFound:
    return NotFound("There is no such submission, or it belongs to another account.")


def only_own(caller: Account) -> bool:
    """Authors change only their own problems; admins change all."""
    return caller.role is not Role.ADMIN


def problem_of_path(given: str) -> ProblemId:
    try:
        problem = parse_problem_id(given)
    except Refused:
        problem = None
    if problem != given:
        raise NotFound("There is no such problem, or it belongs to another author.")
    return problem


async def known_contest(acquired: Connection, contest: str) -> Contest:
    found = None
    if GENERATED_ID.fullmatch(contest):
        found = await contests.get(acquired, ContestId(contest))
    if found is None:
        raise NotFound("There is no such contest: see GET /v1/contests.")
    return found


async def known_account(acquired: Connection, account: str) -> AccountView:
    view = None
    if GENERATED_ID.fullmatch(account):
        view = await accounts.get(acquired, AccountId(account))
    if view is None:
        raise NotFound("There is no such account: see GET /v1/admin/users.")
    return view


async def account_by_id_or_name(acquired: Connection, user: str) -> AccountId | None:
    if GENERATED_ID.fullmatch(user):
        view = await accounts.get(acquired, AccountId(user))
        return view.id if view is not None else None
    found = await accounts.find_by_name(acquired, user)
    return found.id if found is not None else None


async def account_filter(
    acquired: Connection, caller: Account, user: str | None
) -> AccountId | None:
    """The account whose objects the caller may list; None: those of all accounts."""
    if caller.role is not Role.ADMIN:
        if user not in {None, caller.id, caller.name}:
            raise Forbidden(
                "You can see only your own submissions: leave out the parameter `user`."
            )
        return caller.id
    if user is None:
        return None
    found = await account_by_id_or_name(acquired, user)
    if found is None:
        raise NotFound(f"There is no account {user}.")
    return found


async def problem_filter(
    acquired: Connection, caller: Account, problem: str | None
) -> ProblemId | None:
    """Refuses a problem that does not exist, or that the caller may not see."""
    if problem is None:
        return None
    found = await problems.get(acquired, ProblemId(problem))
    if found is None or found.unlisted or not found.is_open_to(caller):
        raise NotFound(f"There is no problem {problem}: see GET /v1/problems.")
    return found.id


async def contest_filter(acquired: Connection, contest: str | None) -> ContestId | None:
    return (await known_contest(acquired, contest)).id if contest is not None else None


def installed_versions(workers: Iterable[WorkerView]) -> dict[str, list[str]]:
    """Versions by language, of all languages that at least one worker has."""
    found: dict[str, set[str]] = {}
    for worker in workers:
        for language in worker.languages:
            versions = found.setdefault(language, set())
            if language in worker.versions:
                versions.add(worker.versions[language])
    return {language: sorted(versions) for language, versions in found.items()}
