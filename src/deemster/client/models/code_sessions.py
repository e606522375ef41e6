"""Code sessions and their versions, as the client returns them (E1, E2)."""

from dataclasses import dataclass
from datetime import datetime

from deemster.client.models.parsing import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeSession(Model):
    session_id: str
    status: str
    language: str
    version: int
    """Grows by one with each change of the source or the language."""
    problem_id: str | None = None
    """The problem that is solved in the session."""
    source_code: str | None = None
    """None in lists, and in the result of a save."""
    latest_execution_id: str | None = None
    created_at: datetime
    changed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeVersion(Model):
    version: int
    language: str
    size_bytes: int
    saved_at: datetime
    restored_version: int | None = None
    """The older version that this one restored."""
    source_code: str | None = None
    """None in lists."""
