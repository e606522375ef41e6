"""Makes and checks ids: prefixed, sortable by creation time and impossible to guess (A5)."""

import re
import secrets
import time
from threading import Lock
from typing import Final, NewType
from uuid import UUID

from deemster.domain.errors import Refused

SubmissionId = NewType("SubmissionId", str)
ExecutionId = NewType("ExecutionId", str)
AnalysisId = NewType("AnalysisId", str)
"""Of an analysis that was requested for a program which has ended."""
WorkId = SubmissionId | ExecutionId | AnalysisId
"""Of what goes through the pipeline."""
CodeSessionId = NewType("CodeSessionId", str)
ProblemId = NewType("ProblemId", str)
AccountId = NewType("AccountId", str)
TokenId = NewType("TokenId", str)
WorkerId = NewType("WorkerId", str)
ContestId = NewType("ContestId", str)
DeliveryId = NewType("DeliveryId", str)
HengAccessKey = NewType("HengAccessKey", str)
RejudgingId = NewType("RejudgingId", str)
RevisionDigest = NewType("RevisionDigest", str)

SUBMISSION: Final = "sub"
EXECUTION: Final = "exe"
ANALYSIS: Final = "ana"
CODE_SESSION: Final = "ses"
PROBLEM: Final = "prob"
ACCOUNT: Final = "usr"
RUBRIC: Final = "rub"
TOKEN: Final = "tok"  # noqa: S105 - a prefix
WORKER: Final = "wrk"
CONTEST: Final = "con"
DELIVERY: Final = "whd"
HENG_ACCESS_KEY: Final = "hak"
REJUDGING: Final = "rej"
KINDS: Final = {f"{EXECUTION}_": "execution", f"{ANALYSIS}_": "analysis"}

ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
"""Crockford's base 32: without letters that look like digits, and in ASCII order."""
FRACTION_BITS: Final = 12
RANDOM_BITS: Final = 68
UUID_RANDOM_BITS: Final = 62
"""An id with no more random bits can be written as a UUID."""
LENGTH: Final = 26
GENERATED_ID = re.compile(rf"[a-z]{{3,4}}_[{ALPHABET}]{{{LENGTH}}}")
SLUG = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
SLUG_LENGTH: Final = 64


def work_id(text: str) -> WorkId:
    match text[:4]:
        case "exe_":
            return ExecutionId(text)
        case "ana_":
            return AnalysisId(text)
    return SubmissionId(text)


def kind_of(work: WorkId) -> str:
    """The word for a submission, an execution or an analysis, as the database has it."""
    return KINDS.get(work[:4], "submission")


class Clock:
    """Counts 1/4096 ms and never repeats: ids made by one process are in order."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.last = 0

    def tick(self) -> int:
        now = (time.time_ns() << FRACTION_BITS) // 1_000_000
        with self.lock:
            self.last = max(self.last + 1, now)
            return self.last


CLOCK: Final = Clock()


def new_id(prefix: str, random_bits: int = RANDOM_BITS) -> str:
    """48 bits of milliseconds, 12 bits of fractions of one, at most 68 random bits."""
    return format_id(prefix, (CLOCK.tick() << RANDOM_BITS) | secrets.randbits(random_bits))


def new_execution_id() -> ExecutionId:
    """Clients of a compatible API expect a UUID: see `uuid_of`."""
    return ExecutionId(new_id(EXECUTION, UUID_RANDOM_BITS))


def format_id(prefix: str, number: int) -> str:
    digits = [ALPHABET[(number >> (5 * place)) & 31] for place in reversed(range(LENGTH))]
    return f"{prefix}_{''.join(digits)}"


def uuid_of(execution: ExecutionId) -> UUID:
    """The id in the form of a UUID of version 4: with the same bits, in the same order."""
    number = 0
    for digit in execution.removeprefix(f"{EXECUTION}_"):
        number = number << 5 | ALPHABET.index(digit)
    milliseconds, fraction = divmod(number >> RANDOM_BITS, 1 << FRACTION_BITS)
    high = milliseconds << 16 | 4 << 12 | fraction
    return UUID(int=high << 64 | 2 << UUID_RANDOM_BITS | number % (1 << UUID_RANDOM_BITS))


def execution_of_uuid(uuid: UUID) -> ExecutionId:
    """Undoes `uuid_of`."""
    high, low = divmod(uuid.int, 1 << 64)
    time = high >> 16 << FRACTION_BITS | high % (1 << FRACTION_BITS)
    number = time << RANDOM_BITS | low % (1 << UUID_RANDOM_BITS)
    return ExecutionId(format_id(EXECUTION, number))


def problem_id_from_name(name: str) -> ProblemId:
    """The id of a problem whose package has this name."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:SLUG_LENGTH].strip("-")
    return ProblemId(f"{PROBLEM}_{plain or 'problem'}")


def parse_problem_id(given: str) -> ProblemId:
    """The id that a user wrote, with or without its prefix."""
    slug = given.removeprefix(f"{PROBLEM}_")
    if not SLUG.fullmatch(slug) or len(slug) > SLUG_LENGTH:
        raise Refused(
            f"{given!r} can't be the id of a problem: write {PROBLEM}_ and lower-case letters, "
            f"digits and dashes, such as {PROBLEM}_sum."
        )
    return ProblemId(f"{PROBLEM}_{slug}")
