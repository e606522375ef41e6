"""`deemster rejudge`: judges submissions again, by the current test data (A9)."""

import sys
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal

import typer
import uvloop
from typer.core import TyperGroup

from deemster.cli import rejudge_sets
from deemster.cli.exit_codes import ExitCode
from deemster.cli.options import AsJson
from deemster.cli.output import print_json
from deemster.cli.progress import for_each
from deemster.domain.errors import NotFound, Refused
from deemster.domain.ids import PROBLEM, ContestId, ProblemId, SubmissionId
from deemster.domain.verdict import Verdict
from deemster.pipeline.verdict.rejudge import rejudge as judge_again
from deemster.pipeline.verdict.rejudging_set import Overview, describe_unended, make
from deemster.programs.build.languages import load_catalogue
from deemster.settings import load_settings
from deemster.store import accounts, contests
from deemster.store.audit import Actor
from deemster.store.pool import Pool, connection, transaction
from deemster.store.problems import get
from deemster.store.rejudgings import RejudgingFilter, count_unfinished, find_matching
from deemster.wiring.resources import open_command_database, operator

MAX_FOUND = 1_000_000
HELP: Final = {"-h", "--help"}
NOW: Final = "now"


class DefaultsToNow(TyperGroup):
    """Arguments that name no subcommand belong to `rejudge now`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or args[0] not in {*HELP, *self.commands}:
            args = [NOW, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    name="rejudge",
    cls=DefaultsToNow,
    help="Judge submissions again, at once, or on trial (`--trial`) to apply them later."
    "\n\n`deemster rejudge now --help` says how to choose submissions.",
    add_completion=False,
    rich_markup_mode="markdown",
)
rejudge_sets.add_commands(app)


@app.command(NOW)
def rejudge(  # noqa: PLR0913, PLR0917 - they are options
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID…", help="Ids of submissions; or choose them with options."),
    ] = None,
    problem: Annotated[
        str | None,
        typer.Option(metavar="P", help="Submissions to this problem.", show_default=False),
    ] = None,
    contest: Annotated[
        str | None,
        typer.Option(metavar="C", help="Submissions in this contest.", show_default=False),
    ] = None,
    verdict: Annotated[
        str | None,
        typer.Option(
            metavar="V",
            help="Submissions with this verdict, such as 'Wrong Answer'.",
            show_default=False,
        ),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(metavar="L", help="Submissions in this language.", show_default=False),
    ] = None,
    user: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Submissions of this account.", show_default=False),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--from", metavar="TIME", help="Submissions from this time on (UTC)."),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option("--to", metavar="TIME", help="Submissions before this time (UTC)."),
    ] = None,
    outdated: Annotated[
        bool,
        typer.Option("--outdated", help="Submissions that were judged by older test data."),
    ] = False,
    trial: Annotated[
        bool,
        typer.Option(
            "--trial",
            help="Rejudge on trial: create a set whose verdicts count only after `deemster "
            "rejudge apply`.",
        ),
    ] = False,
    stage: Annotated[bool, typer.Option("--stage", hidden=True)] = False,
    reason: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Reason to keep with the set; needs --trial."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask for confirmation.")] = False,
    as_json: AsJson = False,
) -> None:
    """Judge submissions again; `deemster rejudge` without a subcommand does the same.

    Each submission gets a new id and is judged after all others. The old verdict stays
    readable, but no longer counts. For example:

        deemster rejudge sub_01k7h1hfchy7421t0c4da209j5
        deemster rejudge --problem prob_aplusb --verdict 'Judge Error'
        deemster rejudge --problem prob_aplusb --trial --reason 'case 7 was wrong'
        deemster rejudge --problem prob_aplusb --outdated --trial
    """
    choice = Choice(
        problem, contest, verdict, language, user, since, until, True if outdated else None
    )
    if choice.is_given == bool(ids):
        raise Refused("Give either ids of submissions or options such as --problem.")
    named = [SubmissionId(each) for each in ids or ()]
    if trial or stage:  # --stage is the former name of --trial
        rejudge_sets.print_overview(
            uvloop.run(make_set(choice, named, reason)), as_json=as_json
        )
        return
    if reason is not None:
        raise Refused("Only a set has a reason: add --trial, or leave --reason out.")
    done, failed = uvloop.run(
        rejudge_named(named) if named else rejudge_chosen(choice, sure=yes)
    )
    if as_json:
        print_json({"rejudged": done})
    else:
        for old, new in done.items():
            print(f"{old} is judged again as {new}")
    if failed:
        raise typer.Exit(ExitCode.UNABLE)


@dataclass(frozen=True, slots=True)
class Choice:
    """The options that choose submissions, as the user typed them."""

    problem: str | None
    contest: str | None
    verdict: str | None
    language: str | None
    user: str | None
    since: str | None
    until: str | None
    outdated: Literal[True] | None

    @property
    def is_given(self) -> bool:
        return any(each is not None for each in astuple(self))


Rejudged = tuple[dict[SubmissionId, SubmissionId], int]
"""New ids by old ids, and the number of submissions that could not be judged again."""


async def make_set(
    choice: Choice, named: Sequence[SubmissionId], reason: str | None
) -> Overview:
    async with open_command_database(load_settings()) as pool:
        selection = RejudgingFilter(ids=named) if named else await selection_of(pool, choice)
        return await make(pool, selection, Actor(operator()), reason=reason)


async def rejudge_named(ids: Sequence[SubmissionId]) -> Rejudged:
    async with open_command_database(load_settings()) as pool:
        return await rejudge_all(pool, ids)


async def rejudge_chosen(choice: Choice, *, sure: bool) -> Rejudged:
    async with open_command_database(load_settings()) as pool:
        selection = await selection_of(pool, choice)
        async with connection(pool) as acquired:
            ids = [
                match.id for match in await find_matching(acquired, selection, limit=MAX_FOUND)
            ]
            others = describe_unended(await count_unfinished(acquired, selection))
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
        async with transaction(pool) as writing:
            return (await judge_again(writing, submission, actor=actor)).id

    return await for_each("Submissions", ids, act)


async def selection_of(pool: Pool, choice: Choice) -> RejudgingFilter:
    """A name that does not exist is an error, or it would silently match nothing."""
    async with connection(pool) as acquired:
        account = await accounts.find_by_name(acquired, choice.user) if choice.user else None
        if choice.user is not None and account is None:
            raise NotFound(f"There is no account {choice.user}: see `deemster user list`.")
        problem = ProblemId(choice.problem) if choice.problem is not None else None
        if problem is not None and await get(acquired, problem) is None:
            raise NotFound(
                f"There is no problem {problem}: ids start with {PROBLEM}_, see "
                "`deemster problem list`."
            )
        contest = ContestId(choice.contest) if choice.contest is not None else None
        if contest is not None and await contests.get(acquired, contest) is None:
            raise NotFound(f"There is no contest {contest}: check its id.")
    return RejudgingFilter(
        account=account.id if account else None,
        problem=problem,
        contest=contest,
        verdict=verdict_of(choice.verdict) if choice.verdict is not None else None,
        language=load_catalogue().named(choice.language).id if choice.language else None,
        submitted_from=time_of(choice.since) if choice.since is not None else None,
        submitted_to=time_of(choice.until) if choice.until is not None else None,
        outdated=choice.outdated,
    )


def verdict_of(text: str) -> Verdict:
    for verdict in Verdict:
        if verdict.lower() == text.strip().lower():
            return verdict
    raise Refused(f"There is no verdict {text!r}: use one of {', '.join(Verdict)}.")


def time_of(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise Refused(f"{text!r} is not a time: write it as 2026-03-01T14:30.") from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def confirm(count: int) -> None:
    if not sys.stdin.isatty():
        raise Refused(f"This would judge {count:,} submissions again: add --yes to confirm.")
    typer.confirm(f"Judge {count:,} submissions again?", abort=True, err=True)
