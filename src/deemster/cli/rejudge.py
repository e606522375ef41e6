"""`deemster rejudge`: judges again, by the test data that is in force now (A9)."""

import json
import sys
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal

import typer
import uvloop
from typer.core import TyperGroup

from deemster.cli import rejudging
from deemster.cli.for_each import for_each
from deemster.domain.errors import NotFound, Refused
from deemster.domain.ids import PROBLEM, ContestId, ProblemId, SubmissionId
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.build.languages import load_catalogue
from deemster.pipeline.verdict.rejudge import rejudge as judge_again
from deemster.pipeline.verdict.rejudging_set import Overview, describe_unended, make
from deemster.settings import load_settings
from deemster.store import accounts, contests
from deemster.store.audit import Actor
from deemster.store.pool import Pool, connection
from deemster.store.problems import get
from deemster.store.rejudgings import RejudgingFilter, count_unfinished, find_matching
from deemster.wiring.resources import open_command_database, operator

EXIT_OURS = 2
MOST = 1_000_000
HELP: Final = {"-h", "--help"}
NOW: Final = "now"


class NowOrNamed(TyperGroup):
    """What is none of the commands is which submissions to judge again."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or args[0] not in {*HELP, *self.commands}:
            args = [NOW, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    name="rejudge",
    cls=NowOrNamed,
    help="Judge submissions again: at once, or on trial (`--stage`) to be applied or dropped."
    "\n\nHow to choose them: `deemster rejudge now --help`.",
    add_completion=False,
    rich_markup_mode="markdown",
)
rejudging.add_commands(app)


@app.command(NOW)
def rejudge(  # noqa: PLR0913, PLR0917 - they are options
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID…", help="Submissions; or choose them with options."),
    ] = None,
    problem: Annotated[
        str | None, typer.Option(metavar="P", help="All of this problem.", show_default=False)
    ] = None,
    contest: Annotated[
        str | None, typer.Option(metavar="C", help="Of this contest.", show_default=False)
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
    since: Annotated[
        str | None,
        typer.Option("--from", metavar="TIME", help="Submitted then or later (UTC)."),
    ] = None,
    until: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="Submitted before (UTC).")
    ] = None,
    outdated: Annotated[
        bool,
        typer.Option("--outdated", help="Judged by other test data than is in force."),
    ] = False,
    stage: Annotated[
        bool, typer.Option("--stage", help="On trial: nothing counts until it is applied.")
    ] = False,
    reason: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Why; with --stage.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Judge submissions again; this is what `deemster rejudge` does without a command.

    Each gets a new id, and is judged after everyone else's; the old verdict stays readable, and
    counts no more. For example:

        deemster rejudge sub_01k7h1hfchy7421t0c4da209j5
        deemster rejudge --problem prob_aplusb --verdict 'Judge Error'
        deemster rejudge --problem prob_aplusb --stage --reason 'case 7 was wrong'
        deemster rejudge --problem prob_aplusb --outdated --stage
    """
    asked = Asked(
        problem, contest, verdict, language, user, since, until, True if outdated else None
    )
    if asked.is_something == bool(ids):
        raise Refused("Name submissions, or choose them with options such as --problem.")
    named = [SubmissionId(each) for each in ids or ()]
    if stage:
        rejudging.report(uvloop.run(stage_asked(asked, named, reason)), as_json=as_json)
        return
    if reason is not None:
        raise Refused("A reason is kept with a set only: add --stage, or leave it out.")
    done, failed = uvloop.run(
        rejudge_named(named) if named else rejudge_chosen(asked, sure=yes)
    )
    if as_json:
        print(json.dumps({"rejudged": done}))
    else:
        for old, new in done.items():
            print(f"{old} is judged again as {new}")
    if failed:
        raise typer.Exit(EXIT_OURS)


@dataclass(frozen=True, slots=True)
class Asked:
    """Options, as they were typed."""

    problem: str | None
    contest: str | None
    verdict: str | None
    language: str | None
    user: str | None
    since: str | None
    until: str | None
    outdated: Literal[True] | None

    @property
    def is_something(self) -> bool:
        return any(each is not None for each in astuple(self))


Rejudged = tuple[dict[SubmissionId, SubmissionId], int]
"""The new by the old, and how many could not be."""


async def stage_asked(
    asked: Asked, named: Sequence[SubmissionId], reason: str | None
) -> Overview:
    async with open_command_database(load_settings()) as pool:
        wanted = RejudgingFilter(ids=named) if named else await wanted_of(pool, asked)
        return await make(pool, wanted, Actor(operator()), reason=reason)


async def rejudge_named(ids: Sequence[SubmissionId]) -> Rejudged:
    async with open_command_database(load_settings()) as pool:
        return await rejudge_all(pool, ids)


async def rejudge_chosen(asked: Asked, *, sure: bool) -> Rejudged:
    async with open_command_database(load_settings()) as pool:
        wanted = await wanted_of(pool, asked)
        async with connection(pool) as acquired:
            ids = [match.id for match in await find_matching(acquired, wanted, limit=MOST)]
            others = describe_unended(await count_unfinished(acquired, wanted))
        if others:
            print(others, file=sys.stderr)
        if not ids:
            print("No submission matches.", file=sys.stderr)
        elif not sure:
            confirm(len(ids))
        return await rejudge_all(pool, ids)


async def rejudge_all(pool: Pool, ids: Sequence[SubmissionId]) -> Rejudged:
    actor = Actor(operator())

    async def act(submission: SubmissionId) -> SubmissionId:
        return (await judge_again(pool, submission, actor=actor)).id

    return await for_each(ids, act)


async def wanted_of(pool: Pool, asked: Asked) -> RejudgingFilter:
    """Names that don't exist are told: they would choose nothing, silently."""
    async with connection(pool) as acquired:
        account = await accounts.find_by_name(acquired, asked.user) if asked.user else None
        if asked.user is not None and account is None:
            raise NotFound(f"There is no account {asked.user}: see `deemster user list`.")
        problem = ProblemId(asked.problem) if asked.problem is not None else None
        if problem is not None and await get(acquired, problem) is None:
            raise NotFound(
                f"There is no problem {problem}: ids begin with {PROBLEM}_, see "
                "`deemster problem list`."
            )
        contest = ContestId(asked.contest) if asked.contest is not None else None
        if contest is not None and await contests.get(acquired, contest) is None:
            raise NotFound(f"There is no contest {contest}.")
    return RejudgingFilter(
        account=account.id if account else None,
        problem=problem,
        contest=contest,
        verdict=verdict_of(asked.verdict) if asked.verdict is not None else None,
        language=load_catalogue().named(asked.language).id if asked.language else None,
        submitted_from=time_of(asked.since) if asked.since is not None else None,
        submitted_to=time_of(asked.until) if asked.until is not None else None,
        outdated=asked.outdated,
    )


def verdict_of(text: str) -> Verdict:
    for verdict in Verdict:
        if verdict.lower() == text.strip().lower():
            return verdict
    raise Refused(f"No verdict is called {text!r}: there are {', '.join(Verdict)}.")


def time_of(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Refused(f"{text!r} is no time: write it as 2026-03-01T14:30.") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def confirm(count: int) -> None:
    if not sys.stdin.isatty():
        raise Refused(
            f"{count:,} submissions would be judged again: add --yes if that is meant."
        )
    typer.confirm(f"Judge {count:,} submissions again?", abort=True, err=True)
