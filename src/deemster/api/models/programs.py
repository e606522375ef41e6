"""Request model of a program: a language, and the source in one file or several."""

import base64
from typing import Annotated, Self

from pydantic import (
    BeforeValidator,
    Field,
    StringConstraints,
    WithJsonSchema,
    model_validator,
)

from deemster.api.models.field_types import RequestModel, ShortText, duplicates
from deemster.domain.source import MAX_FILES


def decode_base64(text: object) -> bytes:
    try:
        return base64.b64decode(text if isinstance(text, str) else "?", validate=True)
    except ValueError:
        raise ValueError("this is not base64") from None


Base64 = Annotated[
    bytes,
    BeforeValidator(decode_base64),
    WithJsonSchema({"type": "string", "contentEncoding": "base64"}),
]


class FileIn(RequestModel):
    name: Annotated[str, StringConstraints(min_length=1, max_length=4096)]
    """Path of the file, with / between directories."""
    content: str | None = None
    content_base64: Base64 | None = None
    """Replaces `content` if the file is not text."""

    @model_validator(mode="after")
    def _has_one_content(self) -> Self:
        if (self.content is None) == (self.content_base64 is None):
            raise ValueError("send either content or content_base64")
        return self

    @property
    def decoded(self) -> bytes:
        return self.content.encode() if self.content is not None else self.content_base64 or b""


class ProgramIn(RequestModel):
    language: ShortText = Field(examples=["python3"])
    """Id or alias of the language."""
    source_code: str | None = Field(None, examples=["print(input())"])
    """The program, if it has one file. Send either this or `files`."""
    files: Annotated[list[FileIn], Field(min_length=1, max_length=MAX_FILES)] | None = None
    """The program, if it has several files."""
    main: ShortText | None = None
    """Name of the file that is started, if there are several; by default the one named main."""

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        if (self.source_code is None) == (self.files is None):
            raise ValueError("send either source_code or files")
        if self.files is None and self.main is not None:
            raise ValueError("main is only for files: leave it out")
        for name in duplicates(file.name for file in self.files or ()):
            raise ValueError(f"two files have the name {name!r}")
        return self

    @property
    def source_files(self) -> dict[str, bytes]:
        """An empty name stands for `source_code`."""
        if self.files is None:
            return {"": (self.source_code or "").encode()}
        return {file.name: file.decoded for file in self.files}
