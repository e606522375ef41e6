"""Request and response models of similar submissions."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from deemster.api.http.paging import Page, PageQuery, invalid_cursor, parse_number
from deemster.api.models.field_types import RequestModel, ResponseModel, ShortText
from deemster.domain.ids import SubmissionId
from deemster.domain.similarity import Lines, MatchingRegion
from deemster.domain.verdict import Verdict
from deemster.store.similarity import (
    ComparedSubmission,
    PairPosition,
    ProgramStatus,
    SimilarityProgress,
    SimilarPair,
)


class ComparisonStatus(StrEnum):
    WAITING = "waiting"
    """The submission was not compared yet, or is compared again."""
    COMPARED = "compared"
    TOO_SHORT = "too_short"
    """Too little of the program is its author's own to compare it."""
    FAILED = "failed"


class RegionOut(ResponseModel):
    file: str
    first_line: int
    """Counted from 1."""
    last_line: int
    other_file: str
    other_first_line: int
    other_last_line: int


class SimilarOut(ResponseModel):
    submission_id: str
    """The other submission."""
    user: str
    language: str
    verdict: Verdict | None
    submitted_at: datetime
    came_first: bool
    """Whether the other submission was submitted first."""
    percent: float
    """Part of this submission that the other one has too, without template code and code that
    many users share."""
    other_percent: float
    """Part of the other submission that this one has too."""
    regions: list[RegionOut]


class SimilarList(ResponseModel):
    id: str
    status: ComparisonStatus
    reason: str | None
    """Why the comparison failed."""
    items: list[SimilarOut]
    """The most similar submission is first."""


class ComparedOut(ResponseModel):
    id: str
    user: str
    language: str
    verdict: Verdict | None
    submitted_at: datetime
    percent: float
    """Part of this submission that the other one has too."""


class PairOut(ResponseModel):
    first: ComparedOut
    """The submission that came first."""
    second: ComparedOut
    regions: list[RegionOut]
    """Lines of the first submission, and the `other` lines of the second."""


class ClusterOut(ResponseModel):
    users: list[str]
    submissions: list[str]
    """The first of them came first."""


class SimilarityProgressOut(ResponseModel):
    submissions: int
    """All finished submissions of the problem, without rejudges."""
    compared: int
    waiting: int
    too_short: int
    """Submissions in which too little is the user's own to compare them."""
    failed: int


class SimilarityQuery(PageQuery):
    at_least: Annotated[float, Field(ge=50, le=100, allow_inf_nan=False)] = 50
    """Smallest percentage of pairs, and of the pairs that make up clusters."""

    @property
    def thousandths(self) -> int:
        return round(10 * self.at_least)

    @property
    def position(self) -> PairPosition | None:
        """The last pair of the previous page; None on the first page."""
        if self.last_id is None:
            return None
        similarity, *ids = self.last_id.split(" ")
        number = parse_number(similarity)
        if number is None or number > 1000 or len(ids) != 2:
            raise invalid_cursor()
        return PairPosition(number, *ids)


class SimilarityPage(Page[PairOut]):
    progress: SimilarityProgressOut
    clusters: list[ClusterOut]
    """Groups of submissions that pairs connect; the largest is first. Empty on later pages."""


class DolosQuery(RequestModel):
    language: ShortText | None = None
    """Language of the programs, with its variants. If unset, the one of most users."""


def position_of(pair: SimilarPair) -> str:
    return f"{round(1000 * pair.match.similarity)} {pair.left.id} {pair.right.id}"


def similar_list(
    submission: str, status: ProgramStatus | None, pairs: Sequence[SimilarPair]
) -> SimilarList:
    found = ComparisonStatus.WAITING
    if status is not None and status.refusal is not None:
        found = ComparisonStatus(status.refusal)
    elif status is not None and status.compared:
        found = ComparisonStatus.COMPARED
    return SimilarList(
        id=submission,
        status=found,
        reason=status.reason if status else None,
        items=[similar_out(submission, pair) for pair in pairs],
    )


def similar_out(submission: str, pair: SimilarPair) -> SimilarOut:
    is_left = pair.left.id == submission
    this, other = (pair.left, pair.right) if is_left else (pair.right, pair.left)
    shares = (pair.match.left_share, pair.match.right_share)
    percent, other_percent = map(percentage, shares if is_left else shares[::-1])
    return SimilarOut(
        submission_id=other.id,
        user=other.author_name,
        language=other.language,
        verdict=other.verdict,
        submitted_at=other.submitted_at,
        came_first=not is_left,
        percent=percent,
        other_percent=other_percent,
        regions=[
            region_out(each if is_left else MatchingRegion(each.right, each.left), this, other)
            for each in pair.match.regions
        ],
    )


def pair_out(pair: SimilarPair) -> PairOut:
    return PairOut(
        first=compared_out(pair.left, pair.match.left_share),
        second=compared_out(pair.right, pair.match.right_share),
        regions=[region_out(each, pair.left, pair.right) for each in pair.match.regions],
    )


def compared_out(submission: ComparedSubmission, share: float) -> ComparedOut:
    return ComparedOut(
        id=submission.id,
        user=submission.author_name,
        language=submission.language,
        verdict=submission.verdict,
        submitted_at=submission.submitted_at,
        percent=percentage(share),
    )


def region_out(
    region: MatchingRegion, this: ComparedSubmission, other: ComparedSubmission
) -> RegionOut:
    return RegionOut(
        file=file_name(region.left, this),
        first_line=region.left.first,
        last_line=region.left.last,
        other_file=file_name(region.right, other),
        other_first_line=region.right.first,
        other_last_line=region.right.last,
    )


def file_name(lines: Lines, submission: ComparedSubmission) -> str:
    return submission.files[lines.file]


def percentage(share: float) -> float:
    return round(100 * share, 1)


def cluster_out(group: Sequence[SubmissionId], names: Mapping[SubmissionId, str]) -> ClusterOut:
    return ClusterOut(users=sorted({names[each] for each in group}), submissions=list(group))


def progress_out(progress: SimilarityProgress) -> SimilarityProgressOut:
    left_out = progress.too_short + progress.failed
    return SimilarityProgressOut(
        submissions=progress.submissions,
        compared=progress.compared,
        waiting=progress.submissions - progress.compared - left_out,
        too_short=progress.too_short,
        failed=progress.failed,
    )
