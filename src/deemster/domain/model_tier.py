"""Tiers of language models with their prices, and the budgets that bound what they cost."""

import math
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import NewType

TierName = NewType("TierName", str)
Micros = NewType("Micros", int)
"""Millionths of the currency in which prices are given."""
MICROS = 1_000_000
NOTHING = Micros(0)


class TokenLimitParameter(StrEnum):
    """Name of the request's parameter that bounds the tokens of a reply."""

    MAX_TOKENS = "max_tokens"
    MAX_COMPLETION_TOKENS = "max_completion_tokens"


@dataclass(frozen=True, slots=True)
class ModelTier:
    """A model behind an endpoint that speaks the protocol of OpenAI's chat completions."""

    name: TierName
    base_url: str
    """Such as https://api.example.org/v1; requests go to chat/completions below it."""
    model: str
    input_price: Decimal
    """Price of a million input tokens."""
    output_price: Decimal
    key_name: str | None = None
    """Name of the API key in the setting `evaluation_api_keys`; None: no key is sent."""
    timeout_s: float = 15.0
    max_output_tokens: int = 2000
    max_source_bytes: int = 32 * 1024
    """Larger programs are not sent to this tier."""
    answers: int = 2
    """How often the model is asked about each variant; its answers must agree."""
    token_limit: TokenLimitParameter = TokenLimitParameter.MAX_TOKENS

    def cost(self, input_tokens: int, output_tokens: int) -> Micros:
        return Micros(
            math.ceil(self.input_price * input_tokens + self.output_price * output_tokens)
        )

    def worst_cost(self, request_bytes: int) -> Micros:
        """No token is shorter than a byte, so a request has at most as many tokens as bytes."""
        return self.cost(request_bytes, self.max_output_tokens)


def cheapest_first(tiers: list[ModelTier]) -> list[ModelTier]:
    return sorted(tiers, key=lambda tier: (tier.input_price + tier.output_price, tier.name))


@dataclass(frozen=True, slots=True)
class Budgets:
    """Most that calls may cost; 0 allows only calls that cost nothing."""

    submission: Micros
    """All calls for one submission."""
    user_day: Micros
    """All calls for submissions of one user on one day (UTC)."""
    day: Micros
    """All calls on one day (UTC)."""


class BudgetName(StrEnum):
    SUBMISSION = "submission"
    USER_DAY = "user_day"
    DAY = "day"


def micros_of(amount: Decimal) -> Micros:
    return Micros(int(amount * MICROS))


def amount_of(micros: int) -> Decimal:
    return Decimal(micros) / MICROS
