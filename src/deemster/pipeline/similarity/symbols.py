"""Reduces the tokens of a program to symbols that renaming and reformatting do not change."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from deemster.programs.tokens import Token, TokenKind

NAME: Final = "name"
NUMBER: Final = "number"
STRING: Final = "string"
TYPE: Final = "type"
LOOP: Final = "loop"
LITERALS: Final = frozenset({NUMBER, STRING})

BOILERPLATE: Final = frozenset(
    {"import", "from", "using", "package", "include", "require", "use"}
)
"""Keywords that begin a line which most programs have."""
MODIFIERS: Final = frozenset(
    """auto const constexpr dim final inline let local mut my private protected public register
    signed static unsigned val var volatile""".split()
)
TYPES: Final = frozenset(
    """bool boolean byte char double float i16 i32 i64 i8 int int64 integer long real short
    size_t string u16 u32 u64 u8 uint usize""".split()
)
LOOPS: Final = frozenset({"for", "foreach", "loop", "repeat", "until", "while"})
LEFT_OUT: Final = frozenset({";", "{", "}", "do", "begin", "end", "done", "pass"})
HEADER_ENDS: Final = frozenset({":", "{", "do", "loop"})
LONGEST_HEADER: Final = 80
OPENING: Final = frozenset("([")
CLOSING: Final = frozenset(")]")


@dataclass(frozen=True, slots=True)
class Symbol:
    text: str
    line: int
    """Counted from 1."""


def symbols_of(tokens: Sequence[Token]) -> list[Symbol]:
    """Names, numbers and strings become classes. Comments, imports and what differs between
    forms of a loop (its header, and the steps of a counter) are left out.
    """
    words = list(without_boilerplate(classified(tokens)))
    words = list(without_counters(list(without_loop_headers(words))))
    return list(without_lists(word for word in words if word.text not in LEFT_OUT))


def classified(tokens: Sequence[Token]) -> Iterator[Symbol]:
    line = 1
    for token in tokens:
        if token.kind not in {TokenKind.SPACE, TokenKind.COMMENT}:
            yield from parts(token, line)
        line += line_ends(token.text)


def line_ends(text: str) -> int:
    return text.count("\n") + text.count("\r") - text.count("\r\n")


def parts(token: Token, line: int) -> Iterator[Symbol]:
    match token.kind:
        case TokenKind.NAME:
            yield Symbol(TYPE if token.text.lower() in TYPES else NAME, line)
        case TokenKind.NUMBER:
            yield Symbol(NUMBER, line)
        case TokenKind.STRING:
            yield Symbol(STRING, line)
        case TokenKind.KEYWORD:
            word = token.text.lower()
            yield Symbol(TYPE if word in TYPES else word, line)
        case TokenKind.OPERATOR:
            # Lexers differ in how many signs they put into one token.
            for sign in token.text:
                yield Symbol(sign, line)
        case _:
            yield Symbol(token.text.strip(), line)


def without_boilerplate(words: Iterator[Symbol]) -> Iterator[Symbol]:
    """Leaves out imports, lines for the preprocessor, and modifiers of declarations."""
    line = skipped = 0
    last = ""
    for word in words:
        begins = word.line != line
        line = word.line
        if begins and (word.text in BOILERPLATE or word.text.startswith("#")):
            skipped = line
        if line != skipped and word.text not in MODIFIERS:
            if word.text != TYPE or last != TYPE:  # `long long` is one type
                yield word
            last = word.text


def without_loop_headers(words: Sequence[Symbol]) -> Iterator[Symbol]:
    place = 0
    while place < len(words):
        word = words[place]
        place += 1
        if word.text in LOOPS:
            place = header_end(words, place)
            yield Symbol(LOOP, word.line)
        else:
            yield word


def header_end(words: Sequence[Symbol], start: int) -> int:
    """Where the body of a loop begins: after `(…)`, or after a sign such as `:` or `{`."""
    depth = 0
    parenthesised = start < len(words) and words[start].text == "("
    for place in range(start, min(len(words), start + LONGEST_HEADER)):
        text = words[place].text
        if text in OPENING:
            depth += 1
        elif text in CLOSING:
            depth -= 1
            if depth == 0 and parenthesised:
                return place + 1
        elif depth == 0 and text in HEADER_ENDS and not is_assignment(words, place):
            return place + 1
    return start


def is_assignment(words: Sequence[Symbol], place: int) -> bool:
    """Whether a colon begins `:=`."""
    texts = [word.text for word in words[place : place + 2]]
    return texts == [":", "="]


def without_counters(words: Sequence[Symbol]) -> Iterator[Symbol]:
    """Leaves out `type name = number`, `name += number`, `name++` and `++name`."""
    place = 0
    while place < len(words):
        length = counter_length([word.text for word in words[place : place + 5]])
        if not length:
            yield words[place]
        place += length or 1


def counter_length(texts: Sequence[str]) -> int:
    match texts:
        case ["type", "name", "=", "number", ";"]:
            return 5
        case ["name", "=", "number", ";", *_] | ["name", "+" | "-", "=", "number", *_]:
            return 4
        case ["name", "+", "+", *_] | ["name", "-", "-", *_]:
            return 3
        case ["+", "+", "name", *_] | ["-", "-", "name", *_]:
            return 3
        case _:
            return 0


def without_lists(words: Iterator[Symbol]) -> Iterator[Symbol]:
    """A list of literals becomes one literal: tables of numbers are alike in all programs."""
    last = ""
    comma: Symbol | None = None
    for word in words:
        if word.text == "," and last in LITERALS:
            comma = word
            continue
        if word.text in LITERALS and last in LITERALS:
            comma = None
            continue
        if comma is not None:
            yield comma
            comma = None
        yield word
        last = word.text
