"""Request and response models of the admins' routes of judge hosts."""

from datetime import datetime
from typing import Annotated, Final

from pydantic import Field, StringConstraints

from deemster.api.models.field_types import RequestModel, ResponseModel
from deemster.pattern_messages import ONE_LINE, text_form
from deemster.store.judge_hosts import HostState, JudgeHostView

BODY_BYTES: Final = 32 * 1024


class JudgeHostIn(RequestModel):
    name: Annotated[str, StringConstraints(min_length=1, max_length=63)]
    """Up to 63 letters, digits, dots, dashes and underscores."""


class PauseIn(RequestModel):
    reason: Annotated[str, text_form(ONE_LINE, max_length=500)] | None = None
    """Shown to admins in the list of hosts."""


class HostWorkerOut(ResponseModel):
    """The latest process of a host; it is also in the list of workers."""

    id: str
    is_live: bool
    """False: the process has ended, or is silent."""
    slots: int
    """Submissions and analyses that the host runs at the same time."""
    execution_slots: int
    busy: int
    languages: list[str]
    versions: dict[str, str]
    """The exact version of each language."""
    speed: float | None
    """How fast the host is, compared with the reference: 2 needs half of the time."""
    address: str | None
    """URL to which tasks are sent; null if the host fetches them."""
    started_at: datetime
    seen_at: datetime
    draining_at: datetime | None


class HostVerdictOut(ResponseModel):
    submission_id: str
    verdict: str
    """What this host found; it need not be the verdict that counted."""
    judged_at: datetime


class HostVerdictsOut(ResponseModel):
    items: list[HostVerdictOut]


class HostVerdictsQuery(RequestModel):
    hours: Annotated[float, Field(gt=0, le=24 * 30)] = 24
    limit: Annotated[int, Field(ge=1, le=10_000)] = 1000


class JudgeHostOut(ResponseModel):
    id: str
    name: str
    state: HostState
    created_by: str
    created_at: datetime
    paused_at: datetime | None
    pause_reason: str | None
    revoked_at: datetime | None
    worker: HostWorkerOut | None
    """Null if the host did not run for a day."""


class JudgeHostsOut(ResponseModel):
    items: list[JudgeHostOut]


class NewKeyOut(JudgeHostOut):
    key: str
    """The key of the host. Only this response shows it."""


def host_out(view: JudgeHostView) -> JudgeHostOut:
    return JudgeHostOut.model_validate(view, from_attributes=True)


def new_key_out(view: JudgeHostView, key: str) -> NewKeyOut:
    return NewKeyOut(**host_out(view).model_dump(), key=key)
