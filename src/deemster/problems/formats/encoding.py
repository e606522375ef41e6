"""Finds statements that are not UTF-8: readers would see other characters."""

import codecs
from collections.abc import Iterable, Iterator
from pathlib import Path

from deemster.domain.problem import Statement

CHUNK_BYTES = 1 << 20


def encoding_warnings(root: Path, statements: Iterable[Statement]) -> Iterator[str]:
    for statement in statements:
        if statement.kind == "pdf":
            continue
        line = first_undecodable_line(root / statement.path)
        if line is not None:
            yield (
                f"{statement.path} is not UTF-8 (first in line {line}), so that characters are "
                "lost: save it as UTF-8."
            )


def first_undecodable_line(path: Path) -> int | None:
    decoder = codecs.getincrementaldecoder("utf-8")()
    line = 1
    with path.open("rb") as opened:
        while True:
            chunk = opened.read(CHUNK_BYTES)
            try:
                text = decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as fault:
                return line + fault.object[: fault.start].count(b"\n")
            if not chunk:
                return None
            line += text.count("\n")
