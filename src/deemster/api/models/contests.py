"""Request and response models of contests."""

from enum import StrEnum
from typing import Annotated, Any, Final, Self

from pydantic import Field, model_validator

from deemster.api.http.paging import Page
from deemster.api.models.field_types import (
    RequestModel,
    ResponseModel,
    ShortText,
    Timestamp,
    duplicates,
)
from deemster.api.models.stages import StageName, stage_names, tasks_of
from deemster.domain.account import Account, Role
from deemster.domain.ids import ProblemId
from deemster.store.contests import Contest, ContestPlan

MAX_PROBLEMS: Final = 100


class ContestIn(RequestModel):
    title: ShortText
    opens_at: Timestamp
    closes_at: Timestamp
    """Submissions are accepted before this time."""
    problems: Annotated[list[ShortText], Field(min_length=1, max_length=MAX_PROBLEMS)]
    """Ids of the problems, in the order of the contest."""
    stages: Annotated[list[StageName] | None, Field(max_length=len(StageName))] = None
    """Stages that follow the verdict on each submission in the contest. null: those of the
    problem."""

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.closes_at <= self.opens_at:
            raise ValueError("closes_at must be after opens_at")
        for name in duplicates(self.problems):
            raise ValueError(f"the problem {name!r} is named twice")
        return self

    def to_plan(self) -> ContestPlan:
        problems = [ProblemId(each) for each in self.problems]
        return ContestPlan(
            self.title, self.opens_at, self.closes_at, problems, tasks_of(self.stages)
        )


class Phase(StrEnum):
    UPCOMING = "upcoming"
    OPEN = "open"
    CLOSED = "closed"


class ContestOut(ResponseModel):
    id: str
    title: str
    status: Phase
    opens_at: Timestamp
    closes_at: Timestamp
    """Submissions are accepted before this time."""
    problems: list[str] | None = None
    """Ids of the problems. Users who are not admins see them once the contest has opened."""
    stages: list[StageName] | None = None
    """Stages that follow a verdict, if the contest decides that."""


class ContestPage(Page[ContestOut]):
    """A page of contests."""


def contest_out(contest: Contest, caller: Account) -> ContestOut:
    plan = contest.plan
    phase = Phase.OPEN if contest.has_opened() else Phase.UPCOMING
    fields: dict[str, Any] = {
        "id": contest.id,
        "title": plan.title,
        "status": Phase.CLOSED if contest.has_closed() else phase,
        "opens_at": plan.opens_at,
        "closes_at": plan.closes_at,
    }
    if contest.has_opened() or caller.role is Role.ADMIN:
        fields["problems"] = plan.problems
        if plan.stages is not None:
            fields["stages"] = stage_names(plan.stages)
    return ContestOut.model_validate(fields)
