"""What a webhook says: the same bytes with every attempt."""

import json
from datetime import UTC, datetime
from typing import Any

from deemster.domain.lifecycle import PUBLIC_STATUS, State
from deemster.domain.submission import SubmissionView


def body_of(kind: str, submission: SubmissionView) -> bytes:
    """From what no longer changes once a submission has ended."""
    assert submission.finished_at is not None, "told of what has ended only"
    known = {name: each for name, each in fields(submission).items() if each is not None}
    document = {
        "type": kind,
        "timestamp": moment(submission.finished_at),
        # A verdict is there also when there is none, as in the API.
        "data": {"verdict": None, **known},
    }
    return json.dumps(document, sort_keys=True, ensure_ascii=False).encode()


def fields(submission: SubmissionView) -> dict[str, Any]:
    """As the API shows it to its owner, without what programs and compilers printed."""
    return {
        "id": submission.id,
        "status": PUBLIC_STATUS[submission.state],
        "verdict": submission.verdict,
        "problem_id": submission.problem,
        "language": submission.language,
        "user_id": submission.account,
        "submitted_at": moment(submission.submitted_at),
        "started_at": moment(submission.started_at),
        "finished_at": moment(submission.finished_at),
        "runtime_ms": submission.runtime_ms,
        "memory_kb": submission.memory_kb,
        "passed_cases": submission.passed_cases,
        "total_cases": submission.total_cases,
        "score": submission.score,
        "max_score": submission.max_score,
        "rejudge_of": submission.rejudge_of,
        "error": submission.failure if submission.state is State.FAILED else None,
    }


def moment(at: datetime | None) -> str | None:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z") if at else None
