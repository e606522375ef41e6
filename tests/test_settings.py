"""Settings come from the environment, files and TOML; invalid ones are refused by name."""

import os
from pathlib import Path

import pytest

from deemster.domain.errors import Refused
from deemster.settings import (
    child_environment,
    keep_files,
    load_settings,
    server_of_client,
    sources,
)
from deemster.settings.artifact_directory import directory_in
from deemster.settings.origins import origins, unknown_variables


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith("DEEMSTER_"):
            monkeypatch.delenv(name)
    monkeypatch.setattr(sources, "CONFIG_FILE", tmp_path / "deemster.toml")


def source_of(name: str) -> str:
    return next(each.source for each in origins(load_settings()) if each.name == name)


def test_all_settings_have_defaults() -> None:
    settings = load_settings()
    assert settings.env == "dev"
    assert settings.sandbox_without == frozenset()
    assert {each.source for each in origins(settings)} == {"default"}


def test_the_environment_wins_over_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "deemster.toml").write_text('env = "from file"\nsandbox_without = ["uts"]')
    assert load_settings().env == "from file"
    assert load_settings().sandbox_without == {"uts"}
    assert source_of("env") == str(tmp_path / "deemster.toml")
    monkeypatch.setenv("DEEMSTER_ENV", "from environment")
    assert load_settings().env == "from environment"
    assert source_of("env") == "DEEMSTER_ENV"


def test_a_variable_can_name_the_file_that_holds_the_value(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "value").write_text("secret\n")
    monkeypatch.setenv("DEEMSTER_ENV_FILE", str(tmp_path / "value"))
    assert load_settings().env == "secret"
    assert source_of("env") == "DEEMSTER_ENV_FILE"


def test_a_list_is_written_with_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEMSTER_SANDBOX_WITHOUT", " cgroup, NET ")
    assert load_settings().sandbox_without == {"cgroup", "net"}


def test_a_variable_can_name_another_settings_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "other.toml").write_text('data_dir = "/srv/deemster"')
    monkeypatch.setenv("DEEMSTER_CONFIG", str(tmp_path / "other.toml"))
    assert load_settings().data_dir == Path("/srv/deemster")


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"DEEMSTER_ENV": "a", "DEEMSTER_ENV_FILE": "/x"}, "unset one of them"),
        ({"DEEMSTER_ENV_FILE": "/nowhere"}, "DEEMSTER_ENV_FILE"),
        ({"DEEMSTER_CONFIG": "/nowhere"}, "settings file /nowhere"),
        ({"DEEMSTER_SANDBOX_WITHOUT": "walls"}, "DEEMSTER_SANDBOX_WITHOUT"),
    ],
)
def test_an_invalid_variable_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], message: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(Refused, match=message):
        load_settings()


def test_an_unknown_key_in_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "deemster.toml").write_text("data_dri = '/x'")
    with pytest.raises(Refused, match="data_dri"):
        load_settings()


def test_a_file_in_the_working_directory_is_not_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "deemster.toml").write_text('runner = "/evil"')
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert load_settings().runner is None


def test_a_misspelt_variable_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEMSTER_DATADIR", "/x")
    monkeypatch.setenv("DEEMSTER_DATA_DIR_FILE", "/x")
    monkeypatch.setenv("DEEMSTER_TEST_SLOWNESS", "2")
    assert unknown_variables() == ["DEEMSTER_DATADIR"]


def test_overrides_win_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEMSTER_PORT", "1")
    assert load_settings(port=2, host=None).port == 2
    assert load_settings(port=None).port == 1
    with pytest.raises(Refused, match="DEEMSTER_PORT"):
        load_settings(port=70_000)


def test_a_child_process_gets_settings_by_its_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "value").write_text("postgresql://file")
    monkeypatch.setenv("DEEMSTER_DATABASE_URL_FILE", str(tmp_path / "value"))
    monkeypatch.setenv("OTHER", "kept")
    environment = child_environment(database_url="postgresql://given", port=3)
    assert environment["DEEMSTER_DATABASE_URL"] == "postgresql://given"
    assert environment["DEEMSTER_PORT"] == "3"
    assert environment["OTHER"] == "kept"
    assert "DEEMSTER_DATABASE_URL_FILE" not in environment


def test_a_client_reads_its_server_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert server_of_client().url == "http://127.0.0.1:8000"
    assert server_of_client().token is None
    monkeypatch.setenv("DEEMSTER_URL", "https://judge.example.org/")
    monkeypatch.setenv("DEEMSTER_TOKEN", "deem_x")
    server = server_of_client()
    assert (server.url, server.token) == ("https://judge.example.org", "deem_x")
    assert "deem_x" not in repr(server)
    assert unknown_variables() == []


def test_every_setting_is_described_in_one_sentence_or_two() -> None:
    for each in origins(load_settings()):
        assert each.description.endswith("."), each.name
        assert each.description[0].isupper() or "://" in each.description, each.name


def test_x11_settings_in_files_are_kept_for_a_user_who_cannot_read_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "environ", dict(os.environ))
    file = tmp_path / "deemster.toml"
    file.write_text(
        'env = "prod"\nport = 9\nsign_up = true\nstages = ["analyze"]\nslots = 3\n'
        "[max_running_by_language]\njava = 2\n"
    )
    (tmp_path / "slots").write_text("4\n")
    os.environ["DEEMSTER_SLOTS_FILE"] = str(tmp_path / "slots")
    os.environ["DEEMSTER_PORT"] = "8"
    before = load_settings()
    assert (before.slots, before.port, before.max_running_by_language) == (4, 8, {"java": 2})
    keep_files()
    file.unlink()
    (tmp_path / "slots").unlink()
    assert load_settings() == before


@pytest.mark.parametrize("url", ["file://srv/x", "file:///", "file:///x?y=1"])
def test_an_artifact_url_that_names_no_directory_is_refused(url: str) -> None:
    with pytest.raises(Refused, match="DEEMSTER_ARTIFACTS_URL does not name a directory"):
        directory_in(url)


def test_j11_an_artifact_url_can_name_a_directory() -> None:
    assert directory_in("file:///srv/a%20b") == Path("/srv/a b")
    assert directory_in("s3://bucket/x") is None
