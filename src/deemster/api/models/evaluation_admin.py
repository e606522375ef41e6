"""Request and response models of rubrics, model tiers, budgets and spend."""

from datetime import date, datetime
from typing import Annotated, Final, Self

from pydantic import Field, StringConstraints, model_validator

from deemster.api.http.paging import Page, PageQuery
from deemster.api.models.field_types import RequestModel, ResponseModel, ShortText, duplicates
from deemster.domain.model_tier import Budgets, ModelTier, amount_of, micros_of
from deemster.pipeline.evaluate.tier_file import Amount, TierFields, exact
from deemster.store.model_calls import SpendOfDay
from deemster.store.rubrics import StoredRubric

MAX_TIERS: Final = 10


class RubricIn(RequestModel):
    problem_id: ShortText | None = None
    """The problem that the rubric is for. Without it, this is the general rubric."""
    yaml: Annotated[str, StringConstraints(min_length=1, max_length=64 * 1024)]


class RubricOut(ResponseModel):
    id: str
    problem_id: str | None
    """null for the general rubric."""
    version: int
    digest: str
    """SHA-256 of the YAML."""
    title: str
    created_by: str
    created_at: datetime
    retired_at: datetime | None
    """Since then, older versions or the general rubric are used instead."""
    yaml: str


class RubricPage(Page[RubricOut]):
    """A page of versions of rubrics."""


class RubricQuery(PageQuery):
    problem_id: ShortText | None = None


class TierIn(TierFields, ResponseModel):
    """A model behind an endpoint that speaks the protocol of OpenAI's chat completions."""


class TiersIn(RequestModel):
    tiers: Annotated[list[TierIn], Field(max_length=MAX_TIERS)]
    """They are asked in the order of their prices, the cheapest first."""

    @model_validator(mode="after")
    def _has_unique_names(self) -> Self:
        for name in duplicates([tier.name for tier in self.tiers]):
            raise ValueError(f"the tier {name!r} is named twice")
        return self


class TierOut(TierFields, ResponseModel):
    """A tier, with all fields."""


class TiersOut(ResponseModel):
    tiers: list[TierOut]
    """The cheapest first, which is the order in which they are asked."""


class BudgetsIn(RequestModel):
    """Amounts in the currency of the tiers' prices. 0 allows only calls that cost nothing."""

    submission: Amount
    """For all calls about one submission."""
    user_day: Amount
    """For all calls about submissions of one user on one day (UTC)."""
    day: Amount
    """For all calls on one day (UTC)."""

    def to_domain(self) -> Budgets:
        return Budgets(
            micros_of(exact(self.submission)),
            micros_of(exact(self.user_day)),
            micros_of(exact(self.day)),
        )


class BudgetsOut(BudgetsIn):
    """The budgets that are in force."""


class SpendQuery(RequestModel):
    days: Annotated[int, Field(ge=1, le=366)] = 30
    """Number of days, until today."""


class SpendOut(ResponseModel):
    day: date
    tier: str
    calls: int
    failed: int
    under_way: int
    """Calls that have a reserved amount and no result."""
    input_tokens: int
    output_tokens: int
    cost: float


class SpendList(ResponseModel):
    items: list[SpendOut]
    """For each day and tier, the newest day first."""


def rubric_out(stored: StoredRubric) -> RubricOut:
    return RubricOut(
        id=stored.id,
        problem_id=stored.problem,
        version=stored.number,
        digest=stored.digest,
        title=stored.title,
        created_by=stored.created_by,
        created_at=stored.created_at,
        retired_at=stored.retired_at,
        yaml=stored.yaml,
    )


def tiers_out(tiers: list[ModelTier]) -> TiersOut:
    return TiersOut(tiers=[TierOut.of(tier) for tier in tiers])


def budgets_out(budgets: Budgets) -> BudgetsOut:
    return BudgetsOut(
        submission=float(amount_of(budgets.submission)),
        user_day=float(amount_of(budgets.user_day)),
        day=float(amount_of(budgets.day)),
    )


def spend_out(spend: SpendOfDay) -> SpendOut:
    return SpendOut(
        day=date.fromisoformat(spend.day),
        tier=spend.tier,
        calls=spend.calls,
        failed=spend.failed,
        under_way=spend.under_way,
        input_tokens=spend.input_tokens,
        output_tokens=spend.output_tokens,
        cost=float(amount_of(spend.cost_micros)),
    )
