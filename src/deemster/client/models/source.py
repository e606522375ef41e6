"""The source of a program, as callers give it and as the server takes it."""

import base64
from collections.abc import Mapping
from typing import Any, TypeAlias

Source: TypeAlias = str | Mapping[str, str | bytes]
"""The text of a program, or its files by name."""


def source_fields(source: Source, main: str | None) -> dict[str, Any]:
    if isinstance(source, str):
        return {"source_code": source}
    files = [
        {"name": name, **content_field("content", content)} for name, content in source.items()
    ]
    return {"files": files} if main is None else {"files": files, "main": main}


def content_field(name: str, content: str | bytes) -> dict[str, str]:
    if isinstance(content, str):
        return {name: content}
    return {f"{name}_base64": base64.b64encode(content).decode()}
