"""Ranges of versions mean the same as in npm."""

import pytest

from deemster.api.compat.semver import satisfies, version_in

CASES = {
    "*": True,
    "": True,
    "x": True,
    "3": True,
    "3.x": True,
    "3.11": True,
    "3.11.2": True,
    "v3.11.2": True,
    "=3.11.2": True,
    ">=3.10": True,
    ">3.10 <4": True,
    "> 3.10": True,
    "<=3.11": True,
    "^3.1": True,
    "~3.11.0": True,
    "3.0 - 3.12": True,
    "1 || 3.11.x": True,
    "2": False,
    "3.10": False,
    "3.11.3": False,
    ">3.11": False,
    "<3.11": False,
    "<3.11.2": False,
    "~3.10": False,
    "^2": False,
    ">*": False,
    "1 || 2": False,
    "latest": False,
    ">=3 latest": False,
    "3." * 200: False,
}


@pytest.mark.parametrize(("wanted", "expected"), CASES.items())
def test_a_range_includes_the_version(wanted: str, expected: bool) -> None:
    assert satisfies((3, 11, 2), wanted) is expected


def test_a_caret_keeps_the_first_part_that_is_not_zero() -> None:
    assert satisfies((0, 2, 9), "^0.2.3")
    assert not satisfies((0, 3, 0), "^0.2.3")
    assert not satisfies((0, 0, 4), "^0.0.3")


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("GCC 12.2.0 (Debian 12.2.0-14)", (12, 2, 0)),
        ("CPython 3.11", (3, 11, 0)),
        ("OpenJDK 17", (17, 0, 0)),
        ("bash", None),
    ],
)
def test_the_version_is_found_in_what_a_tool_says(
    text: str, version: tuple[int, int, int] | None
) -> None:
    assert version_in(text) == version
