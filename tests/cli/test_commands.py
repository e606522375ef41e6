"""All commands exist, and each is imported only when it is used."""

import json
import subprocess
import sys

import pytest

from deemster.cli.commands import COMMANDS, load_command
from tests.cli.conftest import Deemster

EXPECTED = {
    *("up", "api", "relay", "worker", "keeper", "run", "problem", "submit", "doctor"),
    *("languages", "bench", "user", "dlq", "rejudge", "backup", "restore", "migrate"),
}


def test_all_expected_commands_exist() -> None:
    assert set(COMMANDS) >= EXPECTED


@pytest.mark.parametrize("name", COMMANDS)
def test_the_summary_is_the_first_paragraph_of_the_help(name: str) -> None:
    command = load_command(name)
    assert command.name == name
    assert command.help.partition("\n\n")[0] == COMMANDS[name].summary


@pytest.mark.parametrize("arguments", [["--help"], []])
def test_the_help_page_lists_all_commands(call: Deemster, arguments: list[str]) -> None:
    page = call(*arguments).out.decode()
    assert all(f" {name} " in page for name in COMMANDS)
    assert " Run a worker, which judges submissions in the sandbox. " in page


def test_up_calls_its_slots_workers_too() -> None:
    [slots] = [option for option in load_command("up").params if option.name == "slots"]
    assert slots.opts == ["--slots", "--workers"]


def test_the_help_page_imports_no_command() -> None:
    code = (
        "import sys; from deemster.cli.app import app; app(['--help'], standalone_mode=False);"
        "sys.exit('deemster.cli.run' in sys.modules or 'deemster.settings' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_similar_command_is_suggested_for_an_unknown_one(call: Deemster) -> None:
    done = call("summit")
    assert done.code == 2
    assert "Did you mean 'submit'?" in done.err


def test_a_child_ends_if_its_parent_has_ended(deemster: Deemster) -> None:
    done = deemster("--parent", "1", "settings")
    assert done.code == 1
    assert "The parent ended" in done.err


@pytest.mark.parametrize(
    ("command", "unneeded"),
    [
        ("settings", ["asyncpg", "fastapi", "uvloop"]),
        ("submit", ["asyncpg", "deemster.problems", "deemster.sandbox.boxes", "fastapi"]),
        ("run", ["asyncpg", "deemster.problems.revision", "fastapi", "httpx"]),
        ("up", ["deemster.sandbox.boxes", "fastapi", "httpx"]),
    ],
)
def test_a_command_imports_only_what_it_needs(command: str, unneeded: list[str]) -> None:
    """An import of more makes every start of the command slower."""
    script = (
        "import gc, json, sys, deemster.__main__\n"
        "from deemster.cli.commands import load_command\n"
        f"load_command({command!r})\n"
        "print(json.dumps([gc.isenabled(), *sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, check=True)
    collects, *imported = json.loads(done.stdout)
    assert collects
    assert not set(unneeded) & set(imported)
