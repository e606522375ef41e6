"""Every command that is promised is there, and is imported only when it is used."""

import subprocess
import sys

import pytest

from deemster.cli.commands import COMMANDS, make
from tests.cli.conftest import Deemster

PROMISED = {
    *("up", "api", "relay", "worker", "keeper", "run", "problem", "submit", "doctor"),
    *("languages", "bench", "user", "dlq", "rejudge", "backup", "restore", "migrate"),
}


def test_all_that_is_promised_is_there() -> None:
    assert set(COMMANDS) >= PROMISED


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_can_be_made_and_says_what_it_does(name: str) -> None:
    command = make(name)
    assert command.name == name
    assert command.help.partition("\n\n")[0] == COMMANDS[name].summary


def test_a_command_imports_no_other() -> None:
    code = (
        "import sys; from deemster.cli.commands import make; make('settings');"
        "sys.exit(any(name in sys.modules for name in ('asyncpg', 'uvloop', 'fastapi')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("asked", [["--help"], []])
def test_the_help_page_names_all_commands(deemster: Deemster, asked: list[str]) -> None:
    page = deemster(*asked).out.decode()
    assert all(f" {name} " in page for name in COMMANDS)
    assert " Judge submissions, in the cage. " in page


def test_the_help_page_imports_no_command() -> None:
    code = (
        "import sys; from deemster.cli.app import app; app(['--help'], standalone_mode=False);"
        "sys.exit('deemster.cli.run' in sys.modules or 'deemster.settings' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_mistyped_command_is_guessed(deemster: Deemster) -> None:
    done = deemster("summit")
    assert done.code == 2
    assert "Did you mean 'submit'?" in done.err


def test_a_child_ends_if_its_parent_is_another(deemster: Deemster) -> None:
    done = deemster("--parent", "1", "settings")
    assert done.code == 1
    assert "The parent ended" in done.err
