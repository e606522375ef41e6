"""Defines every setting with its default, and loads them."""

import os
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SecretStr,
    ValidationError,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from deemster.domain.errors import Refused
from deemster.domain.judge_host import JudgeOn
from deemster.pattern_messages import fault_text
from deemster.settings.sources import (
    PREFIX,
    TOKEN_VARIABLE,
    config_file,
    outside_sources,
    variable_of,
)

CompatApi = Literal["heng", "judge0", "jobe", "mcp", "piston", "sandboxfusion"]
StageName = Literal["analyze", "evaluate_ai"]
LayerName = Literal["seccomp", "cgroup", "pid", "net", "ipc", "uts"]


def known_time_zone(name: str) -> str:
    try:
        return ZoneInfo(name).key
    except (KeyError, OSError, ValueError):
        raise ValueError("use the name of a time zone, such as Europe/Berlin") from None


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
    """Whether this is real root: root of a user namespace can't write to /var."""
    return os.geteuid() == 0 and os.access("/var/lib", os.W_OK)


def default_data_dir() -> Path:
    if is_system_wide():
        return Path("/var/lib/deemster")
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "deemster"


def default_work_dir(known: dict[str, Any]) -> Path:
    """In memory where the system has such a directory, so that sources never reach a disk."""
    if is_system_wide():
        return Path("/run/deemster/work")
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return Path(runtime) / "deemster" / "work" if runtime else known["data_dir"] / "work"


AtLeast0 = Annotated[int, Field(ge=0)]
AtLeast1 = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0)]


class Settings(BaseSettings):
    """The text below a field is its description in `deemster settings`."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True)

    env: str = "dev"
    """Name of this environment. Environments with different names can share the store of the
    queue (Redis or Postgres) and the Redis server of cache_url."""
    data_dir: Annotated[Path, Field(default_factory=default_data_dir)]
    """Directory for persistent data."""
    work_dir: Annotated[Path, Field(default_factory=default_work_dir)]
    """Directory for sources and compiled programs while they are judged."""

    database_url: SecretStr | None = None
    """postgresql:// URL of the database. If unset, `deemster up` runs one in data_dir."""
    migration_database_url: SecretStr | None = None
    """postgresql:// URL of the same database for a role that owns its tables. If set, only
    migrations and backups use it, and the role of database_url gets access to rows alone."""
    queue_url: SecretStr | None = None
    """redis://, rediss:// or postgresql:// URL of the store of the queue. If unset, the queue
    is in the database of database_url."""
    cache_url: SecretStr | None = None
    """redis:// or rediss:// URL of a server in which API processes share their cache and the
    counters of rate limits. If unset, each process has its own cache and counters."""
    artifacts_url: SecretStr | None = None
    """s3://bucket/prefix, or file:///directory, for test data and large artifacts. All machines
    need the same value. If unset, they are files in data_dir."""
    secret_key: SecretStr | None = None
    """Secret from which all signing keys are derived. If unset, one is kept in data_dir."""

    host: str = "127.0.0.1"
    """Address on which the API listens."""
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    """Port on which the API listens."""
    public_url: str | None = None
    """URL under which users reach the service, such as https://judge.example.org."""
    trusted_proxies: Annotated[list[str], NoDecode, BeforeValidator(split_list)] = []
    """Addresses or networks of proxies whose X-Forwarded-For header is trusted."""
    compat: Annotated[list[CompatApi], NoDecode, BeforeValidator(split_list)] = []
    """APIs that are offered to clients of other services and to agents: heng, judge0, jobe,
    mcp, piston, sandboxfusion."""
    judge_host_networks: Annotated[
        list[IPv4Network | IPv6Network], NoDecode, BeforeValidator(split_list)
    ] = []
    """Private networks, such as 10.1.0.0/16, to whose addresses the server may send tasks.
    Judge hosts that fetch their tasks need none."""
    cors_origins: Annotated[list[str], NoDecode, BeforeValidator(split_list)] = []
    """Origins whose web pages may call the API with a token, such as https://example.org."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Lowest level of messages that are logged."""

    metrics_port: Annotated[int, Field(ge=1, le=65531)] | None = None
    """First of five ports on which roles without an API serve their metrics: relay, worker,
    keeper, dispatcher and judge host, in this order. If unset, they serve none. Each further
    worker process of `deemster up` uses a port that is higher by 5."""
    metrics_host: str = "127.0.0.1"
    """Address on which roles without an API serve their metrics (see metrics_port), to everyone
    who can reach it: they ask for no token."""

    sign_up: bool = False
    """Whether people may create their own accounts."""
    page_language: Literal["de", "en"] = "en"
    """Language of pages for visitors who chose none, and whose browser asks for neither
    German nor English."""
    page_time_zone: Annotated[str, AfterValidator(known_time_zone)] = "UTC"
    """Time zone of dates on pages, such as Europe/Berlin, for visitors who chose none and whose
    browser runs no scripts."""
    session_hours: Positive = 24 * 7.0
    """Time without use after which a log-in expires, in hours."""
    jwt_issuer: str | None = None
    """Issuer (a URL) whose JWTs are accepted as bearer tokens."""
    jwt_audience: str | None = None
    """Audience that the JWTs of jwt_issuer must name."""
    jwt_jwks_url: str | None = None
    """URL of the keys of jwt_issuer. If unset, its discovery document tells the URL."""
    jwt_role_claim: str | None = None
    """Claim in the JWTs of jwt_issuer that holds the role of an account. If unset, all accounts
    that come from there have the role user."""
    oidc_client_id: str | None = None
    """Client id for log-in at jwt_issuer by OpenID Connect."""
    oidc_client_secret: SecretStr | None = None
    """Client secret for log-in at jwt_issuer by OpenID Connect."""

    submit_interval_s: Annotated[float, Field(ge=0)] = 30.0
    """Minimum time between two submissions of one user to one problem, in seconds."""
    daily_quota: AtLeast0 | None = 1000
    """Maximum number of submissions of one user on one day (UTC)."""
    submits_per_minute_user: AtLeast1 = 60
    """Maximum number of submissions of one user per minute."""
    submits_per_minute_ip: AtLeast1 = 30_000
    """Maximum number of submissions from one IP address per minute."""
    submits_per_minute_problem: AtLeast1 = 60_000
    """Maximum number of submissions to one problem per minute."""
    requests_per_second_user: AtLeast1 = 200
    """Maximum number of requests of any kind of one user per second."""
    streams_per_user: AtLeast1 = 100
    """Maximum number of open event streams of one user in one API process."""
    waits_per_user: AtLeast1 = 100
    """Maximum number of open requests with `?wait=` of one user in one API process."""
    longest_wait_s: Annotated[float, Field(ge=0, le=300)] = 30.0
    """Time after which a request with `?wait=` is answered in any case, in seconds."""
    refused_logins_per_minute_ip: AtLeast1 = 60
    """Maximum number of refused tokens, log-ins and signatures from one IP address per minute.
    As many new accounts (sign_up) can be made from there."""
    queue_high: AtLeast1 = 50_000
    """Number of waiting submissions, or executions, at which the API refuses new ones."""
    queue_low: AtLeast0 = 40_000
    """Number of waiting submissions, or executions, at which the API accepts new ones again."""
    without_workers: Literal["accept", "refuse"] = "accept"
    """Whether the API accepts or refuses programs while no worker runs."""

    webhook_allow_private: bool = False
    """Whether webhooks may go to private and local addresses, and files of heng tasks may come
    from there."""
    webhook_attempts: AtLeast1 = 3
    """Maximum number of attempts to deliver one webhook."""
    webhook_timeout_s: Positive = 10.0
    """Time within which a webhook's receiver must answer, in seconds."""
    heng_import_s: Positive = 30.0
    """Time within which the files of a heng task must be fetched and stored, in seconds."""
    heng_sign_callbacks: bool = False
    """Whether callbacks to heng clients have the signature of heng."""

    evaluation_api_keys: SecretStr | None = None
    """API keys of model endpoints by name, such as cheap=sk-1,strong=sk-2."""
    evaluation_allow_private: bool = False
    """Whether model endpoints may have private and local addresses."""
    evaluation_language: str = "en"
    """Language of feedback for students whose own language is unknown."""

    slots: AtLeast1 | None = None
    """Number of programs that a worker runs at once. If unset, all cores but one."""
    slots_per_process: AtLeast1 = 8
    """Number of slots that one process of a worker serves: `deemster up` starts as many worker
    processes as its slots need, and divides slots, compile slots, execution slots and language
    servers among them."""
    compile_slots: AtLeast0 = 1
    """Number of programs that a worker compiles ahead while all its slots judge, on cores that
    judge nothing. Without such a core, and with 0, each program is compiled in its slot."""
    run_attempts: AtLeast1 = 3
    """Maximum number of attempts to judge one submission when the judge itself fails."""
    lease_s: Annotated[float, Field(ge=2)] = 15.0
    """Time after which a silent worker's submissions are judged again, in seconds."""
    max_running: AtLeast1 | None = None
    """Maximum number of submissions that all workers together judge at once."""
    max_running_per_user: AtLeast1 | None = None
    """Maximum number of submissions of one user that are judged at once."""
    max_running_by_language: Annotated[
        dict[str, int], NoDecode, BeforeValidator(split_numbers)
    ] = {}
    """Maximum number of submissions judged at once per language, such as java=2,kotlin=1."""
    max_starts_per_second: Positive | None = None
    """Maximum number of jobs of each queue that all workers together start per second."""
    strict_priority: bool = False
    """Whether a queue is served only while all queues of higher priority are empty."""

    stages: Annotated[frozenset[StageName], NoDecode, BeforeValidator(split_list)] = frozenset()
    """Stages that follow a verdict: analyze, evaluate_ai. Problems and contests can name
    others."""
    stage_slots: AtLeast0 = 1
    """Number of stages after the verdict that a worker runs at once, beside judging. Each
    waits while submissions keep all slots busy, for at most a minute. With 0, submissions and
    stages share the slots by the weights of their queues."""
    analysis_yields: bool = True
    """Whether analysers get only CPU time that nobody else wants. Turn it off where other
    programs keep all cores of a worker busy."""
    stage_retries: AtLeast0 = 5
    """Maximum number of times that a failed stage after the verdict is tried again."""

    execution_slots: AtLeast1 = 16
    """Number of executions that a worker runs at once, on cores that judge nothing if there are
    any."""
    execution_wall_s: Positive = 60.0
    """Longest time that an execution may ask for, in seconds."""
    live_wall_s: Positive = 1800.0
    """Longest time of an execution whose input is typed, in seconds."""
    live_idle_s: Positive = 300.0
    """Time without input and output after which an execution whose input is typed is ended, in
    seconds."""
    execution_memory_mb: AtLeast1 = 512
    """Most memory that an execution may ask for, in MB."""
    execution_processes: AtLeast1 = 120
    """Most processes and threads that an execution may ask for."""
    execution_output_kb: AtLeast1 = 4096
    """Most output that an execution may ask for, in KB for each of stdout and stderr."""
    execution_cores: Positive = 0.5
    """Share of a CPU core that an execution may use."""
    execution_keep_hours: Positive = 24 * 7.0
    """Time after which an ended execution is deleted with its output, in hours."""
    language_servers: AtLeast0 = 0
    """Number of language servers that a worker runs at once, to complete and check programs
    while people type; each person has at most one. With 0, the editor works without them. They
    need the extra `deemster[language-servers]`."""
    language_servers_yield: bool = True
    """Whether language servers get only CPU time that nobody else wants. Turn it off where
    other programs keep all cores of a worker busy."""
    language_server_memory_mb: AtLeast1 = 768
    """Most memory that a language server may use, in MB."""
    client_file_mb: AtLeast1 = 8
    """Maximum size of a file that a client stores for its runs (Jobe), in MB."""
    client_files_mb: AtLeast1 = 128
    """Maximum size of all files that one user's clients store for their runs (Jobe), in MB."""
    client_file_keep_hours: Positive = 24.0
    """Time without use after which a file that a client stores for its runs (Jobe) is deleted,
    in hours."""
    executions_per_minute_user: AtLeast1 = 120
    """Maximum number of executions of one user per minute."""
    live_executions_per_user: AtLeast1 = 4
    """Maximum number of executions of one user that wait for typed input, or will."""
    code_sessions_per_user: AtLeast1 = 100
    """Maximum number of live-coding sessions of one user."""
    max_executions: AtLeast1 | None = None
    """Maximum number of executions that all workers together run at once."""
    max_executions_per_user: AtLeast1 | None = 8
    """Maximum number of executions of one user that run at once."""

    judge_on: JudgeOn = JudgeOn.WORKERS
    """Where submissions, executions and analyses run: on local workers only (workers), on judge
    hosts only (hosts), or on judge hosts as long as one is free (hosts-first)."""
    judge_twice: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Share of the submissions on judge hosts (0 to 1) that a second host judges too, so that
    the results can be compared."""
    scale_time_limits: bool = False
    """Whether time limits on a judge host are divided by its speed figure."""

    compile_cache_mb: AtLeast0 = 1024
    """Disk space for compiled programs in data_dir, in MB. 0 turns the cache off."""
    precompile: bool = True
    """Whether a worker creates precompiled headers in the background when it starts."""
    warm_up_mb: AtLeast0 = 2048
    """Files of toolchains that a worker loads into memory at its start, in MB. 0 means none."""
    analysis_cache_mb: AtLeast0 = 128
    """Disk space for results of static analysis in data_dir, in MB. 0 turns the cache off."""
    similarity: bool = True
    """Whether the keeper looks for similar submissions of different users."""
    revisions_mb: AtLeast1 = 8192
    """Disk space for unpacked problem packages in data_dir, in MB."""
    package_mb: AtLeast1 = 4096
    """Maximum size of an unpacked problem package, in MB."""
    package_files: AtLeast1 = 20_000
    """Maximum number of files and directories in a problem package."""
    problem_time_s: Positive = 60.0
    """Longest time limit that a problem package may ask for, in seconds."""
    problem_memory_mb: AtLeast1 = 4096
    """Highest memory limit that a problem package may ask for, in MB."""
    problem_output_mb: AtLeast1 = 256
    """Highest output limit that a problem package may ask for, in MB."""
    problem_cases: AtLeast1 = 5000
    """Maximum number of test cases of a problem."""
    problem_passes: AtLeast1 = 100
    """Maximum number of passes that a multi-pass problem may ask for."""
    judgehost_name: str | None = None
    """Name of a judge host at its server. If unset, it is the name of this machine."""
    domjudge_user: str = "judgehost"
    """User of the DOMjudge server that `deemster judgehost --domjudge` judges for."""
    domjudge_password: SecretStr | None = None
    """Password of domjudge_user at the DOMjudge server."""
    domjudge_cache_mb: AtLeast1 = 8192
    """Disk space in data_dir for test cases and executables of DOMjudge servers, in MB."""
    domjudge_keep_mb: AtLeast0 = 2048
    """Disk space in data_dir for outputs that a DOMjudge server may ask for later, in MB."""
    judgehost_server: str | None = None
    """URL of the Deemster server that `deemster judgehost` judges for."""
    judgehost_key: SecretStr | None = None
    """Key of a judge host, which an admin of the server made for it."""
    judgehost_key_file: Path | None = None
    """File that holds the key of a judge host. Only its owner may be able to read it."""
    judgehost_listen: str | None = None
    """Address and port on which a judge host accepts tasks, such as 0.0.0.0:8900."""
    judgehost_address: str | None = None
    """URL under which the server reaches a judge host. If unset, the host fetches tasks."""
    judgehost_cache_mb: AtLeast0 = 8192
    """Disk space in data_dir for the encrypted test data of a judge host, in MB."""
    judgehost_memory_dir: Path = Path("/dev/shm")  # noqa: S108 - checked before use
    """Directory in memory (tmpfs) in which a judge host unpacks test data."""
    judgehost_memory_mb: AtLeast1 | None = None
    """Memory for unpacked test data of a judge host, in MB. If unset, half of the size of
    judgehost_memory_dir."""
    runner: Path | None = None
    """Path of a sandbox runner that replaces the one in the package."""
    sandbox_without: Annotated[frozenset[LayerName], NoDecode, BeforeValidator(split_list)] = (
        frozenset()
    )
    """Sandbox layers to turn off: seccomp, cgroup, pid, net, ipc or uts. This is less safe."""
    sandbox_read_mb_per_s: AtLeast0 = 256
    """Most that programs in one box read from a disk, in MB per second. 0 means no limit."""

    @property
    def core_locks(self) -> Path:
        """Directory in which workers lock the CPU cores on which they judge."""
        return self.work_dir.with_name(f"{self.work_dir.name}-cores")

    @model_validator(mode="after")
    def _check_queue_marks(self) -> Self:
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


def load_settings(**overrides: object) -> Settings:
    """Overrides win over all sources; one that is None overrides nothing."""
    given: dict[str, Any] = {name: each for name, each in overrides.items() if each is not None}
    try:
        return Settings(**given)
    except ValidationError as fault:
        first = fault.errors()[0]
        if not first["loc"]:
            raise Refused(
                f"The settings contradict each other: {fault_text(first)}."
            ) from fault
        name = str(first["loc"][0])
        if first["type"] == "extra_forbidden":
            raise Refused(
                f"The settings file {config_file()} has the unknown key {name}: remove it, or "
                "correct its name (`deemster settings` lists all)."
            ) from fault
        raise Refused(
            f"The setting {name} ({variable_of(name)}) is not valid: {fault_text(first)}."
        ) from fault


def given_secrets(settings: Settings) -> list[str]:
    """Returns the names of all secrets that are set, also of those that only clients read."""
    found = [name for name in Settings.model_fields if is_secret(getattr(settings, name))]
    return found + [TOKEN_VARIABLE] * (TOKEN_VARIABLE in os.environ)


def is_secret(value: object) -> bool:
    return isinstance(value, SecretStr)
