"""Words, tags and difficulty by which lists of problems are searched (W1)."""

import pytest

from deemster.domain.problem_listing import (
    Difficulty,
    listing_of,
    sort_title,
    tags_and_level,
    words_query,
)


@pytest.mark.parametrize(
    ("keywords", "tags", "level"),
    [
        ((), (), None),
        (("level-4", "Geometry ", "geometry"), ("geometry",), 4),
        (("easy", "level-9"), (), 2),
        (("level-11", "level-0"), ("level-11", "level-0"), None),
        (("  ", "binary   search"), ("binary search",), None),
    ],
)
def test_keywords_are_tags_or_give_the_level(
    keywords: tuple[str, ...], tags: tuple[str, ...], level: int | None
) -> None:
    assert tags_and_level(keywords) == (tags, level)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("", None),
        ("!?", None),
        ("Bin sea", "'bin':* & 'sea':*"),
        ("a' | b", "'a':* & 'b':*"),
        ("最短路", "'最':* & '短':* & '路':*"),
    ],
)
def test_a_search_needs_no_quoting(text: str, query: str | None) -> None:
    assert words_query(text) == query


def test_words_are_found_with_and_without_accents() -> None:
    words = listing_of("prob_x", "Über Flüsse", ["Rivers"], ["Graphs"]).words
    assert {"über", "uber", "flüsse", "flusse", "rivers", "graphs", "x"} <= set(words)


def test_titles_are_in_the_order_in_which_people_count() -> None:
    titles = ["Problem 10", "äpfel", "Problem 9", "Birnen"]
    assert sorted(titles, key=sort_title) == ["äpfel", "Birnen", "Problem 9", "Problem 10"]


def test_each_level_has_one_difficulty() -> None:
    levels = [
        level for each in Difficulty for level in range(each.levels[0], each.levels[1] + 1)
    ]
    assert levels == list(range(1, 11))
