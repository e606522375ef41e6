"""Splits programs into tokens; a hostile source can make this take very long."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any, Final


class TokenKind(StrEnum):
    NAME = "name"
    KEYWORD = "keyword"
    NUMBER = "number"
    STRING = "string"
    OPERATOR = "operator"
    COMMENT = "comment"
    """Also a documentation string."""
    SPACE = "space"
    OTHER = "other"
    """Also a line for the preprocessor, and text that the lexer does not know."""


@dataclass(frozen=True, slots=True)
class Token:
    kind: TokenKind
    text: str
    offset: int
    """Index of the first character in the source."""


def tokens_of(lexer: str, source: str) -> list[Token]:
    """Splits a source with a Pygments lexer. The texts of all tokens, joined, are the source.

    Use `Tokenizer` for programs of others: it does this in a process with limits.
    """
    # Lexers know only line feeds: other line ends would continue a comment to the next line.
    lines = source.replace("\r\n", "\n").replace("\r", "\n")
    pieces = complete(lines, lexed(lexer, lines))
    if "\r" not in source:
        return [Token(kind, lines[start:end], start) for kind, start, end in pieces]
    places = [match.start() for match in re.finditer(r"\r\n|.", source, re.DOTALL)]
    places.append(len(source))
    return [
        Token(kind, source[places[start] : places[end]], places[start])
        for kind, start, end in pieces
    ]


Piece = tuple[TokenKind, int, int]
"""Kind of a token, and its first and last place."""


def complete(text: str, found: Iterable[Piece]) -> Iterator[Piece]:
    """Adds what a lexer left out, and cuts what it returned twice."""
    position = 0
    for kind, start, end in found:
        if start > position:
            yield blank_or_other(text, position, start), position, start
        first = max(start, position)
        if end > first:
            yield kind, first, end
            position = end
    if position < len(text):
        yield blank_or_other(text, position, len(text)), position, len(text)


def blank_or_other(text: str, start: int, end: int) -> TokenKind:
    return TokenKind.SPACE if text[start:end].isspace() else TokenKind.OTHER


@cache
def lexer_named(name: str) -> Any:
    # Only here: few commands need Pygments, and its import takes time.
    from pygments.lexers import get_lexer_by_name  # noqa: PLC0415

    return get_lexer_by_name(name)


def lexed(name: str, text: str) -> list[Piece]:
    found = []
    for offset, token_type, part in lexer_named(name).get_tokens_unprocessed(text):
        end = offset + len(part)
        kind = kind_of(token_type)
        if kind is None or (kind is TokenKind.COMMENT and part.isspace()):
            kind = blank_or_other(text, offset, end)
        found.append((kind, offset, end))
    return sorted(found, key=lambda piece: piece[1])


KIND_BY_TYPE: Final[dict[tuple[str, ...], TokenKind | None]] = {
    ("Comment",): TokenKind.COMMENT,
    ("Comment", "Preproc"): None,
    ("Comment", "PreprocFile"): None,
    ("Keyword",): TokenKind.KEYWORD,
    ("Literal",): TokenKind.STRING,
    ("Literal", "Number"): TokenKind.NUMBER,
    ("Literal", "String", "Doc"): TokenKind.COMMENT,
    ("Name",): TokenKind.NAME,
    ("Operator",): TokenKind.OPERATOR,
    ("Operator", "Word"): TokenKind.KEYWORD,
    ("Punctuation",): TokenKind.OPERATOR,
}
"""By the first words of Pygments' types; None: both space and text have this type."""


@cache
def kind_of(token_type: tuple[str, ...]) -> TokenKind | None:
    for length in (3, 2, 1):
        if token_type[:length] in KIND_BY_TYPE:
            return KIND_BY_TYPE[token_type[:length]]
    return None
