"""Lists all commands, and imports each one only when it is used, so that all start fast."""

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any, Final, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from deemster.cli.fast_imports import without_garbage_collection


class CommandEntry(NamedTuple):
    target: str
    """Module below this package, and the name in it."""
    summary: str
    """First paragraph of the command's help, so that `deemster --help` imports no command."""


COMMANDS: Final = {
    "up": CommandEntry(
        "up.command:up",
        "Start the whole service on this machine: database, API, relay, worker and keeper.",
    ),
    "api": CommandEntry("roles:api", "Run the HTTP API."),
    "relay": CommandEntry(
        "roles:relay", "Run the relay, which sends accepted submissions to the queue."
    ),
    "worker": CommandEntry(
        "roles:worker", "Run a worker, which judges submissions in the sandbox."
    ),
    "keeper": CommandEntry(
        "roles:keeper",
        "Run the keeper (maintenance role): it rescues stuck submissions and sends webhooks.",
    ),
    "dispatcher": CommandEntry(
        "roles:dispatcher",
        "Run the dispatcher, which gives work to judge hosts and settles their results.",
    ),
    "judgehost": CommandEntry(
        "judgehost:judgehost",
        "On another machine: run a judge host, with its server's URL and a key or password.",
    ),
    "run": CommandEntry("run:run", "Run one program in the sandbox."),
    "analyze": CommandEntry(
        "analyze:analyze", "Look for mistakes in one program without running it."
    ),
    "similar": CommandEntry("similar:similar", "Find programs that are similar to each other."),
    "evaluate": CommandEntry(
        "evaluate:app", "Check rubrics and models by which submissions are evaluated."
    ),
    "problem": CommandEntry(
        "problem:app", "Check, create, import, publish, export, list and retire problems."
    ),
    "exec": CommandEntry(
        "exec:execute", "Run a program on a running service, and show its output while it runs."
    ),
    "submit": CommandEntry("submit:submit", "Submit a program to a running service."),
    "submission": CommandEntry("submission:app", "Show why a submission got its verdict."),
    "doctor": CommandEntry(
        "doctor:doctor",
        "Check this machine's sandbox and toolchains, and say how to fix what is missing.",
    ),
    "languages": CommandEntry(
        "languages:languages",
        "List the languages, with the exact version of each that is installed.",
    ),
    "bench": CommandEntry(
        "bench:app", "Measure the performance of this machine, as ratios to a bare minimum."
    ),
    "user": CommandEntry("user:app", "Manage accounts, their passwords and their tokens."),
    "host": CommandEntry("host:app", "On the server: add, pause and revoke judge hosts."),
    "dlq": CommandEntry("dlq:app", "Manage dead letters: jobs that failed in every attempt."),
    "rejudge": CommandEntry(
        "rejudge:app",
        "Judge submissions again, at once, or on trial (`--trial`) to apply them later.",
    ),
    "backup": CommandEntry(
        "backup:backup", "Write the database, sources, test data and secret key to one file."
    ),
    "restore": CommandEntry(
        "backup:restore", "Restore a backup into an empty data directory or database."
    ),
    "migrate": CommandEntry(
        "migrate:migrate", "Migrate the database's tables to this version."
    ),
    "settings": CommandEntry(
        "settings:settings", "Show every setting with its value and its source."
    ),
}
"""In the order of the help page."""


class Commands(MutableMapping[str, Any]):
    """The mapping that `TyperGroup` expects; it imports a command when it is looked up."""

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = load_command(name)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)

    def __setitem__(self, name: str, command: Any) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]


class LazyGroup(TyperGroup):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = Commands()

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self.commands = {
            name: TyperCommand(name, help=entry.summary) for name, entry in COMMANDS.items()
        }
        super().format_help(ctx, formatter)


def load_command(name: str) -> Any:
    module, _, attribute = COMMANDS[name].target.partition(":")
    with without_garbage_collection():
        found = getattr(import_module(f"deemster.cli.{module}"), attribute)
    if isinstance(found, typer.Typer):
        command: Any = get_group(found)
    else:
        single = typer.Typer(add_completion=False, rich_markup_mode="markdown")
        single.command()(found)
        command = get_command(single)
    command.name = name
    return command
