"""The messages between a server and its judge hosts, every field checked (M1)."""

from enum import StrEnum
from typing import Annotated, Final, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from deemster.domain.execution import (
    ExecutionLimits,
    ExecutionOptions,
    ExecutionResult,
    OutputChunk,
)
from deemster.domain.judgement import JuryJudgement
from deemster.domain.limits import MIB
from deemster.domain.stored_analysis import AnalysisRecord
from deemster.text_form import ID, NO_NUL, text_form

LONGEST_WAIT_S: Final = 30.0
"""A host's request for tasks is answered after this time, even if there is none."""
MOST_TASKS: Final = 1000
MOST_DATA: Final = 10_000
MESSAGE_BYTES: Final = 64 * MIB
"""The largest message of a host."""

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
    speed: Annotated[float, Field(gt=0, lt=1e6)] | None = None
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
    running: Annotated[list[RunningTask], Field(max_length=MOST_TASKS)] = []
    """All tasks that the host has; those that are missing are given to others."""
    languages: dict[Id, Version] | None = None
    """Only if they have changed."""
    data: Annotated[list[Digest], Field(max_length=MOST_DATA)] = []
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
    time_factor: Annotated[float, Field(gt=0, lt=1000)] = 1.0
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

    error: Annotated[str, Field(max_length=10_000)]
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
        return self
