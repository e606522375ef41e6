"""Base classes and field types of the request and response models."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Annotated, Final

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from deemster.domain.docstrings import attribute_docstrings
from deemster.pattern_messages import ONE_LINE, text_form

FIRST_YEAR: Final = 1970
LAST_YEAR: Final = 9000


class ResponseModel(BaseModel):
    """The text below a field is its description in the OpenAPI document."""

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        written = handler(schema)
        properties = handler.resolve_ref_schema(written).get("properties", {})
        for name, text in attribute_docstrings(cls).items():
            if name in properties:
                properties[name]["description"] = text
        return written


class RequestModel(ResponseModel):
    """Refuses unknown fields and names them (A6)."""

    model_config = ConfigDict(extra="forbid")


ShortText = Annotated[str, text_form(ONE_LINE, min_length=1, max_length=128)]
"""A name or an id; Postgres can't store control characters."""
TerminalSide = Annotated[int, Field(ge=1, le=1000)]


def check_year(moment: datetime) -> datetime:
    # Near the ends of the calendar, a conversion to another time zone overflows.
    if not FIRST_YEAR <= moment.year <= LAST_YEAR:
        raise ValueError(f"give a year from {FIRST_YEAR} to {LAST_YEAR}")
    return moment


Timestamp = Annotated[AwareDatetime, AfterValidator(check_year)]


def duplicates(names: Iterable[str]) -> Iterator[str]:
    known: set[str] = set()
    for name in names:
        if name in known:
            yield name
        known.add(name)
