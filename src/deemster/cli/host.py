"""`deemster host`: manages judge hosts and their keys."""

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Annotated, Any

import typer
import uvloop

from deemster.cli.options import AsJson, make_group
from deemster.cli.output import make_table, print_json, table_console
from deemster.domain.errors import Conflict
from deemster.domain.judge_host import JudgeHostId, check_name, derive_key
from deemster.settings import load_settings
from deemster.store import judge_hosts
from deemster.store.audit import Actor, record
from deemster.store.judge_hosts import JudgeHostView
from deemster.store.pool import Connection
from deemster.wiring.resources import open_command_transaction, operator
from deemster.wiring.secret import checked_secret

Host = Annotated[str, typer.Argument(metavar="HOST", help="Name or id of the judge host.")]
Change = Callable[[Connection, JudgeHostId], Awaitable[object]]

app = make_group("host", "On the server: add, pause and revoke judge hosts.")


@app.command()
def add(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="Name of the new judge host: letters, digits and . _ -"
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Add a judge host, and print its key, which can't be shown again.

    Write the key to a file on that machine, and name the file in DEEMSTER_JUDGEHOST_KEY_FILE
    there. Give the key to nobody else.
    """
    host, key = uvloop.run(add_host(check_name(name)))
    print_key(host, name, key, as_json=as_json)


async def add_host(name: str) -> tuple[JudgeHostId, str]:
    async with open_command_transaction(load_settings()) as acquired:
        host = await judge_hosts.add(acquired, name, created_by=operator())
        await record(acquired, Actor(operator()), "judge_host.add", host, name=name)
        return host, await key_of(acquired, host, generation=1)


@app.command()
def rotate(host: Host, as_json: AsJson = False) -> None:
    """Replace the key of a judge host, and print the new one, which can't be shown again.

    The server refuses the old key at once, and gives the host's work to others.
    """
    print_key(*uvloop.run(rotate_key(host)), as_json=as_json)


async def rotate_key(name: str) -> tuple[JudgeHostId, str, str]:
    async with open_command_transaction(load_settings()) as acquired:
        found = await judge_hosts.lock(acquired, name)
        generation = await judge_hosts.rotate(acquired, found.id)
        assert generation is not None, "it is locked"
        actor = Actor(operator())
        await record(acquired, actor, "judge_host.rotate", found.id, name=found.name)
        return found.id, found.name, await key_of(acquired, found.id, generation=generation)


async def key_of(acquired: Connection, host: JudgeHostId, *, generation: int) -> str:
    secret = await checked_secret(load_settings(), acquired)
    return derive_key(secret, host, generation).text


def print_key(host: JudgeHostId, name: str, key: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"id": host, "name": name, "key": key})
    else:
        print(key)


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the judge hosts that are not revoked."""
    found = uvloop.run(read_hosts())
    if as_json:
        print_json({"hosts": [{**asdict(each), "state": each.state} for each in found]})
        return
    table = make_table(
        "name", "state", "last seen", "languages", "id", numbers=("busy", "speed")
    )
    for each in found:
        table.add_row(*row_of(each))
    table_console().print(table)


def row_of(host: JudgeHostView) -> list[str]:
    state = f"{host.state}: {host.pause_reason}" if host.pause_reason else host.state
    worker = host.worker
    if worker is None:
        return [host.name, state, "", "", host.id, "", ""]
    speed = f"{worker.speed:.2f}" if worker.speed is not None else ""
    seen, languages = f"{worker.seen_at:%Y-%m-%d %H:%M:%S}", " ".join(worker.languages)
    busy = f"{worker.busy}/{worker.slots}" if worker.is_live else ""
    return [host.name, state, seen, languages, host.id, busy, speed]


async def read_hosts() -> list[JudgeHostView]:
    async with open_command_transaction(load_settings()) as acquired:
        return await judge_hosts.list_all(acquired)


@app.command()
def pause(
    host: Host,
    reason: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Shown in the list of hosts.", show_default=False),
    ] = None,
) -> None:
    """Give a judge host no more tasks until `resume`, also after it starts again."""

    async def change(acquired: Connection, found: JudgeHostId) -> None:
        await judge_hosts.pause(acquired, found, reason)

    name = uvloop.run(change_host(host, "judge_host.pause", change, reason=reason))
    print(f"{name} is paused: it finishes its tasks and gets no new ones.")


@app.command()
def resume(host: Host) -> None:
    """Give a judge host tasks again that was paused or drained."""
    name = uvloop.run(change_host(host, "judge_host.resume", judge_hosts.resume))
    print(f"{name} gets tasks again.")


@app.command()
def drain(host: Host) -> None:
    """Give a judge host no more tasks until `resume`, or until it starts again."""

    async def change(acquired: Connection, found: JudgeHostId) -> None:
        if not await judge_hosts.drain(acquired, found):
            raise Conflict(f"{host} does not run: pause it if it must get no tasks.")

    name = uvloop.run(change_host(host, "judge_host.drain", change))
    print(f"{name} finishes its tasks and gets no new ones.")


@app.command()
def revoke(host: Host) -> None:
    """Refuse a judge host for ever, and give its work to others."""
    name = uvloop.run(change_host(host, "judge_host.revoke", judge_hosts.revoke))
    print(f"{name} is revoked.")


async def change_host(name: str, act: str, change: Change, **details: Any) -> str:
    """Returns the name of the host."""
    async with open_command_transaction(load_settings()) as acquired:
        found = await judge_hosts.lock(acquired, name)
        await change(acquired, found.id)
        await record(acquired, Actor(operator()), act, found.id, name=found.name, **details)
        return found.name
