"""Writes the callbacks of heng: the state of a task, and the result of its cases (M6)."""

import json
from collections.abc import Mapping
from typing import Any, Final

from deemster.domain.lifecycle import State
from deemster.domain.run_status import RunStatus
from deemster.domain.submission import SubmissionView
from deemster.domain.verdict import Verdict

MESSAGE_CHARS: Final = 1024
"""Most characters of a case's message, as heng's judger sends."""

STATES: Final = {
    "submission.confirmed": "confirmed",
    "submission.pending": "pending",
    "submission.judging": "judging",
}
"""The state that an update tells, by the kind of its webhook."""

# The names are spelled as heng-protocol spells them.
UNJUDGED: Final = "Unjudged"
SYSTEM_ERROR: Final = "SystemError"
SYSTEM_COMPILE_ERROR: Final = "SystemCompileError"
COMPILE_ERROR: Final = "CompileError"
KIND_OF_VERDICT: Final[Mapping[Verdict, str]] = {
    Verdict.ACCEPTED: "Accepted",
    Verdict.PARTIAL: "WrongAnswer",
    Verdict.WRONG_ANSWER: "WrongAnswer",
    Verdict.TIME_LIMIT: "TimeLimitExceeded",
    Verdict.MEMORY_LIMIT: "MemoryLimitExceeded",
    Verdict.OUTPUT_LIMIT: "OutpuLimitExceeded",
    Verdict.RUNTIME_ERROR: "RuntimeError",
    Verdict.COMPILE_ERROR: COMPILE_ERROR,
    Verdict.JUDGE_ERROR: SYSTEM_ERROR,
}
KIND_OF_COMPILER_END: Final[Mapping[RunStatus, str]] = {
    RunStatus.TIME_LIMIT: "CompileTimeLimitExceeded",
    RunStatus.WALL_LIMIT: "CompileTimeLimitExceeded",
    RunStatus.MEMORY_LIMIT: "CompileMemoryLimitExceed",
    RunStatus.OUTPUT_LIMIT: "CompileFileLimitExceed",
}
KIND_OF_JURY_END: Final[Mapping[RunStatus, str]] = {
    RunStatus.TIME_LIMIT: "SystemTimeLimitExceed",
    RunStatus.WALL_LIMIT: "SystemTimeLimitExceed",
    RunStatus.MEMORY_LIMIT: "SystemMemoryLimitExceed",
    RunStatus.OUTPUT_LIMIT: "SystemOutpuLimitExceeded",
    RunStatus.PROCESS_LIMIT: "SystemRuntimeError",
    RunStatus.SIGNALLED: "SystemRuntimeError",
    RunStatus.NONZERO_EXIT: "SystemRuntimeError",
    RunStatus.FORBIDDEN_SYSCALL: "SystemRuntimeError",
}

Document = Mapping[str, Any]


def update_body(kind: str) -> bytes:
    return json.dumps({"state": STATES[kind]}).encode()


def finish_body(
    submission: SubmissionView, jury: Document | None, *, cases: int, message_bytes: int
) -> bytes:
    """`jury` is the jury's report; None: the task ended without a verdict."""
    result = result_of(submission, jury, cases=cases, message_bytes=message_bytes)
    return json.dumps({"result": result}, ensure_ascii=False).encode()


def result_of(
    submission: SubmissionView, jury: Document | None, *, cases: int, message_bytes: int
) -> dict[str, Any]:
    if jury is None:
        is_cancelled = submission.state is State.CANCELLED
        why = "The task was cancelled." if is_cancelled else "The judge failed."
        return {"cases": all_cases(UNJUDGED if is_cancelled else SYSTEM_ERROR, cases, why)}
    compiled = jury["compiled"]
    if jury["verdict"] == Verdict.COMPILE_ERROR:
        kind = KIND_OF_COMPILER_END.get(RunStatus(compiled["status"]), COMPILE_ERROR)
        found = all_cases(kind, cases)
    elif not jury["cases"]:
        # Only a checker or an interactor that does not compile leaves no cases.
        found = all_cases(SYSTEM_COMPILE_ERROR, cases, jury["fault"])
    else:
        found = [case_result(case) for case in jury["cases"]]
    if not compiled or not compiled["argv"]:
        return {"cases": found}
    message = compiled["output"].encode()[:message_bytes].decode(errors="ignore")
    user = {"compileMessage": message, "compileTime": compiled["ms"]}
    return {"cases": found, "extra": {"user": user}}


def all_cases(kind: str, cases: int, message: str = "") -> list[dict[str, Any]]:
    case = {"kind": kind, "time": 0, "memory": 0, **extra_message(message)}
    return [dict(case) for _ in range(cases)]


def case_result(case: Document) -> dict[str, Any]:
    return {
        "kind": kind_of(case),
        "time": case["cpu_ms"],
        "memory": case["memory_kb"] * 1024,
        **extra_message(case["message"]),
    }


def kind_of(case: Document) -> str:
    if case["verdict"] is None:
        return UNJUDGED
    verdict = Verdict(case["verdict"])
    if verdict is Verdict.JUDGE_ERROR and case["jury_status"]:
        return KIND_OF_JURY_END.get(RunStatus(case["jury_status"]), SYSTEM_ERROR)
    return KIND_OF_VERDICT[verdict]


def extra_message(text: str) -> dict[str, str]:
    return {"extraMessage": text[:MESSAGE_CHARS]} if text else {}
