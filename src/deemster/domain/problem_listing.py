"""What lists of problems are searched, filtered and sorted by: words, tags and difficulty."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

MAX_WORD_CHARS: Final = 64
MAX_TAG_CHARS: Final = 40
MAX_TAGS: Final = 20
MAX_ASKED_WORDS: Final = 10
NUMBER_DIGITS: Final = 9
"""Numbers in titles are padded to so many digits: Problem 10 follows Problem 9."""
WORD: Final = re.compile(r"[^\W_]+")
WITHOUT_SPACES: Final = re.compile(r"([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])")
"""Characters of languages that write no spaces between words: each counts as a word."""
LEVEL: Final = re.compile(r"level-(10|[1-9])")
NAMED_LEVELS: Final[Mapping[str, int]] = {"easy": 2, "medium": 5, "hard": 8}


class Difficulty(StrEnum):
    EASY = "easy"
    MEDIUM = "medium"
    HARD = "hard"

    @property
    def levels(self) -> tuple[int, int]:
        """The lowest and the highest level, which are numbers from 1 to 10."""
        return LEVELS[self]


LEVELS: Final[Mapping[Difficulty, tuple[int, int]]] = {
    Difficulty.EASY: (1, 3),
    Difficulty.MEDIUM: (4, 6),
    Difficulty.HARD: (7, 10),
}


class ProblemResult(StrEnum):
    """What a user has reached with a problem."""

    SOLVED = "solved"
    TRIED = "tried"
    OPEN = "open"
    """None of the user's submissions was judged."""


class ProblemSort(StrEnum):
    ID = "id"
    TITLE = "title"
    DIFFICULTY = "difficulty"
    """The easiest first, those of unknown difficulty last."""
    SOLVED = "solved"
    """Those with the most accepted submissions first."""
    NEWEST = "newest"


@dataclass(frozen=True, slots=True)
class Listing:
    """What the store keeps of a problem for its lists."""

    sort_title: str
    words: tuple[str, ...]
    tags: tuple[str, ...]
    level: int | None
    """Difficulty that the author gave, from 1 to 10."""


def listing_of(
    problem: str, title: str, names: Iterable[str], keywords: Iterable[str]
) -> Listing:
    tags, level = tags_and_level(keywords)
    shown = (problem.removeprefix("prob_"), title, *names, *tags)
    words = dict.fromkeys(
        word for text in shown for form in (text, fold(text)) for word in words_of(form)
    )
    return Listing(sort_title(title), tuple(words), tags, level)


def tags_and_level(keywords: Iterable[str]) -> tuple[tuple[str, ...], int | None]:
    """Keywords such as `level-4` or `easy` give the difficulty; all others are tags."""
    tags, level = [], None
    for each in keywords:
        keyword = clean_tag(each)
        if found := LEVEL.fullmatch(keyword):
            level = level or int(found[1])
        elif keyword in NAMED_LEVELS:
            level = level or NAMED_LEVELS[keyword]
        elif keyword:
            tags.append(keyword)
    return tuple(dict.fromkeys(tags))[:MAX_TAGS], level


def clean_tag(text: str) -> str:
    return " ".join(text.casefold().split())[:MAX_TAG_CHARS]


def words_query(text: str) -> str | None:
    """A `tsquery` for problems that have words which begin with all of these; None: any."""
    words = words_of(text)[:MAX_ASKED_WORDS]
    return " & ".join(f"'{word}':*" for word in words) or None


def words_of(text: str) -> list[str]:
    """Only letters and digits, so that a word needs no quoting."""
    spaced = WITHOUT_SPACES.sub(r" \1 ", unicodedata.normalize("NFC", text).casefold())
    return [word[:MAX_WORD_CHARS] for word in WORD.findall(spaced)]


def sort_title(title: str) -> str:
    return re.sub(r"\d+", lambda found: found[0].zfill(NUMBER_DIGITS), fold(title).strip())


def fold(text: str) -> str:
    """Returns the text in lower case, without accents."""
    parts = unicodedata.normalize("NFKD", text)
    return "".join(each for each in parts if not unicodedata.combining(each)).casefold()
