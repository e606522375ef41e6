"""`deemster rejudge list|show|apply|drop`: manages sets of rejudged submissions (A9)."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer
import uvloop

from deemster.cli.options import AsJson
from deemster.cli.output import make_table, print_json, table_console
from deemster.domain.ids import RejudgingId
from deemster.pipeline.verdict import rejudging_set
from deemster.pipeline.verdict.rejudging_set import Overview
from deemster.settings import load_settings
from deemster.store import rejudgings
from deemster.store.audit import Actor
from deemster.store.pool import connection
from deemster.store.rejudgings import ChangedPair, Rejudging, VerdictPairCount
from deemster.wiring.resources import open_command_database, operator

MAX_SHOWN = 1000
"""Rows that are printed; `--json` has all of them."""
Set = Annotated[str, typer.Argument(metavar="SET", help="Id that `rejudge list` shows.")]


def add_commands(app: typer.Typer) -> None:
    app.command("list")(list_)
    app.command()(show)
    app.command()(apply)
    app.command()(drop)


def list_(as_json: AsJson = False) -> None:
    """List the sets of submissions that are rejudged on trial, newest first."""
    found = uvloop.run(read_page())
    if as_json:
        print_json({"rejudgings": [asdict(each) for each in found]})
        return
    table = make_table("set", "created", "submissions", "state", "reason")
    table.columns[0].no_wrap = True
    for each in found:
        created = f"{each.made_at:%Y-%m-%d %H:%M:%S}"
        table.add_row(each.id, created, str(each.matched), state_of(each), each.reason or "")
    table_console().print(table if found else "There are no sets.")


def show(rejudging_id: Set, as_json: AsJson = False) -> None:
    """Show the progress of a set, and which verdicts it changes."""
    overview, matrix, changes = uvloop.run(read_one(RejudgingId(rejudging_id)))
    if as_json:
        print_json(
            {
                **as_object(overview),
                "matrix": [asdict(cell) for cell in matrix],
                "changes": [asdict(change) for change in changes],
            }
        )
        return
    print_summary(overview)
    for cell in matrix:
        print(f"{cell.pairs:>8,}  {cell.old or 'failed'} → {cell.new}")
    for change in changes[:MAX_SHOWN]:
        print(line_of(change))
    if len(changes) > MAX_SHOWN:
        print(f"… and {len(changes) - MAX_SHOWN:,} more: --json prints all of them")


def line_of(change: ChangedPair) -> str:
    old = with_score(change.old_verdict or "failed", change.old_score)
    new = with_score(change.new_verdict or change.state.lower(), change.new_score)
    line = (
        f"{change.old} → {change.new}  {old} → {new}  {change.account_name}, {change.problem}"
    )
    return f"{line}  left out: rejudged outside this set" if change.overtaken else line


def with_score(verdict: str, score: float | None) -> str:
    return verdict if score is None else f"{verdict} ({score:g})"


def apply(rejudging_id: Set, as_json: AsJson = False) -> None:
    """Apply a set: its new verdicts replace the old ones, all at once."""
    print_overview(uvloop.run(settle(RejudgingId(rejudging_id), wins=True)), as_json=as_json)


def drop(rejudging_id: Set, as_json: AsJson = False) -> None:
    """Drop a set: the old verdicts stay, and what is not judged yet is cancelled."""
    print_overview(uvloop.run(settle(RejudgingId(rejudging_id), wins=False)), as_json=as_json)


def print_overview(overview: Overview, *, as_json: bool) -> None:
    if as_json:
        print_json(as_object(overview))
    else:
        print_summary(overview)


def print_summary(overview: Overview) -> None:
    progress = asdict(overview.progress)
    counts = ", ".join(
        f"{number:,} {name.replace('_', ' ')}" for name, number in progress.items() if number
    )
    state = state_of(overview.rejudging)
    print(f"{overview.rejudging.id} is {state}: {counts or 'no submissions'}")
    if overview.is_ready:
        print("All submissions of the set have ended: apply it or drop it.")
    outcome, under_way = overview.rejudging.outcome, overview.under_way
    if under_way.unended and (outcome is None or (outcome == "applied" and under_way.outdated)):
        print(rejudging_set.describe_unended(under_way))


def state_of(each: Rejudging) -> str:
    return each.outcome or ("open" if each.staged_at else "being created")


def as_object(overview: Overview) -> dict[str, object]:
    return {
        **asdict(overview.rejudging),
        "progress": asdict(overview.progress),
        "under_way": asdict(overview.under_way),
    }


async def read_page() -> list[Rejudging]:
    async with open_command_database(load_settings()) as pool, connection(pool) as acquired:
        return await rejudgings.page(acquired, before=None, limit=MAX_SHOWN)


async def read_one(
    rejudging_id: RejudgingId,
) -> tuple[Overview, Sequence[VerdictPairCount], Sequence[ChangedPair]]:
    async with open_command_database(load_settings()) as pool:
        overview = await rejudging_set.overview(pool, rejudging_id)
        async with connection(pool) as acquired:
            matrix = await rejudgings.verdict_matrix(acquired, rejudging_id)
            changes = await rejudgings.list_changes(
                acquired, rejudging_id, after=None, limit=rejudging_set.MAX_FOUND
            )
    return overview, matrix, changes


async def settle(rejudging_id: RejudgingId, *, wins: bool) -> Overview:
    async with open_command_database(load_settings()) as pool:
        act = rejudging_set.apply if wins else rejudging_set.drop
        return await act(pool, rejudging_id, Actor(operator()))
