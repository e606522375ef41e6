"""The OpenAPI document: what FastAPI finds out, mended where routes do things by themselves."""

from typing import Any, Final

from fastapi import FastAPI
from pydantic.json_schema import models_json_schema

from deemster.api.faults import Problem
from deemster.api.submission_in import SubmissionIn

NOT_OURS: Final = frozenset({"HTTPValidationError", "ValidationError"})
"""How FastAPI would answer errors; ours are problem documents."""


class DocumentedApp(FastAPI):
    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            mend(super().openapi())
        assert self.openapi_schema is not None
        return self.openapi_schema


def mend(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    _, own = models_json_schema(
        [(Problem, "serialization"), (SubmissionIn, "validation")],
        ref_template="#/components/schemas/{model}",
    )
    schemas.update(own["$defs"])
    for name in NOT_OURS:
        schemas.pop(name, None)
    for operations in document["paths"].values():
        for operation in operations.values():
            # Put there for any path with an id, which is never invalid here, only unknown.
            if "application/json" in operation["responses"].get("422", {}).get("content", {}):
                del operation["responses"]["422"]
