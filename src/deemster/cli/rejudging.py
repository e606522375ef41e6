"""`deemster rejudge list|show|apply|drop`: sets that are judged again on trial (A9)."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer
import uvloop
from rich.console import Console
from rich.table import Table

from deemster.domain.ids import RejudgingId
from deemster.pipeline.verdict import rejudging_set
from deemster.pipeline.verdict.rejudging_set import Overview
from deemster.settings import load_settings
from deemster.store import rejudgings
from deemster.store.audit import Actor
from deemster.store.pool import connection
from deemster.store.rejudgings import ChangedPair, Rejudging, VerdictPairCount
from deemster.wiring.resources import open_command_database, operator

MOST = 1000
"""On a screen; `--json` has them all."""
Set = Annotated[str, typer.Argument(metavar="SET", help="As `rejudge list` shows it.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def add_commands(app: typer.Typer) -> None:
    app.command("list")(list_)
    app.command()(show)
    app.command()(apply)
    app.command()(drop)


def list_(as_json: AsJson = False) -> None:
    """List the sets, newest first."""
    found = uvloop.run(read_page())
    if as_json:
        print(as_text({"rejudgings": [asdict(each) for each in found]}))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("set", "made", "submissions", "", "reason"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "set")
    for each in found:
        made = f"{each.made_at:%Y-%m-%d %H:%M:%S}"
        table.add_row(each.id, made, str(each.matched), status(each), each.reason or "")
    Console().print(table if found else "There are no sets.")


def show(rejudging_id: Set, as_json: AsJson = False) -> None:
    """Show how far a set is, and what it changes."""
    overview, matrix, changes = uvloop.run(read_one(RejudgingId(rejudging_id)))
    if as_json:
        shown = {**document(overview), "matrix": [asdict(cell) for cell in matrix]}
        print(as_text({**shown, "changes": [asdict(change) for change in changes]}))
        return
    tell(overview)
    for cell in matrix:
        print(f"{cell.pairs:>8,}  {cell.old or 'failed'} → {cell.new}")
    for change in changes[:MOST]:
        print(line_of(change))
    if len(changes) > MOST:
        print(f"… and {len(changes) - MOST:,} more: --json shows all of them")


def line_of(change: ChangedPair) -> str:
    old = with_score(change.old_verdict or "failed", change.old_score)
    new = with_score(change.new_verdict or change.state.lower(), change.new_score)
    whose = f"{change.account_name}, {change.problem}"
    line = f"{change.old} → {change.new}  {old} → {new}  {whose}"
    return f"{line}  left out: judged again by other means" if change.overtaken else line


def with_score(verdict: str, score: float | None) -> str:
    return verdict if score is None else f"{verdict} ({score:g})"


def apply(rejudging_id: Set, as_json: AsJson = False) -> None:
    """Put the new verdicts in the places of the old ones, all at once."""
    report(uvloop.run(settle(RejudgingId(rejudging_id), wins=True)), as_json=as_json)


def drop(rejudging_id: Set, as_json: AsJson = False) -> None:
    """Leave all as it was; what has not been judged yet is cancelled."""
    report(uvloop.run(settle(RejudgingId(rejudging_id), wins=False)), as_json=as_json)


def report(overview: Overview, *, as_json: bool) -> None:
    if as_json:
        print(as_text(document(overview)))
    else:
        tell(overview)


def tell(overview: Overview) -> None:
    progress = asdict(overview.progress)
    counts = ", ".join(
        f"{number:,} {name.replace('_', ' ')}" for name, number in progress.items() if number
    )
    print(f"{overview.rejudging.id} is {status(overview.rejudging)}: {counts or 'no trials'}")
    if overview.is_ready:
        print("All of it has ended: apply it, or drop it.")
    outcome, under_way = overview.rejudging.outcome, overview.under_way
    if under_way.unended and (outcome is None or (outcome == "applied" and under_way.outdated)):
        print(rejudging_set.describe_unended(under_way))


def status(each: Rejudging) -> str:
    return each.outcome or ("open" if each.staged_at else "staging")


def document(overview: Overview) -> dict[str, object]:
    return {
        **asdict(overview.rejudging),
        "progress": asdict(overview.progress),
        "under_way": asdict(overview.under_way),
    }


async def read_page() -> list[Rejudging]:
    async with open_command_database(load_settings()) as pool, connection(pool) as acquired:
        return await rejudgings.page(acquired, before=None, limit=MOST)


async def read_one(
    wanted: RejudgingId,
) -> tuple[Overview, Sequence[VerdictPairCount], Sequence[ChangedPair]]:
    async with open_command_database(load_settings()) as pool:
        overview = await rejudging_set.overview(pool, wanted)
        async with connection(pool) as acquired:
            matrix = await rejudgings.verdict_matrix(acquired, wanted)
            changes = await rejudgings.list_changes(
                acquired, wanted, after=None, limit=rejudging_set.MOST
            )
    return overview, matrix, changes


async def settle(wanted: RejudgingId, *, wins: bool) -> Overview:
    async with open_command_database(load_settings()) as pool:
        act = rejudging_set.apply if wins else rejudging_set.drop
        return await act(pool, wanted, Actor(operator()))


def as_text(values: object) -> str:
    return json.dumps(values, default=str)
