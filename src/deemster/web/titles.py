"""Titles of problems in the language of a page."""

from collections.abc import Iterable, Mapping

from deemster.api.problems import problem_titles
from deemster.web.page import PageRequest


async def titles_of(page: PageRequest, problems: Iterable[str]) -> dict[str, str]:
    """Returns the titles of those problems that exist, by id."""
    found = await problem_titles(page.state, problems)
    return {
        problem: in_language(each.names, page.language.code) or each.title
        for problem, each in found.items()
    }


def in_language(texts: Mapping[str, str], code: str) -> str:
    """The text in this language; else in English, else in the first that there is."""
    return texts.get(code) or texts.get("en") or next(iter(texts.values()), "")
