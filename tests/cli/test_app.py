"""Options, settings and errors that all commands share."""

import pytest

from tests.cli.conftest import Deemster


@pytest.mark.parametrize(
    "command", [(), ("run",), ("languages",), ("settings",), ("bench",), ("bench", "sandbox")]
)
def test_every_command_has_help(call: Deemster, command: tuple[str, ...]) -> None:
    done = call(*command, "--help")
    assert done.code == 0
    assert b"Usage: " in done.out


def test_settings_are_shown_with_their_source(call: Deemster) -> None:
    done = call("settings", "--json", DEEMSTER_ENV="prod")
    shown = {each["name"]: each for each in done.json["settings"]}
    assert shown["env"]["value"] == "prod"
    assert shown["env"]["source"] == "DEEMSTER_ENV"
    assert shown["runner"]["source"] in {"default", "DEEMSTER_RUNNER"}


def test_an_unknown_variable_is_reported(call: Deemster) -> None:
    done = call("settings", DEEMSTER_DATADIR="/x")
    assert "DEEMSTER_DATADIR is not a setting" in done.err


def test_up_reports_each_unknown_variable_in_one_line(call: Deemster) -> None:
    """Before all else, because it may be the cause of what follows."""
    unknown = {"DEEMSTER_DATADIR": "/x", "DEEMSTER_MOST_RUNNING": "3", "DEEMSTER_TEST_X": "1"}
    done = call("up", DEEMSTER_SANDBOX_WITHOUT="walls", **unknown)
    assert done.code == 2
    first, second, cause = done.err.splitlines()
    assert "DEEMSTER_DATADIR is not a setting and is ignored" in first
    assert "DEEMSTER_MOST_RUNNING is not a setting and is ignored" in second
    assert "DEEMSTER_SANDBOX_WITHOUT" in cause


def test_an_invalid_setting_is_reported_in_one_sentence(call: Deemster) -> None:
    done = call("settings", DEEMSTER_SANDBOX_WITHOUT="walls")
    assert done.code == 2
    assert "DEEMSTER_SANDBOX_WITHOUT" in done.err
    assert done.err.count("\n") == 1
