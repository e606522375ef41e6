"""The Python client of a Deemster server, synchronous and asynchronous."""

from deemster.client.async_client import AsyncDeemster
from deemster.client.errors import (
    ApiError,
    AuthenticationError,
    ConflictError,
    ForbiddenError,
    InvalidRequestError,
    NoAnswerError,
    NotFoundError,
    RateLimitError,
    ServerError,
    UnexpectedAnswerError,
    VersionConflictError,
)
from deemster.client.exchange import Retries
from deemster.client.models.code_sessions import CodeSession, CodeVersion
from deemster.client.models.executions import (
    Execution,
    ExecutionSummary,
    Program,
    ProgramLimits,
    RefusedExecution,
    RunOptions,
    StartedExecution,
)
from deemster.client.models.live import LiveEvent, Output, StatusChange
from deemster.client.models.problems import Language, Problem, ProblemItem
from deemster.client.models.submissions import (
    CaseProgress,
    Judgement,
    JuryCase,
    Submission,
    SubmissionEvent,
)
from deemster.client.sync_client import Deemster
from deemster.domain.verdict import Verdict

__all__ = [
    "ApiError",
    "AsyncDeemster",
    "AuthenticationError",
    "CaseProgress",
    "CodeSession",
    "CodeVersion",
    "ConflictError",
    "Deemster",
    "Execution",
    "ExecutionSummary",
    "ForbiddenError",
    "InvalidRequestError",
    "Judgement",
    "JuryCase",
    "Language",
    "LiveEvent",
    "NoAnswerError",
    "NotFoundError",
    "Output",
    "Problem",
    "ProblemItem",
    "Program",
    "ProgramLimits",
    "RateLimitError",
    "RefusedExecution",
    "Retries",
    "RunOptions",
    "ServerError",
    "StartedExecution",
    "StatusChange",
    "Submission",
    "SubmissionEvent",
    "UnexpectedAnswerError",
    "Verdict",
    "VersionConflictError",
]
