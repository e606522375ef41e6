"""Request and response models of the stages that follow a verdict, and of analyses."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Literal

from pydantic import Field

from deemster.api.models.field_types import RequestModel, ResponseModel
from deemster.domain.analysis import Category
from deemster.domain.job import Task


class StageName(StrEnum):
    ANALYZE = "analyze"
    EVALUATE_AI = "evaluate_ai"

    @property
    def task(self) -> Task:
        return Task(f"submission:{self}")


class StagesIn(RequestModel):
    stages: list[StageName] | None = Field(max_length=len(StageName))
    """Stages that follow the verdict on each submission to the problem. null: those of the
    installation."""


class StagesOut(ResponseModel):
    stages: list[StageName] | None
    """null: those of the installation."""


def tasks_of(stages: Iterable[StageName] | None) -> frozenset[Task] | None:
    return None if stages is None else frozenset(stage.task for stage in stages)


def stage_names(tasks: Iterable[Task] | None) -> list[StageName] | None:
    return None if tasks is None else sorted(StageName(task.step) for task in tasks)


class MeanScore(ResponseModel):
    submissions: int
    """How many finished submissions have a score in this category."""
    mean: float


class ProblemScores(ResponseModel):
    scores: dict[Category, MeanScore]


class RequestedOut(ResponseModel):
    """An analysis that was requested; see its GET."""

    status: Literal["queued", "finished"]
