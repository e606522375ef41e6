"""Request and response models of code sessions and their versions (E1, E2)."""

from datetime import datetime
from typing import Annotated, Final, Literal

from pydantic import Field

from deemster.api.http.paging import Page
from deemster.api.models.field_types import RequestModel, ResponseModel, ShortText
from deemster.domain.code_session import CodeSession, CodeVersion

CODE_SESSIONS_PATH: Final = "/v1/code-sessions"
LARGEST_NUMBER: Final = 2**31 - 1


class CodeSessionIn(RequestModel):
    language: ShortText = Field(examples=["python3"])
    template_code: str | None = Field(None, examples=["print(input())"])
    """The first source. The default is the template of the language."""
    problem_id: ShortText | None = None
    """Problem that is solved in the session. If you have a session for it already, the response
    is 200 with that one, unchanged."""


class CodeSessionPatch(RequestModel):
    """A field that is left out does not change."""

    source_code: str | None = Field(None, examples=["print(input())"])
    language: ShortText | None = None


class CodeSessionOut(ResponseModel):
    session_id: str
    status: Literal["ACTIVE"] = "ACTIVE"
    language: str
    version: int
    """Grows by one with each change; the ETag is made of it."""
    problem_id: str | None = None
    """The problem that is solved in the session."""
    source_code: str | None = None
    """Left out in lists, and in the response to a change of the session."""
    latest_execution_id: str | None = None
    created_at: datetime
    changed_at: datetime


class CodeSessionPage(Page[CodeSessionOut]):
    """Sessions without their source, newest first."""


class CodeVersionOut(ResponseModel):
    version: int
    language: str
    size_bytes: int
    saved_at: datetime
    restored_version: int | None = None
    """The older version that this one restored."""
    source_code: str | None = None
    """Left out in lists."""


class CodeVersionPage(Page[CodeVersionOut]):
    """Versions without their source, newest first."""


class DiffQuery(RequestModel):
    older: Annotated[int, Field(alias="from", ge=1, le=LARGEST_NUMBER)]
    """Number of a version."""
    newer: Annotated[int, Field(alias="to", ge=1, le=LARGEST_NUMBER)]
    """Number of a version."""


def session_out(session: CodeSession, *, with_source: bool) -> CodeSessionOut:
    shown = CodeSessionOut(
        session_id=session.id,
        status="ACTIVE",
        language=session.language,
        version=session.version,
        created_at=session.created_at,
        changed_at=session.changed_at,
    )
    if session.latest_execution is not None:
        shown.latest_execution_id = session.latest_execution
    if session.problem is not None:
        shown.problem_id = session.problem
    if with_source:
        shown.source_code = session.source
    return shown


def version_out(version: CodeVersion, *, with_source: bool) -> CodeVersionOut:
    shown = CodeVersionOut(
        version=version.number,
        language=version.language,
        size_bytes=version.size_bytes,
        saved_at=version.saved_at,
    )
    if version.restored is not None:
        shown.restored_version = version.restored
    if with_source:
        shown.source_code = version.source
    return shown
