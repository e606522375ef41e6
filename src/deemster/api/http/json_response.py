"""Answers as JSON, written straight from their models: absent fields are left out."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel
from starlette.responses import Response

from deemster.api.http.errors import ANSWERS, MEDIA_TYPE, Problem

PROBLEM_REF: Final = {"$ref": f"#/components/schemas/{Problem.__name__}"}


def answer(
    model: BaseModel, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    return Response(json_of(model), status, headers, "application/json")


def json_of(model: BaseModel) -> bytes:
    return model.model_dump_json(exclude_unset=True).encode()


def faults(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For the OpenAPI document: which errors a route answers."""
    titles = {each.status: each.title for each in reversed(ANSWERS.values())}
    return {
        status: {
            "description": titles[status],
            "content": {MEDIA_TYPE: {"schema": PROBLEM_REF}},
        }
        for status in statuses
    }
