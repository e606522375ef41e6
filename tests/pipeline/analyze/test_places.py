"""Places of findings are exact: in characters, inside the file, and of the right length."""

import pytest

from deemster.domain.analysis import Region
from deemster.pipeline.analyze.findings import clean, source_name
from deemster.pipeline.analyze.formats.tool_finding import LinePlace, OffsetPlace, Place
from deemster.pipeline.analyze.places import SourceText

TEXT = 'é = "漢😀"\r\n\tif x:\n\nlast'


@pytest.mark.parametrize(
    ("unit", "place", "region"),
    [
        ("characters", LinePlace(1, 5, 1, 9), (1, 5, 1, 9)),
        ("bytes", LinePlace(1, 6, 1, 15), (1, 5, 1, 9)),
        ("utf16", LinePlace(1, 5, 1, 10), (1, 5, 1, 9)),
        ("bytes", OffsetPlace(5, 9), (1, 5, 1, 9)),
        # A place without an end covers the word or sign there.
        ("characters", LinePlace(2, 2), (2, 2, 2, 4)),
        ("characters", LinePlace(2, 6), (2, 6, 2, 7)),
        ("characters", LinePlace(2, 2, 2, 2), (2, 2, 2, 4)),
        ("bytes", OffsetPlace(17), (2, 2, 2, 4)),
        # A line without a column is marked from its first to its last character.
        ("characters", LinePlace(2), (2, 2, 2, 7)),
        ("characters", LinePlace(3), (3, 1, 3, 1)),
        # A column beyond the end of the line, and an end before the start.
        ("characters", LinePlace(4, 99), (4, 5, 4, 5)),
        ("characters", LinePlace(4, 3, 4, 1), (4, 3, 4, 5)),
        ("characters", LinePlace(2, 2, 99, 1), (2, 2, 2, 4)),
        # Several lines.
        ("characters", LinePlace(1, 1, 4, 5), (1, 1, 4, 5)),
        ("bytes", OffsetPlace(0, len(TEXT.encode())), (1, 1, 4, 5)),
    ],
)
def test_a_place_becomes_a_region(
    unit: str, place: Place, region: tuple[int, int, int, int]
) -> None:
    assert SourceText(TEXT.encode(), unit).region(place) == Region(*region)


@pytest.mark.parametrize(
    "place",
    [LinePlace(0), LinePlace(5), LinePlace(-1, 1), OffsetPlace(999), OffsetPlace(0, 999)],
)
def test_a_place_that_the_file_does_not_have_is_none(place: Place) -> None:
    assert SourceText(TEXT.encode(), "bytes").region(place) is None


@pytest.mark.parametrize("place", [LinePlace(2, 2, 2, 2), OffsetPlace(17)])
def test_an_edit_without_length_is_an_insertion(place: Place) -> None:
    assert SourceText(TEXT.encode(), "bytes").edit_region(place) == Region(2, 2, 2, 2)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/code/a.py", "a.py"),
        ("file:///code/a.py", "a.py"),
        ("../code/a.py", "a.py"),
        ("file:///code/in/b%20c.py", "in/b c.py"),
        ("/code/in/b c.py", "in/b c.py"),
        ("/code/../etc/passwd", ""),
        ("/etc/a.py", ""),
        ("a.py", ""),
        ("", ""),
    ],
)
def test_a_file_is_known_by_its_path_in_the_box(path: str, name: str) -> None:
    assert source_name(path, {"a.py", "in/b c.py"}) == name


def test_a_message_is_one_line_that_a_terminal_can_show() -> None:
    assert clean("a\tb\n  c \x1b[31m \u202e /code/x.py") == "a b c �[31m � x.py"
    assert len(clean("x" * 5000)) == 1001
