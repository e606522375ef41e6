"""A code session: source code that a user edits and runs, with its older versions (E1, E2)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from deemster.domain.errors import Refused
from deemster.domain.ids import AccountId, CodeSessionId, ExecutionId, ProblemId
from deemster.domain.language import Language
from deemster.domain.source import single_file

KEPT_VERSIONS: Final = 200
KEPT_BYTES: Final = 8 << 20
"""A session keeps its newest versions up to both bounds, and always the current one."""


@dataclass(frozen=True, slots=True)
class CodeSession:
    id: CodeSessionId
    account: AccountId
    language: str
    source: str
    version: int
    """Grows by one with each change."""
    created_at: datetime
    changed_at: datetime
    latest_execution: ExecutionId | None = None
    problem: ProblemId | None = None
    """The problem that is solved here; a user has at most one such session for each."""


@dataclass(frozen=True, slots=True)
class CodeVersion:
    number: int
    language: str
    source: str
    size_bytes: int
    restored: int | None
    """Number of the older version that was restored, if this is how it was made."""
    saved_at: datetime


def check_source(language: Language, source: str) -> None:
    if "\0" in source:
        raise Refused("The source contains a NUL character: remove it.")
    single_file(language, "", source.encode())
