"""Reads settings from environment variables, from files that they name, and from TOML."""

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource

from deemster.domain.errors import Refused

PREFIX = "DEEMSTER_"
TEST_PREFIX = f"{PREFIX}TEST_"
"""Of variables that only the tests read."""
CONFIG_VARIABLE = f"{PREFIX}CONFIG"
URL_VARIABLE, TOKEN_VARIABLE = f"{PREFIX}URL", f"{PREFIX}TOKEN"
"""Read by commands that are clients of a server."""
DEFAULT_URL = "http://127.0.0.1:8000"
CONFIG_FILE = Path("/etc/deemster/deemster.toml")
"""Read if it exists. No file of the working directory is read: others may write there."""


class NamedFiles(PydanticBaseSettingsSource):
    """Variables such as DEEMSTER_SECRET_KEY_FILE, which name the file that holds the value."""

    def __call__(self) -> dict[str, Any]:
        names = self.settings_cls.model_fields
        return {name: read_named(name) for name in names if named_file(name) in os.environ}

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        raise NotImplementedError("all values are read at once")


class TomlFile(PydanticBaseSettingsSource):
    def __call__(self) -> dict[str, Any]:
        return read_config_file()

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        raise NotImplementedError("all values are read at once")


def read_config_file() -> dict[str, Any]:
    file = config_file()
    if file is None:
        return {}
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as fault:
        raise Refused(f"Can't read the settings file {file}: {fault}.") from fault


def read_named(field_name: str) -> str:
    variable, by_file = variable_of(field_name), named_file(field_name)
    if variable in os.environ:
        raise Refused(f"Both {variable} and {by_file} are set: unset one of them.")
    path = os.environ[by_file]
    try:
        return Path(path).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as fault:
        raise Refused(f"Can't read {path}, which {by_file} names: {fault}.") from fault


def outside_sources(settings: type[BaseSettings]) -> tuple[PydanticBaseSettingsSource, ...]:
    """The first source that has a value wins."""
    return EnvSettingsSource(settings), NamedFiles(settings), TomlFile(settings)


def config_file() -> Path | None:
    named = os.environ.get(CONFIG_VARIABLE)
    if named:
        return Path(named)
    return CONFIG_FILE if CONFIG_FILE.exists() else None


def variable_of(field_name: str) -> str:
    return f"{PREFIX}{field_name.upper()}"


def named_file(field_name: str) -> str:
    return f"{variable_of(field_name)}_FILE"


def child_environment(**overrides: object) -> dict[str, str]:
    """This process's environment, with these settings replaced."""
    environment = dict(os.environ)
    for name, value in overrides.items():
        environment.pop(named_file(name), None)
        environment[variable_of(name)] = str(value)
    return environment


def keep_files() -> None:
    """Puts settings that are in files into the environment of this process.

    For a process that will become another user, who can't read the files.
    """
    for name in [each for each in os.environ if each.startswith(PREFIX)]:
        field_name = name.removeprefix(PREFIX).removesuffix("_FILE").lower()
        if name == named_file(field_name) and variable_of(field_name) not in os.environ:
            os.environ[variable_of(field_name)] = read_named(field_name)
            del os.environ[name]
    for field_name, value in read_config_file().items():
        os.environ.setdefault(variable_of(field_name), as_variable(value))
    os.environ[CONFIG_VARIABLE] = os.devnull


def as_variable(value: object) -> str:
    """The value of a key as it is written in an environment variable."""
    if isinstance(value, list):
        return ",".join(map(str, value))
    if isinstance(value, dict):
        return ",".join(f"{name}={number}" for name, number in value.items())
    return str(value)


def keep_settings(home: Path, **settings: object) -> None:
    """Puts these settings into the environment of this process, which has another home now."""
    for field_name, value in settings.items():
        os.environ[variable_of(field_name)] = str(value)
    os.environ["HOME"] = str(home)


def forget_variables(field_name: str) -> None:
    """Removes a setting from the environment, so that no child process gets it."""
    for name in (variable_of(field_name), named_file(field_name)):
        os.environ.pop(name, None)


@dataclass(frozen=True, slots=True, repr=False)
class Server:
    """The server that a client command talks to, with the client's token."""

    url: str
    token: str | None


def server_of_client() -> Server:
    url = given_server_url() or DEFAULT_URL
    return Server(url, os.environ.get(TOKEN_VARIABLE) or None)


def given_server_url() -> str | None:
    """Of the server that client commands use, if it is not the default."""
    return (os.environ.get(URL_VARIABLE) or "").rstrip("/") or None
