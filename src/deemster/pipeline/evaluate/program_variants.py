"""Prepares a program for a model, in two variants that have the same lines (P5).

The plain variant is the program without what identifies a person. The neutral variant has no
comments, and its names and strings say nothing, so no sentence of the student is left in it.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deemster.domain.evaluation import Variant
from deemster.programs.tokens import Token, TokenKind

CODE: Final = frozenset(
    {TokenKind.NAME, TokenKind.KEYWORD, TokenKind.NUMBER, TokenKind.OPERATOR}
)
INVISIBLE: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs"})
LINE_ENDS: Final = re.compile(r"\r\n?")
SEPARATORS: Final = frozenset({"Zl", "Zp", "Zs"})
KEPT_NAMES: Final = frozenset(
    Path(__file__).with_name("library_names.txt").read_text(encoding="ascii").split()
)
"""Names of libraries and languages. All other names are replaced in the neutral variant."""
MAX_KEYWORD: Final = 20
MIN_NAME: Final = 3
"""Length of the shortest account name that is removed from programs."""
MAX_STRING: Final = 60
"""Longer strings are cut in the neutral variant."""

WORD: Final = re.compile(r"\w+")
NUMBER: Final = re.compile(
    r"[0-9][0-9a-fA-FxXoO._']{0,39}(?:(?<=[eE])[-+][0-9]{1,3})?[uUlLfFnij]{0,3}|\.[0-9]{1,20}"
)
STRING_PART: Final = re.compile(
    r"""(?P<kept>\\[abfnrtv0\\'"]                     # an escape
        |%[-+\ #0]?[0-9]{0,3}(?:\.[0-9]{1,2})?l{0,2}[dioufgcsxX](?![a-zA-Z])
        |\{(?:[0-9]{1,2})?(?::[^{}\w]{0,2}[0-9.]{0,4}[a-z]?)?\})
      |(?P<word>[^\W_]+)
      |(?P<other>[^\x20-\x7e\n])""",
    re.VERBOSE,
)
USUAL_NUMBERS: Final = frozenset({12, 24, 60, 360, 365, 366, 3600, 86400, 998244353})
AFFIX: Final = re.compile(r"[rRbBuUfFL]{1,2}")

PERSONAL: Final = re.compile(
    r"""author|autor|verfasser|автор|написал|выполнил|студент|группа|имя
      |^\W*by\b|\b(?:written|made|created|coded|done|submitted|developed|solved)\s+by\b
      |student|pupil|\bname\s*[:=]|vorname|nachname|matrik|matric|\broll\b
      |\bid\b.{0,12}\d|e-?mail
      |@\w|copyright|\(c\)|©|universit|school|hochschule|faculty|https?:|www\.|github|gitlab
      |telegram|discord|phone|\btel\b|\d{6,}""",
    re.VERBOSE | re.IGNORECASE,
)
"""A line of a comment that may name a person."""
ADDRESS: Final = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}|https?://\S+")
REMOVED: Final = "removed"


@dataclass(frozen=True, slots=True)
class PreparedFile:
    lines: tuple[str, ...]
    code_lines: frozenset[int]
    """Lines, from 1, that have more than comments, strings and space: these can be evidence."""


@dataclass(frozen=True, slots=True)
class PreparedProgram:
    variant: Variant
    files: tuple[PreparedFile, ...]


def readable(content: bytes) -> str:
    """The text without characters that have no visible form, and with plain line ends."""
    text = LINE_ENDS.sub("\n", content.decode("utf-8", errors="replace"))
    return "".join(filter(None, map(visible, text)))


def visible(character: str) -> str:
    if character in "\n\t" or " " <= character <= "~":
        return character
    category = unicodedata.category(character)
    if category in INVISIBLE:
        return ""
    return " " if category in SEPARATORS else character


def prepare(
    variant: Variant, files: Sequence[Sequence[Token]], account_name: str
) -> PreparedProgram:
    if variant is Variant.PLAIN:
        texts = [without_person(tokens, account_name) for tokens in files]
    else:
        names: dict[str, str] = {}
        texts = [[neutral(token, names) for token in tokens] for tokens in files]
    prepared = map(prepared_file, files, texts)
    return PreparedProgram(variant, tuple(prepared))


def prepared_file(tokens: Sequence[Token], texts: Sequence[str]) -> PreparedFile:
    """`texts` replaces the tokens' own texts."""
    code_lines, line = set(), 1
    for token, text in zip(tokens, texts, strict=True):
        if token.kind in CODE and re.search(r"\w", text):
            code_lines.add(line)
        line += text.count("\n")
    lines = [each.rstrip() for each in "".join(texts).split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return PreparedFile(tuple(lines), frozenset(code_lines))


# ---- the plain variant ----


def without_person(tokens: Iterable[Token], account_name: str) -> list[str]:
    """Removes the comments above the program, comments that may name people, addresses, and
    the name of the student's account."""
    # Shorter names tell nobody, but are names of many variables.
    name = re.escape(account_name) if len(account_name) >= MIN_NAME else "(?!)"
    own_name = re.compile(rf"(?i)(?<![a-z0-9]){name}(?![a-z0-9])")
    texts, in_header = [], True
    for token in tokens:
        text = token.text
        in_header = in_header and token.kind in {TokenKind.COMMENT, TokenKind.SPACE}
        if token.kind is TokenKind.COMMENT:
            text = "\n" * text.count("\n") if in_header else without_personal_lines(text)
        if token.kind not in {TokenKind.KEYWORD, TokenKind.SPACE} and text not in KEPT_NAMES:
            text = own_name.sub("person", ADDRESS.sub(REMOVED, text))
        texts.append(text)
    return texts


def without_personal_lines(comment: str) -> str:
    # The marks around the text stay, so that the comment still begins and ends.
    return "\n".join(
        re.sub(r"\w.*\w|\w", REMOVED, line) if PERSONAL.search(line) else line
        for line in comment.split("\n")
    )


# ---- the neutral variant ----


def neutral(token: Token, names: dict[str, str]) -> str:
    """The text that replaces a token; it has as many line ends."""
    text = token.text
    match token.kind:
        case TokenKind.COMMENT:
            return "\n" * text.count("\n")
        case TokenKind.SPACE:
            return re.sub(r"[^ \t\n]", " ", text)
        case TokenKind.STRING:
            return neutral_string(text)
        case TokenKind.NUMBER if NUMBER.fullmatch(text):
            return neutral_number(text)
        case TokenKind.KEYWORD if text.isascii() and len(text) <= MAX_KEYWORD:
            return text
    renamed = WORD.sub(lambda match: canonical(match[0], names), text)
    return re.sub(r"[^\x20-\x7e\t\n]", "", renamed)


def canonical(word: str, names: dict[str, str]) -> str:
    if NUMBER.fullmatch(word):
        return neutral_number(word)
    if word in KEPT_NAMES:
        return word
    return names.setdefault(word, f"name{len(names) + 1}")


def neutral_number(text: str) -> str:
    """Usual numbers stay, others are rounded: numbers can be the codes of letters."""
    digits = text.replace("_", "").replace("'", "").rstrip("uUlLnij")
    try:
        value = int(digits, 0)
    except ValueError:
        return neutral_fraction(digits.rstrip("fF"))
    return text if is_usual(value) else f"{int(float(f'{value:.1g}'))}"


def neutral_fraction(digits: str) -> str:
    try:
        value = float(digits)
    except ValueError:
        return "0"
    return f"{value:.2g}" if value <= 10 else f"{value:.1g}"


def is_usual(value: int) -> bool:
    is_power_of_2 = value & (value - 1) == 0 or (value >= 255 and value & (value + 1) == 0)
    is_round = value >= 100 and str(value).rstrip("0") in {"1", "2", "3", "5"}
    near_round = value >= 999 and any(
        str(value - more).rstrip("0") in {"1", "2"} for more in (-1, 1, 5, 7, 9)
    )
    return value <= 10 or is_power_of_2 or is_round or near_round or value in USUAL_NUMBERS


def neutral_string(text: str) -> str:
    """Words become `w`; escapes, format specifiers and punctuation stay."""
    if AFFIX.fullmatch(text):
        return text
    replaced = STRING_PART.sub(
        lambda match: match["kept"] or ("w" if match["word"] else ""), text
    )
    if len(replaced) > MAX_STRING:
        kept, rest = replaced[:MAX_STRING], replaced[MAX_STRING:]
        quote = rest[-1] if rest[-1] in "\"'`" else ""
        return kept + "\n" * rest.count("\n") + quote
    return replaced


def ordered_files(files: Mapping[str, bytes], main: str | None) -> list[str]:
    """Names of the files in the order in which a model sees them, without their names."""
    return sorted(files, key=lambda name: (name != main, name))
