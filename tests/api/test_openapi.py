"""A7: the OpenAPI document has version 3.1, is complete, and documents errors."""

import subprocess
import sys
from importlib.metadata import version
from typing import Any

import httpx
import pytest

from deemster import __version__


@pytest.fixture(scope="module")
def kept() -> dict[str, Any]:
    """The document, after the first test has read it: each app spends half a second on it."""
    return {}


@pytest.fixture
async def document(client: httpx.AsyncClient, kept: dict[str, Any]) -> dict[str, Any]:
    if not kept:
        answer = await client.get("/openapi.json")
        assert answer.status_code == 200
        kept.update(answer.json())
    return kept


async def test_the_document_has_the_right_openapi_version(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")


async def test_package_command_and_document_have_the_same_version(
    document: dict[str, Any],
) -> None:
    command = [sys.executable, "-m", "deemster", "--version"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: ASYNC221
    assert printed == f"deemster {__version__}\n"
    assert document["info"]["version"] == version("deemster") == __version__


async def test_no_name_of_a_schema_shows_a_module(document: dict[str, Any]) -> None:
    """A7: FastAPI adds the module where two models have the same name."""
    assert not [name for name in document["components"]["schemas"] if "__" in name]


async def test_every_reference_resolves(document: dict[str, Any]) -> None:
    references = set(references_in(document))
    assert "#/components/schemas/SubmissionIn" in references
    assert "#/components/schemas/ProblemDetails" in references
    for reference in references:
        place: Any = document
        for part in reference.removeprefix("#/").split("/"):
            place = place[part]


def references_in(node: Any) -> list[str]:
    if isinstance(node, dict):
        own = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
        return own + [each for value in node.values() for each in references_in(value)]
    if isinstance(node, list):
        return [each for value in node for each in references_in(value)]
    return []


MEDIA_TYPES = {
    "events": "text/event-stream",
    "dolos": "application/zip",
    "samples": "application/zip",
    "{digest}": "application/x-tar",
    "package": "application/x-tar",
    "recording": "application/x-asciicast",
    "diff": "text/x-diff",
    "analysis": "application/sarif+json",
}
FOR_USERS: Any = (None, [{"token": []}, {"session": []}])
FOR_HOSTS: Any = ([{"judge_host": []}],)


def kinds_expected(path: str, status: int) -> set[str]:
    if status >= 400:
        return {"application/problem+json"}
    if status in {204, 303, 304}:
        return set()
    if status == 202:
        return {"application/json"}
    if path == "/v1/admin/users/import":
        return {"application/json", "text/csv", "text/html"}
    if path == "/v1/problems/{id}/files/{name}":
        return {"application/pdf", "application/octet-stream"}
    return {MEDIA_TYPES.get(path.rpartition("/")[2], "application/json")}


async def test_errors_are_documented_as_problem_details(document: dict[str, Any]) -> None:
    for path, methods in document["paths"].items():
        if not path.startswith("/v1/"):
            continue
        for operation in methods.values():
            # test_permissions.py sees to it that all have one which should.
            expected = FOR_HOSTS if path.startswith("/v1/judgehost/") else FOR_USERS
            assert operation.get("security") in expected, path
            for status, response in operation["responses"].items():
                kinds = set(response.get("content", {}))
                assert kinds == kinds_expected(path, int(status)), (path, status)
    assert "HTTPValidationError" not in document["components"]["schemas"]
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    assert document["components"]["securitySchemes"]["session"]["in"] == "cookie"


async def test_the_document_describes_submitting(document: dict[str, Any]) -> None:
    operation = document["paths"]["/v1/submissions"]["post"]
    assert [each["name"] for each in operation["parameters"]] == ["Idempotency-Key"]
    assert "202" in operation["responses"]
    schema = document["components"]["schemas"]["SubmissionIn"]
    assert schema["additionalProperties"] is False
    assert set(schema["required"]) == {"problem_id", "language"}
