"""Builds and signs the body of a webhook; every attempt sends the same bytes (H2)."""

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import floor
from typing import Any, Final

from standardwebhooks import Webhook

from deemster.domain.execution import ExecutionView, error_of, exit_code_of, status_of
from deemster.domain.ids import AccountId
from deemster.domain.lifecycle import PUBLIC_STATUS, State
from deemster.domain.submission import SubmissionView

PREFIX: Final = "whsec_"


EVALUATED: Final = "submission.evaluated"


def body_of(kind: str, subject: SubmissionView | ExecutionView) -> bytes:
    """Uses only fields that no longer change once a submission is judged, or has ended."""
    if isinstance(subject, ExecutionView):
        at, data = subject.finished_at, known(execution_fields(subject))
    else:
        if kind != EVALUATED and subject.judged_at is not None:
            # Stages follow the verdict, and may have ended meanwhile.
            subject = replace(subject, state=State.COMPLETED, finished_at=subject.judged_at)
        # As in the API, the verdict is always present, and null if there is none.
        at, data = subject.finished_at, {"verdict": None, **known(fields(subject))}
    assert at is not None, "only what is judged or has ended has webhooks"
    document = {"type": kind, "timestamp": timestamp(at), "data": data}
    return json.dumps(document, sort_keys=True, ensure_ascii=False).encode()


def fields(submission: SubmissionView) -> dict[str, Any]:
    """The fields that the API shows to the owner, without output of programs and compilers."""
    return {
        "id": submission.id,
        "status": PUBLIC_STATUS[submission.state],
        "verdict": submission.verdict,
        "problem_id": submission.problem,
        "language": submission.language,
        "user_id": submission.account,
        "submitted_at": timestamp(submission.submitted_at),
        "started_at": timestamp(submission.started_at),
        "finished_at": timestamp(submission.finished_at),
        "runtime_ms": submission.runtime_ms,
        "memory_kb": submission.memory_kb,
        "passed_cases": submission.passed_cases,
        "total_cases": submission.total_cases,
        "score": submission.score,
        "max_score": submission.max_score,
        "rejudge_of": submission.rejudge_of,
        "error": submission.failure if submission.state is State.FAILED else None,
    }


def execution_fields(execution: ExecutionView) -> dict[str, Any]:
    """The same for an execution."""
    result, error = execution.result, error_of(execution)
    return {
        "id": execution.id,
        "status": status_of(execution.state, result),
        "language": execution.language,
        "user_id": execution.account,
        "session_id": execution.session,
        "submitted_at": timestamp(execution.submitted_at),
        "started_at": timestamp(execution.started_at),
        "finished_at": timestamp(execution.finished_at),
        "exit_code": exit_code_of(result),
        "execution_time_ms": round(result.wall_ms) if result else None,
        "cpu_time_ms": round(result.cpu_ms) if result else None,
        "memory_kb": result.memory_kb if result else None,
        "error_type": error[0] if error else None,
        "error_message": error[1] if error else None,
    }


def known(values: dict[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in values.items() if each is not None}


def timestamp(at: datetime | None) -> str | None:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z") if at else None


@dataclass(frozen=True, slots=True, repr=False)
class SigningKeys:
    """Derives each account's webhook secret from the installation's secret; stores none."""

    secret: bytes

    def key_of(self, account: AccountId, generation: int) -> bytes:
        purpose = f"webhook:{account}:{generation}".encode()
        return hmac.digest(self.secret, purpose, hashlib.sha256)

    def formatted(self, account: AccountId, generation: int) -> str:
        """The secret in the form that Standard Webhooks libraries expect."""
        return PREFIX + base64.b64encode(self.key_of(account, generation)).decode()


def signature_headers(
    keys: list[bytes], message_id: str, at: datetime, body: bytes
) -> dict[str, str]:
    """Returns the signature headers, with one signature per key, the newest key first."""
    text = body.decode()
    signatures = [Webhook(key).sign(message_id, at, text) for key in keys]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(floor(at.timestamp())),
        "webhook-signature": " ".join(signatures),
        "X-Judge-Signature": f"sha256={hmac.new(keys[0], body, hashlib.sha256).hexdigest()}",
    }
