"""What a client sends to have something judged (A1)."""

import base64
from collections.abc import Iterator
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StringConstraints,
    WithJsonSchema,
    model_validator,
)

from deemster.api.models.kinds import RequestModel
from deemster.domain.ids import ContestId, ProblemId
from deemster.domain.source import MAX_FILES
from deemster.pipeline.accept.service import SubmitRequest

Plain = Annotated[
    str, StringConstraints(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f]*$")
]
"""A name: nothing that Postgres would not keep."""


def is_web_address(url: str) -> str:
    try:
        parts = urlsplit(url)
        good = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        good = False
    if not good or not url.isprintable() or " " in url or parts.username is not None:
        raise ValueError("write it as https://host/path, without a user name")
    return url


def from_base64(text: object) -> bytes:
    try:
        return base64.b64decode(text if isinstance(text, str) else "?", validate=True)
    except ValueError:
        raise ValueError("this is no base64") from None


Base64 = Annotated[
    bytes,
    BeforeValidator(from_base64),
    WithJsonSchema({"type": "string", "contentEncoding": "base64"}),
]


class FileIn(RequestModel):
    name: Annotated[str, StringConstraints(min_length=1, max_length=4096)]
    """With / between directories."""
    content: str | None = None
    content_base64: Base64 | None = None
    """Instead of `content`, for what is no text."""

    @model_validator(mode="after")
    def _has_one_content(self) -> Self:
        if (self.content is None) == (self.content_base64 is None):
            raise ValueError("send content, or content_base64")
        return self

    @property
    def decoded(self) -> bytes:
        return self.content.encode() if self.content is not None else self.content_base64 or b""


class SubmissionIn(RequestModel):
    problem_id: Plain = Field(examples=["prob_aplusb"])
    language: Plain = Field(examples=["python3"])
    contest_id: Plain | None = None
    """If it is for a contest, which must be open."""
    source_code: str | None = None
    """The program, if it is one file."""
    files: Annotated[list[FileIn], Field(min_length=1, max_length=MAX_FILES)] | None = None
    """The program, if it is several files."""
    main: Plain | None = None
    """Which of the files starts."""
    webhook_url: (
        Annotated[str, StringConstraints(max_length=2048), AfterValidator(is_web_address)]
        | None
    ) = None
    """Where to tell of its end."""

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        if (self.source_code is None) == (self.files is None):
            raise ValueError("send source_code, or files")
        if self.files is None and self.main is not None:
            raise ValueError("main goes with files: leave it out")
        names = [file.name for file in self.files or ()]
        for name in twice(names):
            raise ValueError(f"there are two files called {name!r}")
        return self

    def to_ask(self, key: str | None) -> SubmitRequest:
        if self.files is None:
            files = {"": (self.source_code or "").encode()}
        else:
            files = {file.name: file.decoded for file in self.files}
        return SubmitRequest(
            problem=ProblemId(self.problem_id),
            language=self.language,
            files=files,
            main=self.main,
            webhook_url=self.webhook_url,
            idempotency_key=key,
            contest=ContestId(self.contest_id) if self.contest_id is not None else None,
        )


def twice(names: list[str]) -> Iterator[str]:
    known: set[str] = set()
    for name in names:
        if name in known:
            yield name
        known.add(name)
