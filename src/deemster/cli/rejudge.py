"""`deemster rejudge`: judges again, by the test data that is in force now (A9)."""

import json
import sys
from collections.abc import Sequence
from typing import Annotated

import typer
import uvloop

from deemster.cli.many import for_each
from deemster.cli.store import open_store
from deemster.domain.errors import NotFound, Refused
from deemster.domain.ids import PROBLEM, ProblemId, SubmissionId
from deemster.domain.verdict import Verdict
from deemster.pipeline.verdict.rejudge import rejudge as judge_again
from deemster.settings import load_settings
from deemster.store import accounts
from deemster.store.pool import Pool, connection
from deemster.store.problems import in_force
from deemster.store.submissions import Filter, find_rejudge

EXIT_OURS = 2
MOST = 1_000_000


def rejudge(
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID…", help="Submissions; or choose them with options."),
    ] = None,
    problem: Annotated[
        str | None, typer.Option(metavar="P", help="All of this problem.", show_default=False)
    ] = None,
    verdict: Annotated[
        str | None,
        typer.Option(
            metavar="V", help="With this verdict: 'Wrong Answer'.", show_default=False
        ),
    ] = None,
    language: Annotated[
        str | None, typer.Option(metavar="L", help="In this language.", show_default=False)
    ] = None,
    user: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of this account.", show_default=False)
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Judge submissions again.

    Each gets a new id, and is judged after everyone else's; the old verdict stays readable, and
    counts no more. For example:

        deemster rejudge sub_01k7h1hfchy7421t0c4da209j5
        deemster rejudge --problem prob_aplusb --verdict 'Judge Error'
    """
    chosen = any(each is not None for each in (problem, verdict, language, user))
    if chosen == bool(ids):
        raise Refused("Name submissions, or choose them with options such as --problem.")
    done, failed = uvloop.run(
        rejudge_named([SubmissionId(each) for each in ids])
        if ids
        else rejudge_chosen(problem, verdict, language, user, sure=yes)
    )
    if as_json:
        print(json.dumps({"rejudged": done}))
    else:
        for old, new in done.items():
            print(f"{old} is judged again as {new}")
    if failed:
        raise typer.Exit(EXIT_OURS)


Rejudged = tuple[dict[SubmissionId, SubmissionId], int]
"""The new by the old, and how many could not be."""


async def rejudge_named(ids: Sequence[SubmissionId]) -> Rejudged:
    async with open_store(load_settings()) as pool:
        return await rejudge_all(pool, ids)


async def rejudge_chosen(
    problem: str | None,
    verdict: str | None,
    language: str | None,
    user: str | None,
    *,
    sure: bool,
) -> Rejudged:
    async with open_store(load_settings()) as pool:
        wanted = await filter_of(pool, problem, verdict, language, user)
        async with connection(pool) as acquired:
            ids = await find_rejudge(acquired, wanted, MOST)
        if not ids:
            print("No submission is like that.", file=sys.stderr)
        elif not sure:
            confirm(len(ids))
        return await rejudge_all(pool, ids)


async def rejudge_all(pool: Pool, ids: Sequence[SubmissionId]) -> Rejudged:
    async def act(submission: SubmissionId) -> SubmissionId:
        return (await judge_again(pool, submission)).id

    return await for_each(ids, act)


async def filter_of(
    pool: Pool, problem: str | None, verdict: str | None, language: str | None, user: str | None
) -> Filter:
    """Names that don't exist are told: they would choose nothing, silently."""
    async with connection(pool) as acquired:
        account = await accounts.of_name(acquired, user) if user is not None else None
        if user is not None and account is None:
            raise NotFound(f"There is no account {user}: see `deemster user list`.")
        named = ProblemId(problem) if problem is not None else None
        if named is not None and await in_force(acquired, named) is None:
            raise NotFound(
                f"There is no problem {problem}: ids begin with {PROBLEM}_, see "
                "`deemster problem list`."
            )
    return Filter(
        account=account.id if account else None,
        problem=named,
        verdict=verdict_of(verdict) if verdict is not None else None,
        language=language,
    )


def verdict_of(text: str) -> Verdict:
    for verdict in Verdict:
        if verdict.lower() == text.strip().lower():
            return verdict
    raise Refused(f"No verdict is called {text!r}: there are {', '.join(Verdict)}.")


def confirm(count: int) -> None:
    if not sys.stdin.isatty():
        raise Refused(
            f"{count:,} submissions would be judged again: add --yes if that is meant."
        )
    typer.confirm(f"Judge {count:,} submissions again?", abort=True, err=True)
