"""Turns the fields of a form into a request model of the API."""

from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from deemster.api.http.errors import invalid_body
from deemster.domain.errors import Refused, Unavailable

SHOWN: Final = (Refused, Unavailable)
"""Errors that the page of the form shows, so that nothing must be typed again."""

M = TypeVar("M", bound=BaseModel)


def parse_fields(model: type[M], **fields: Any) -> M:
    """Fields that were left empty count as missing."""
    given = {name: value for name, value in fields.items() if value not in ("", None)}
    try:
        return model.model_validate(given)
    except ValidationError as fault:
        raise invalid_body(fault) from None
