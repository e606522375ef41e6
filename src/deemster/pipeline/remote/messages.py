"""The messages between a server and its judge hosts, every field checked (M1)."""

import dataclasses
import json
import math
import zlib
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Any, Final, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from deemster.domain.execution import (
    ExecutionLimits,
    ExecutionOptions,
    ExecutionResult,
    OutputChunk,
)
from deemster.domain.judgement import JuryJudgement
from deemster.domain.limits import MIB
from deemster.domain.stored_analysis import AnalysisRecord
from deemster.pattern_messages import ID, NO_NUL, text_form
from deemster.public_addresses import BadDestination, target_of

LONGEST_WAIT_S: Final = 30.0
"""A host's request for tasks is answered after this time, even if there is none."""
MAX_TASKS: Final = 1000
MAX_DATA: Final = 10_000
MAX_TIME_FACTOR: Final = 1000.0
"""Time limits can follow the speed of a host: no task can be made for a slower one."""
MESSAGE_BYTES: Final = 64 * MIB
"""The largest message of a host."""

LOG_BYTES: Final = 32 * MIB
"""The largest log of an analysis, unpacked."""
LARGEST: Final = 2**31 - 1
"""The largest number that the database stores of a result."""


def check_address(address: str) -> str:
    try:
        target_of(address)
    except BadDestination:
        raise ValueError("this URL can't be read") from None
    return address


Id = Annotated[str, text_form(ID, min_length=1, max_length=200)]
Digest = Annotated[str, text_form(r"^[0-9a-f]{64}$", "use 64 digits, 0 to 9 and a to f")]
Version = Annotated[str, text_form(NO_NUL, max_length=500)]
"""Postgres can't store NUL."""
Address = Annotated[
    str,
    text_form(
        r"^https?://[^\s/?#@]+(/[^\s?#]*)?$",
        "use the URL of a web server, such as https://host.example.org",
        max_length=1000,
    ),
    AfterValidator(check_address),
]
Count = Annotated[int, Field(ge=0, lt=2**31)]


class HostMessage(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, ser_json_bytes="base64", val_json_bytes="base64"
    )


# ---- a host announces itself ----


class Announcement(HostMessage):
    """What a host says of itself when it starts."""

    release: Annotated[str, Field(max_length=100)]
    slots: Annotated[int, Field(ge=1, le=1024)]
    """Submissions and analyses that it runs at once."""
    execution_slots: Annotated[int, Field(ge=0, le=4096)] = 0
    languages: dict[Id, Version]
    """The version of each language that it has."""
    speed: Annotated[float, Field(gt=1 / MAX_TIME_FACTOR, lt=1e6)] | None = None
    """How fast it is, compared with the reference: 2 needs half of the time."""
    address: Address | None = None
    """URL to which tasks are sent. None: the host fetches them."""


class Registration(HostMessage):
    worker: Id
    """The id of this run of the host."""
    heartbeat_s: float
    """Pause between two heartbeats."""


class RunningTask(HostMessage):
    judge_id: Id
    done: Count = 0
    """Cases that are judged."""
    total: Count = 0


class HeartbeatRequest(HostMessage):
    worker: Id
    busy: Count
    running: Annotated[list[RunningTask], Field(max_length=MAX_TASKS)] = []
    """All tasks that the host has; those that are missing are given to others."""
    languages: dict[Id, Version] | None = None
    """Only if they have changed."""
    data: Annotated[list[Digest], Field(max_length=MAX_DATA)] = []
    """Test data that the host has."""
    cycle_s: Annotated[float, Field(gt=0, lt=1e6)] | None = None
    """Average time that a submission occupies a slot; None: the host has judged none."""
    ending: bool = False
    """The host takes no new tasks, and ends when it has none."""


class HostOrder(StrEnum):
    WORK = "work"
    DRAIN = "drain"
    """Take no new tasks, but stay."""
    GONE = "gone"
    """The server took the host for dead: stop all tasks, and register again."""


class HeartbeatAnswer(HostMessage):
    order: HostOrder
    lost: list[Id] = []
    """Tasks whose results no longer count: stop them."""


class LeaveRequest(HostMessage):
    worker: Id


# ---- tasks ----


class TaskKind(StrEnum):
    JUDGE = "judge"
    EXECUTE = "execute"
    ANALYZE = "analyze"


class ProblemData(HostMessage):
    """The package of a problem, named by its content."""

    digest: Digest
    path: str
    """Path and signed query below the server's URL; valid for a short time."""


class JudgePart(HostMessage):
    time_ms: Count
    """The time limit of a case, before it is scaled."""
    time_factor: Annotated[float, Field(gt=0, lt=MAX_TIME_FACTOR)] = 1.0
    """The host multiplies time limits by it, because it is slower or faster than others."""
    cases: Count


class ExecutePart(HostMessage):
    stdin: bytes
    args: list[str]
    limits: ExecutionLimits
    options: ExecutionOptions


class HostTask(HostMessage):
    judge_id: Id
    work: Id
    """The id of the submission, execution or analysis, which says nothing about its user."""
    kind: TaskKind
    attempt: Count
    language: Id
    main: str | None
    files: bytes
    """The source files, packed by `pack_files`."""
    deadline_s: Annotated[float, Field(gt=0)]
    """A task that takes longer has failed."""
    judge: JudgePart | None = None
    execute: ExecutePart | None = None
    data: ProblemData | None = None
    """The problem of a submission; for an analysis, too, because it may add files."""

    @property
    def update_path(self) -> str:
        return f"/v1/judgehost/callbacks/{self.work}/{self.judge_id}/update"

    @property
    def finish_path(self) -> str:
        return f"/v1/judgehost/callbacks/{self.work}/{self.judge_id}/finish"


class TaskRequest(HostMessage):
    worker: Id
    slots: Count
    """Submissions and analyses that the host could begin now."""
    execution_slots: Count = 0
    wait_s: Annotated[float, Field(ge=0, le=LONGEST_WAIT_S)] = 0


class Tasks(HostMessage):
    tasks: list[HostTask]


# ---- results ----


class Update(HostMessage):
    """What a running task has written since the last update; heartbeats tell its progress."""

    output: list[OutputChunk] = []


class JudgeOutcome(HostMessage):
    judgement: JuryJudgement
    show_groups: bool = True


class ExecuteOutcome(HostMessage):
    result: ExecutionResult
    output: list[OutputChunk] = []
    """Output that no update has told yet."""


class Failure(HostMessage):
    """The host failed, not the program."""

    error: Annotated[str, text_form(NO_NUL, max_length=10_000)]
    is_refusal: bool = False
    """Another try would fail in the same way."""


class Finish(HostMessage):
    """The result of a task: exactly one field is set."""

    judge: JudgeOutcome | None = None
    execute: ExecuteOutcome | None = None
    analyze: AnalysisRecord | None = None
    failure: Failure | None = None

    @model_validator(mode="after")
    def one_outcome(self) -> Self:
        outcomes = (self.judge, self.execute, self.analyze, self.failure)
        if sum(each is not None for each in outcomes) != 1:
            raise ValueError("exactly one outcome is expected")
        for outcome in outcomes:
            check_numbers(outcome)
        if self.analyze is not None:
            check_log(self.analyze.sarif)
        return self


def check_numbers(outcome: object) -> None:
    """A host that sends numbers which can't be stored would make its results fail for ever."""
    for number in numbers_of(outcome):
        is_negative = isinstance(number, int) and number < 0
        if is_negative or not math.isfinite(number) or abs(number) > LARGEST:
            raise ValueError("a number of the result is out of range")


def numbers_of(value: Any) -> Iterator[int | float]:
    if isinstance(value, int | float):
        yield value
    elif isinstance(value, BaseModel):
        yield from numbers_of(dict(value))
    elif dataclasses.is_dataclass(value):
        for each in dataclasses.fields(value):
            yield from numbers_of(getattr(value, each.name))
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from numbers_of(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from numbers_of(each)


def check_log(packed: bytes) -> None:
    """A small log can unpack to more than the memory of those who read it."""
    unpacking = zlib.decompressobj()
    try:
        log = json.loads(unpacking.decompress(packed, LOG_BYTES))
    except (zlib.error, ValueError, RecursionError):
        log = None
    if not isinstance(log, dict) or not unpacking.eof:
        raise ValueError("the log of the analysis can't be read, or is too long")
