"""Results have the fields of the server's answers, and tolerate those of newer servers."""

from dataclasses import FrozenInstanceError
from datetime import UTC, datetime

import pytest
from pydantic import BaseModel

from deemster.api.models import code_sessions as api_sessions
from deemster.api.models import events as api_events
from deemster.api.models import executions as api_executions
from deemster.api.models import problems as api_problems
from deemster.api.models import submissions as api_submissions
from deemster.client import (
    CodeSession,
    CodeVersion,
    Execution,
    ExecutionSummary,
    Language,
    Problem,
    ProblemItem,
    StartedExecution,
    Submission,
    SubmissionEvent,
    UnexpectedAnswerError,
)
from deemster.client.models.parsing import Model, known_fields, parse

ANSWER = {
    "id": "sub_1",
    "status": "finished",
    "problem_id": "prob_sum",
    "language": "c",
    "submitted_at": "2026-01-02T03:04:05.5Z",
    "verdict": "Accepted",
    "estimated_wait_s": 3,
    "progress": {"case": 1, "of": 2, "new": True},
    "groups": [{"name": "a", "verdict": "Accepted", "score": 1}],
    "new": {"any": "thing"},
}
AS_BASE64 = {"stdout", "stderr"}


def test_fields_of_a_newer_server_are_kept_in_raw() -> None:
    found = parse(Submission, ANSWER)
    assert found.is_accepted
    assert found.has_ended
    assert found.submitted_at == datetime(2026, 1, 2, 3, 4, 5, 500_000, UTC)
    assert found.estimated_wait_s == 3.0
    assert found.progress is not None
    assert (found.progress.case, found.progress.raw["new"]) == (1, True)
    assert found.groups is not None
    assert found.groups[0].score == 1
    assert found.failed_case is None
    assert found.raw["new"] == {"any": "thing"}
    assert "thing" not in repr(found)
    assert hash(found) == hash(parse(Submission, ANSWER | {"newer": 1}))
    with pytest.raises(FrozenInstanceError):
        found.id = "other"  # type: ignore[misc]


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        {},
        {**ANSWER, "id": None},
        {**ANSWER, "submitted_at": "yesterday"},
        {**ANSWER, "runtime_ms": "fast"},
        {**ANSWER, "progress": 5},
    ],
)
def test_an_answer_that_is_no_submission_is_an_error(answer: object) -> None:
    with pytest.raises(UnexpectedAnswerError, match="check the URL"):
        parse(Submission, answer)


@pytest.mark.parametrize(
    ("ours", "servers", "without"),
    [
        (Submission, api_submissions.SubmissionOut, {"staged_in"}),
        (Submission, api_submissions.AcceptedOut, set()),
        (SubmissionEvent, api_events.EventOut, {"reason", "staged"}),
        (StartedExecution, api_executions.AcceptedExecutionOut, set()),
        (Execution, api_executions.ExecutionOut, AS_BASE64),
        (
            ExecutionSummary,
            api_executions.ExecutionOut,
            AS_BASE64 | {"stdout_base64", "stderr_base64"},
        ),
        (CodeSession, api_sessions.CodeSessionOut, set()),
        (CodeVersion, api_sessions.CodeVersionOut, set()),
        (ProblemItem, api_problems.ProblemItem, set()),
        (Problem, api_problems.ProblemOut, set()),
        (Language, api_problems.LanguageOut, set()),
    ],
)
def test_the_client_knows_all_fields_of_the_server(
    ours: type[Model], servers: type[BaseModel], without: set[str]
) -> None:
    """Without those that only admins get, and the text of outputs that come as base64."""
    assert set(servers.model_fields) - set(known_fields(ours)) == without
