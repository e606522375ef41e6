"""All settings: from the environment, from files that it names, or from a TOML file."""

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, SecretStr, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from deemster.domain.errors import Refused

PREFIX = "DEEMSTER_"
CONFIG_VARIABLE = f"{PREFIX}CONFIG"
URL_VARIABLE, TOKEN_VARIABLE = f"{PREFIX}URL", f"{PREFIX}TOKEN"
"""For commands that are clients of a server."""
DEFAULT_URL = "http://127.0.0.1:8000"
CONFIG_FILE = Path("/etc/deemster/deemster.toml")
"""Read when it exists. Never one of the working directory: that may be anybody's."""

LayerName = Literal["seccomp", "cgroup", "pid", "net", "ipc", "uts"]


def split_list(value: object) -> object:
    if isinstance(value, str):
        return [part.strip().lower() for part in value.split(",") if part.strip()]
    return value


def split_numbers(value: object) -> object:
    """`java=2,kotlin=1` as a mapping."""
    if not isinstance(value, str):
        return value
    pairs = [part.partition("=") for part in value.split(",") if part.strip()]
    return {name.strip().lower(): number.strip() for name, _, number in pairs}


def is_system_wide() -> bool:
    """Root, and not only in a user namespace, where /var belongs to nobody."""
    return os.geteuid() == 0 and os.access("/var/lib", os.W_OK)


def default_data_dir() -> Path:
    if is_system_wide():
        return Path("/var/lib/deemster")
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "deemster"


def default_work_dir(known: dict[str, Any]) -> Path:
    """In memory where the system has a place for that, so that sources never reach a disk."""
    if is_system_wide():
        return Path("/run/deemster/work")
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return Path(runtime) / "deemster" / "work" if runtime else known["data_dir"] / "work"


class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True)

    env: Annotated[str, Field(description="dev, or the name of what this serves")] = "dev"
    data_dir: Annotated[
        Path, Field(default_factory=default_data_dir, description="what is kept lies here")
    ]
    work_dir: Annotated[
        Path, Field(default_factory=default_work_dir, description="sources and builds of a run")
    ]
    compile_cache_mb: Annotated[
        int, Field(ge=0, description="disk for compiled programs, below data_dir; 0 keeps none")
    ] = 1024
    revisions_mb: Annotated[
        int, Field(ge=1, description="disk for imported problems, below data_dir")
    ] = 8192
    package_mb: Annotated[
        int, Field(ge=1, description="most that a problem package may hold, unpacked")
    ] = 4096
    package_files: Annotated[
        int, Field(ge=1, description="most files and directories of a problem package")
    ] = 20_000
    database_url: Annotated[
        SecretStr | None,
        Field(description="postgresql://… of your own server; unset: one is run in data_dir"),
    ] = None
    queue_url: Annotated[
        SecretStr | None,
        Field(description="redis://… or rediss://…; unset: the queue lies in the database"),
    ] = None
    artifacts_url: Annotated[
        SecretStr | None,
        Field(description="s3://bucket/prefix for large artifacts; unset: files in data_dir"),
    ] = None
    secret_key: Annotated[
        SecretStr | None,
        Field(description="signs what is handed out; unset: made and kept in data_dir"),
    ] = None
    cache_url: Annotated[
        SecretStr | None,
        Field(description="redis://… shared by API processes; unset: each remembers by itself"),
    ] = None
    public_url: Annotated[
        str | None, Field(description="how people reach this, https://judge.example.org")
    ] = None
    trusted_proxies: Annotated[
        list[str],
        NoDecode,
        BeforeValidator(split_list),
        Field(description="addresses or networks whose X-Forwarded-For is believed"),
    ] = []
    sign_up: Annotated[bool, Field(description="people may make their own accounts")] = False
    session_hours: Annotated[
        float, Field(gt=0, description="how long a log-in holds after its last use")
    ] = 24 * 7.0
    jwt_issuer: Annotated[
        str | None, Field(description="issuer whose JWTs are taken as bearer tokens")
    ] = None
    jwt_audience: Annotated[
        str | None, Field(description="audience that those JWTs must be meant for")
    ] = None
    jwt_jwks_url: Annotated[
        str | None, Field(description="its keys; unset: found by its discovery document")
    ] = None
    jwt_role_claim: Annotated[
        str | None, Field(description="claim that names the role; unset: everyone is a user")
    ] = None
    oidc_client_id: Annotated[
        str | None, Field(description="for log-in by jwt_issuer, by OpenID Connect")
    ] = None
    oidc_client_secret: Annotated[SecretStr | None, Field(description="and its secret")] = None
    submit_interval_s: Annotated[
        float, Field(ge=0, description="between two of a user for one problem; 0: none")
    ] = 30.0
    daily_quota: Annotated[
        int | None, Field(ge=0, description="most submissions of a user on a day (UTC)")
    ] = 1000
    submits_per_minute_user: Annotated[
        int, Field(ge=1, description="submissions that one user may send a minute")
    ] = 60
    submits_per_minute_ip: Annotated[
        int, Field(ge=1, description="submissions a minute from one address, all users")
    ] = 30_000
    submits_per_minute_problem: Annotated[
        int, Field(ge=1, description="submissions a minute for one problem, all users")
    ] = 60_000
    requests_per_second_user: Annotated[
        int, Field(ge=1, description="requests of any kind a second of one user")
    ] = 200
    streams_per_user: Annotated[
        int, Field(ge=1, description="event streams of one user at once, per API process")
    ] = 100
    strangers_per_minute_ip: Annotated[
        int, Field(ge=1, description="refused tokens and log-ins a minute from one address")
    ] = 60
    queue_high: Annotated[
        int, Field(ge=1, description="with so many waiting, submissions are refused …")
    ] = 50_000
    queue_low: Annotated[int, Field(ge=0, description="… until no more than so many wait")] = (
        40_000
    )
    webhook_allow_private: Annotated[
        bool, Field(description="webhooks may go to private and local addresses")
    ] = False
    webhook_attempts: Annotated[
        int, Field(ge=1, description="how often a webhook is tried")
    ] = 3
    webhook_timeout_s: Annotated[
        float, Field(gt=0, description="how long a receiver may take to answer")
    ] = 10.0
    host: Annotated[str, Field(description="address that the API listens on")] = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535, description="port of the API")] = 8000
    slots: Annotated[
        int | None,
        Field(
            ge=1, description="programs judged at once by a worker; unset: all cores but one"
        ),
    ] = None
    run_attempts: Annotated[
        int, Field(ge=1, description="how often judging is tried when the judge itself fails")
    ] = 3
    lease_s: Annotated[
        float, Field(ge=2, description="a run whose worker is silent for so long is rescued")
    ] = 15.0
    most_running: Annotated[
        int | None, Field(ge=1, description="most submissions judged at once, everywhere")
    ] = None
    most_running_per_user: Annotated[
        int | None, Field(ge=1, description="most submissions of one user judged at once")
    ] = None
    most_running_by_language: Annotated[
        dict[str, int],
        NoDecode,
        BeforeValidator(split_numbers),
        Field(description="most judged at once of a language: java=2,kotlin=1"),
    ] = {}
    most_per_second: Annotated[
        float | None, Field(gt=0, description="most submissions begun a second, per worker")
    ] = None
    strict_priority: Annotated[
        bool, Field(description="a queue is served only when those above it are empty")
    ] = False
    without_workers: Annotated[
        Literal["accept", "refuse"],
        Field(description="what the API does with submissions when no worker lives"),
    ] = "accept"
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], Field(description="least that is logged")
    ] = "info"
    runner: Annotated[
        Path | None, Field(description="a sandbox runner to use instead of the one shipped")
    ] = None
    sandbox_without: Annotated[
        frozenset[LayerName],
        NoDecode,
        BeforeValidator(split_list),
        Field(description="sandbox layers to do without, knowingly: seccomp, cgroup, …"),
    ] = frozenset()

    @model_validator(mode="after")
    def _has_a_gap(self) -> Self:
        if self.queue_low > self.queue_high:
            raise ValueError("queue_low must not be above queue_high")
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, *outside_sources(settings_cls)


class NamedFiles(PydanticBaseSettingsSource):
    """Variables that end in _FILE and name the file which holds the value."""

    def __call__(self) -> dict[str, Any]:
        names = self.settings_cls.model_fields
        return {name: read_named(name) for name in names if named_file(name) in os.environ}

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        raise NotImplementedError("all values are read at once")


class TomlFile(PydanticBaseSettingsSource):
    def __call__(self) -> dict[str, Any]:
        file = config_file()
        if file is None:
            return {}
        try:
            return tomllib.loads(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as fault:
            raise Refused(f"The settings file {file} can't be read: {fault}.") from fault

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        raise NotImplementedError("all values are read at once")


def read_named(field_name: str) -> str:
    variable, by_file = variable_of(field_name), named_file(field_name)
    if variable in os.environ:
        raise Refused(f"Both {variable} and {by_file} are set: unset one of them.")
    path = os.environ[by_file]
    try:
        return Path(path).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as fault:
        raise Refused(f"{by_file} names {path}, which can't be read: {fault}.") from fault


def outside_sources(settings: type[BaseSettings]) -> tuple[PydanticBaseSettingsSource, ...]:
    """Earlier ones win."""
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


def load_settings(**given: object) -> Settings:
    """What is given goes over all other sources; None gives nothing."""
    over: dict[str, Any] = {name: each for name, each in given.items() if each is not None}
    try:
        return Settings(**over)
    except ValidationError as fault:
        first = fault.errors()[0]
        if not first["loc"]:
            said = first["msg"].removeprefix("Value error, ")
            raise Refused(f"The settings don't go together: {said}.") from fault
        name = str(first["loc"][0])
        if first["type"] == "extra_forbidden":
            raise Refused(
                f"The settings file {config_file()} has the unknown key {name}."
            ) from fault
        raise Refused(f"The setting {name} ({variable_of(name)}): {first['msg']}.") from fault


def child_environment(**given: object) -> dict[str, str]:
    """Our own environment, with these settings instead of what it says of them."""
    environment = dict(os.environ)
    for name, value in given.items():
        environment.pop(named_file(name), None)
        environment[variable_of(name)] = str(value)
    return environment


@dataclass(frozen=True, slots=True, repr=False)
class Server:
    """Which one a client talks to, and as whom."""

    url: str
    token: str | None


def server_of_client() -> Server:
    url = os.environ.get(URL_VARIABLE) or DEFAULT_URL
    return Server(url.rstrip("/"), os.environ.get(TOKEN_VARIABLE) or None)


@dataclass(frozen=True, slots=True)
class Origin:
    name: str
    variable: str
    value: str
    source: str
    description: str


def origins(settings: Settings) -> list[Origin]:
    """Each setting with its value, secrets hidden, and where it came from."""
    env, files, toml = (source() for source in outside_sources(Settings))
    found = []
    for name, field in Settings.model_fields.items():
        variable = variable_of(name)
        places = {
            variable: name in env,
            named_file(name): name in files,
            str(config_file()): name in toml,
        }
        source = next((place for place, holds in places.items() if holds), "default")
        value = shown(getattr(settings, name))
        found.append(Origin(name, variable, value, source, field.description or ""))
    return found


def unknown_variables() -> list[str]:
    """Variables with our prefix that are no setting: most likely misspelt."""
    known = {CONFIG_VARIABLE, URL_VARIABLE, TOKEN_VARIABLE}
    for name in Settings.model_fields:
        known |= {variable_of(name), named_file(name)}
    return sorted(name for name in os.environ if name.startswith(PREFIX) and name not in known)


def shown(value: object) -> str:
    if isinstance(value, frozenset | list):
        return ", ".join(sorted(value))
    if isinstance(value, dict):
        return ", ".join(f"{name}={number}" for name, number in sorted(value.items()))
    if value is None or isinstance(value, SecretStr):
        return "" if value is None else "********"
    return str(value)
