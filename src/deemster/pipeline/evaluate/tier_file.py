"""The form in which people describe a tier of models, in YAML and in the API."""

from dataclasses import asdict
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Final, Self

from pydantic import ConfigDict, Field, StringConstraints

from deemster.domain.errors import Refused
from deemster.domain.model_tier import (
    ModelTier,
    TierName,
    TokenLimitParameter,
    cheapest_first,
)
from deemster.pattern_messages import ONE_LINE, text_form
from deemster.problems.formats.yaml_file import FileModel, checked, mapping_of, read_yaml

MAX_AMOUNT: Final = 1_000_000
PLACES: Final = Decimal("0.000001")

Amount = Annotated[float, Field(ge=0, le=MAX_AMOUNT, allow_inf_nan=False)]
ShortName = Annotated[str, text_form(ONE_LINE, min_length=1, max_length=128)]


class TierFields(FileModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[
        str,
        text_form(
            r"^[a-z0-9][a-z0-9._-]{0,39}$",
            "use up to 40 of a-z, 0-9 and . _ -, and begin with one of a-z, 0-9",
        ),
    ]
    base_url: Annotated[str, StringConstraints(min_length=8, max_length=500)]
    """Such as https://api.example.org/v1; requests go to /chat/completions below it."""
    model: ShortName
    input_price: Amount
    """Price of a million input tokens."""
    output_price: Amount
    """Price of a million output tokens."""
    key_name: ShortName | None = None
    """Name of the API key in the setting evaluation_api_keys; without it, no key is sent."""
    timeout_s: Annotated[float, Field(gt=0, le=40, allow_inf_nan=False)] = 15
    max_output_tokens: Annotated[int, Field(ge=100, le=100_000)] = 2000
    max_source_bytes: Annotated[int, Field(ge=100, le=1 << 20)] = 32 * 1024
    """Larger programs are not sent to this tier."""
    answers: Annotated[int, Field(ge=1, le=3)] = 2
    """How often the model is asked about each variant of a program; its answers must agree."""
    token_limit: TokenLimitParameter = TokenLimitParameter.MAX_TOKENS
    """Parameter of the request that bounds the tokens of a reply."""

    def to_domain(self) -> ModelTier:
        prices = {
            "name": TierName(self.name),
            "input_price": exact(self.input_price),
            "output_price": exact(self.output_price),
        }
        return ModelTier(**{**self.model_dump(), **prices})

    @classmethod
    def of(cls, tier: ModelTier) -> Self:
        prices = {
            "input_price": float(tier.input_price),
            "output_price": float(tier.output_price),
        }
        return cls.model_validate({**asdict(tier), **prices})


class TiersFile(FileModel):
    tiers: Annotated[list[TierFields], Field(min_length=1)]


def read_tiers(path: Path) -> list[ModelTier]:
    """The cheapest first."""
    if not path.is_file():
        raise Refused(f"There is no file {path}.")
    values = mapping_of(read_yaml(path, str(path)), str(path))
    tiers = checked(TiersFile, values, str(path)).tiers
    return cheapest_first([tier.to_domain() for tier in tiers])


def exact(amount: float) -> Decimal:
    return Decimal(str(amount)).quantize(PLACES)
